# A library to be preloaded that makes sockets misbehave, for the tests that want that.
check_LTLIBRARIES += tests/shim/shim.la
tests_shim_shim_la_SOURCES = tests/shim/shim.c tests/shim/key.h
tests_shim_shim_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_shim_shim_la_LIBADD = -ldl
dist_check_SCRIPTS += tests/shim/shim.test
TESTS += tests/shim/shim.test
