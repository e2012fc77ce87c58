/* See interfaces.h. What is chosen depends on the list of interfaces only, so that it can be tested
 * without a network. */
#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/bits.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"
#include "util/net/interfaces.h"
#include "util/net/ports.h"
#include "util/parse.h"

#define BACKLOG 4096 /* a job's PEs may all connect at once; the kernel lowers it to somaxconn */

/* ---- addresses ---- */

int sy_ip_parse(const char *text, struct sy_ip *ip)
{
    char address[INET6_ADDRSTRLEN + 1];
    const char *slash = strchrnul(text, '/');
    size_t length = (size_t)(slash - text);
    long prefix;
    char *end;

    if (length >= sizeof address)
        return -EINVAL;
    memcpy(address, text, length);
    address[length] = 0;
    *ip = (struct sy_ip){0};
    if (inet_pton(AF_INET, address, ip->bytes) == 1)
        ip->family = 4;
    else if (inet_pton(AF_INET6, address, ip->bytes) == 1)
        ip->family = 6;
    else
        return -EINVAL;
    ip->prefix = ip->family == 4 ? 32 : 128;
    if (!*slash)
        return 0;
    prefix = strtol(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end || prefix > ip->prefix)
        return -EINVAL;
    ip->prefix = (uint8_t)prefix;
    return 0;
}

bool sy_ip_within(const struct sy_ip *ip, const struct sy_ip *network)
{
    unsigned whole = network->prefix / 8, rest = network->prefix % 8;

    if (ip->family != network->family || memcmp(ip->bytes, network->bytes, whole) != 0)
        return false;
    return !rest || (ip->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

bool sy_ip_equal(const struct sy_ip *a, const struct sy_ip *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool sy_ip_loopback(const struct sy_ip *ip)
{
    static const struct sy_ip six = {.family = 6, .prefix = 128, .bytes = {[15] = 1}};

    return ip->family == 4 ? ip->bytes[0] == 127 : sy_ip_equal(ip, &six);
}

bool sy_ip_link_local(const struct sy_ip *ip)
{
    return ip->family == 4 ? ip->bytes[0] == 169 && ip->bytes[1] == 254
                           : ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

socklen_t sy_ip_socket(const struct sy_ip *ip, uint16_t port, unsigned scope,
                       struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;

    memset(out, 0, sizeof *out);
    if (ip->family == 4) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        memcpy(&four->sin_addr, ip->bytes, 4);
        return sizeof *four;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    six->sin6_scope_id = sy_ip_link_local(ip) ? scope : 0;
    memcpy(&six->sin6_addr, ip->bytes, 16);
    return sizeof *six;
}

struct sy_ip sy_socket_ip(const void *address)
{
    sa_family_t family = address ? ((const struct sockaddr *)address)->sa_family : AF_UNSPEC;
    struct sy_ip ip = {0};

    if (family == AF_INET) {
        ip = (struct sy_ip){.family = 4, .prefix = 32};
        memcpy(ip.bytes, &((const struct sockaddr_in *)address)->sin_addr, 4);
    } else if (family == AF_INET6) {
        ip = (struct sy_ip){.family = 6, .prefix = 128};
        memcpy(ip.bytes, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
    }
    return ip;
}

uint32_t sy_socket_source(const struct sockaddr_storage *address)
{
    struct sy_ip ip = sy_socket_ip(address);
    uint64_t hash = sy_hash(ip.bytes, ip.family == 4 ? 4 : 8, ip.family);

    return (uint32_t)(hash ^ hash >> 32);
}

int sy_socket_bind(int fd, void *address)
{
    socklen_t length = sy_socket_length(address);

    return bind(fd, address, length) || getsockname(fd, address, &length) ? -errno : 0;
}

uint16_t sy_socket_bound_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;

    if (getsockname(fd, (struct sockaddr *)&address, &length))
        return 0;
    return ntohs(*sy_socket_port(&address));
}

/* Binding a socket tells nothing where net.ipv4.ip_nonlocal_bind is set. */
bool sy_ip_is_local(const struct sy_ip *ip)
{
    struct sy_interface *all = NULL;
    size_t count = 0;
    bool local = sy_ip_loopback(ip);

    if (!local && !sy_interfaces_list(&all, &count))
        for (size_t i = 0; i < count && !local; i++)
            local = sy_ip_equal(&all[i].ip, ip);
    free(all);
    return local;
}

/* A neighbour whose hardware address is asked for, or has been in vain, has no flags. */
bool sy_ip_is_absent(const struct sy_ip *ip)
{
    FILE *table = ip->family == 4 ? fopen("/proc/self/net/arp", "re") : NULL;
    char text[INET_ADDRSTRLEN], address[INET_ADDRSTRLEN], line[256];
    bool listed = false;
    unsigned flags, all = 0;

    if (!table)
        return false;
    inet_ntop(AF_INET, ip->bytes, text, sizeof text);
    while (fgets(line, sizeof line, table)) {
        if (sscanf(line, "%15s %*x %x", address, &flags) != 2 || strcmp(address, text) != 0)
            continue;
        listed = true;
        all |= flags;
    }
    fclose(table);
    return listed && !all;
}

char *sy_socket_text(const struct sockaddr_storage *address, char text[SY_IP_TEXT])
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    char ip[INET6_ADDRSTRLEN] = "", name[IF_NAMESIZE] = "";

    if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, ip, sizeof ip);
        snprintf(text, SY_IP_TEXT, "%s:%u", ip, ntohs(four->sin_port));
        return text;
    }
    inet_ntop(AF_INET6, &six->sin6_addr, ip, sizeof ip);
    if (six->sin6_scope_id && !if_indextoname(six->sin6_scope_id, name))
        snprintf(name, sizeof name, "%u", six->sin6_scope_id);
    snprintf(text, SY_IP_TEXT, "[%s%s%s]:%u", ip, *name ? "%" : "", name, ntohs(six->sin6_port));
    return text;
}

int sy_place_split(const char *text, char *host, size_t room, uint16_t *port)
{
    const char *colon = strrchr(text, ':'), *begin = text;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);

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
        long number;
        if (sy_parse_int(colon + 1, 1, 65535, &number))
            return -EINVAL;
        *port = (uint16_t)number;
    } else if (!*port) {
        return -EINVAL;
    }
    memcpy(host, begin, length);
    host[length] = '\0';
    return 0;
}

