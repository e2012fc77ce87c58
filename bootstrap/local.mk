# oshrun, and the bootstrap plugins: one file each, also linked into the static library.

# What a PE and whoever started it say to each other.
control_sources = \
	bootstrap/control/protocol.h \
	bootstrap/control/frames.c bootstrap/control/frames.h \
	$(frame_sources)
bin_PROGRAMS += bin/oshrun
bin_oshrun_SOURCES = \
	bootstrap/launcher/daemon/agent.c bootstrap/launcher/daemon/agent.h \
	bootstrap/launcher/options/allocation.c \
	bootstrap/launcher/daemon/bind.c bootstrap/launcher/daemon/bind.h \
	bootstrap/launcher/head/call.c bootstrap/launcher/head/call.h \
	bootstrap/launcher/daemon/child.c bootstrap/launcher/daemon/child.h \
	bootstrap/launcher/head/command.c bootstrap/launcher/head/command.h \
	bootstrap/launcher/daemon/daemon.c bootstrap/launcher/daemon/daemon.h \
	bootstrap/launcher/daemon/daemon_start.c \
	bootstrap/launcher/head/ending.c \
	bootstrap/launcher/options/environ.c bootstrap/launcher/options/environ.h \
	bootstrap/launcher/options/exports.c bootstrap/launcher/options/exports.h \
	bootstrap/launcher/stdio/input.c bootstrap/launcher/stdio/input.h \
	bootstrap/launcher/options/flags.c bootstrap/launcher/options/flags.h \
	bootstrap/launcher/options/flags_refused.c \
	bootstrap/launcher/options/flags_table.c bootstrap/launcher/options/flags_table.h \
	$(control_sources) \
	bootstrap/control/gather.c bootstrap/control/gather.h \
	bootstrap/control/report.c bootstrap/control/report.h \
	bootstrap/launcher/daemon/reaper.c bootstrap/launcher/daemon/reaper.h \
	bootstrap/launcher/options/hostlist.c bootstrap/launcher/options/hostlist.h \
	bootstrap/launcher/stdio/pe_input.c bootstrap/launcher/stdio/pe_input.h \
	bootstrap/launcher/head/judge.c \
	bootstrap/launcher/head/life.c \
	bootstrap/launcher/head/say.c \
	bootstrap/launcher/stdio/lines.c bootstrap/launcher/stdio/lines.h \
	bootstrap/launcher/link.c bootstrap/launcher/link.h \
	bootstrap/launcher/memory.h \
	bootstrap/launcher/head/node.c bootstrap/launcher/head/node.h \
	bootstrap/launcher/oshrun.c \
	bootstrap/launcher/stdio/pe_output.c bootstrap/launcher/stdio/pe_output.h \
	bootstrap/launcher/stdio/output.c bootstrap/launcher/stdio/output.h \
	bootstrap/launcher/options/placement.c bootstrap/launcher/options/placement.h \
	bootstrap/launcher/stdio/plain.c bootstrap/launcher/stdio/plain.h \
	bootstrap/launcher/options/program.c bootstrap/launcher/options/program.h \
	bootstrap/launcher/stdio/repeats.c bootstrap/launcher/stdio/repeats.h \
	bootstrap/launcher/head/run.c bootstrap/launcher/head/run.h \
	bootstrap/launcher/head/signals.c \
	bootstrap/launcher/silence.c bootstrap/launcher/silence.h \
	bootstrap/launcher/stdio/out_file.c bootstrap/launcher/stdio/out_file.h \
	bootstrap/launcher/spawn.h \
	bootstrap/launcher/spec.c bootstrap/launcher/spec.h \
	bootstrap/launcher/stdio/forward.c bootstrap/launcher/stdio/forward.h \
	bootstrap/launcher/head/messages.c \
	bootstrap/launcher/daemon/trace.c \
	bootstrap/launcher/head/waiting.c \
	shmem/util/net/host_pattern.c shmem/util/net/host_pattern.h \
	shmem/util/error.c shmem/util/parse.c shmem/util/text_file.c \
	shmem/util/deadlock.c shmem/util/deadlock.h
bin_oshrun_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
bin_oshrun_LDADD = $(LIBEV_LIBS) -lm
# Functions are found at the start. The linker that finds one at its first call saves the vector registers on the stack,
# where the last copy may have left the job's key.
bin_oshrun_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,now

