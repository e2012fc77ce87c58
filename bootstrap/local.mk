# oshrun, and the bootstrap plugins: one file each, also linked into the static library.
bin_PROGRAMS += bin/oshrun
bin_oshrun_SOURCES = \
	bootstrap/launcher/child.c bootstrap/launcher/child.h \
	bootstrap/launcher/ending.c \
	bootstrap/launcher/environ.c bootstrap/launcher/environ.h \
	bootstrap/launcher/feed.c bootstrap/launcher/feed.h \
	bootstrap/launcher/flags.c bootstrap/launcher/flags.h \
	bootstrap/launcher/gather.c bootstrap/launcher/gather.h \
	bootstrap/launcher/guard.c bootstrap/launcher/guard.h \
	bootstrap/launcher/lines.c bootstrap/launcher/lines.h \
	bootstrap/launcher/link.c bootstrap/launcher/link.h \
	bootstrap/launcher/memory.h \
	bootstrap/launcher/oshrun.c \
	bootstrap/launcher/program.c bootstrap/launcher/program.h \
	bootstrap/launcher/protocol.h \
	bootstrap/launcher/reap.c \
	bootstrap/launcher/run.c bootstrap/launcher/run.h \
	bootstrap/launcher/signals.c \
	bootstrap/launcher/sink.c bootstrap/launcher/sink.h \
	bootstrap/launcher/stream.c bootstrap/launcher/stream.h \
	bootstrap/launcher/talk.c \
	shmem/util/error.c shmem/util/parse.c
bin_oshrun_CPPFLAGS = $(AM_CPPFLAGS)
bin_oshrun_LDADD = $(LIBEV_LIBS) -lm

bootstrap_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^shmem_bootstrap_1$$'

pkglib_LTLIBRARIES += \
	bootstrap/oshrun/shmem_bootstrap_oshrun.la \
	bootstrap/single/shmem_bootstrap_single.la
bootstrap_oshrun_shmem_bootstrap_oshrun_la_SOURCES = \
	bootstrap/oshrun/oshrun.c bootstrap/launcher/protocol.h
bootstrap_oshrun_shmem_bootstrap_oshrun_la_LDFLAGS = $(bootstrap_ldflags)
bootstrap_single_shmem_bootstrap_single_la_SOURCES = bootstrap/single/single.c
bootstrap_single_shmem_bootstrap_single_la_LDFLAGS = $(bootstrap_ldflags)

# What the static library needs of them (shmem/local.mk).
bootstrap_builtin_sources = \
	bootstrap/oshrun/oshrun.c bootstrap/launcher/protocol.h bootstrap/single/single.c
