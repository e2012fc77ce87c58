# oshrun, and the bootstrap plugins: one file each, also linked into the static library.
bin_PROGRAMS += bin/oshrun
bin_oshrun_SOURCES = \
	bootstrap/launcher/agent.c bootstrap/launcher/agent.h \
	bootstrap/launcher/allocation.c \
	bootstrap/launcher/bind.c bootstrap/launcher/bind.h \
	bootstrap/launcher/call.c bootstrap/launcher/call.h \
	bootstrap/launcher/check.c bootstrap/launcher/check.h \
	bootstrap/launcher/child.c bootstrap/launcher/child.h \
	bootstrap/launcher/command.c bootstrap/launcher/command.h \
	bootstrap/launcher/crew.c bootstrap/launcher/crew.h \
	bootstrap/launcher/crew_start.c bootstrap/launcher/crew_start.h \
	bootstrap/launcher/ending.c \
	bootstrap/launcher/environ.c bootstrap/launcher/environ.h \
	bootstrap/launcher/exports.c bootstrap/launcher/exports.h \
	bootstrap/launcher/feed.c bootstrap/launcher/feed.h \
	bootstrap/launcher/flags.c bootstrap/launcher/flags.h \
	bootstrap/launcher/flags_refused.c \
	bootstrap/launcher/flags_table.c bootstrap/launcher/flags_table.h \
	bootstrap/launcher/frames.c bootstrap/launcher/frames.h \
	bootstrap/launcher/gather.c bootstrap/launcher/gather.h \
	bootstrap/launcher/guard.c bootstrap/launcher/guard.h \
	bootstrap/launcher/hostlist.c bootstrap/launcher/hostlist.h \
	bootstrap/launcher/inlet.c bootstrap/launcher/inlet.h \
	bootstrap/launcher/deadlock.c \
	bootstrap/launcher/judge.c \
	bootstrap/launcher/lines.c bootstrap/launcher/lines.h \
	bootstrap/launcher/link.c bootstrap/launcher/link.h \
	bootstrap/launcher/measure.c bootstrap/launcher/measure.h \
	bootstrap/launcher/memory.h \
	bootstrap/launcher/node.c bootstrap/launcher/node.h \
	bootstrap/launcher/oshrun.c \
	bootstrap/launcher/outlet.c bootstrap/launcher/outlet.h \
	bootstrap/launcher/output.c bootstrap/launcher/output.h \
	bootstrap/launcher/placement.c bootstrap/launcher/placement.h \
	bootstrap/launcher/plain.c bootstrap/launcher/plain.h \
	bootstrap/launcher/probe.c bootstrap/launcher/probe.h \
	bootstrap/launcher/program.c bootstrap/launcher/program.h \
	bootstrap/launcher/protocol.h \
	bootstrap/launcher/repeats.c bootstrap/launcher/repeats.h \
	bootstrap/launcher/run.c bootstrap/launcher/run.h \
	bootstrap/launcher/signals.c \
	bootstrap/launcher/silence.c bootstrap/launcher/silence.h \
	bootstrap/launcher/sink.c bootstrap/launcher/sink.h \
	bootstrap/launcher/spec.c bootstrap/launcher/spec.h \
	bootstrap/launcher/stream.c bootstrap/launcher/stream.h \
	bootstrap/launcher/talk.c \
	bootstrap/launcher/trace.c bootstrap/launcher/trace.h \
	bootstrap/launcher/waiting.c \
	shmem/util/alike.c shmem/util/alike.h shmem/util/error.c shmem/util/parse.c \
	shmem/util/rest.c shmem/util/rest.h
bin_oshrun_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS) -DSY_PLUGIN_DIR='"$(pkglibdir)"'
bin_oshrun_LDADD = $(LIBEV_LIBS) -lm

bootstrap_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_bootstrap_1$$'

pkglib_LTLIBRARIES += \
	bootstrap/oshrun/shmem_bootstrap_oshrun.la \
	bootstrap/single/shmem_bootstrap_single.la
bootstrap_oshrun_shmem_bootstrap_oshrun_la_SOURCES = \
	bootstrap/oshrun/oshrun.c bootstrap/launcher/frames.c bootstrap/launcher/frames.h bootstrap/launcher/protocol.h