# oshcheck, which reads the options of oshrun and gets to hosts in its way.
bin_PROGRAMS += bin/oshcheck
bin_oshcheck_SOURCES = \
	bootstrap/check/check.c \
	bootstrap/check/host.c bootstrap/check/host.h \
	bootstrap/check/measure.c bootstrap/check/measure.h \
	bootstrap/check/probe.c bootstrap/check/probe.h \
	bootstrap/launcher/head/call.c bootstrap/launcher/head/call.h \
	bootstrap/launcher/head/command.c bootstrap/launcher/head/command.h \
	bootstrap/launcher/memory.h \
	bootstrap/launcher/options/allocation.c \
	bootstrap/launcher/options/exports.h \
	bootstrap/launcher/options/flags.c bootstrap/launcher/options/flags.h \
	bootstrap/launcher/options/flags_refused.c \
	bootstrap/launcher/options/flags_table.c bootstrap/launcher/options/flags_table.h \
	bootstrap/launcher/options/hostlist.c bootstrap/launcher/options/hostlist.h \
	bootstrap/launcher/options/program.c bootstrap/launcher/options/program.h \
	bootstrap/launcher/spawn.h \
	bootstrap/launcher/stdio/plain.c bootstrap/launcher/stdio/plain.h \
	shmem/util/error.c shmem/util/parse.c shmem/util/text_file.c \
	shmem/util/net/host_pattern.c shmem/util/net/host_pattern.h \
	shmem/util/net/interfaces.c shmem/util/net/interfaces.h \
	shmem/util/net/io.c shmem/util/net/io.h
bin_oshcheck_CPPFLAGS = $(AM_CPPFLAGS) -DSY_PLUGIN_DIR='"$(pkglibdir)"' \
	-DSY_PLUGIN_BESIDE='"/../$(SY_BELOW)/$(PACKAGE)"'

bootstrap_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_bootstrap_2$$'

pkglib_LTLIBRARIES += \
	bootstrap/oshrun/shmem_bootstrap_oshrun.la \
	bootstrap/single/shmem_bootstrap_single.la
bootstrap_oshrun_shmem_bootstrap_oshrun_la_SOURCES = \
	bootstrap/oshrun/oshrun.c $(control_sources) shmem/util/error.c shmem/util/parse.c
bootstrap_oshrun_shmem_bootstrap_oshrun_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_single_shmem_bootstrap_single_la_SOURCES = bootstrap/single/single.c shmem/util/error.c shmem/util/parse.c
bootstrap_single_shmem_bootstrap_single_la_LDFLAGS = $(bootstrap_ldflags)

# Those whose launcher does no more than start processes share the control tree, which needs Nettle.
tree_sources = \
	bootstrap/control/gather.c bootstrap/control/gather.h \
	bootstrap/control/report.c bootstrap/control/report.h \
	bootstrap/control/tree/tree.h bootstrap/control/tree/state.h \
	bootstrap/control/tree/address.c \
	bootstrap/control/tree/contact.c \
	bootstrap/control/tree/dial.c \
	bootstrap/control/tree/allgather.c \
	bootstrap/control/tree/handshake.c \
	bootstrap/control/tree/instance.c \
	bootstrap/control/tree/join.c \
	bootstrap/control/tree/life.c \
	bootstrap/control/tree/link.c \
	bootstrap/control/tree/listen.c \
	bootstrap/control/tree/orphan.c \
	bootstrap/control/tree/secret.c \
	bootstrap/control/tree/stall.c \
	shmem/util/deadlock.c shmem/util/deadlock.h
pmi_sources = bootstrap/pmi/pmi.c bootstrap/pmi/client.c bootstrap/pmi/client.h bootstrap/pmi/text.c
pmix_sources = bootstrap/pmix/pmix.c bootstrap/pmix/library.c bootstrap/pmix/library.h
slurm_sources = \
	bootstrap/slurm/slurm.c \
	bootstrap/slurm/handout.c bootstrap/slurm/handout.h \
	bootstrap/slurm/nodes.c bootstrap/slurm/nodes.h \
	shmem/util/net/host_pattern.c
env_sources = bootstrap/env/env.c
mpi_library_sources = bootstrap/mpi/library.c bootstrap/mpi/library.h bootstrap/mpi/world.h

if HAVE_NETTLE
noinst_LTLIBRARIES += bootstrap/control/tree/libtree.la bootstrap/mpi/liblibrary.la
pkglib_LTLIBRARIES += \
	bootstrap/pmi/shmem_bootstrap_pmi.la \
	bootstrap/pmix/shmem_bootstrap_pmix.la \
	bootstrap/slurm/shmem_bootstrap_slurm.la \
	bootstrap/env/shmem_bootstrap_env.la
