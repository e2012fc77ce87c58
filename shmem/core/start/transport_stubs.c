/* A complete table: data calls answer -EOPNOTSUPP, the rest does nothing, so that the core never
 * tests a member. See transport.h for the contracts. */
#include <errno.h>

#include "core/start/transport_stubs.h"
#include "util/error.h"

static int transport_stubs_no_open(const struct sy_host *host, struct sy_error *err)
{
    (void)host;
    return sy_fail(err, EOPNOTSUPP, "the plugin has no open");
}

static void transport_stubs_no_close(void)
{
}

static size_t no_address(void *buffer, size_t room)
{
    (void)buffer, (void)room;
    return 0;
}

static int no_connect(const void *addresses, size_t stride, double seconds, struct sy_error *err)
{
    (void)addresses, (void)stride, (void)seconds, (void)err;
    return 0;
}

static unsigned no_reach(int pe)
{
    (void)pe;
    return 0;
}

static void *no_mem_pointer(int pe, unsigned window)
{
    (void)pe, (void)window;
    return NULL;
}

static int no_mem_register(unsigned index, const struct sy_window *window, struct sy_error *err)
{
    (void)index, (void)window, (void)err;
    return 0;
}

static int transport_stubs_no_ctx_open(long options, struct sy_transport_ctx **ctx,
                                       struct sy_error *err)
{
    (void)options, (void)err;
    *ctx = NULL;
    return 0;
}

static void no_ctx_close(struct sy_transport_ctx *ctx)
{
    (void)ctx;
}

static int no_transfer(struct sy_transport_ctx *ctx, const struct sy_transfer *t, unsigned flags)
{
    (void)ctx, (void)t, (void)flags;
    return -EOPNOTSUPP;
}

static int no_strided(struct sy_transport_ctx *ctx, const struct sy_strided *t, unsigned flags)
{
    (void)ctx, (void)t, (void)flags;
    return -EOPNOTSUPP;
}

static int no_amo(struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    (void)ctx, (void)a, (void)flags;
    return -EOPNOTSUPP;
}

static int transport_stubs_no_put_signal(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                                         const struct sy_amo *signal, unsigned flags)
{
    (void)ctx, (void)t, (void)signal, (void)flags;
    return -EOPNOTSUPP;
}

static int no_fence(struct sy_transport_ctx *ctx)
{
    (void)ctx;
    return 0;
}

static int no_quiet(struct sy_transport_ctx *ctx, int pe)
{
    (void)ctx, (void)pe;
    return 0;
}

static int no_progress(void)
{
    return 0;
}

static int transport_stubs_no_wait_fd(void)
{
    return -1;
}

static void no_session(struct sy_transport_ctx *ctx, bool batch, size_t operations)
{
    (void)ctx, (void)batch, (void)operations;
}

static int transport_stubs_no_event(void)
{
    return -EOPNOTSUPP;
}

static int no_sleeping(bool sleeps)
{
    (void)sleeps;
    return -EAGAIN; /* wait_fd() need not tell of answers */
}

static int no_pending(struct sy_pending *list, int room)
{
    (void)list, (void)room;
    return 0;
}

static int transport_stubs_no_raise(struct sy_transport_ctx *ctx, int pe, unsigned window,
                                    uint64_t offset, uint64_t value)
{
    (void)ctx, (void)pe, (void)window, (void)offset, (void)value;
    return -EOPNOTSUPP;
}

const struct sy_transport sy_transport_stubs = {
    .size = sizeof sy_transport_stubs,
    .open = transport_stubs_no_open,
    .close = transport_stubs_no_close,
    .address = no_address,
    .connect = no_connect,
    .reach = no_reach,
    .mem_pointer = no_mem_pointer,
    .mem_register = no_mem_register,
    .ctx_open = transport_stubs_no_ctx_open,
    .ctx_close = no_ctx_close,
    .put = no_transfer,
    .get = no_transfer,
    .put_strided = no_strided,
    .get_strided = no_strided,
    .amo = no_amo,
    .put_signal = transport_stubs_no_put_signal,
    .fence = no_fence,
    .quiet = no_quiet,
    .progress = no_progress,
    .wait_fd = transport_stubs_no_wait_fd,
    .session = no_session,
    .event = transport_stubs_no_event,
    .sleeping = no_sleeping,
    .pending = no_pending,
    .raise = transport_stubs_no_raise,
};
