# Device plugins, one folder each; every one is a loadable file that exports one symbol.
device_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_device_2$$'

host_device_sources = shmem/space/devices/host/host.c
pkglib_LTLIBRARIES += shmem/space/devices/host/shmem_device_host.la
shmem_space_devices_host_shmem_device_host_la_SOURCES = $(host_device_sources) \
	shmem/util/error.c shmem/util/error.h shmem/util/file.c shmem/util/file.h \
	shmem/util/pages.c shmem/util/pages.h
shmem_space_devices_host_shmem_device_host_la_LDFLAGS = $(device_ldflags)

file_device_sources = \
	shmem/space/devices/file/copy.c \
	shmem/space/devices/file/file.c shmem/space/devices/file/file.h \
	shmem/space/devices/file/keep.c
pkglib_LTLIBRARIES += shmem/space/devices/file/shmem_device_file.la
shmem_space_devices_file_shmem_device_file_la_SOURCES = $(file_device_sources) shmem/util/siphash.h \
	shmem/util/error.c shmem/util/error.h shmem/util/file.c shmem/util/file.h \
	shmem/util/nameless.c shmem/util/nameless.h
shmem_space_devices_file_shmem_device_file_la_LDFLAGS = $(device_ldflags)

user_device_sources = shmem/space/devices/user/user.c
pkglib_LTLIBRARIES += shmem/space/devices/user/shmem_device_user.la
shmem_space_devices_user_shmem_device_user_la_SOURCES = $(user_device_sources) shmem/util/own_memory.h
shmem_space_devices_user_shmem_device_user_la_LDFLAGS = $(device_ldflags)

opencl_device_sources = \
	shmem/space/devices/opencl/library.c \
	shmem/space/devices/opencl/opencl.c shmem/space/devices/opencl/opencl.h
pkglib_LTLIBRARIES += shmem/space/devices/opencl/shmem_device_opencl.la
shmem_space_devices_opencl_shmem_device_opencl_la_SOURCES = $(opencl_device_sources)
shmem_space_devices_opencl_shmem_device_opencl_la_LDFLAGS = $(device_ldflags)
shmem_space_devices_opencl_shmem_device_opencl_la_LIBADD = -ldl

# What the static library has of them.
device_builtin_sources = $(host_device_sources) $(file_device_sources) $(user_device_sources) \
	$(opencl_device_sources)
device_builtin_plugins = shmem/space/devices/host/host.c shmem/space/devices/file/file.c shmem/space/devices/user/user.c \
	shmem/space/devices/opencl/opencl.c
device_builtins = X(device, host) X(device, file) X(device, user) X(device, opencl)
