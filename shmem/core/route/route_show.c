/* The table of routes for people: see route.h. PEs with equal rows are one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/config.h"
#include "core/route/route.h"
#include "core/route/route_rule.h"
#include "core/start/world.h"
#include "util/list.h"
#include "util/log.h"

static const struct sy_route_cell *table;
static int size;

static struct sy_route_cell cell(int row, int column)
{
    return table[(size_t)row * (size_t)size + (size_t)column];
}

/* To stdout where the user has asked for the table, else to the log. */
static void route_show_line(const char *text)
{
    if (sy_config.show_routes) {
        printf("%s\n", text);
        fflush(stdout);
    } else {
        sy_log(SY_LOG_DEBUG, "routes", "%s", text);
    }
}

static bool same_cell(struct sy_route_cell a, struct sy_route_cell b)
{
    return a.transport == b.transport && a.why == b.why;
}

/* Whether two PEs have the same routes to all others but each other and themselves. */
static bool route_show_same_row(int a, int b)
{
    for (int pe = 0; pe < size; pe++)
        if (pe != a && pe != b && !same_cell(cell(a, pe), cell(b, pe)))
            return false;
    return true;
}

/* The PEs whose class is `of`, as "0-3, 7"; within text, of SY_LIST_TEXT bytes. */
static const char *route_show_class(char *text, const int *class, int of)
{
    struct sy_list list = sy_list_begin(text, SY_LIST_TEXT);

    for (int pe = 0; pe < size; pe++)
        if (class[pe] == of)
            sy_list_add(&list, pe);
    return strchr(sy_list_end(&list), ' ') + 1;
}

static const char *route_show_reason(uint8_t why, char *buffer, size_t room)
{
    char text[120];

    if (why == SY_ROUTE_FIRST)
        return "the first in the order";
    if (why == SY_ROUTE_COMMON)
        return "the first that both have";
    if (why == SY_ROUTE_REACH)
        return "the first that reaches";
    unsigned rule = why - SY_ROUTE_RULE + 1u;
    snprintf(buffer, room, "rule %u: %s", rule, sy_route_rule_text(rule, text, sizeof text));
    return buffer;
}

static void route_show_pair(const int *class, int a, int b, int from, int to,
                            const char *const *names)
{
    char text[3 * SY_LIST_TEXT], some[SY_LIST_TEXT], others[SY_LIST_TEXT], why[200];
    struct sy_route_cell c = cell(from, to);

    snprintf(text, sizeof text, "PE %s x %s: %s, %s", route_show_class(some, class, a),
             route_show_class(others, class, b), names[c.transport],
             route_show_reason(c.why, why, sizeof why));
    route_show_line(text);
}

/* How the transports of this PE move what kinds of memory. */
static void route_show_kinds(void)
{
    char text[300];

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        if (!t->table->moves || !t->connected)
            continue;
        snprintf(text, sizeof text, "%s: %s", t->plugin.name, t->table->moves);
        route_show_line(text);
    }
}

/* Some PE of a class other than `not`, or -1. */
static int route_show_member(const int *class, int of, int not )
{
    for (int pe = 0; pe < size; pe++)
        if (class[pe] == of && pe != not )
            return pe;
    return -1;
}

void sy_routes_show(const struct sy_route_cell *cells, int npes, const char *const *names)
{
    int *class = calloc((size_t)npes, sizeof *class), classes = 0;

    table = cells;
    size = npes;
    route_show_line(npes > 1 ? "routes, PE x PE: transport, why" : "routes: one PE needs none");
    for (int pe = 0; class && pe < npes; pe++) {
        int like = 0;
        while (like < pe && !route_show_same_row(like, pe))
            like++;
        class[pe] = like < pe ? class[like] : classes++;
    }
    for (int a = 0; class && a < classes; a++)
        for (int b = a; b < classes; b++) {
            int from = route_show_member(class, a, -1), to = route_show_member(class, b, from);
            if (to >= 0)
                route_show_pair(class, a, b, from, to, names);
        }
    if (npes > 1)
        route_show_kinds();
    free(class);
}
