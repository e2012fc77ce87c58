# oshbench, installed: figures beside raw limits.
bin_PROGRAMS += bin/oshbench

bin_oshbench_SOURCES = \
	tests/bench/bench.h \
	tests/bench/curves/coll.c tests/bench/curves/curves.h \
	tests/bench/curves/measure.c \
	tests/bench/curves/peers.c \
	tests/bench/curves/point.c \
	tests/bench/curves/print.c \
	tests/bench/curves/svg.c \
	tests/bench/curves/table.c \
	tests/bench/main.c \
	tests/bench/output.c \
	tests/bench/raw.c tests/bench/raw.h \
	tests/bench/raw_tcp.c tests/bench/raw_tcp.h \
	tests/bench/rows.c tests/bench/rows.h \
	tests/bench/rows_amo.c \
	tests/bench/rows_coll.c \
	tests/bench/rows_far.c \
	tests/bench/rows_rma.c \
	tests/bench/rows_setup.c \
	tests/bench/rows_sync.c \
	tests/bench/run.c \
	tests/bench/stats.c tests/bench/stats.h
bin_oshbench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
bin_oshbench_LDFLAGS = $(AM_LDFLAGS) $(SY_TOOL_RUN_PATH)
bin_oshbench_LDADD = shmem/libsma.la $(JANSSON_LIBS) -lpthread -lm

TESTS += tests/bench/oshbench.test
EXTRA_DIST += tests/bench/oshbench.test tests/bench/curves/alone.c
