/* libev, hidden from other libraries. It also defines functions of libevent's names (event_add and
 * more), which would replace libevent's in every library that is loaded after it: Open MPI and PMIx
 * crash. So libsma.so is not linked with it but loads it where no other library finds its names.
 * Include this in place of <ev.h>. */
#ifndef SY_UTIL_LIBEV_H
#define SY_UTIL_LIBEV_H

#include <ev.h>
#include <switchyard/error.h>

#include "util/bits.h"

/* Functions of libev that the library uses. */
#define SY_LIBEV_FUNCTIONS(X)                                                                      \
    X(loop_new)                                                                                    \
    X(loop_destroy)                                                                                \
    X(run)                                                                                         \
    X(break)                                                                                       \
    X(now)                                                                                         \
    X(io_start)                                                                                    \
    X(io_stop)                                                                                     \
    X(timer_start)                                                                                 \
    X(async_start)                                                                                 \
    X(async_send)                                                                                  \
    X(set_syserr_cb)                                                                               \
    X(set_invoke_pending_cb)                                                                       \
    X(invoke_pending)                                                                              \
    X(set_allocator)

struct sy_libev {
#define SY_LIBEV_MEMBER(name) __typeof__(ev_##name) *name##_function;
    SY_LIBEV_FUNCTIONS(SY_LIBEV_MEMBER)
#undef SY_LIBEV_MEMBER
};

extern SY_HIDDEN struct sy_libev sy_libev;

/* Before the first of these functions is called; may be called again. */
int sy_libev_open(struct sy_error *err);

/* A loop whose descriptors for asynchronous watchers are open already: libev opens them late, where
 * it can only abort. NULL with err. die: called with the name of the failed call where libev cannot
 * go on; does not return. */
struct ev_loop *sy_libev_loop(void (*die)(const char *what), struct sy_error *err);

#ifndef SY_LIBEV_ITSELF
#define ev_loop_new              sy_libev.loop_new_function
#define ev_loop_destroy          sy_libev.loop_destroy_function
#define ev_run                   sy_libev.run_function
#define ev_break                 sy_libev.break_function
#define ev_now                   sy_libev.now_function
#define ev_io_start              sy_libev.io_start_function
#define ev_io_stop               sy_libev.io_stop_function
#define ev_timer_start           sy_libev.timer_start_function
#define ev_async_start           sy_libev.async_start_function
#define ev_async_send            sy_libev.async_send_function
#define ev_set_invoke_pending_cb sy_libev.set_invoke_pending_cb_function
#define ev_invoke_pending        sy_libev.invoke_pending_function
#endif

#endif
