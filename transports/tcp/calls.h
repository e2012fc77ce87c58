/* The members of the plugin's table that move data; <switchyard/transport.h> says what each does.
 */
#ifndef TCP_CALLS_H
#define TCP_CALLS_H

#include <switchyard/transport.h>

struct tcp;
struct tcp_stream;

/* calls.c */
int sy_tcp_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_tcp_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_tcp_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);
int sy_tcp_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags);

int sy_tcp_raise(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, uint64_t offset,
                 uint64_t value);

/* large.c: those that do not fit into one record, or that are sent from where they are */
int sy_tcp_put_large(struct tcp *tcp, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                     unsigned flags);
int sy_tcp_get_large(struct tcp *tcp, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                     unsigned flags);

/* Orders the parts of large puts that went over further streams before what follows on stream 0. */
void sy_tcp_large_fence(struct tcp_stream *stream);

/* strided.c */
int sy_tcp_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags);
int sy_tcp_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags);

/* order.c */
int sy_tcp_ctx_open(void *self, long options, struct sy_transport_ctx **ctx, struct sy_error *err);
void sy_tcp_ctx_close(void *self, struct sy_transport_ctx *ctx);
int sy_tcp_fence(void *self, struct sy_transport_ctx *ctx);
int sy_tcp_quiet(void *self, struct sy_transport_ctx *ctx, int pe);
void sy_tcp_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations);

#endif
