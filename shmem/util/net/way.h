/* What attempts to connect tell of the way to a peer that has never been reached: the likely cause,
 * and what to do, in words. It keeps no state. */
#ifndef SY_UTIL_NET_WAY_H
#define SY_UTIL_NET_WAY_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "util/net/interfaces.h"

enum sy_way {
    SY_WAY_SILENT = 1,  /* no answer to the request for a connection */
    SY_WAY_REFUSED = 2, /* nothing listens there, or a host on the path says so */
    SY_WAY_NONE = 4,    /* a router, or this machine, says that nothing gets there */
    /* 8 and 128 are the tcp transport's TCP_SEEN_ */
    SY_WAY_OWN = 16,    /* no answer from an address of this machine itself */
    SY_WAY_ABSENT = 32, /* no machine has that address */
    SY_WAY_FILES = 64,  /* no file descriptor is left */
    SY_WAY_DENIED = 256 /* this machine forbids the attempt */
};

/* What the error of an attempt tells of the way; 0: nothing. */
static inline unsigned sy_way_seen(int code)
{
    switch (code) {
    case ETIMEDOUT:
        return SY_WAY_SILENT;
    case ECONNREFUSED:
        return SY_WAY_REFUSED;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
    case EACCES:
    case EINVAL:
        return SY_WAY_NONE;
    case EPERM:
    case ENOSYS:
        return SY_WAY_DENIED;
    case EMFILE:
    case ENFILE:
        return SY_WAY_FILES;
    default:
        return 0;
    }
}

/* What an attempt at this address tells, of which sy_way_seen has told `seen`. */
static inline unsigned sy_way_to(const struct sy_ip *ip, unsigned seen)
{
    if (!(seen & (SY_WAY_SILENT | SY_WAY_NONE)) || sy_ip_link_local(ip))
        return seen;
    if (sy_ip_is_local(ip))
        return seen | SY_WAY_OWN;
    return sy_ip_is_absent(ip) ? (seen & ~(unsigned)SY_WAY_SILENT) | SY_WAY_ABSENT : seen;
}

/* Writes what `seen` in all attempts means, to follow a list of addresses with what became of each;
 * "" where that is nothing. ports, interfaces: the settings that choose them. Returns text. */
static inline const char *sy_way_text(unsigned seen, const char *ports, const char *interfaces,
                                      char *text, size_t room)
{
    bool none = (seen & SY_WAY_NONE) && !(seen & (SY_WAY_SILENT | SY_WAY_REFUSED));
    const char *words = NULL, *cause = NULL;

    if (seen & SY_WAY_FILES)
        words = "No file descriptor is left for a connection: raise the limit (ulimit -n), or the "
                "machine's (fs.file-max)";
    else if (seen & SY_WAY_OWN)
        words = "This machine's own address does not answer it: either the loopback interface, "
                "over which that goes, is down (ip link set lo up), or a firewall drops it there";
    else if (seen & SY_WAY_ABSENT && !(seen & (SY_WAY_SILENT | SY_WAY_REFUSED)))
        words = "No machine answers for that address in its own network (ARP): the host is down "
                "or unplugged, or this one or the switch between them, or it has another address "
                "now";
    else if (seen & SY_WAY_SILENT)
        cause = "Most likely a firewall or a security group drops what goes to these ports";
    else if (seen & SY_WAY_REFUSED)
        cause = "Either nobody listens there, or a firewall refuses connections to these ports";
    else if (seen & SY_WAY_DENIED)
        words = "This machine forbids it: a filter of system calls (seccomp, such as a container's "
                "profile), or a firewall's rule for what leaves it";
    else if (none)
        cause = "Either a firewall forbids it, or there is no way to these addresses (";
    *text = '\0';
    if (words)
        snprintf(text, room, ". %s", words);
    else if (cause)
        snprintf(text, room,
                 ". %s%s%s: open the ports that the job uses between its hosts (%s); oshrun "
                 "--check tries the ways between hosts",
                 cause, none ? interfaces : "", none ? " chooses others)" : "", ports);
    return text;
}

#endif
