# Transport plugins, one folder each; every one is a loadable file that exports one symbol.
transport_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_transport_2$$'

shm_sources = \
	transports/shm/shm.c transports/shm/shm.h \
	transports/shm/exchange.c transports/shm/exchange.h transports/shm/late.c transports/shm/lead.c \
	transports/shm/map.c \
	transports/shm/region.c transports/shm/service.c

pkglib_LTLIBRARIES += transports/shm/shmem_transport_shm.la
transports_shm_shmem_transport_shm_la_SOURCES = $(shm_sources) $(engine_sources) shmem/util/file.c shmem/util/file.h
transports_shm_shmem_transport_shm_la_LDFLAGS = $(transport_ldflags)

tcp_sources = \
	transports/tcp/conn/candidates.c transports/tcp/conn/candidates.h \
	transports/tcp/conn/conn.h transports/tcp/conn/connect.c \
	transports/tcp/conn/handshake.c transports/tcp/conn/handshake.h \
	transports/tcp/conn/incoming.c \
	transports/tcp/conn/listen.c \
	transports/tcp/conn/pending.c transports/tcp/conn/pending.h \
	transports/tcp/conn/turns.c \
	transports/tcp/conn/watch.c transports/tcp/conn/watch.h \
	transports/tcp/stream/queue.c transports/tcp/stream/queue.h \
	transports/tcp/stream/receive.c \
	transports/tcp/stream/send.c \
	transports/tcp/stream/stream.c transports/tcp/stream/stream.h \
	transports/tcp/peer/apply.c \
	transports/tcp/peer/device.c transports/tcp/peer/device.h \
	transports/tcp/peer/events.c \
	transports/tcp/peer/hint.c transports/tcp/peer/hint.h shmem/util/siphash.h \
	transports/tcp/peer/idle.c \
	transports/tcp/peer/large.c transports/tcp/peer/large.h \
	transports/tcp/peer/map.c transports/tcp/peer/map.h \
	transports/tcp/peer/outage.c transports/tcp/peer/outage.h \
	transports/tcp/peer/pace.c transports/tcp/peer/pace.h \
	transports/tcp/peer/peer.h transports/tcp/peer/peers.c \
	transports/tcp/peer/poll.c transports/tcp/peer/poll.h \
	transports/tcp/peer/requests.c \
	transports/tcp/ring.c transports/tcp/ring.h \
	transports/tcp/settings.h \
	transports/tcp/tcp.c transports/tcp/tcp.h \
	transports/tcp/wire.h

if HAVE_NETTLE
pkglib_LTLIBRARIES += transports/tcp/shmem_transport_tcp.la
transports_tcp_shmem_transport_tcp_la_SOURCES = $(tcp_sources) $(engine_sources) $(auth_sources) $(net_file_sources) \
	shmem/util/file.c shmem/util/file.h shmem/util/net/io.c shmem/util/net/io.h
transports_tcp_shmem_transport_tcp_la_LDFLAGS = $(transport_ldflags)
transports_tcp_shmem_transport_tcp_la_LIBADD = $(NETTLE_LIBS)
endif

# Compiled with libfabric's headers; the library itself is loaded when it is used.
if HAVE_LIBFABRIC
pkglib_LTLIBRARIES += transports/ofi/shmem_transport_ofi.la
endif
transports_ofi_shmem_transport_ofi_la_SOURCES = \
	transports/ofi/ofi.h transports/ofi/plugin.c transports/ofi/address.c transports/ofi/contact.c \
	transports/ofi/calls/calls.h transports/ofi/calls/order.c transports/ofi/calls/request.c \
	transports/ofi/calls/rma.c \
	transports/ofi/fabric/endpoint.c transports/ofi/fabric/fabric.h transports/ofi/fabric/keys.c \
	transports/ofi/fabric/library.c transports/ofi/fabric/offers.c transports/ofi/fabric/provider.c \
	transports/ofi/fabric/region.c \
	transports/ofi/message/message.c transports/ofi/message/message.h transports/ofi/message/serve.c \
	transports/ofi/progress/probe.c transports/ofi/progress/progress.c \
	transports/ofi/progress/progress.h transports/ofi/progress/sleep.c \
	transports/ofi/progress/wakeup.c \
	shmem/util/siphash.h $(engine_sources) $(auth_sources) $(net_file_sources)
