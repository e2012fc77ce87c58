# Memory spaces and their devices.
if HAVE_CHECK
check_PROGRAMS += tests/space/test_devices tests/space/test_loader
TESTS += tests/space/test_devices tests/space/test_loader
endif
device_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests \
	-DSY_TEST_DEVICES='"$(abs_top_builddir)/shmem/space/devices"'
tests_space_test_devices_SOURCES = tests/space/test_devices.c tests/host.h tests/unit/scratch.h tests/unit/suite.h
tests_space_test_devices_CPPFLAGS = $(device_test_cppflags)
tests_space_test_devices_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_space_test_devices_LDADD = $(CHECK_LIBS)
tests_space_test_loader_SOURCES = tests/space/test_loader.c tests/host.h tests/unit/scratch.h tests/unit/suite.h \
	shmem/space/device.c shmem/util/error.c shmem/util/parse.c shmem/util/plugin.c
tests_space_test_loader_CPPFLAGS = $(device_test_cppflags) -DSY_PLUGIN_DIR='"installed"'
tests_space_test_loader_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_space_test_loader_LDADD = $(CHECK_LIBS)
