# Memory spaces, and the devices that they are in.
space_sources = \
	shmem/space/device.c shmem/space/device.h

include shmem/space/devices/local.mk
