# Tests: unit tests (Check) of single files of the library, and programs that run as jobs.
include tests/abi/local.mk
include tests/bench/local.mk
include tests/packaging/local.mk
include tests/launch/local.mk
include tests/fault/local.mk
include tests/shim/local.mk
include tests/cluster/local.mk
include tests/counters/local.mk
include tests/fuzz/local.mk
include tests/transport/local.mk
include tests/fake/local.mk
include tests/space/local.mk
include tests/stream/local.mk

# What a unit test does not list of the library comes from the static one, object by object as it is needed. Listed are files
# that a test compiles in its own way.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_allocator
TESTS += tests/unit/test_allocator
endif

# The test lets the allocator's calls of malloc fail.
tests_unit_test_allocator_SOURCES = tests/unit/test_allocator.c tests/unit/suite.h
tests_unit_test_allocator_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_allocator_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
tests_unit_test_allocator_LDADD = shmem/libsma.a $(CHECK_LIBS)

# Rules that the sources keep: headers, exported names, who includes whom, sizes.
lint_tests = \
	tests/lint/headers.test \
	tests/lint/exports.test \
	tests/lint/coverage.test \
	tests/lint/includes.test \
	tests/lint/maps.test \
	tests/lint/budgets.test
dist_check_SCRIPTS += $(lint_tests)
TESTS += $(lint_tests)
EXTRA_DIST += tests/lint/api.txt tests/lint/api_x.txt tests/lint/api_mpi.txt tests/lint/macros.txt tests/lint/functions.awk tests/lint/shape.awk tests/lint/ceilings.txt

# Every typed routine, expanded from the tables of types; each program is run with several numbers of PEs.
check_PROGRAMS += \
	tests/conformance/rma_typed \
	tests/conformance/amo_typed \
	tests/conformance/amo_mixed \
	tests/conformance/p2p_typed \
	tests/conformance/p2p_sets \
	tests/conformance/signals_typed \
	tests/conformance/collectives_typed \
	tests/conformance/reductions_typed \
	tests/conformance/extremes \
	tests/conformance/activesets \
	tests/conformance/generics \
	tests/conformance/generics2 \
	tests/conformance/generics3 \
	tests/conformance/answers \
	tests/conformance/cxx
tests_conformance_rma_typed_SOURCES = tests/conformance/rma_typed.c tests/conformance/check.h
tests_conformance_rma_typed_LDADD = shmem/libsma.la
tests_conformance_amo_typed_SOURCES = tests/conformance/amo_typed.c tests/conformance/check.h
tests_conformance_amo_typed_LDADD = shmem/libsma.la
tests_conformance_amo_mixed_SOURCES = tests/conformance/amo_mixed.c tests/conformance/check.h \
	tests/conformance/dice.h
tests_conformance_amo_mixed_LDADD = shmem/libsma.la
tests_conformance_p2p_typed_SOURCES = tests/conformance/p2p_typed.c tests/conformance/check.h
tests_conformance_p2p_typed_LDADD = shmem/libsma.la
tests_conformance_generics_SOURCES = tests/conformance/generics.c tests/conformance/check.h
tests_conformance_generics_LDADD = shmem/libsma.la
tests_conformance_p2p_sets_SOURCES = tests/conformance/p2p_sets.c tests/conformance/check.h
tests_conformance_p2p_sets_LDADD = shmem/libsma.la
tests_conformance_signals_typed_SOURCES = tests/conformance/signals_typed.c tests/conformance/check.h
tests_conformance_signals_typed_LDADD = shmem/libsma.la
tests_conformance_collectives_typed_SOURCES = tests/conformance/collectives_typed.c tests/conformance/check.h \
	tests/conformance/team_cases.h
tests_conformance_collectives_typed_LDADD = shmem/libsma.la
tests_conformance_reductions_typed_SOURCES = tests/conformance/reductions_typed.c tests/conformance/check.h \
	tests/conformance/team_cases.h tests/conformance/values.h