endif
bootstrap_control_tree_libtree_la_SOURCES = $(tree_sources) $(control_sources) $(auth_sources) $(net_file_sources)
bootstrap_control_tree_libtree_la_LIBADD = $(NETTLE_LIBS)
bootstrap_pmi_shmem_bootstrap_pmi_la_SOURCES = $(pmi_sources)
bootstrap_pmi_shmem_bootstrap_pmi_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_pmi_shmem_bootstrap_pmi_la_LIBADD = bootstrap/control/tree/libtree.la bootstrap/mpi/liblibrary.la
bootstrap_pmix_shmem_bootstrap_pmix_la_SOURCES = $(pmix_sources)
bootstrap_pmix_shmem_bootstrap_pmix_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_pmix_shmem_bootstrap_pmix_la_LIBADD = bootstrap/control/tree/libtree.la bootstrap/mpi/liblibrary.la
bootstrap_slurm_shmem_bootstrap_slurm_la_SOURCES = $(slurm_sources)
bootstrap_slurm_shmem_bootstrap_slurm_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_slurm_shmem_bootstrap_slurm_la_LIBADD = bootstrap/control/tree/libtree.la bootstrap/mpi/liblibrary.la
bootstrap_env_shmem_bootstrap_env_la_SOURCES = $(env_sources)
bootstrap_env_shmem_bootstrap_env_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_env_shmem_bootstrap_env_la_LIBADD = bootstrap/control/tree/libtree.la

# The bootstrap mpi, and what it has of each MPI; library.c, which finds the MPI, serves the transport too.
if HAVE_MPI
pkglib_LTLIBRARIES += bootstrap/mpi/shmem_bootstrap_mpi.la
endif
if HAVE_MPI_MPICH
pkglib_LTLIBRARIES += bootstrap/mpi/mpi_bootstrap_mpich.la
endif
if HAVE_MPI_OPENMPI
pkglib_LTLIBRARIES += bootstrap/mpi/mpi_bootstrap_openmpi.la
endif
if HAVE_MPI_ABI
pkglib_LTLIBRARIES += bootstrap/mpi/mpi_bootstrap_abi.la
endif
bootstrap_mpi_liblibrary_la_SOURCES = $(mpi_library_sources)
bootstrap_mpi_shmem_bootstrap_mpi_la_SOURCES = bootstrap/mpi/mpi.c bootstrap/mpi/world.h
bootstrap_mpi_shmem_bootstrap_mpi_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_mpi_shmem_bootstrap_mpi_la_LIBADD = bootstrap/mpi/liblibrary.la bootstrap/control/tree/libtree.la
mpi_world_sources = bootstrap/mpi/world.c bootstrap/mpi/world.h
mpi_world_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared -export-symbols-regex '^shmem_mpi_bootstrap_1$$'
bootstrap_mpi_mpi_bootstrap_mpich_la_SOURCES = $(mpi_world_sources)
bootstrap_mpi_mpi_bootstrap_mpich_la_CFLAGS = $(AM_CFLAGS) $(MPI_MPICH_CFLAGS)
bootstrap_mpi_mpi_bootstrap_mpich_la_LDFLAGS = $(mpi_world_ldflags)
bootstrap_mpi_mpi_bootstrap_mpich_la_LIBADD = $(MPI_MPICH_LIBS)
bootstrap_mpi_mpi_bootstrap_openmpi_la_SOURCES = $(mpi_world_sources)
bootstrap_mpi_mpi_bootstrap_openmpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_OPENMPI_CFLAGS)
bootstrap_mpi_mpi_bootstrap_openmpi_la_LDFLAGS = $(mpi_world_ldflags)
bootstrap_mpi_mpi_bootstrap_openmpi_la_LIBADD = $(MPI_OPENMPI_LIBS)
bootstrap_mpi_mpi_bootstrap_abi_la_SOURCES = $(mpi_world_sources)
bootstrap_mpi_mpi_bootstrap_abi_la_CFLAGS = $(AM_CFLAGS) $(MPI_ABI_CFLAGS)
bootstrap_mpi_mpi_bootstrap_abi_la_LDFLAGS = $(mpi_world_ldflags)
bootstrap_mpi_mpi_bootstrap_abi_la_LIBADD = $(MPI_ABI_LIBS)

# What the static library needs of them (shmem/local.mk).
bootstrap_builtin_sources = \
	bootstrap/oshrun/oshrun.c $(control_sources) bootstrap/single/single.c
bootstrap_builtin_plugins = bootstrap/oshrun/oshrun.c bootstrap/single/single.c
bootstrap_builtins = X(bootstrap, single) X(bootstrap, oshrun)
if HAVE_NETTLE
bootstrap_builtin_sources += $(auth_sources) $(net_sources) $(tree_sources) $(mpi_library_sources) $(pmi_sources) $(slurm_sources) $(env_sources)
bootstrap_builtin_plugins += bootstrap/pmi/pmi.c bootstrap/slurm/slurm.c bootstrap/env/env.c
bootstrap_builtins += X(bootstrap, pmi) X(bootstrap, slurm) X(bootstrap, env)
endif
