#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"
#include "util/net/interfaces.h"
#include "util/net/lookup.h"
#include "util/net/names.h"

/* IPv4 comes first: a PE that listens on loopback does it there, unless a machine has IPv6 only. */
static int lookup_loopback(uint16_t port, struct sockaddr_storage *addresses, int room)
{
    static const struct sy_ip loopback[] = {
        {.family = 4, .prefix = 8, .bytes = {127, 0, 0, 1}},
        {.family = 6, .prefix = 128, .bytes = {[15] = 1}},
    };
    int count = 0;

    while (count < 2 && count < room) {
        sy_ip_socket(&loopback[count], port, 0, &addresses[count]);
        count++;
    }
    return count;
}

/* Asks getaddrinfo: how many addresses there are; 0: none, and *why is its error. */
static int lookup_ask(const char *name, uint16_t port, struct sockaddr_storage *addresses, int room,
                      int *why)
{
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    char service[8];
    int count = 0;

    snprintf(service, sizeof service, "%u", port);
    *why = getaddrinfo(name, service, &wanted, &found);
    if (*why)
        return 0;
    memset(addresses, 0, (size_t)room * sizeof *addresses);
    for (struct addrinfo *at = found; at && count < room; at = at->ai_next)
        if (at->ai_addrlen <= sizeof addresses[0])
            memcpy(&addresses[count++], at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    *why = EAI_NONAME;
    return count;
}

int sy_lookup(const char *name, uint16_t port, struct sockaddr_storage *addresses, int room,
              struct sy_error *err)
{
    int why, count;

    if (sy_name_is_localhost(name))
        return lookup_loopback(port, addresses, room);
    count = lookup_ask(name, port, addresses, room, &why);
    if (count)
        return count;
    if (sy_name_is_own(name))
        return lookup_loopback(port, addresses, room);
    return sy_fail(err, EHOSTUNREACH, "the name %.255s cannot be looked up: %s", name,
                   why == EAI_SYSTEM ? strerror(errno) : gai_strerror(why));
}