tests_conformance_reductions_typed_LDADD = shmem/libsma.la
tests_conformance_extremes_SOURCES = tests/conformance/extremes.c tests/conformance/check.h
tests_conformance_extremes_LDADD = shmem/libsma.la -lm
tests_conformance_activesets_SOURCES = tests/conformance/activesets.c tests/conformance/check.h \
	tests/conformance/values.h
tests_conformance_activesets_LDADD = shmem/libsma.la
tests_conformance_generics2_SOURCES = tests/conformance/generics2.c tests/conformance/check.h
tests_conformance_generics2_LDADD = shmem/libsma.la
tests_conformance_generics3_SOURCES = tests/conformance/generics3.c tests/conformance/check.h
tests_conformance_generics3_LDADD = shmem/libsma.la
tests_conformance_answers_SOURCES = tests/conformance/answers.c tests/conformance/check.h
tests_conformance_answers_LDADD = shmem/libsma.la
tests_conformance_cxx_SOURCES = tests/conformance/cxx.cc tests/conformance/check.h
tests_conformance_cxx_LDADD = shmem/libsma.la

# How tests run: .test scripts by themselves, programs through run.sh. Check's limit of time is for hangs.
TEST_EXTENSIONS = .test
LOG_COMPILER = $(top_srcdir)/tests/run.sh
LOG_DRIVER = $(SHELL) $(top_srcdir)/tests/driver.sh
TEST_LOG_DRIVER = $(LOG_DRIVER)
AM_TESTS_ENVIRONMENT = \
	SY_BUILD='$(abs_top_builddir)'; export SY_BUILD; \
	SY_SRC='$(abs_top_srcdir)'; export SY_SRC; \
	SY_SANITIZE='$(SY_SANITIZE)'; export SY_SANITIZE; \
	SY_TESTS='$(or $(all_logs),$(TEST_LOGS))'; export SY_TESTS; \
	CK_DEFAULT_TIMEOUT=120; export CK_DEFAULT_TIMEOUT;
dist_check_SCRIPTS += tests/run.sh tests/driver.sh
EXTRA_DIST += tests/host.h tests/lib.sh

# The quick set, for a developer between two changes: all that is small and depends on no time limit, and a part of
# each folder's scripts.
quick_tests = $(filter tests/lint/% tests/unit/%,$(TESTS)) \
	$(filter-out tests/conformance/%.test %/crowd %/collectives_storm %/amo_mixed,$(filter tests/conformance/%,$(TESTS))) \
	tests/conformance/instructions.test \
	tests/fake/fake.test \
	tests/fault/errors.test \
	tests/launch/files.test tests/launch/plugins.test tests/launch/stdin.test tests/launch/usage.test \
	tests/routes/routes.test \
	tests/transport/transport.test
check-quick:
	SY_PES='1 3' SY_TEST_QUICK=1 $(MAKE) $(AM_MAKEFLAGS) check-together check-alone TESTS='$(quick_tests)'

# Tests that may run beside each other, since they mostly wait or use one processor: they measure nothing, look at
# nothing on the machine that is not their own (files in the build, ports of any program of a name), and what they
# expect within a time leaves seconds to a busy machine. A test that is not here has the machine for itself. The longest
# come first, so that none is left alone at the end. config.h is always older than its stamp, so make would see to it before
# it looks at programs, which depend on it, and start these behind all scripts: the stamp is given its age.
together_tests = \
	tests/fake/fake.test tests/launch/env.test tests/launch/slurm.test tests/launch/hosts.test tests/unit/test_coll \
	tests/lint/headers.test tests/space/spaces.test tests/launch/mpi_end.test tests/launch/mpi.test tests/ofi/cutoff.test \
	tests/launch/mpirun.test tests/cluster/firewall.test tests/ofi/suite.test tests/launch/late.test tests/cluster/cutoff.test \
	tests/ofi/traits.test tests/ofi/endings.test tests/ofi/resets.test \
	tests/transport/guide.test tests/conformance/memcheck.test tests/stream/stream.test tests/launch/ssh.test tests/fault/errors.test \
	tests/launch/misuse.test tests/launch/hydra.test tests/launch/comms.test tests/cluster/silence.test \
	tests/launch/stall.test tests/launch/hybrid.test tests/abi/abi.test tests/launch/rogue.test \
	tests/cluster/interfaces.test tests/conformance/manual.test tests/space/keep.test tests/cluster/lines.test \
	examples/examples.test tests/fault/shm_strangers.test tests/launch/deadlock.test \
	tests/cluster/foreign.test tests/launch/signals.test tests/launch/status.test tests/launch/repeats.test \
	tests/conformance/executables.test tests/launch/releases.test tests/launch/output.test tests/launch/gather.test tests/launch/mpi_paper.test \
	tests/launch/placement.test tests/launch/orphans.test tests/launch/usage.test tests/launch/files.test \
	tests/launch/stdin.test tests/launch/names.test tests/fault/denied.test tests/fault/collectives.test \
	tests/fault/keys.test tests/transport/faults.test tests/fault/tcp_rest.test \
	tests/space/test_devices tests/fault/tcp_limits.test tests/conformance/instructions.test \
	$(filter-out tests/lint/headers.test tests/unit/test_coll,$(filter tests/lint/% tests/unit/%,$(TESTS)))
