# oshrun, tried with a program that speaks its protocol without the library.
check_PROGRAMS += tests/launch/pe
tests_launch_pe_SOURCES = tests/launch/pe.c
tests_launch_pe_CPPFLAGS = $(AM_CPPFLAGS) -DSY_BUILTIN_PLUGIN
tests_launch_pe_LDADD = shmem/libsma.a

check_PROGRAMS += tests/launch/stall
tests_launch_stall_SOURCES = tests/launch/stall.c
tests_launch_stall_LDADD = shmem/libsma.la

check_PROGRAMS += tests/launch/misuse
tests_launch_misuse_SOURCES = tests/launch/misuse.c
tests_launch_misuse_LDADD = shmem/libsma.la

check_PROGRAMS += tests/launch/rogue
tests_launch_rogue_SOURCES = tests/launch/rogue.c

check_PROGRAMS += tests/launch/crash
tests_launch_crash_SOURCES = tests/launch/crash.c
tests_launch_crash_LDADD = shmem/libsma.la

check_PROGRAMS += tests/launch/deadlock
tests_launch_deadlock_SOURCES = tests/launch/deadlock.c
tests_launch_deadlock_LDADD = shmem/libsma.la -lpthread

launch_tests = \
	tests/launch/bind.test \
	tests/launch/crash.test \
	tests/launch/deadlock.test \
	tests/launch/descriptors.test \
	tests/launch/files.test \
	tests/launch/gather.test \
	tests/launch/hosts.test \
	tests/launch/misuse.test \
	tests/launch/names.test \
	tests/launch/orphans.test \
	tests/launch/output.test \
	tests/launch/placement.test \
	tests/launch/plugins.test \
	tests/launch/repeats.test \
	tests/launch/rogue.test \
	tests/launch/releases.test \
	tests/launch/signals.test \
	tests/launch/ssh.test \
	tests/launch/stall.test \
	tests/launch/status.test \
	tests/launch/stdin.test \
	tests/launch/usage.test
TESTS += $(launch_tests)
EXTRA_DIST += $(launch_tests) tests/launch/cluster.sh tests/launch/lib.sh

# Other launchers, each with what of it is installed.
starts_tests = \
	tests/launch/comms.test \
	tests/launch/env.test \
	tests/launch/hybrid.test \
	tests/launch/mpi.test \
	tests/launch/mpi_end.test \
	tests/launch/mpi_paper.test \
	tests/launch/hydra.test \
	tests/launch/late.test \
	tests/launch/mpirun.test \
	tests/launch/slurm.test
TESTS += $(starts_tests)
EXTRA_DIST += $(starts_tests) tests/launch/starts.sh tests/launch/comms.c tests/launch/hybrid.c tests/launch/levels.c tests/launch/mpi_end.c

if HAVE_CHECK
if HAVE_NETTLE
check_PROGRAMS += tests/unit/test_start
TESTS += tests/unit/test_start
endif
endif
tests_unit_test_start_SOURCES = tests/unit/test_start.c tests/unit/suite.h bootstrap/pmi/text.c bootstrap/slurm/nodes.c \
	bootstrap/control/tree/contact.c
tests_unit_test_start_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_start_LDADD = shmem/libsma.a $(NETTLE_LIBS) $(CHECK_LIBS)

if HAVE_CHECK
check_PROGRAMS += tests/unit/test_lines
TESTS += tests/unit/test_lines
endif
tests_unit_test_lines_SOURCES = tests/unit/test_lines.c tests/unit/suite.h bootstrap/launcher/stdio/lines.c
tests_unit_test_lines_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_lines_LDADD = $(CHECK_LIBS)

if HAVE_CHECK
check_PROGRAMS += tests/unit/test_silence
TESTS += tests/unit/test_silence
endif
tests_unit_test_silence_SOURCES = tests/unit/test_silence.c tests/unit/suite.h bootstrap/launcher/silence.c
tests_unit_test_silence_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_silence_LDADD = $(CHECK_LIBS)

# The head's judgement of its PEs' news, with a clock of the test's own.
if HAVE_CHECK
check_PROGRAMS += tests/unit/test_judge
TESTS += tests/unit/test_judge
endif
tests_unit_test_judge_SOURCES = tests/unit/test_judge.c tests/unit/suite.h bootstrap/control/report.c \
	bootstrap/launcher/head/ending.c bootstrap/control/gather.c bootstrap/launcher/head/judge.c \
	bootstrap/launcher/head/waiting.c $(frame_sources)
tests_unit_test_judge_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_judge_LDADD = shmem/libsma.a $(CHECK_LIBS) -lm