/* ---- what there is ---- */

/* The speed that the driver tells, so that a host's fast network is tried before its slow one. */
static unsigned interfaces_speed_of(const char *name)
{
    char path[64 + IF_NAMESIZE];

    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    long speed = sy_file_number(path, 0);
    return speed < 0 || speed > 10000000 ? 0 : (unsigned)speed;
}

static uint8_t interfaces_prefix_length(const unsigned char *mask, size_t bytes)
{
    uint8_t length = 0;

    for (size_t i = 0; i < bytes; i++)
        length = (uint8_t)(length + __builtin_popcount(mask[i]));
    return length;
}

/* The last of `count` entries that is of the interface; NULL: none. */
static const struct sy_interface *interfaces_last_of(const struct sy_interface *all, size_t count,
                                                     const char *name)
{
    while (count--)
        if (!strcmp(all[count].name, name))
            return &all[count];
    return NULL;
}

/* The system lists links first, each with its index. */
static unsigned interfaces_index_of(const struct ifaddrs *from, const struct sy_interface *before)
{
    if (from->ifa_addr && from->ifa_addr->sa_family == AF_PACKET)
        return (unsigned)((const struct sockaddr_ll *)from->ifa_addr)->sll_ifindex;
    return before ? before->index : if_nametoindex(from->ifa_name);
}

static void interfaces_fill(struct sy_interface *to, const struct ifaddrs *from,
                            const struct sy_interface *before)
{
    const struct sockaddr *mask = from->ifa_netmask;

    *to = (struct sy_interface){.index = interfaces_index_of(from, before),
                                .up = from->ifa_flags & IFF_UP,
                                .running = from->ifa_flags & IFF_RUNNING,
                                .loopback = from->ifa_flags & IFF_LOOPBACK};
    snprintf(to->name, sizeof to->name, "%s", from->ifa_name);
    to->ip = sy_socket_ip(from->ifa_addr);
    if (to->ip.family && mask) {
        struct sy_ip bits = sy_socket_ip(mask);
        to->ip.prefix = interfaces_prefix_length(bits.bytes, sy_ip_length(&to->ip));
    }
    if (to->ip.family && !to->loopback)
        to->speed = before && before->ip.family ? before->speed : interfaces_speed_of(to->name);
}