together = $(filter $(together_tests),$(TESTS))
check-together:
	@[ config.h -ot config.status ] || [ config.h -ot $(srcdir)/config.h.in ] || touch -r config.h stamp-h1
	$(MAKE) $(AM_MAKEFLAGS) -j4 check-TESTS all_logs='$(TEST_LOGS)' TESTS='$(filter $(together),$(together_tests))'
check-alone:
	$(MAKE) $(AM_MAKEFLAGS) -j1 check-TESTS all_logs='$(TEST_LOGS)' TESTS='$(filter-out $(together),$(TESTS))'
.PHONY: check-quick check-together check-alone

# Memory, life and order.
conformance_programs = \
	tests/conformance/statics \
	tests/conformance/lifecycle \
	tests/conformance/heap \
	tests/conformance/forked \
	tests/conformance/ordering \
	tests/conformance/spins \
	tests/conformance/bursts \
	tests/conformance/switches \
	tests/conformance/large \
	tests/conformance/streams \
	tests/conformance/teams \
	tests/conformance/locks \
	tests/conformance/crowd \
	tests/conformance/computing \
	tests/conformance/threads \
	tests/conformance/collectives_storm
check_PROGRAMS += tests/conformance/model
tests_conformance_model_SOURCES = tests/conformance/model.c tests/conformance/model.h \
	tests/conformance/check.h
