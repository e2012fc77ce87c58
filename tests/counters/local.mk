# Costs that can be counted.
check_PROGRAMS += tests/counters/wire tests/counters/resident tests/counters/faults tests/counters/idle
tests_counters_wire_SOURCES = tests/counters/wire.c tests/conformance/check.h
tests_counters_wire_LDADD = shmem/libsma.la
tests_counters_resident_SOURCES = tests/counters/resident.c tests/conformance/check.h
tests_counters_resident_LDADD = shmem/libsma.la
tests_counters_faults_SOURCES = tests/counters/faults.c tests/conformance/check.h
tests_counters_faults_LDADD = shmem/libsma.la
tests_counters_idle_SOURCES = tests/counters/idle.c
tests_counters_idle_LDADD = shmem/libsma.la
counter_scripts = tests/counters/calls.test tests/counters/crowd.test tests/counters/tcp.test tests/counters/memory.test tests/counters/faults.test tests/counters/rows.test tests/counters/streams.test tests/counters/idle.test tests/counters/passed.test
dist_check_SCRIPTS += $(counter_scripts)
TESTS += $(counter_scripts)
