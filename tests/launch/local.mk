# oshrun, tried with a program that speaks its protocol without the library.
check_PROGRAMS += tests/launch/pe
tests_launch_pe_SOURCES = tests/launch/pe.c bootstrap/oshrun/oshrun.c bootstrap/single/single.c
tests_launch_pe_CPPFLAGS = $(AM_CPPFLAGS) -DSY_BUILTIN_PLUGIN

launch_tests = \
	tests/launch/descriptors.test \
	tests/launch/gather.test \
	tests/launch/orphans.test \
	tests/launch/output.test \
	tests/launch/plugins.test \
	tests/launch/signals.test \
	tests/launch/status.test \
	tests/launch/stdin.test \
	tests/launch/usage.test
TESTS += $(launch_tests)
EXTRA_DIST += $(launch_tests) tests/launch/lib.sh

if HAVE_CHECK
check_PROGRAMS += tests/unit/test_lines
TESTS += tests/unit/test_lines
endif
tests_unit_test_lines_SOURCES = tests/unit/test_lines.c bootstrap/launcher/lines.c
tests_unit_test_lines_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_test_lines_LDADD = $(CHECK_LIBS)