tests_conformance_model_LDADD = shmem/libsma.la -lpthread
check_PROGRAMS += tests/conformance/pair
tests_conformance_pair_SOURCES = tests/conformance/pair.c tests/conformance/check.h
tests_conformance_pair_LDADD = shmem/libsma.la
check_PROGRAMS += tests/conformance/first_uses
tests_conformance_first_uses_SOURCES = tests/conformance/first_uses.c tests/conformance/check.h
tests_conformance_first_uses_LDADD = shmem/libsma.la -lpthread
check_PROGRAMS += $(conformance_programs)
tests_conformance_statics_SOURCES = tests/conformance/statics.c tests/conformance/check.h
tests_conformance_statics_LDADD = shmem/libsma.la
tests_conformance_lifecycle_SOURCES = tests/conformance/lifecycle.c tests/conformance/check.h
tests_conformance_lifecycle_LDADD = shmem/libsma.la
tests_conformance_heap_SOURCES = tests/conformance/heap.c tests/conformance/check.h
tests_conformance_heap_LDADD = shmem/libsma.la
tests_conformance_forked_SOURCES = tests/conformance/forked.c tests/conformance/check.h
tests_conformance_forked_LDADD = shmem/libsma.la
tests_conformance_ordering_SOURCES = tests/conformance/ordering.c tests/conformance/check.h
tests_conformance_ordering_LDADD = shmem/libsma.la
tests_conformance_spins_SOURCES = tests/conformance/spins.c tests/conformance/check.h
tests_conformance_spins_LDADD = shmem/libsma.la
tests_conformance_bursts_SOURCES = tests/conformance/bursts.c tests/conformance/check.h tests/conformance/dice.h
tests_conformance_bursts_LDADD = shmem/libsma.la
tests_conformance_switches_SOURCES = tests/conformance/switches.c tests/conformance/check.h
tests_conformance_switches_LDADD = shmem/libsma.la
tests_conformance_large_SOURCES = tests/conformance/large.c tests/conformance/check.h tests/conformance/dice.h
tests_conformance_large_LDADD = shmem/libsma.la -lpthread
tests_conformance_crowd_SOURCES = tests/conformance/crowd.c tests/conformance/check.h
tests_conformance_crowd_LDADD = shmem/libsma.la
tests_conformance_computing_SOURCES = tests/conformance/computing.c tests/conformance/check.h
tests_conformance_computing_LDADD = shmem/libsma.la
tests_conformance_streams_SOURCES = tests/conformance/streams.c tests/conformance/check.h
tests_conformance_streams_LDADD = shmem/libsma.la
tests_conformance_locks_SOURCES = tests/conformance/locks.c tests/conformance/check.h
tests_conformance_locks_LDADD = shmem/libsma.la
tests_conformance_teams_SOURCES = tests/conformance/teams.c tests/conformance/check.h
tests_conformance_teams_LDADD = shmem/libsma.la
tests_conformance_collectives_storm_SOURCES = tests/conformance/collectives_storm.c tests/conformance/check.h
tests_conformance_collectives_storm_LDADD = shmem/libsma.la
tests_conformance_threads_SOURCES = tests/conformance/threads.c tests/conformance/check.h
tests_conformance_threads_LDADD = shmem/libsma.la -lpthread
TESTS += $(conformance_programs) \
	tests/conformance/rma_typed \
	tests/conformance/amo_typed \
	tests/conformance/amo_mixed \
	tests/conformance/p2p_typed \
	tests/conformance/p2p_sets \
	tests/conformance/signals_typed \
	tests/conformance/collectives_typed \
	tests/conformance/reductions_typed \
	tests/conformance/extremes \
	tests/conformance/activesets \
	tests/conformance/generics \
	tests/conformance/generics2 \
	tests/conformance/generics3 \
	tests/conformance/answers \
	tests/conformance/cxx

# The same in other circumstances.
conformance_scripts = \
	tests/conformance/algorithms.test \
	tests/conformance/executables.test \
	tests/conformance/first_uses.test \
	tests/conformance/tcp.test \
	tests/conformance/crowd_transports.test \
	tests/conformance/computing_transports.test \
	tests/conformance/modes.test \
	tests/conformance/nodes.test \
	tests/conformance/storm.test \
	tests/conformance/model.test \
	tests/conformance/instructions.test \
	tests/conformance/memcheck.test
dist_check_SCRIPTS += $(conformance_scripts)
TESTS += $(conformance_scripts)

# When a job cannot go on.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_deadlock
TESTS += tests/unit/test_deadlock
endif
tests_unit_test_deadlock_SOURCES = tests/unit/test_deadlock.c tests/unit/suite.h
tests_unit_test_deadlock_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_deadlock_LDADD = shmem/libsma.a $(CHECK_LIBS)

# How often the mpi transport looks at MPI, and how other PEs hasten that.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_mpi_tick tests/unit/test_mpi_wakeup
TESTS += tests/unit/test_mpi_tick tests/unit/test_mpi_wakeup
endif
tests_unit_test_mpi_tick_SOURCES = tests/unit/test_mpi_tick.c tests/unit/suite.h transports/mpi/tick.c
tests_unit_test_mpi_tick_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_mpi_tick_LDADD = $(CHECK_LIBS)
tests_unit_test_mpi_wakeup_SOURCES = tests/unit/test_mpi_wakeup.c tests/unit/suite.h transports/mpi/tick.c \
	transports/mpi/wakeup.c transports/mpi/datagram.c
tests_unit_test_mpi_wakeup_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_mpi_wakeup_LDADD = shmem/libsma.a $(CHECK_LIBS)

# Where the members of a team are.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_copy tests/unit/test_displaced tests/unit/test_nodes tests/unit/test_pause tests/unit/test_sleep \
	tests/unit/test_windows