transports_ofi_shmem_transport_ofi_la_LDFLAGS = $(transport_ldflags)
transports_ofi_shmem_transport_ofi_la_LIBADD = $(NETTLE_LIBS)

# What calls MPI is a file for each family of MPIs, beside the plugin.
if HAVE_MPI
pkglib_LTLIBRARIES += transports/mpi/shmem_transport_mpi.la
endif
if HAVE_MPI_MPICH
pkglib_LTLIBRARIES += transports/mpi/mpi_transport_mpich.la
endif
if HAVE_MPI_OPENMPI
pkglib_LTLIBRARIES += transports/mpi/mpi_transport_openmpi.la
endif
if HAVE_MPI_ABI
pkglib_LTLIBRARIES += transports/mpi/mpi_transport_abi.la
endif
transports_mpi_shmem_transport_mpi_la_SOURCES = \
	transports/mpi/mpi_plugin.c transports/mpi/state.h transports/mpi/calls.h \
	transports/mpi/contact.c \
	transports/mpi/message.c \
	transports/mpi/large.c \
	transports/mpi/tick.c \
	transports/mpi/wakeup.c \
	transports/mpi/datagram.c shmem/util/siphash.h \
	shmem/util/error.c shmem/util/error.h shmem/util/parse.c \
	shmem/util/net/interfaces.c shmem/util/net/interfaces.h shmem/util/net/machine.c shmem/util/net/machine.h \
	transports/mpi/window.c
transports_mpi_shmem_transport_mpi_la_LDFLAGS = $(transport_ldflags)
transports_mpi_shmem_transport_mpi_la_LIBADD = bootstrap/mpi/liblibrary.la
mpi_calls_sources = transports/mpi/calls.c transports/mpi/calls.h shmem/util/parse.c
mpi_calls_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^shmem_mpi_'
transports_mpi_mpi_transport_mpich_la_SOURCES = $(mpi_calls_sources)
transports_mpi_mpi_transport_mpich_la_CFLAGS = $(AM_CFLAGS) $(MPI_MPICH_CFLAGS)
transports_mpi_mpi_transport_mpich_la_LDFLAGS = $(mpi_calls_ldflags)
transports_mpi_mpi_transport_mpich_la_LIBADD = $(MPI_MPICH_LIBS)
transports_mpi_mpi_transport_openmpi_la_SOURCES = $(mpi_calls_sources)
transports_mpi_mpi_transport_openmpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_OPENMPI_CFLAGS)
transports_mpi_mpi_transport_openmpi_la_LDFLAGS = $(mpi_calls_ldflags)
transports_mpi_mpi_transport_openmpi_la_LIBADD = $(MPI_OPENMPI_LIBS)
transports_mpi_mpi_transport_abi_la_SOURCES = $(mpi_calls_sources)
transports_mpi_mpi_transport_abi_la_CFLAGS = $(AM_CFLAGS) $(MPI_ABI_CFLAGS)
transports_mpi_mpi_transport_abi_la_LDFLAGS = $(mpi_calls_ldflags)
transports_mpi_mpi_transport_abi_la_LIBADD = $(MPI_ABI_LIBS)

# What the static library has of them.
transport_builtin_sources = $(shm_sources) $(engine_sources)
transport_builtin_plugins = transports/shm/shm.c
transport_builtins = X(transport, shm)
if HAVE_NETTLE
transport_builtin_sources += $(tcp_sources)
transport_builtin_plugins += transports/tcp/tcp.c
transport_builtins += X(transport, tcp)
endif