int sy_interfaces_list(struct sy_interface **all, size_t *count)
{
    struct ifaddrs *list;
    size_t n = 0;

    if (getifaddrs(&list))
        return -errno;
    for (struct ifaddrs *each = list; each; each = each->ifa_next)
        n++;
    *count = 0;
    *all = calloc(n + 1, sizeof **all);
    for (struct ifaddrs *each = list; *all && each; each = each->ifa_next, (*count)++)
        interfaces_fill(&(*all)[*count], each, interfaces_last_of(*all, *count, each->ifa_name));
    freeifaddrs(list);
    return *all ? 0 : -ENOMEM;
}

/* The first address of the interface that this one belongs to, or what stands for it. */
static const struct sy_interface *interfaces_first_of(const struct sy_interface *all, size_t count,
                                                      const char *name)
{
    const struct sy_interface *first = NULL;

    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].name, name) && (!first || (!first->ip.family && all[i].ip.family)))
            first = &all[i];
    return first;
}

/* "lo (127.0.0.1), eth0 (10.0.0.5, down), ..." */
static void interfaces_describe(const struct sy_interface *all, size_t count, char *text,
                                size_t room)
{
    size_t used = 0;

    snprintf(text, room, "none");
    for (size_t i = 0; i < count && used < room; i++) {
        char ip[INET6_ADDRSTRLEN] = "no address";
        const char *state = !all[i].up ? ", down" : !all[i].running ? ", no carrier" : "";

        if (interfaces_first_of(all, count, all[i].name) != &all[i])
            continue;
        if (all[i].ip.family)
            inet_ntop(all[i].ip.family == 4 ? AF_INET : AF_INET6, all[i].ip.bytes, ip, sizeof ip);
        used += (size_t)snprintf(text + used, room - used, "%s%s (%s%s)", used ? ", " : "",
                                 all[i].name, ip, state);
    }
}

/* ---- what is wanted ---- */

/* Interfaces that lead to containers, virtual machines or tunnels, and not to another host of the
 * job. They are taken where there is nothing else. */
static const char *const virtual_kinds[] = {
    "docker*", "br-*",   "virbr*",  "veth*",      "cni*",     "flannel*", "cali*",
    "cilium*", "lxc*",   "lxd*",    "podman*",    "nerdctl*", "kube*",    "nodelocal*",
    "weave*",  "vxlan*", "geneve*", "vnet*",      "vmnet*",   "vboxnet*", "tun*",
    "tap*",    "utun*",  "wg*",     "tailscale*", "zt*",      "ppp*",     "gre*",
    "ipip*",   "sit*",   "ip6*",    "ifb*",       "dummy*",
};

static bool interfaces_is_virtual(const char *name)
{
    for (size_t i = 0; i < SY_COUNT(virtual_kinds); i++)
        if (fnmatch(virtual_kinds[i], name, 0) == 0)
            return true;
    return false;
}

enum kind { REAL, VIRTUAL, LOOPBACK };

static enum kind interfaces_kind_of(const struct sy_interface *interface)
{
    if (interface->loopback)
        return LOOPBACK;
    return interfaces_is_virtual(interface->name) ? VIRTUAL : REAL;
}

/* An element of the list: a name, a pattern of names, or a network. */
struct element {
    char text[64];
    bool exclude, automatic;
    struct sy_ip network; /* family 0: a name */
};

struct choice {
    const char *list;
    int family;
    const struct sy_interface *all;
    size_t count;
    const struct sy_interface **chosen;
    size_t chosen_count;
};

/* Takes the next element: 1, 0 at the end, -EINVAL. */
static int interfaces_next_element(const char **list, struct element *element)
{
    *list += strspn(*list, ", \t");
    if (!**list)
        return 0;
    *element = (struct element){.exclude = **list == '!'};
    *list += element->exclude + strspn(*list + element->exclude, " \t");
    size_t length = strcspn(*list, ", \t");
    snprintf(element->text, sizeof element->text, "%.*s", (int)(length < 64 ? length : 63), *list);
    *list += length;
    if (!length || length >= sizeof element->text)
        return -EINVAL;
    element->automatic = !strcmp(element->text, "auto");
    if (element->automatic)
        return element->exclude ? -EINVAL : 1;
    /* No interface has a slash in its name. */
    return !sy_ip_parse(element->text, &element->network) || !strchr(element->text, '/') ? 1
                                                                                         : -EINVAL;
}

