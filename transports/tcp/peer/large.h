/* Large transfers: members of struct sy_engine_ops. */
#ifndef TCP_LARGE_H
#define TCP_LARGE_H

#include "engine/engine.h"

#define TCP_PART (128u << 10) /* a connection's turn, where a transfer is spread over several */

int sy_tcp_put_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags);
int sy_tcp_get_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags);
void sy_tcp_keep_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                       const struct sy_transfer *t);

/* Orders the parts of large puts that went over further streams before what follows on stream 0. */
void sy_tcp_large_fence(struct sy_engine *engine);

#endif
