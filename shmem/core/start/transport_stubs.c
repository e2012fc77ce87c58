/* A complete table: data calls answer -EOPNOTSUPP, the rest does nothing, so that the core never
 * tests a member. See transport.h for the contracts. */
#include <errno.h>

#include "core/start/transport_stubs.h"
#include "util/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

// clang-format off
/* Each stub: what it returns, the member, the answer, the parameters. Without arm, wait_fd() need
 * not tell of answers. */
#define STUBS(X) \
    X(int, open, sy_fail(err, EOPNOTSUPP, "the plugin has no open"), const struct sy_host *host, \
      const struct sy_instance *instance, void **self, struct sy_error *err) \
    X(void, close, , void *self) \
    X(size_t, address, 0, void *self, void *buffer, size_t room) \
    X(int, connect, 0, void *self, const void *addresses, size_t stride, double seconds, \
      struct sy_error *err) \
    X(unsigned, reach, 0, void *self, int pe) \
    X(void *, mem_pointer, NULL, void *self, int pe, unsigned window) \
    X(int, region_attach, 0, void *self, unsigned index, const struct sy_region *region, void *key, \
      size_t room, struct sy_error *err) \
    X(int, region_connect, 0, void *self, unsigned index, const void *keys, size_t stride, \
      struct sy_error *err) \
    X(void, region_detach, , void *self, unsigned index) \
    X(int, ctx_open, (*ctx = NULL, 0), void *self, long options, struct sy_transport_ctx **ctx, \
      struct sy_error *err) \
    X(void, ctx_close, , void *self, struct sy_transport_ctx *ctx) \
    X(int, put, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t, \
      unsigned flags) \
    X(int, get, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t, \
      unsigned flags) \
    X(int, put_strided, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, \
      const struct sy_strided *t, unsigned flags) \
    X(int, get_strided, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, \
      const struct sy_strided *t, unsigned flags) \
    X(int, amo, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, \
      unsigned flags) \
    X(int, put_signal, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, \
      const struct sy_transfer *t, const struct sy_amo *signal, unsigned flags) \
    X(int, fence, 0, void *self, struct sy_transport_ctx *ctx) \
    X(int, quiet, 0, void *self, struct sy_transport_ctx *ctx, int pe) \
    X(int, flush_local, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, int pe) \
    X(int, mark, (*ticket = NULL, -EOPNOTSUPP), void *self, struct sy_transport_ctx *ctx, int pe, \
      struct sy_transport_ticket **ticket) \
    X(int, reached, 0, void *self, struct sy_transport_ticket *ticket) \
    X(int, progress, 0, void *self, unsigned flags) \
    X(int, wait_fd, -1, void *self) \
    X(void, session, , void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations) \
    X(int, arm, -EAGAIN, void *self) \
    X(void, disarm, , void *self) \
    X(int, outstanding, 0, void *self, struct sy_outstanding *list, int room) \
    X(int, raise, -EOPNOTSUPP, void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, \
      uint64_t offset, uint64_t value) \
    X(int, message_send, -EOPNOTSUPP, void *self, int pe, const void *bytes, size_t length) \
    X(int, large_send, -EOPNOTSUPP, void *self, int pe, uint64_t number, const void *bytes, \
      size_t length, void *ticket) \
    X(int, large_receive, -EOPNOTSUPP, void *self, int pe, uint64_t number, void *bytes, \
      size_t length, void *ticket) \
    X(void, threads, , void *self)

#define DEFINE(TYPE, MEMBER, ANSWER, ...) \
    static TYPE transport_stubs_no_##MEMBER(__VA_ARGS__) { return ANSWER; }
STUBS(DEFINE)
#undef DEFINE

#define ROW(TYPE, MEMBER, ANSWER, ...) .MEMBER = transport_stubs_no_##MEMBER,
const struct sy_transport sy_transport_stubs = {.size = sizeof sy_transport_stubs, STUBS(ROW)};
#undef ROW
// clang-format on
