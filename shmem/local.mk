# The library: libsma.so, whose plugins are files, and libsma.a, with the plugins that any job needs
# linked in (a static executable cannot load files).
util_sources = \
	shmem/util/bits.h \
	shmem/util/clock.h \
	shmem/util/copy.h \
	shmem/util/count.h \
	shmem/util/denied.h \
	shmem/util/error.c shmem/util/error.h \
	shmem/util/file.c shmem/util/file.h \
	shmem/util/libev.c shmem/util/libev.h \
	shmem/util/limits.h \
	shmem/util/list.h \
	shmem/util/log.c shmem/util/log.h \
	shmem/util/memfd.h \
	shmem/util/standard.h \
	shmem/util/net/interfaces.c shmem/util/net/interfaces.h shmem/util/net/ports.h \
	shmem/util/net/machine.c shmem/util/net/machine.h \
	shmem/util/nameless.c shmem/util/nameless.h \
	shmem/util/option.c shmem/util/option.h shmem/util/option_set.h \
	shmem/util/option_env.c shmem/util/option_json.c shmem/util/option_value.c \
	shmem/util/own_memory.h \
	shmem/util/pages.c shmem/util/pages.h \
	shmem/util/parse.c shmem/util/parse.h \
	shmem/util/proc.h \
	shmem/util/plugin.c shmem/util/plugin.h \
	shmem/util/opencl_object.h shmem/util/says.h \
	shmem/util/secure.h shmem/util/signals.h shmem/util/stays.h \
	shmem/util/symbol.c shmem/util/symbol.h \
	shmem/util/printable.h shmem/util/text_file.c shmem/util/text_file.h \
	shmem/util/words.h

# For those plugins that authenticate their peers; it needs Nettle.
auth_sources = shmem/util/auth.c shmem/util/auth.h

# What plugins need to know of networks; those that are files have what the library has of it too.
net_sources = \
	shmem/util/net/bytes.h \
	shmem/util/net/lookup.c shmem/util/net/lookup.h \
	shmem/util/net/names.h shmem/util/net/unix_name.h \
	shmem/util/net/race.c shmem/util/net/race.h \
	shmem/util/net/way.h
net_file_sources = $(net_sources) shmem/util/parse.c \
	shmem/util/error.c shmem/util/error.h \
	shmem/util/net/interfaces.c shmem/util/net/interfaces.h \
	shmem/util/net/machine.c shmem/util/net/machine.h

# Frames of bootstraps and of the launcher.
frame_sources = \
	shmem/util/frame.c shmem/util/frame.h \
	shmem/util/net/io.c shmem/util/net/io.h

# Remote memory access over messages, for those transports whose fabric has none of its own.
engine_sources = \
	shmem/engine/apply.c shmem/engine/apply.h \
	shmem/engine/calls.c \
	shmem/engine/combine.c \
	shmem/engine/device.c shmem/engine/device.h \
	shmem/engine/engine.c shmem/engine/engine.h shmem/engine/issue.h \
	shmem/engine/flush.c shmem/engine/flush.h \
	shmem/engine/order.c \
	shmem/engine/parts.c shmem/engine/parts.h \
	shmem/engine/producer.c shmem/engine/producer.h \
	shmem/engine/regions.c shmem/engine/regions.h \
	shmem/engine/pending.c shmem/engine/pending.h \
	shmem/engine/record.c shmem/engine/record.h \
	shmem/engine/request.h \
	shmem/engine/strided.c \
	shmem/engine/tx.h

# The same over transports that only carry messages, for the library itself.
message_sources = \
	shmem/engine/call.c shmem/engine/call.h \
	shmem/engine/message.h shmem/engine/message_large.c shmem/engine/large.h \
	shmem/engine/message_receive.c shmem/engine/message_send.c \
	shmem/engine/message_table.c

