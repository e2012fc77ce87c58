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
	shmem/util/plugin.c
tests_space_test_loader_CPPFLAGS = $(device_test_cppflags) -DSY_PLUGIN_DIR='"installed"'
tests_space_test_loader_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_space_test_loader_LDADD = shmem/libsma.a $(CHECK_LIBS)

# What a space can, over every transport, and what is refused.
check_PROGRAMS += tests/space/spaces tests/space/threads tests/space/wrong
tests_space_spaces_SOURCES = tests/space/spaces.c tests/conformance/check.h
tests_space_spaces_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_space_spaces_LDADD = shmem/libsma.la
tests_space_threads_SOURCES = tests/space/threads.c tests/conformance/check.h
tests_space_threads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_space_threads_LDADD = shmem/libsma.la -lpthread
tests_space_wrong_SOURCES = tests/space/wrong.c
tests_space_wrong_LDADD = shmem/libsma.la
check_LTLIBRARIES += tests/space/shmem_device_even.la
tests_space_shmem_device_even_la_SOURCES = tests/space/plugin_even.c
tests_space_shmem_device_even_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/space/shmem_device_wrong.la
tests_space_shmem_device_wrong_la_SOURCES = tests/space/plugin_wrong.c
tests_space_shmem_device_wrong_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/space/shmem_device_engine.la
tests_space_shmem_device_engine_la_SOURCES = tests/space/plugin_engine.c
tests_space_shmem_device_engine_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_PROGRAMS += tests/space/keep
tests_space_keep_SOURCES = tests/space/keep.c
tests_space_keep_LDADD = shmem/libsma.la
check_PROGRAMS += tests/space/device
tests_space_device_SOURCES = tests/space/device.c tests/conformance/check.h
tests_space_device_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_space_device_LDADD = shmem/libsma.la
check_PROGRAMS += tests/space/mix
tests_space_mix_SOURCES = tests/space/mix.c
tests_space_mix_LDADD = shmem/libsma.la
check_PROGRAMS += tests/space/bounce
tests_space_bounce_SOURCES = tests/space/bounce.c
tests_space_bounce_LDADD = shmem/libsma.la -lpthread
check_PROGRAMS += tests/space/speed
tests_space_speed_SOURCES = tests/space/speed.c
tests_space_speed_LDADD = shmem/libsma.la
check_PROGRAMS += tests/space/heap
tests_space_heap_SOURCES = tests/space/heap.c
tests_space_heap_LDADD = shmem/libsma.la
space_scripts = tests/space/device.test tests/space/heap.test tests/space/keep.test tests/space/spaces.test
dist_check_SCRIPTS += $(space_scripts)
TESTS += $(space_scripts)
EXTRA_DIST += tests/space/kernel.c
