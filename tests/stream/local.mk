# Streams: every routine, what they wait for, and what they take while they wait.
check_PROGRAMS += tests/stream/typed tests/stream/order tests/stream/stopped
tests_stream_typed_SOURCES = tests/stream/typed.c tests/conformance/check.h
tests_stream_typed_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_stream_typed_LDADD = shmem/libsma.la
tests_stream_order_SOURCES = tests/stream/order.c tests/conformance/check.h
tests_stream_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_stream_order_LDADD = shmem/libsma.la
tests_stream_stopped_SOURCES = tests/stream/stopped.c tests/conformance/check.h
tests_stream_stopped_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_stream_stopped_LDADD = shmem/libsma.la
EXTRA_DIST += tests/stream/queue.c tests/stream/lost.c
dist_check_SCRIPTS += tests/stream/opencl.test tests/stream/stream.test
TESTS += tests/stream/opencl.test tests/stream/stream.test
