# Jobs on several hosts, which are network namespaces: these tests need root.
check_PROGRAMS += tests/cluster/cable tests/cluster/knock tests/cluster/mix tests/cluster/traffic
tests_cluster_cable_SOURCES = tests/cluster/cable.c
tests_cluster_knock_SOURCES = tests/cluster/knock.c
tests_cluster_mix_SOURCES = tests/cluster/mix.c tests/conformance/check.h tests/conformance/dice.h
tests_cluster_mix_LDADD = shmem/libsma.la
tests_cluster_traffic_SOURCES = tests/cluster/traffic.c
tests_cluster_traffic_LDADD = shmem/libsma.la
cluster_scripts = \
	tests/cluster/cutoff.test \
	tests/cluster/firewall.test \
	tests/cluster/foreign.test \
	tests/cluster/interfaces.test \
	tests/cluster/knock.test \
	tests/cluster/lines.test \
	tests/cluster/machines.test \
	tests/cluster/mixed.test \
	tests/cluster/overlap.test \
	tests/cluster/oneway.test \
	tests/cluster/rails.test \
	tests/cluster/silence.test \
	tests/cluster/traffic.test \
	tests/cluster/wakeups.test
dist_check_SCRIPTS += $(cluster_scripts)
TESTS += $(cluster_scripts)
EXTRA_DIST += tests/cluster/lib.sh