core_sources = \
	shmem/core/memory/allocator.c shmem/core/memory/allocator.h \
	shmem/core/amo.c shmem/core/amo.h \
	shmem/core/start/boot.c shmem/core/start/boot.h \
	shmem/core/start/builtin.c \
	shmem/core/callsite.c shmem/core/callsite.h \
	shmem/core/issue.c shmem/core/issue.h \
	shmem/core/start/config.c shmem/core/start/config.h \
	shmem/core/memory/control.c shmem/core/memory/control.h \
	shmem/core/crash.c shmem/core/crash.h \
	shmem/core/ctx.c shmem/core/ctx.h \
	shmem/core/start/exchange.c shmem/core/start/exchange.h \
	shmem/core/start/places.c shmem/core/start/places.h \
	shmem/core/fatal.c shmem/core/fatal.h \
	shmem/core/guard.c shmem/core/guard.h \
	shmem/core/memory/heap.c shmem/core/memory/heap.h \
	shmem/core/memory/memory.c shmem/core/memory/memory.h \
	shmem/core/start/nodes.c shmem/core/start/nodes.h \
	shmem/core/wait/displaced.c shmem/core/wait/displaced.h shmem/core/wait/ending.c \
	shmem/core/wait/ending.h shmem/core/wait/pause.c shmem/core/wait/pause.h \
	shmem/core/wait/set.c shmem/core/wait/set.h shmem/core/wait/progress.c shmem/core/wait/progress.h \
	shmem/core/wait/blocked.c shmem/core/wait/blocked.h \
	shmem/core/rma.c shmem/core/rma.h shmem/core/rma_staged.c shmem/core/rma_staged.h \
	shmem/core/memory/pipeline.c shmem/core/memory/pipeline.h shmem/core/memory/bounce.c shmem/core/memory/bounce.h \
	shmem/core/route/route.c shmem/core/route/route.h \
	shmem/core/route/route_job.c shmem/core/route/route_job.h \
	shmem/core/route/route_agree.c \
	shmem/core/route/route_check.c shmem/core/route/route_check.h \
	shmem/core/route/route_choose.c \
	shmem/core/route/route_rule.c shmem/core/route/route_rule.h \
	shmem/core/route/route_count.c \
	shmem/core/route/route_region.c \
	shmem/core/route/route_show.c \
	shmem/core/route/route_window.c \
	shmem/core/signal.c shmem/core/signal.h \
	shmem/core/memory/statics.c shmem/core/memory/statics.h \
	shmem/core/team.c shmem/core/team.h \
	shmem/core/start/transport_stubs.c shmem/core/start/transport_stubs.h \
	shmem/core/wait/stall.c shmem/core/wait/stall.h \
	shmem/core/wait/sleep.c shmem/core/wait/sleep.h \
	shmem/core/wait/tell.c shmem/core/wait/tell.h \
	shmem/core/wait/wait.c shmem/core/wait/wait.h \
	shmem/core/memory/staged.c shmem/core/memory/staged.h \
	shmem/core/memory/windows.c shmem/core/memory/windows.h \
	shmem/core/start/world.c shmem/core/start/world.h

coll_sources = \
	shmem/coll/agree.c shmem/coll/agree.h \
	shmem/coll/alloc.c shmem/coll/alloc.h \
	shmem/coll/alltoall.c shmem/coll/alltoall.h shmem/coll/alltoall_nodes.c \
	shmem/coll/broadcast.c shmem/coll/broadcast.h shmem/coll/broadcast_nodes.c \
	shmem/coll/check.c shmem/coll/check.h \
	shmem/coll/collect.c shmem/coll/collect.h shmem/coll/collect_nodes.c \
	shmem/coll/data.h \
	shmem/coll/group.c shmem/coll/group.h \
	shmem/coll/lock.c shmem/coll/lock.h \
	shmem/coll/notify.c shmem/coll/notify.h \
	shmem/coll/reduce.c shmem/coll/reduce.h shmem/coll/reduce_nodes.c \
	shmem/coll/reduce_kernels.c shmem/coll/reduce_kernels.h \
	shmem/coll/reduce_crowd.c \
	shmem/coll/reduce_halves.c \
	shmem/coll/reduce_named.c \
	shmem/coll/reduce_own.c shmem/coll/reduce_part.h \
	shmem/coll/scan.c shmem/coll/scan.h shmem/coll/scan_nodes.c shmem/coll/staged.c shmem/coll/staged.h \
	shmem/coll/spread.c shmem/coll/spread.h \
	shmem/coll/sync.h \
	shmem/coll/team.c shmem/coll/team.h shmem/coll/team_group.c \
	shmem/coll/tree.h shmem/coll/twins.h

