/* Addresses of hosts: which ones others may try, in which order, and what users write. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bootstrap/tree/state.h"
#include "util/bits.h"

/* ---- one address ---- */

socklen_t sy_tree_address_length(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

void sy_tree_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

const char *sy_tree_address_text(const struct sockaddr_storage *address, char *text, size_t room)
{
    char number[INET6_ADDRSTRLEN] = "?";
    bool six = address->ss_family == AF_INET6;
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *a4 = (const struct sockaddr_in *)address;

    inet_ntop(address->ss_family, six ? (const void *)&a6->sin6_addr : &a4->sin_addr, number,
              sizeof number);
    snprintf(text, room, six ? "[%s]:%u" : "%s:%u", number,
             ntohs(six ? a6->sin6_port : a4->sin_port));
    return text;
}

/* ---- this host ---- */

/* Loopback reaches what has the same kernel and network namespace. */
uint64_t sy_tree_host_identity(void)
{
    char boot[64] = "";
    struct stat ns = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file) {
        if (!fgets(boot, sizeof boot, file))
            boot[0] = '\0';
        fclose(file);
    }
    if (!boot[0] || stat("/proc/self/ns/net", &ns))
        return 0;
    return sy_hash(&ns.st_ino, sizeof ns.st_ino, sy_hash(boot, strlen(boot), 0));
}

/* ---- the user's choice of networks ---- */

static bool same_prefix(const void *a, const void *b, unsigned bits)
{
    const unsigned char *x = a, *y = b;

    if (memcmp(x, y, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || (x[bits / 8] ^ y[bits / 8]) >> (8 - bits % 8) == 0;
}

static bool in_network(const struct sockaddr *address, const char *network)
{
    char number[INET6_ADDRSTRLEN];
    unsigned char prefix[16];
    size_t length = strcspn(network, "/");
    bool six = address->sa_family == AF_INET6;
    unsigned most = six ? 128 : 32;
    unsigned long bits = network[length] ? strtoul(network + length + 1, NULL, 10) : most;

    if (length >= sizeof number || bits > most)
        return false;
    memcpy(number, network, length);
    number[length] = '\0';
    if (inet_pton(address->sa_family, number, prefix) != 1)
        return false;
    return same_prefix(six ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                           : &((const struct sockaddr_in *)address)->sin_addr,
                       prefix, (unsigned)bits);
}

/* The place of an address in the user's list, or -1. */
static int listed(const char *networks, const struct ifaddrs *item)
{
    char word[128];

    for (int rank = 0; *networks; rank++) {
        size_t length = strcspn(networks, ",");
        if (length < sizeof word) {
            memcpy(word, networks, length);
            word[length] = '\0';
            if (!strcmp(word, item->ifa_name) || in_network(item->ifa_addr, word))
                return rank;
        }
        networks += length + (networks[length] == ',');
    }
    return -1;
}

/* Networks that end at this host, or lead away from the cluster. They are tried last. */
static bool looks_private(const char *name)
{
    static const char *const begins[] = {"docker", "br-", "virbr", "veth",      "cni", "flannel",
                                         "cali",   "tun", "tap",   "tailscale", "wg",  "vmnet"};

    for (size_t i = 0; i < SY_COUNT(begins); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    return false;
}

enum { UNUSABLE = -1, LOOPBACK = 1000, PRIVATE = 100 };

/* Lower is better. IPv4 comes first because more networks let it pass. */
static int rank_of(const struct ifaddrs *item, const char *networks)
{
    int family = item->ifa_addr ? item->ifa_addr->sa_family : AF_UNSPEC;
    bool six = family == AF_INET6;

    if ((family != AF_INET && !six) || !(item->ifa_flags & IFF_UP))
        return UNUSABLE;
    /* Link-local addresses mean something only together with an interface of the other host. */
    if (six && IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)item->ifa_addr)->sin6_addr))
        return UNUSABLE;
    if (*networks)
        return listed(networks, item);
    if (item->ifa_flags & IFF_LOOPBACK)
        return LOOPBACK;
    return (looks_private(item->ifa_name) ? PRIVATE : 0) + six;
}

int sy_tree_addresses_local(const char *networks, uint16_t port, struct tree_addresses *out,
                            struct sy_error *err)
{
    int rank[TREE_ADDRESSES];
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return sy_tree.host->fail(err, errno, "cannot list the network interfaces: %s",
                                  strerror(errno));
    memset(out, 0, sizeof *out);
    out->host = sy_tree_host_identity();
    for (struct ifaddrs *item = all; item; item = item->ifa_next) {
        int r = rank_of(item, networks), at;
        if (r < 0)
            continue;
        for (at = 0; at < out->count && rank[at] <= r; at++)
            ;
        if (at == TREE_ADDRESSES)
            continue;
        int moved = (out->count < TREE_ADDRESSES ? out->count : TREE_ADDRESSES - 1) - at;
        memmove(&rank[at + 1], &rank[at], (size_t)moved * sizeof rank[0]);
        memmove(&out->entry[at + 1], &out->entry[at], (size_t)moved * sizeof out->entry[0]);
        rank[at] = r;
        memset(&out->entry[at], 0, sizeof out->entry[at]);
        memcpy(&out->entry[at], item->ifa_addr,
               item->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                     : sizeof(struct sockaddr_in));
        sy_tree_address_set_port(&out->entry[at], port);
        out->count += out->count < TREE_ADDRESSES;
    }
    freeifaddrs(all);
    if (!out->count)
        return sy_tree.host->fail(err, EADDRNOTAVAIL,
                                  *networks
                                      ? "SHMEM_CONTROL_INTERFACES=%s fits no address of this host"
                                      : "this host has no network address, not even loopback%s",
                                  networks);
    return 0;
}

/* ---- what users write ---- */

int sy_tree_place_split(const char *text, char *host, size_t room, uint16_t *port)
{
    const char *colon = strrchr(text, ':'), *begin = text;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char *end;

    if (*text == '[') {
        const char *close = strchr(text, ']');
        if (!close)
            return -EINVAL;
        begin++;
        length = (size_t)(close - begin);
        colon = close[1] == ':' ? close + 1 : NULL;
        if (close[1] && !colon)
            return -EINVAL;
    } else if (colon && memchr(text, ':', length)) { /* an IPv6 address without a port */
        colon = NULL;
        length = strlen(text);
    }
    if (!length || length >= room)
        return -EINVAL;
    if (colon) {
        unsigned long number = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end || number < 1 || number > 65535)
            return -EINVAL;
        *port = (uint16_t)number;
    } else if (!*port) {
        return -EINVAL;
    }
    memcpy(host, begin, length);
    host[length] = '\0';
    return 0;
}

int sy_tree_place_resolve(const struct sy_host *host, const char *name, uint16_t port,
                          struct tree_addresses *addresses, struct sy_error *err)
{
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    char service[8];

    snprintf(service, sizeof service, "%u", port);
    int rc = getaddrinfo(name, service, &wanted, &found);
    if (rc != 0)
        return host->fail(err, EHOSTUNREACH, "the name %s cannot be looked up: %s", name,
                          rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    memset(addresses, 0, sizeof *addresses);
    for (struct addrinfo *at = found; at && addresses->count < TREE_ADDRESSES; at = at->ai_next)
        if (at->ai_addrlen <= sizeof addresses->entry[0])
            memcpy(&addresses->entry[addresses->count++], at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}