TESTS += tests/unit/test_copy tests/unit/test_displaced tests/unit/test_nodes tests/unit/test_pause tests/unit/test_sleep \
	tests/unit/test_windows
endif
tests_unit_test_nodes_SOURCES = tests/unit/test_nodes.c tests/unit/suite.h
tests_unit_test_nodes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_nodes_LDADD = shmem/libsma.a $(CHECK_LIBS)

tests_unit_test_copy_SOURCES = tests/unit/test_copy.c tests/unit/suite.h
tests_unit_test_copy_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_copy_LDADD = $(CHECK_LIBS)

tests_unit_test_displaced_SOURCES = tests/unit/test_displaced.c tests/unit/suite.h
tests_unit_test_displaced_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_displaced_LDADD = shmem/libsma.a $(CHECK_LIBS)

tests_unit_test_pause_SOURCES = tests/unit/test_pause.c tests/unit/suite.h
tests_unit_test_pause_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_pause_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_test_pause_LDADD = shmem/libsma.a $(CHECK_LIBS)

tests_unit_test_sleep_SOURCES = tests/unit/test_sleep.c tests/unit/suite.h
tests_unit_test_sleep_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_sleep_LDADD = shmem/libsma.a $(CHECK_LIBS)

tests_unit_test_windows_SOURCES = tests/unit/test_windows.c tests/unit/suite.h
tests_unit_test_windows_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_windows_LDADD = shmem/libsma.a $(CHECK_LIBS)

# The collectives' algorithms, in a job of coroutines.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_coll
TESTS += tests/unit/test_coll
endif
tests_unit_test_coll_SOURCES = tests/unit/test_coll.c tests/unit/fake_job.c tests/unit/fake_job.h tests/unit/suite.h
tests_unit_test_coll_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_coll_LDADD = shmem/libsma.a $(CHECK_LIBS)

# The option tables, the log and the plugin loader, each with the files that it needs; and oshinfo.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_log tests/unit/test_option tests/unit/test_parse tests/unit/test_plugin
check_LTLIBRARIES += tests/unit/shmem_test_nameless.la tests/unit/shmem_test_old.la
TESTS += tests/unit/test_log tests/unit/test_option tests/unit/test_parse tests/unit/test_plugin
endif
tests_unit_test_log_SOURCES = tests/unit/test_log.c tests/unit/scratch.h tests/unit/suite.h
tests_unit_test_log_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_log_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_option_SOURCES = tests/unit/test_option.c tests/unit/scratch.h shmem/util/option_json.c
tests_unit_test_option_CPPFLAGS = $(AM_CPPFLAGS) -DSY_SYSCONFDIR='"etc"'
tests_unit_test_option_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_option_LDADD = shmem/libsma.a $(CHECK_LIBS) $(JANSSON_LIBS)
tests_unit_test_parse_SOURCES = tests/unit/test_parse.c tests/unit/suite.h
tests_unit_test_parse_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_parse_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_plugin_SOURCES = tests/unit/test_plugin.c tests/unit/plugin.h tests/unit/scratch.h tests/unit/suite.h \
	shmem/util/plugin.c
tests_unit_test_plugin_CPPFLAGS = $(AM_CPPFLAGS) -DSY_PLUGIN_DIR='"installed"' \
	-DSY_TEST_PLUGINS='"$(abs_top_builddir)/tests/unit/.libs"'
tests_unit_test_plugin_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_plugin_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_shmem_test_nameless_la_SOURCES = tests/unit/plugin_nameless.c tests/unit/plugin.h
tests_unit_shmem_test_nameless_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_unit_shmem_test_old_la_SOURCES = tests/unit/plugin_old.c tests/unit/plugin.h
tests_unit_shmem_test_old_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
oshinfo_scripts = tests/unit/oshinfo.test tests/lint/options.test tests/lint/config.test
dist_check_SCRIPTS += $(oshinfo_scripts)
TESTS += $(oshinfo_scripts)

