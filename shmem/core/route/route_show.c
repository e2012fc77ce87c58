/* The table of routes for the user: see route.h. PEs with equal rows are one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/config.h"
#include "core/route/route.h"
#include "core/route/route_rule.h"
#include "util/list.h"
#include "util/log.h"
#include "util/printable.h"

static const struct sy_route_cell *table;
static int size;
static char names[SY_TRANSPORTS_MAX][SY_ROUTE_NAME];

static struct sy_route_cell cell(int row, int column)
{
    return table[(size_t)row * (size_t)size + (size_t)column];
}

/* Prints a line on stdout where the user has asked for the table, else into the log. */
static void route_show_line(const char *text)
{
    if (sy_config.show_routes) {
        sy_print(stdout, "%s\n", text);
        fflush(stdout);
    } else {
        sy_log(SY_LOG_DEBUG, "routes", "%s", text);
    }
}

static bool same_cell(struct sy_route_cell a, struct sy_route_cell b)
{
    return a.transport == b.transport && a.why == b.why && a.how == b.how &&
           a.how_data == b.how_data;
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

static const char *const hows[] = {[SY_ROUTE_NOT] = "not reached",
                                   [SY_ROUTE_MAPPED] = "mapped",
                                   [SY_ROUTE_REGISTERED] = "registered",
                                   [SY_ROUTE_SERVED] = "served by its PE",
                                   [SY_ROUTE_STAGED] = "staged by its PE"};

/* Prints how memory is reached that is there from the start. */
static const char *route_show_memory(struct sy_route_cell c, char *buffer, size_t room)
{
    if (c.how_data == c.how || c.how_data == SY_ROUTE_NOT)
        snprintf(buffer, room, "memory %s", hows[c.how]);
    else
        snprintf(buffer, room, "heap %s, variables %s", hows[c.how], hows[c.how_data]);
    return buffer;
}

/* title: of a window that came later, whose members alone have it; or NULL. */
static void route_show_pair(const int *class, int a, int b, struct sy_route_cell c,
                            const char *title)
{
    char text[3 * SY_LIST_TEXT], some[SY_LIST_TEXT], others[SY_LIST_TEXT], why[200], how[80];

    const char *some_of = route_show_class(some, class, a),
               *others_of = route_show_class(others, class, b);
    if (!title)
        snprintf(text, sizeof text, "PE %s x %s: %s, %s; %s", some_of, others_of,
                 names[c.transport], route_show_reason(c.why, why, sizeof why),
                 route_show_memory(c, how, sizeof how));
    else if (c.how != SY_ROUTE_NOT)
        snprintf(text, sizeof text, "PE %s x %s: %s, by %s", some_of, others_of, hows[c.how],
                 names[c.transport]);
    else
        return;
    route_show_line(text);
}

/* Some PE of a class other than `not`, or -1. */
static int route_show_member(const int *class, int of, int not )
{
    for (int pe = 0; pe < size; pe++)
        if (class[pe] == of && pe != not )
            return pe;
    return -1;
}

static void route_show_table(const struct sy_route_cell *cells, const char *title)
{
    int *class = calloc((size_t)size, sizeof *class), classes = 0;

    table = cells;
    for (int pe = 0; class && pe < size; pe++) {
        int like = 0;
        while (like < pe && !route_show_same_row(like, pe))
            like++;
        class[pe] = like < pe ? class[like] : classes++;
    }
    for (int a = 0; class && a < classes; a++)
        for (int b = a; b < classes; b++) {
            int from = route_show_member(class, a, -1), to = route_show_member(class, b, from);
            if (to >= 0)
                route_show_pair(class, a, b, cell(from, to), title);
        }
    free(class);
}

void sy_routes_show(const struct sy_route_cell *cells, int npes, const char *const *named)
{
    size = npes;
    for (unsigned i = 0; i < sy_routes.kinds; i++)
        snprintf(names[i], sizeof names[i], "%s", named[i]);
    route_show_line(npes > 1 ? "routes, PE x PE: transport, why; how the other's memory is reached"
                             : "routes: one PE needs none");
    route_show_table(cells, NULL);
}

void sy_routes_show_window(const struct sy_route_cell *cells, const char *title)
{
    route_show_line(title);
    route_show_table(cells, title);
}