static bool interfaces_matches(const struct element *element, const struct sy_interface *interface)
{
    if (element->network.family)
        return sy_ip_within(&interface->ip, &element->network);
    return fnmatch(element->text, interface->name, 0) == 0;
}

static bool interfaces_usable(const struct choice *choice, const struct sy_interface *interface)
{
    const char *list = choice->list;
    struct element element;

    if (!interface->up || !interface->running || !interface->ip.family ||
        (choice->family == SY_IP_FOUR && interface->ip.family != 4) ||
        (choice->family == SY_IP_SIX && interface->ip.family != 6))
        return false;
    while (interfaces_next_element(&list, &element) == 1)
        if (element.exclude && interfaces_matches(&element, interface))
            return false;
    return true;
}

/* A link-local address is worth something only on an interface that has no better one. */
static bool interfaces_outdone(const struct choice *choice, const struct sy_interface *interface)
{
    if (!sy_ip_link_local(&interface->ip))
        return false;
    for (size_t i = 0; i < choice->count; i++)
        if (!strcmp(choice->all[i].name, interface->name) &&
            interfaces_usable(choice, &choice->all[i]) && !sy_ip_link_local(&choice->all[i].ip))
            return true;
    return false;
}

static void interfaces_choose(struct choice *choice, const struct sy_interface *interface)
{
    for (size_t i = 0; i < choice->chosen_count; i++)
        if (choice->chosen[i] == interface)
            return;
    choice->chosen[choice->chosen_count++] = interface;
}

/* Chooses all interfaces of a kind, faster ones first. */
static bool interfaces_choose_kind(struct choice *choice, enum kind kind)
{
    size_t first = choice->chosen_count;

    for (size_t i = 0; i < choice->count; i++) {
        const struct sy_interface *each = &choice->all[i];
        if (interfaces_usable(choice, each) && interfaces_kind_of(each) == kind &&
            !interfaces_outdone(choice, each))
            interfaces_choose(choice, each);
    }
    for (size_t i = first + 1; i < choice->chosen_count; i++)
        for (size_t k = i; k > first && choice->chosen[k]->speed > choice->chosen[k - 1]->speed;
             k--) {
            const struct sy_interface *slower = choice->chosen[k - 1];
            choice->chosen[k - 1] = choice->chosen[k];
            choice->chosen[k] = slower;
        }
    return choice->chosen_count > first;
}

static void interfaces_choose_automatically(struct choice *choice)
{
    if (!interfaces_choose_kind(choice, REAL))
        interfaces_choose_kind(choice, VIRTUAL);
    for (size_t i = 0; i < choice->count; i++)
        if (choice->all[i].loopback && interfaces_usable(choice, &choice->all[i]) &&
            sy_ip_loopback(&choice->all[i].ip)) {
            interfaces_choose(choice, &choice->all[i]);
            return;
        }
}

/* Checks the list, and tells whether it only excludes. */
static int interfaces_check_list(const char *setting, const char *list, bool *excludes_only,
                                 struct sy_error *err)
{
    struct element element;
    int rc;

    *excludes_only = true;
    while ((rc = interfaces_next_element(&list, &element)) == 1)
        *excludes_only &= element.exclude;
    if (rc)
        return sy_fail(err, EINVAL,
                       "%s: '%s%s' is neither an interface's name nor a "
                       "network; write for example \"eth0,ib*,10.0.0.0/8,!docker*\"",
                       setting, element.exclude ? "!" : "", element.text);
    return 0;
}

int sy_interfaces_choose(const char *setting, const char *list, int family,
                         const struct sy_interface *all, size_t count,
                         const struct sy_interface ***chosen, size_t *chosen_count,
                         struct sy_error *err)
{
    struct choice choice = {list, family, all, count, calloc(count + 1, sizeof **chosen), 0};
    struct element element;
    bool automatic;
    char there[256];
    int rc = interfaces_check_list(setting, list, &automatic, err);

