# The conformance suite of the transport ABI, and the plugins it is run over. A plugin is a line in
# tests/transport/plugins.txt.
check_PROGRAMS += tests/transport/suite
tests_transport_suite_SOURCES = tests/transport/main.c tests/transport/suite.h tests/transport/pe.c \
	tests/transport/messages.c tests/transport/data.c tests/transport/cases_transfer.c tests/transport/cases_amo.c \
	tests/transport/cases_order.c tests/transport/cases_large.c tests/transport/cases_load.c tests/transport/cases_device.c \
	tests/transport/cases_life.c tests/transport/cases_messages.c shmem/core/route/route_check.c shmem/core/route/route_check.h shmem/core/start/builtin.c shmem/core/start/transport_stubs.c \
	shmem/core/start/transport_stubs.h
tests_transport_suite_CPPFLAGS = $(AM_CPPFLAGS)
tests_transport_suite_LDADD = shmem/libsma.a $(JANSSON_LIBS) -lpthread -ldl

# The example of docs/transport-guide.md.
check_LTLIBRARIES += tests/transport/shmem_transport_post.la
tests_transport_shmem_transport_post_la_SOURCES = examples/transport/post.c
tests_transport_shmem_transport_post_la_LDFLAGS = $(transport_ldflags) -rpath /nowhere

transport_scripts = \
	tests/transport/transport.test \
	tests/transport/mpi.test \
	tests/transport/mutants.test \
	tests/transport/guide.test \
	tests/transport/faults.test
dist_check_SCRIPTS += $(transport_scripts)
TESTS += $(transport_scripts)
EXTRA_DIST += tests/transport/plugins.txt
