# Memory spaces, and the devices that they are in.
space_sources = \
	shmem/space/create.c \
	shmem/space/device.c shmem/space/device.h \
	shmem/space/keep.c \
	shmem/space/pool.c \
	shmem/space/show.c \
	shmem/space/space.c shmem/space/space.h

include shmem/space/devices/local.mk