bootstrap_oshrun_shmem_bootstrap_oshrun_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_single_shmem_bootstrap_single_la_SOURCES = bootstrap/single/single.c
bootstrap_single_shmem_bootstrap_single_la_LDFLAGS = $(bootstrap_ldflags)

# Those whose launcher does no more than start processes share the control tree, which needs libcrypto.
tree_sources = \
	bootstrap/tree/tree.h bootstrap/tree/state.h \
	bootstrap/tree/address.c \
	bootstrap/tree/beacon.c \
	bootstrap/tree/dial.c \
	bootstrap/tree/gather.c \
	bootstrap/tree/handshake.c \
	bootstrap/tree/join.c \
	bootstrap/tree/life.c \
	bootstrap/tree/link.c \
	bootstrap/tree/listen.c \
	bootstrap/tree/secret.c \
	bootstrap/tree/stall.c \
	shmem/util/alike.c shmem/util/alike.h \
	shmem/util/rest.c shmem/util/rest.h
pmi_sources = bootstrap/pmi/pmi.c bootstrap/pmi/client.c bootstrap/pmi/client.h bootstrap/pmi/text.c
pmix_sources = bootstrap/pmix/pmix.c bootstrap/pmix/library.c bootstrap/pmix/library.h
slurm_sources = \
	bootstrap/slurm/slurm.c \
	bootstrap/slurm/handout.c bootstrap/slurm/handout.h \
	bootstrap/slurm/nodes.c bootstrap/slurm/nodes.h
env_sources = bootstrap/env/env.c

if HAVE_LIBCRYPTO
noinst_LTLIBRARIES += bootstrap/tree/libtree.la
pkglib_LTLIBRARIES += \
	bootstrap/pmi/shmem_bootstrap_pmi.la \
	bootstrap/pmix/shmem_bootstrap_pmix.la \
	bootstrap/slurm/shmem_bootstrap_slurm.la \
	bootstrap/env/shmem_bootstrap_env.la
endif
bootstrap_tree_libtree_la_SOURCES = $(tree_sources) $(auth_sources) $(net_sources) shmem/util/net/machine.c shmem/util/error.c
bootstrap_tree_libtree_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBCRYPTO_CFLAGS)
bootstrap_pmi_shmem_bootstrap_pmi_la_SOURCES = $(pmi_sources)
bootstrap_pmi_shmem_bootstrap_pmi_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_pmi_shmem_bootstrap_pmi_la_LIBADD = bootstrap/tree/libtree.la
bootstrap_pmix_shmem_bootstrap_pmix_la_SOURCES = $(pmix_sources)
bootstrap_pmix_shmem_bootstrap_pmix_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_pmix_shmem_bootstrap_pmix_la_LIBADD = bootstrap/tree/libtree.la
bootstrap_slurm_shmem_bootstrap_slurm_la_SOURCES = $(slurm_sources) shmem/util/parse.c
bootstrap_slurm_shmem_bootstrap_slurm_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_slurm_shmem_bootstrap_slurm_la_LIBADD = bootstrap/tree/libtree.la
bootstrap_env_shmem_bootstrap_env_la_SOURCES = $(env_sources) shmem/util/parse.c
bootstrap_env_shmem_bootstrap_env_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_env_shmem_bootstrap_env_la_LIBADD = bootstrap/tree/libtree.la

# What the static library needs of them (shmem/local.mk).
bootstrap_builtin_sources = \
	bootstrap/oshrun/oshrun.c bootstrap/launcher/frames.c bootstrap/launcher/frames.h \
	bootstrap/launcher/protocol.h bootstrap/single/single.c
bootstrap_builtins = X(bootstrap, single) X(bootstrap, oshrun)
if HAVE_LIBCRYPTO
bootstrap_builtin_sources += $(auth_sources) $(net_sources) $(tree_sources) $(pmi_sources) $(slurm_sources) $(env_sources)
bootstrap_builtins += X(bootstrap, pmi) X(bootstrap, slurm) X(bootstrap, env)
endif