stream_sources = \
	shmem/stream/worker.c shmem/stream/worker.h \
	shmem/stream/opencl.c \
	shmem/stream/ops.h \
	shmem/stream/point.c \
	shmem/stream/proxy.c shmem/stream/proxy.h \
	shmem/stream/stream.c shmem/stream/stream.h \
	shmem/stream/together.c \
	shmem/stream/transfer.c \
	shmem/stream/wait.c

api_sources = \
	shmem/api/alias.h shmem/api/lists.h \
	shmem/api/setup.c \
	shmem/api/memory.c \
	shmem/api/rma.c \
	shmem/api/amo.c \
	shmem/api/collectives.c \
	shmem/api/contexts.c \
	shmem/api/groups.c \
	shmem/api/handles.c \
	shmem/api/teams.c \
	shmem/api/signals.c \
	shmem/api/opencl.c shmem/api/spaces.c \
	shmem/api/p2p.c \
	shmem/api/p2p_sets.c \
	shmem/api/ordering.c \
	shmem/api/streams.c shmem/api/streams.h \
	shmem/api/streams_collectives.c \
	shmem/api/streams_p2p.c \
	shmem/api/streams_rma.c \
	shmem/api/locks.c \
	shmem/api/profiling.c

include shmem/space/local.mk

libsma_sources = $(util_sources) $(core_sources) $(coll_sources) $(space_sources) $(stream_sources) $(api_sources) $(message_sources)
shmem/util/option_json.lo: private AM_CPPFLAGS += -DSY_SYSCONFDIR='"$(sysconfdir)"'
shmem/util/plugin.lo: private AM_CPPFLAGS += -DSY_PLUGIN_DIR='"$(pkglibdir)"'

lib_LTLIBRARIES += shmem/libsma.la
shmem_libsma_la_SOURCES = $(libsma_sources) $(engine_sources)
# The interface's number goes up when programs must be compiled again (docs/abi.md).
# The library stays loaded after dlclose, since its handlers run when the process ends.
shmem_libsma_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 -Wl,-z,now,-z,nodelete $(SY_NO_UNDEFINED) \
	-Wl,--version-script=$(top_srcdir)/shmem/libsma.map
EXTRA_shmem_libsma_la_DEPENDENCIES = shmem/libsma.map
EXTRA_DIST += shmem/libsma.map
shmem_libsma_la_LIBADD = $(JANSSON_LIBS)

# The static library has the objects of the shared one and of its plugins, but for the few files that are compiled in another
# way there.
static_sources = $(libsma_sources) $(transport_builtin_sources) $(bootstrap_builtin_sources) $(device_builtin_sources)
static_objects = $(sort $(patsubst %.c,%.lo,$(filter-out $(shmem_libsma_a_SOURCES),$(filter %.c,$(static_sources)))))
lib_LIBRARIES += shmem/libsma.a
shmem_libsma_a_SOURCES = shmem/util/libev.c shmem/core/start/builtin.c \
	$(transport_builtin_plugins) $(bootstrap_builtin_plugins) $(device_builtin_plugins)
shmem_libsma_a_CPPFLAGS = $(AM_CPPFLAGS) -DSY_BUILTIN_PLUGIN \
	'-DSY_BUILTINS(X)=$(transport_builtins) $(bootstrap_builtins) $(device_builtins)'
shmem_libsma_a_LIBADD = $(foreach object,$(static_objects:.lo=.o),$(dir $(object)).libs/$(notdir $(object)))
shmem_libsma_a_DEPENDENCIES = $(static_objects)

# Plugins are found in switchyard/ beside libsma.so: where they are installed, and also in the build
# tree, through links.
ALL_LOCAL += shmem/.libs/switchyard/stamp
shmem/.libs/switchyard/stamp: shmem/libsma.la $(pkglib_LTLIBRARIES)
	$(AM_V_GEN)mkdir -p shmem/.libs/switchyard && \
	for plugin in $(pkglib_LTLIBRARIES); do \
	    file=`basename $$plugin .la`.so; \
	    $(LN_S) -f ../../../`dirname $$plugin`/.libs/$$file shmem/.libs/switchyard/$$file || exit 1; \
	done && touch $@
CLEANFILES += shmem/.libs/switchyard/*

include shmem/tools/local.mk
