# Installed headers: the API of the specification, extensions, and the plugin ABI.
include_HEADERS = include/shmem.h include/shmemx.h include/shmemx_mpi.h include/pshmem.h include/pshmemx.h
mppincludedir = $(includedir)/mpp
mppinclude_HEADERS = include/mpp/shmem.h include/mpp/shmemx.h
shmemincludedir = $(includedir)/shmem
shmeminclude_HEADERS = \
	include/shmem/types.h \
	include/shmem/constants.h \
	include/shmem/chapters.h \
	include/shmem/setup.h \
	include/shmem/memory.h \
	include/shmem/teams.h \
	include/shmem/contexts.h \
	include/shmem/rma.h \
	include/shmem/amo.h \
	include/shmem/signals.h \
	include/shmem/sessions.h \
	include/shmem/short_sets.h \
	include/shmem/collectives.h \
	include/shmem/team_data.h \
	include/shmem/complex.h \
	include/shmem/p2p.h \
	include/shmem/ordering.h \
	include/shmem/locks.h \
	include/shmem/profiling.h \
	include/shmem/chosen.h \
	include/shmem/generics.h
shmemxincludedir = $(includedir)/shmemx
shmemxinclude_HEADERS = \
	include/shmemx/chapters.h \
	include/shmemx/groups.h \
	include/shmemx/opencl.h \
	include/shmemx/proposed.h \
	include/shmemx/space_types.h \
	include/shmemx/spaces.h \
	include/shmemx/stream_types.h \
	include/shmemx/streams.h
switchyardincludedir = $(includedir)/switchyard
switchyardinclude_HEADERS = \
	include/switchyard/error.h \
	include/switchyard/option.h \
	include/switchyard/counter.h \
	include/switchyard/host.h \
	include/switchyard/transport.h \
	include/switchyard/bootstrap.h \
	include/switchyard/device.h
