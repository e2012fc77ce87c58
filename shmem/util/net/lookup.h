/* Addresses of hosts by name, as users and launchers write them: one look-up for all plugins. */
#ifndef SY_UTIL_NET_LOOKUP_H
#define SY_UTIL_NET_LOOKUP_H

#include <stdint.h>
#include <sys/socket.h>
#include <switchyard/error.h>

/* Fills in at most `room` addresses of `name`, a name or a number, with this port: how many, > 0;
 * or -EHOSTUNREACH and err. "localhost" is not looked up. Where the resolver does not know this
 * machine's own name (a container without /etc/hosts), that is the loopback interface too. */
int sy_lookup(const char *name, uint16_t port, struct sockaddr_storage *addresses, int room,
              struct sy_error *err);

#endif
