#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/route/route_check.h"
#include "core/start/transport_stubs.h"
#include "engine/message.h"
#include "util/error.h"

/* ---- the table ---- */

static int route_check_messages(const struct sy_transport *table, struct sy_error *err)
{
    const struct sy_transport *stubs = &sy_transport_stubs;

    if (table->message_send == stubs->message_send && !table->message_size)
        return 0;
    if (table->message_size < SY_MESSAGE_LEAST)
        return sy_fail(err, EINVAL, "its messages have %zu bytes, but %u are needed",
                       table->message_size, (unsigned)SY_MESSAGE_LEAST);
    if (table->message_send == stubs->message_send || table->progress == stubs->progress ||
        table->wait_fd == stubs->wait_fd)
        return sy_fail(
            err, EINVAL,
            "a transport that carries messages needs message_send, progress and wait_fd");
    if ((table->large_send == stubs->large_send) != !table->large_size ||
        (table->large_receive == stubs->large_receive) != !table->large_size)
        return sy_fail(err, EINVAL, "it has some of large_size, large_send and large_receive");
    return 0;
}

static int route_check_counters(const struct sy_counter_row *row, struct sy_error *err)
{
    for (; row && row->name; row++) {
        if (!*row->name || row->name[strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
            return sy_fail(err, EINVAL,
                           "the name of its counter '%s' is not of small letters, digits and _",
                           row->name);
        if (row->offset % _Alignof(uint64_t) || !row->unit || !row->help)
            return sy_fail(err, EINVAL, "its counter '%s' has no unit, no help or an odd place",
                           row->name);
    }
    return 0;
}

int sy_route_check_table(const struct sy_transport *table, struct sy_error *err)
{
    const struct sy_transport *stubs = &sy_transport_stubs;

    if (table->open == stubs->open || table->reach == stubs->reach)
        return sy_fail(err, EINVAL, "it has no %s", table->open == stubs->open ? "open" : "reach");
    if ((table->ctx_open == stubs->ctx_open) != (table->ctx_close == stubs->ctx_close))
        return sy_fail(err, EINVAL, "it has only one of ctx_open and ctx_close");
    if (table->region_attach != stubs->region_attach &&
        table->region_detach == stubs->region_detach)
        return sy_fail(err, EINVAL, "it has region_attach, but not region_detach");
    if ((table->mark == stubs->mark) != (table->reached == stubs->reached))
        return sy_fail(err, EINVAL, "it has only one of mark and reached");
    int rc = route_check_counters(table->counters, err);
    return rc ? rc : route_check_messages(table, err);
}

/* ---- answers ---- */

int sy_route_check_step(const char *step, int rc, struct sy_error *err)
{
    if (rc > 0)
        return sy_fail(err, EPROTO, "its %s answers %d, which is neither 0 nor -errno", step, rc);
    if (rc && !*err->text)
        sy_fail(err, -rc, "%s: %s (the plugin gives no reason)", step, strerror(-rc));
    return rc;
}

/* What the table's functions are for: SY_REACH_ bits. */
static unsigned route_check_able(const struct sy_transport *own)
{
    const struct sy_transport *stubs = &sy_transport_stubs;

    return (own->put != stubs->put ? SY_REACH_PUT : 0) |
           (own->get != stubs->get ? SY_REACH_GET : 0) |
           (own->amo != stubs->amo ? SY_REACH_AMO : 0) |
           (own->mem_pointer != stubs->mem_pointer ? SY_REACH_MAP : 0) |
           (own->message_size ? SY_REACH_MESSAGE : 0);
}

/* The names of SY_REACH_ bits. */
static const char *route_check_bits(unsigned bits, char text[32])
{
    static const char *const name[] = {"PUT", "GET", "AMO", "MAP", "LATE", "MESSAGE"};
    size_t used = 0;

    snprintf(text, 32, "nothing");
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (bits >> i & 1)
            used += (size_t)snprintf(text + used, 32 - used, "%s%s", used ? "|" : "", name[i]);
    return text;
}

unsigned sy_route_check_reach(const struct sy_transport *table, int pe, unsigned bits,
                              struct sy_error *err)
{
    const unsigned data = SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO,
                   whole = SY_REACH_MAP | SY_REACH_MESSAGE; /* the core makes all of either */
    char answer[32], missing[32];

    /* A later version of the interface may have more. */
    bits &= data | whole | (bits & SY_REACH_MAP ? SY_REACH_LATE : 0u);
    unsigned without = bits & ~(route_check_able(table) | SY_REACH_LATE);
    if (without)
        sy_fail(err, EPROTO, "its reach(%d) answers %s, but it has no functions for %s", pe,
                route_check_bits(bits, answer), route_check_bits(without, missing));
    else if (bits && !(bits & whole) && (bits & data) != data)
        sy_fail(err, EPROTO,
                "its reach(%d) answers %s, but it needs all of PUT|GET|AMO where it says neither "
                "MAP nor MESSAGE",
                pe, route_check_bits(bits, answer));
    else
        return bits;
    return 0;
}

int sy_route_check_fd(const struct sy_transport *table, int fd, struct sy_error *err)
{
    if (fd >= 0 ? fcntl(fd, F_GETFD) < 0 : table->message_size != 0)
        return sy_fail(err, EPROTO, "its wait_fd() answers %d, which is not a descriptor", fd);
    return 0;
}
