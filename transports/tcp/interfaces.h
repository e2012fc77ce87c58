/* The machine's network interfaces, and which of their addresses a PE listens on. */
#ifndef TCP_INTERFACES_H
#define TCP_INTERFACES_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <switchyard/error.h>

/* An address with the length of its network's prefix in bits. */
struct tcp_ip {
    uint8_t family; /* 4, 6; 0: none */
    uint8_t prefix;
    uint8_t bytes[16]; /* an IPv4 address in the first 4, zeros behind it */
};

/* One address of an interface; an interface without any has one with family 0. */
struct tcp_interface {
    char name[IF_NAMESIZE];
    unsigned index; /* the scope of its link-local addresses */
    bool up, running, loopback;
    unsigned speed; /* Mbit/s; 0: not known */
    struct tcp_ip ip;
};

/* A listening socket. */
struct tcp_bound {
    int fd;
    uint16_t port;
    struct tcp_ip ip;
};

/* "10.1.2.3", "10.0.0.0/8", "fd00::/8": without a prefix it is the whole address. 0 or -EINVAL. */
int sy_tcp_ip_parse(const char *text, struct tcp_ip *ip);

/* Whether the first network->prefix bits of both are equal. */
bool sy_tcp_ip_within(const struct tcp_ip *ip, const struct tcp_ip *network);

bool sy_tcp_ip_equal(const struct tcp_ip *a, const struct tcp_ip *b);
bool sy_tcp_ip_loopback(const struct tcp_ip *ip);
bool sy_tcp_ip_link_local(const struct tcp_ip *ip);

#define TCP_IP_TEXT 80

/* Fills in the form for bind and connect: its length. */
socklen_t sy_tcp_ip_socket(const struct tcp_ip *ip, uint16_t port, unsigned scope,
                           struct sockaddr_storage *out);

/* "10.1.2.3:5000", "[fe80::1%eth0]:5000"; returns text. */
char *sy_tcp_socket_text(const struct sockaddr_storage *address, char text[TCP_IP_TEXT]);

/* All addresses of all interfaces, to be freed. 0 or -errno. */
int sy_tcp_interfaces_list(struct tcp_interface **all, size_t *count);

/* Those that the list (SHMEM_TCP_INTERFACES) asks for, in the order of preference; what "auto"
 * finds ends with an address of loopback, for PEs of the same machine. `chosen` has room for
 * `count`. family: enum tcp_family. -EINVAL: the list makes no sense, or fits nothing here;
 * -ENODEV: there is no address at all. */
int sy_tcp_interfaces_choose(const char *list, int family, const struct tcp_interface *all,
                             size_t count, const struct tcp_interface **chosen,
                             size_t *chosen_count, struct sy_error *err);

/* "5000:5100", or "" for any port: *first 0. -EINVAL and err otherwise. */
int sy_tcp_ports_parse(const char *range, unsigned *first, unsigned *last, struct sy_error *err);

/* Listens on the addresses, on one port where that can be had; addresses that cannot be listened on
 * are left out. Returns how many, > 0, or -errno. */
int sy_tcp_interfaces_listen(const struct tcp_interface *const *chosen, size_t count,
                             const char *range, size_t socket_buffer, struct tcp_bound *bound,
                             struct sy_error *err);

#endif
