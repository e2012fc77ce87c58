# The conformance suite of the transport ABI, and the plugins it is run over. A plugin is a line in
# tests/transport/plugins.txt.
check_PROGRAMS += tests/transport/suite
tests_transport_suite_SOURCES = \
	tests/transport/main.c tests/transport/suite.h \
	tests/transport/pe.c \
	tests/transport/data.c \
	tests/transport/cases_transfer.c \
	tests/transport/cases_amo.c \
	tests/transport/cases_order.c \
	tests/transport/cases_load.c \
	tests/transport/cases_life.c \
	$(util_sources) \
	shmem/core/start/builtin.c \
	shmem/core/start/transport_stubs.c shmem/core/start/transport_stubs.h
tests_transport_suite_CPPFLAGS = $(libsma_cppflags)
tests_transport_suite_LDADD = $(JANSSON_LIBS) -lpthread -ldl

transport_scripts = \
	tests/transport/transport.test \
	tests/transport/mutants.test \
	tests/transport/guide.test \
	tests/transport/faults.test
dist_check_SCRIPTS += $(transport_scripts)
TESTS += $(transport_scripts)
EXTRA_DIST += tests/transport/plugins.txt
