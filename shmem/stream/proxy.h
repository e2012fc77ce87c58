/* The proxy thread: see stream.h. */
#ifndef SY_STREAM_PROXY_H
#define SY_STREAM_PROXY_H

#include "stream/stream.h"

/* Starts the proxy if it does not run: 0 or -errno. By one thread at a time. */
int sy_proxy_start(void);

/* Ends it and the workers; no stream has anything left to do. */
void sy_proxy_stop(void);

/* Starts a thread that works for streams, and takes no signals. 0 or -errno. */
int sy_proxy_thread(pthread_t *thread, void *(*run)(void *));

/* Puts a stream before the proxy; under the lock. */
void sy_proxy_inbox(struct sy_stream *stream);

#endif
