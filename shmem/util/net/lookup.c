/* See lookup.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "util/error.h"
#include "util/net/interfaces.h"
#include "util/net/lookup.h"

/* Whether the name is "localhost", or below it, as RFC 6761 has it. */
static bool lookup_is_localhost(const char *name)
{
    size_t length = strlen(name), word = strlen("localhost");

    if (length && name[length - 1] == '.')
        length--;
    return length >= word && !strncasecmp(name + length - word, "localhost", word) &&
           (length == word || name[length - word - 1] == '.');
}

/* A name without a domain and one with any domain count as equal, two domains do not. */
static bool lookup_equal(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");

    if (!length || !strcasecmp(a, b))
        return length > 0;
    return length == strcspn(b, ".") && !strncasecmp(a, b, length) && (!a[length] || !b[length]);
}

/* Whether the name is this machine's own, with or without its domain. */
static bool lookup_is_own_name(const char *name)
{
    char mine[256];

    if (gethostname(mine, sizeof mine))
        return false;
    mine[sizeof mine - 1] = '\0';
    return lookup_equal(name, mine);
}

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

    if (lookup_is_localhost(name))
        return lookup_loopback(port, addresses, room);
    count = lookup_ask(name, port, addresses, room, &why);
    if (count)
        return count;
    if (lookup_is_own_name(name))
        return lookup_loopback(port, addresses, room);
    return sy_fail(err, EHOSTUNREACH, "the name %.255s cannot be looked up: %s", name,
                   why == EAI_SYSTEM ? strerror(errno) : gai_strerror(why));
}
