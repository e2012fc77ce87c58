# Costs that can be counted.
check_PROGRAMS += tests/counters/wire
tests_counters_wire_SOURCES = tests/counters/wire.c tests/conformance/check.h
tests_counters_wire_LDADD = shmem/libsma.la
dist_check_SCRIPTS += tests/counters/tcp.test
TESTS += tests/counters/tcp.test
