# Jobs that end badly, and mistakes.
check_PROGRAMS += tests/fault/denied tests/fault/shm_stranger
tests_fault_denied_SOURCES = tests/fault/denied.c
tests_fault_shm_stranger_SOURCES = tests/fault/shm_stranger.c transports/shm/exchange.h
check_PROGRAMS += tests/fault/keys
tests_fault_keys_SOURCES = tests/fault/keys.c tests/shim/key.h
check_PROGRAMS += tests/fault/liar
tests_fault_liar_SOURCES = tests/fault/liar.c
tests_fault_liar_LDADD = shmem/libsma.a $(JANSSON_LIBS) $(NETTLE_LIBS) -lev -lpthread -ldl -lm
fault_scripts = \
	tests/fault/collectives.test \
	tests/fault/denied.test \
	tests/fault/endings.test \
	tests/fault/errors.test \
	tests/fault/keys.test \
	tests/fault/liar.test \
	tests/fault/setuid.test \
	tests/fault/shm_strangers.test \
	tests/fault/users.test
dist_check_SCRIPTS += $(fault_scripts)
TESTS += $(fault_scripts)

# The same over TCP: what networks and strangers do to a job.
check_PROGRAMS += tests/fault/first tests/fault/pauses tests/fault/storm tests/fault/stranger
tests_fault_first_SOURCES = tests/fault/first.c tests/conformance/check.h
tests_fault_first_LDADD = shmem/libsma.la
tests_fault_pauses_SOURCES = tests/fault/pauses.c tests/conformance/check.h
tests_fault_pauses_LDADD = shmem/libsma.la
tests_fault_storm_SOURCES = tests/fault/storm.c tests/conformance/check.h tests/conformance/dice.h
tests_fault_storm_LDADD = shmem/libsma.la
tests_fault_stranger_SOURCES = tests/fault/stranger.c transports/tcp/wire.h
tcp_fault_scripts = \
	tests/fault/tcp_crowds.test \
	tests/fault/tcp_endings.test \
	tests/fault/tcp_first.test \
	tests/fault/tcp_hints.test \
	tests/fault/tcp_idle.test \
	tests/fault/tcp_limits.test \
	tests/fault/tcp_resets.test \
	tests/fault/tcp_rest.test \
	tests/fault/tcp_stopped.test \
	tests/fault/tcp_strangers.test
dist_check_SCRIPTS += $(tcp_fault_scripts)
TESTS += $(tcp_fault_scripts)
EXTRA_DIST += tests/fault/tcp.sh