# A part of all this with ThreadSanitizer, AddressSanitizer and UndefinedBehaviorSanitizer, in builds of
# their own.
dist_check_SCRIPTS += tests/sanitize/sanitize.test
TESTS += tests/sanitize/sanitize.test

# The TCP transport's connecting: the handshake, addresses, and both together between processes.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_tcp_pace tests/unit/test_flush tests/unit/test_engine tests/unit/test_race
TESTS += tests/unit/test_tcp_pace tests/unit/test_flush tests/unit/test_engine tests/unit/test_race
if HAVE_NETTLE
tcp_unit_tests = tests/unit/test_tcp_handshake tests/unit/test_tcp_queue tests/unit/test_interfaces tests/unit/test_tcp_connect \
	tests/unit/test_tcp_large tests/unit/test_tcp_outage tests/unit/test_tcp_silence
check_PROGRAMS += $(tcp_unit_tests)
TESTS += $(tcp_unit_tests)
endif
endif
tests_unit_test_tcp_pace_SOURCES = tests/unit/test_tcp_pace.c tests/unit/suite.h \
	transports/tcp/peer/pace.c transports/tcp/peer/pace.h
tests_unit_test_tcp_pace_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_pace_LDADD = $(CHECK_LIBS)
tests_unit_test_flush_SOURCES = tests/unit/test_flush.c tests/unit/suite.h
tests_unit_test_flush_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_flush_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_race_SOURCES = tests/unit/test_race.c tests/unit/suite.h
tests_unit_test_race_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_race_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c tests/unit/suite.h
tests_unit_test_engine_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_engine_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_tcp_queue_SOURCES = tests/unit/test_tcp_queue.c tests/unit/suite.h
tests_unit_test_tcp_queue_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_queue_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_tcp_handshake_SOURCES = tests/unit/test_tcp_handshake.c tests/unit/suite.h
tests_unit_test_tcp_handshake_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_handshake_LDADD = shmem/libsma.a $(NETTLE_LIBS) $(CHECK_LIBS)
tests_unit_test_interfaces_SOURCES = tests/unit/test_interfaces.c tests/unit/suite.h
tests_unit_test_interfaces_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_interfaces_LDADD = shmem/libsma.a $(CHECK_LIBS)
tests_unit_test_tcp_connect_SOURCES = tests/unit/test_tcp_connect.c tests/unit/tcp_pes.c tests/unit/tcp_pes.h tests/unit/suite.h
tests_unit_test_tcp_connect_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_connect_LDADD = shmem/libsma.a $(NETTLE_LIBS) $(CHECK_LIBS)
tests_unit_test_tcp_silence_SOURCES = tests/unit/test_tcp_silence.c tests/unit/tcp_pes.c tests/unit/tcp_pes.h tests/unit/suite.h
tests_unit_test_tcp_silence_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_silence_LDADD = shmem/libsma.a $(NETTLE_LIBS) $(CHECK_LIBS)
tests_unit_test_tcp_large_SOURCES = tests/unit/test_tcp_large.c tests/unit/suite.h
tests_unit_test_tcp_large_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_large_LDADD = shmem/libsma.a $(NETTLE_LIBS) $(CHECK_LIBS)
tests_unit_test_tcp_outage_SOURCES = tests/unit/test_tcp_outage.c tests/unit/suite.h
tests_unit_test_tcp_outage_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_tcp_outage_LDADD = shmem/libsma.a $(CHECK_LIBS)
# The ofi transport with the providers that need no device.
ofi_scripts = tests/ofi/bytes.test tests/ofi/cutoff.test tests/ofi/endings.test tests/ofi/offers.test tests/ofi/ofi.test tests/ofi/resets.test tests/ofi/strangers.test \
	tests/ofi/suite.test tests/ofi/traits.test tests/ofi/waiting.test
dist_check_SCRIPTS += $(ofi_scripts)
TESTS += $(ofi_scripts)
EXTRA_DIST += tests/ofi/lib.sh
if HAVE_LIBFABRIC
check_PROGRAMS += tests/ofi/stranger
endif
tests_ofi_stranger_SOURCES = tests/ofi/stranger.c
tests_ofi_stranger_LDADD = $(LIBFABRIC_LIBS)
