/* What a transport plugin may get wrong, in words. The suite of transports (tests/transport) makes
 * the same checks, so this needs nothing of the core but the stubs. */
#ifndef SY_CORE_ROUTE_CHECK_H
#define SY_CORE_ROUTE_CHECK_H

#include <switchyard/transport.h>

/* -EINVAL: the plugin's table, over the stubs, is not as it has to be. */
int sy_route_check_table(const struct sy_transport *table, struct sy_error *err);

/* Passes rc on, or -EPROTO where it is no answer; gives a failure that a plugin has no words for
 * its step's name. */
int sy_route_check_step(const char *step, int rc, struct sy_error *err);

/* What reach(pe) of this table has answered, without bits that are not known; 0, with words, where
 * the answer is of no use. */
unsigned sy_route_check_reach(const struct sy_transport *table, int pe, unsigned bits,
                              struct sy_error *err);

/* -EPROTO: wait_fd() of this table has not answered a descriptor. */
int sy_route_check_fd(const struct sy_transport *table, int fd, struct sy_error *err);

#endif