    *chosen_count = 0;
    *chosen = choice.chosen;
    if (rc || !choice.chosen)
        return rc ? rc : sy_fail(err, ENOMEM, "no memory to choose network interfaces in");
    if (automatic)
        interfaces_choose_automatically(&choice);
    while (interfaces_next_element(&list, &element) == 1) {
        if (element.automatic)
            interfaces_choose_automatically(&choice);
        for (size_t i = 0; i < count && !element.exclude && !element.automatic; i++)
            if (interfaces_usable(&choice, &all[i]) && interfaces_matches(&element, &all[i]) &&
                (element.network.family || !interfaces_outdone(&choice, &all[i])))
                interfaces_choose(&choice, &all[i]);
    }
    *chosen_count = choice.chosen_count;
    if (choice.chosen_count)
        return 0;
    interfaces_describe(all, count, there, sizeof there);
    return sy_fail(err, !strcmp(choice.list, "auto") ? ENODEV : EINVAL,
                   "%s=%.80s fits no %saddress of an interface that is up; there are: %s", setting,
                   choice.list,
                   family == SY_IP_FOUR  ? "IPv4 "
                   : family == SY_IP_SIX ? "IPv6 "
                                         : "",
                   there);
}

/* ---- listening ---- */

int sy_ports_parse(const char *setting, const char *range, unsigned *first, unsigned *last,
                   struct sy_error *err)
{
    if (!sy_ports_read(range, first, last))
        return 0;
    return sy_fail(err, EINVAL,
                   "%s: '%.40s' is no range of ports; write the first and "
                   "the last one, such as 5000:5100",
                   setting, range);
}

/* Listens on one address: the descriptor, or -errno. */
static int interfaces_listen_on(const struct sy_interface *interface, uint16_t port,
                                size_t socket_buffer)
{
    struct sockaddr_storage address;
    socklen_t length = sy_ip_socket(&interface->ip, port, interface->index, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, bytes = (int)socket_buffer, code;

    if (fd < 0)
        return -errno;
    if (interface->ip.family == 6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        /* The kernel may still be looking whether somebody else has the address. */
        setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
    }
    /* Connections of an earlier job that the kernel remembers do not occupy a port. Where the
     * kernel looks for a port, this would have it find one that others are about to listen on. */
    if (port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bytes) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, BACKLOG))
        return fd;
    code = errno;
    close(fd);
    return -code;
}

/* Listens on all addresses, on this port or, if it is 0, on one that the first address gets. How
 * many; -EADDRINUSE if the port is taken on one of them, nothing being left open. */
static int interfaces_listen_on_all(const struct sy_interface *const *chosen, size_t count,
                                    uint16_t port, size_t socket_buffer, struct sy_bound *bound)
{
    bool any = !port;
    int n = 0, code = -EADDRNOTAVAIL;

    for (size_t i = 0; i < count; i++) {
        int fd = interfaces_listen_on(chosen[i], port, socket_buffer);

        if (fd == -EADDRINUSE && any && port)
            fd = interfaces_listen_on(chosen[i], 0, socket_buffer);
        if (fd == -EADDRINUSE) {
            while (n > 0)
                close(bound[--n].fd);
            return fd;
        }
        if (fd < 0) {
            code = fd;
            continue;
        }
        bound[n++] = (struct sy_bound){fd, sy_socket_bound_port(fd), chosen[i]->ip};
        if (any)
            port = bound[0].port;
    }
    return n ? n : code;
}

int sy_interfaces_listen(const struct sy_interface *const *chosen, size_t count,
                         const char *setting, const char *range, size_t socket_buffer,
                         struct sy_bound *bound, struct sy_error *err)
{
    unsigned first, last;
    int rc = sy_ports_parse(setting, range, &first, &last, err);

    if (rc)
        return rc;
    rc = -EADDRINUSE;
    for (unsigned port = first; rc == -EADDRINUSE && port <= last; port++)
        rc = interfaces_listen_on_all(chosen, count, (uint16_t)port, socket_buffer, bound);
    if (rc > 0)
        return rc;
    if (rc == -EADDRINUSE && first)
        return sy_fail(err, EADDRINUSE,
                       "all ports of %s=%s are taken on %s; a host needs as many as it has PEs",
                       setting, range, chosen[0]->name);
    return sy_fail(err, -rc, "cannot listen on %s%s: %s%s", chosen[0]->name,
                   count > 1 ? " nor on other interfaces" : "", strerror(-rc),
                   rc == -EACCES ? "; ports below 1024 are root's" : sy_denied_hint(rc));
}
