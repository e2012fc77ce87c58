/* The machine's network interfaces, and which of their addresses a PE listens on. Transports and
 * bootstraps share it; it keeps no state, and the caller gives the name of the user's setting. */
#ifndef SY_UTIL_NET_INTERFACES_H
#define SY_UTIL_NET_INTERFACES_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <switchyard/error.h>

/* Which addresses are wanted. */
enum sy_ip_family { SY_IP_ANY, SY_IP_FOUR, SY_IP_SIX };

/* An address with the length of its network's prefix in bits. */
struct sy_ip {
    uint8_t family; /* 4, 6; 0: none */
    uint8_t prefix;
    uint8_t bytes[16]; /* an IPv4 address in the first 4, zeros behind it */
};

/* Bytes of an address that has a family. */
static inline unsigned sy_ip_length(const struct sy_ip *ip)
{
    return ip->family == 4 ? 4 : 16;
}

/* One address of an interface; an interface without any has one with family 0. */
struct sy_interface {
    char name[IF_NAMESIZE];
    unsigned index; /* the scope of its link-local addresses */
    bool up, running, loopback;
    unsigned speed; /* Mbit/s; 0: not known */
    struct sy_ip ip;
};

/* A listening socket. */
struct sy_bound {
    int fd;
    uint16_t port;
    struct sy_ip ip;
};

/* "10.1.2.3", "10.0.0.0/8", "fd00::/8": without a prefix it is the whole address. 0 or -EINVAL. */
int sy_ip_parse(const char *text, struct sy_ip *ip);

/* Whether the first network->prefix bits of both are equal. */
bool sy_ip_within(const struct sy_ip *ip, const struct sy_ip *network);

bool sy_ip_equal(const struct sy_ip *a, const struct sy_ip *b);
bool sy_ip_loopback(const struct sy_ip *ip);
bool sy_ip_link_local(const struct sy_ip *ip);

#define SY_IP_TEXT 80

/* Fills in the form for bind and connect: its length. */
socklen_t sy_ip_socket(const struct sy_ip *ip, uint16_t port, unsigned scope,
                       struct sockaddr_storage *out);

/* The length of a struct sockaddr_in or sockaddr_in6, and its port, in the network's order, which
 * is at the same place in both. */
static inline socklen_t sy_socket_length(const void *address)
{
    return ((const struct sockaddr *)address)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                     : sizeof(struct sockaddr_in);
}

static inline in_port_t *sy_socket_port(void *address)
{
    return &((struct sockaddr_in *)address)->sin_port;
}

/* The address in one of the two; family 0: it is another, or NULL. */
struct sy_ip sy_socket_ip(const void *address);

/* A number for where a connection comes from: its IPv4 address, or the network of an IPv6 address,
 * as a host may have many addresses there. Two sources with one number do no harm. */
uint32_t sy_socket_source(const struct sockaddr_storage *address);

/* Binds a socket to one of the two, and writes the port there that it has got. 0 or -errno. */
int sy_socket_bind(int fd, void *address);

/* The port that a socket is bound to; 0: none is known. */
uint16_t sy_socket_bound_port(int fd);

/* Whether it is an address of this machine now. */
bool sy_ip_is_local(const struct sy_ip *ip);

/* Whether it is an IPv4 address of a network of this machine, at which no machine answers (ARP). */
bool sy_ip_is_absent(const struct sy_ip *ip);

/* "10.1.2.3:5000", "[fe80::1%eth0]:5000"; returns text. */
char *sy_socket_text(const struct sockaddr_storage *address, char text[SY_IP_TEXT]);

/* "HOST:PORT", "[ADDRESS]:PORT" or, with a default port above 0, "HOST". room: of host. -EINVAL. */
int sy_place_split(const char *text, char *host, size_t room, uint16_t *port);

/* All addresses of all interfaces, to be freed. 0 or -errno. */
int sy_interfaces_list(struct sy_interface **all, size_t *count);

/* What the user wrote is `list`, in the setting called `setting`: names, patterns of names and
 * networks, those with "!" before them being left out: "eth0,ib*,10.0.0.0/8,!docker*"; "auto" or a
 * list that only leaves out stands for what is there. Chooses in the order of preference; what
 * "auto" finds ends with an address of loopback, for PEs of the same machine. `chosen` is to be
 * freed, after an error too. family: enum sy_ip_family. -EINVAL: the list makes no sense, or fits
 * nothing here; -ENODEV: there is no address at all; -ENOMEM. */
int sy_interfaces_choose(const char *setting, const char *list, int family,
                         const struct sy_interface *all, size_t count,
                         const struct sy_interface ***chosen, size_t *chosen_count,
                         struct sy_error *err);

/* "5000:5100", or "" for any port: *first 0. -EINVAL and err otherwise. */
int sy_ports_parse(const char *setting, const char *range, unsigned *first, unsigned *last,
                   struct sy_error *err);

/* Listens on the addresses, on one port where that can be had; addresses that cannot be listened on
 * are left out. `setting` names the range. Returns how many, > 0, or -errno. */
int sy_interfaces_listen(const struct sy_interface *const *chosen, size_t count,
                         const char *setting, const char *range, size_t socket_buffer,
                         struct sy_bound *bound, struct sy_error *err);

#endif
