/* A complete table: data calls answer -EOPNOTSUPP, the rest does nothing, so that the core never
 * tests a member. See transport.h for the contracts. */
#include <errno.h>

#include "core/start/transport_stubs.h"
#include "util/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int transport_stubs_no_open(const struct sy_host *host, const struct sy_instance *instance,
                                   void **self, struct sy_error *err)
{
    return sy_fail(err, EOPNOTSUPP, "the plugin has no open");
}

static void transport_stubs_no_close(void *self)
{
}

static size_t no_address(void *self, void *buffer, size_t room)
{
    return 0;
}

static int transport_stubs_no_connect(void *self, const void *addresses, size_t stride,
                                      double seconds, struct sy_error *err)
{
    return 0;
}

static unsigned no_reach(void *self, int pe)
{
    return 0;
}

static void *no_mem_pointer(void *self, int pe, unsigned window)
{
    return NULL;
}

static int transport_stubs_no_region_attach(void *self, unsigned index,
                                            const struct sy_region *region, void *key, size_t room,
                                            struct sy_error *err)
{
    return 0;
}

static int no_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                             struct sy_error *err)
{
    return 0;
}

static void no_region_detach(void *self, unsigned index)
{
}

static int transport_stubs_no_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                                       struct sy_error *err)
{
    *ctx = NULL;
    return 0;
}

static void no_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
}

static int no_transfer(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                       unsigned flags)
{
    return -EOPNOTSUPP;
}

static int transport_stubs_no_strided(void *self, struct sy_transport_ctx *ctx,
                                      const struct sy_strided *t, unsigned flags)
{
    return -EOPNOTSUPP;
}

static int no_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    return -EOPNOTSUPP;
}

static int transport_stubs_no_put_signal(void *self, struct sy_transport_ctx *ctx,
                                         const struct sy_transfer *t, const struct sy_amo *signal,
                                         unsigned flags)
{
    return -EOPNOTSUPP;
}

static int no_fence(void *self, struct sy_transport_ctx *ctx)
{
    return 0;
}

static int no_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    return 0;
}

static int transport_stubs_no_mark(void *self, struct sy_transport_ctx *ctx, int pe,
                                   struct sy_transport_ticket **ticket)
{
    *ticket = NULL;
    return -EOPNOTSUPP;
}

static int no_reached(void *self, struct sy_transport_ticket *ticket)
{
    return 0;
}

static int no_progress(void *self, unsigned flags)
{
    return 0;
}

static int transport_stubs_no_wait_fd(void *self)
{
    return -1;
}

static void no_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations)
{
}

static int no_arm(void *self)
{
    return -EAGAIN; /* wait_fd() need not tell of answers */
}

static void no_disarm(void *self)
{
}

static int no_outstanding(void *self, struct sy_outstanding *list, int room)
{
    return 0;
}

static int transport_stubs_no_raise(void *self, struct sy_transport_ctx *ctx, int pe,
                                    unsigned window, uint64_t offset, uint64_t value)
{
    return -EOPNOTSUPP;
}

static int transport_stubs_no_message_send(void *self, int pe, const void *bytes, size_t length)
{
    return -EOPNOTSUPP;
}

static int transport_stubs_no_large_send(void *self, int pe, uint64_t number, const void *bytes,
                                         size_t length, void *ticket)
{
    return -EOPNOTSUPP;
}

static int transport_stubs_no_large_receive(void *self, int pe, uint64_t number, void *bytes,
                                            size_t length, void *ticket)
{
    return -EOPNOTSUPP;
}

static void no_threads(void *self)
{
}

const struct sy_transport sy_transport_stubs = {
    .size = sizeof sy_transport_stubs,
    .open = transport_stubs_no_open,
    .close = transport_stubs_no_close,
    .address = no_address,
    .connect = transport_stubs_no_connect,
    .reach = no_reach,
    .mem_pointer = no_mem_pointer,
    .region_attach = transport_stubs_no_region_attach,
    .region_connect = no_region_connect,
    .region_detach = no_region_detach,
    .ctx_open = transport_stubs_no_ctx_open,
    .ctx_close = no_ctx_close,
    .put = no_transfer,
    .get = no_transfer,
    .put_strided = transport_stubs_no_strided,
    .get_strided = transport_stubs_no_strided,
    .amo = no_amo,
    .put_signal = transport_stubs_no_put_signal,
    .fence = no_fence,
    .quiet = no_quiet,
    .mark = transport_stubs_no_mark,
    .reached = no_reached,
    .progress = no_progress,
    .wait_fd = transport_stubs_no_wait_fd,
    .session = no_session,
    .arm = no_arm,
    .disarm = no_disarm,
    .outstanding = no_outstanding,
    .raise = transport_stubs_no_raise,
    .message_send = transport_stubs_no_message_send,
    .large_send = transport_stubs_no_large_send,
    .large_receive = transport_stubs_no_large_receive,
    .threads = no_threads,
};
