# Transport plugins, one folder each; every one is a loadable file that exports one symbol.
transport_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_transport_1$$'

shm_sources = \
	transports/shm/shm.c transports/shm/shm.h \
	transports/shm/exchange.c transports/shm/service.c

pkglib_LTLIBRARIES += transports/shm/shmem_transport_shm.la
transports_shm_shmem_transport_shm_la_SOURCES = $(shm_sources)
transports_shm_shmem_transport_shm_la_LDFLAGS = $(transport_ldflags)
