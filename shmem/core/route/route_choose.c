/* Chooses the transport of each pair: see route.h. Contains no transport's name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/guard.h"
#include "core/route/route_check.h"
#include "core/route/route_job.h"
#include "core/route/route_rule.h"
#include "core/start/boot.h"
#include "core/start/world.h"
#include "util/error.h"

/* ---- choice ---- */

static struct sy_route_end route_choose_end_of(const struct sy_route_job *job, int pe)
{
    struct sy_place place = sy_world_place(pe);
    struct sy_route_end end = {.pe = pe, .node = place.node, .host = place.host};
    struct sy_route_entry entry;
    const char *at = sy_route_job_pack(job, pe);

    while (sy_route_rules_use_nets() && sy_routes_unpack(&at, &entry))
        if (!strcmp(entry.name, SY_ROUTE_NETS)) {
            end.nets = entry.address;
            end.nets_length = entry.length;
        }
    return end;
}

/* The first in an order of kinds that both sides have and that reaches, and why not those before
 * it. */
static struct sy_route_cell route_choose_first_of(const struct sy_route_job *job,
                                                  const uint8_t *order, unsigned count, int pe)
{
    uint8_t both = job->has[sy_world.pe] & job->has[pe], why = SY_ROUTE_FIRST;

    for (unsigned i = 0; i < count; i++) {
        bool common = both >> order[i] & 1;
        if (common && sy_route_agree_reach(job, order[i], pe))
            return (struct sy_route_cell){.transport = order[i], .why = why};
        if (common)
            why = SY_ROUTE_REACH;
        else if (why == SY_ROUTE_FIRST)
            why = SY_ROUTE_COMMON;
    }
    return (struct sy_route_cell){.transport = SY_TRANSPORT_NONE, .why = why};
}

/* The route from this PE to another. *rule: the last rule that had a say, or 0. */
static struct sy_route_cell route_choose_one(const struct sy_route_job *job,
                                             const struct sy_route_end *mine, int pe,
                                             unsigned *rule)
{
    uint8_t order[SY_TRANSPORTS_MAX];
    struct sy_route_end other = route_choose_end_of(job, pe);

    for (unsigned i = 0; i < job->count; i++)
        order[i] = (uint8_t)i;
    struct sy_route_cell plain = route_choose_first_of(job, order, job->count, pe);
    unsigned count = sy_route_rules_apply(mine, &other, job->name, order, job->count, rule);
    struct sy_route_cell ruled = route_choose_first_of(job, order, count, pe);
    if (ruled.transport == plain.transport)
        return plain;
    ruled.why = (uint8_t)(SY_ROUTE_RULE + *rule - 1);
    return ruled;
}

/* ---- a pair without ---- */

/* What is known of a kind that does not reach PE pe. */
static const char *route_choose_remark(const struct sy_route_job *job, unsigned i, int pe)
{
    char address[SY_ADDRESS_MAX];

    if (job->kind[i].mutual && !job->kind[i].mutual[pe])
        return " (reached from one side only, or none)";
    return sy_route_job_address(job, pe, i, address) ? "" : " (without an address)";
}

/* The kinds that PE pe has, with remarks on those of another PE. */
static const char *route_choose_names_of(const struct sy_route_job *job, int pe, char *buffer,
                                         size_t room)
{
    size_t used = 0;

    snprintf(buffer, room, "none");
    for (unsigned i = 0; i < job->count && used < room; i++)
        if (job->has[pe] >> i & 1)
            used += (size_t)snprintf(buffer + used, room - used, "%s%s%s", used ? ", " : "",
                                     job->name[i],
                                     pe == sy_world.pe ? "" : route_choose_remark(job, i, pe));
    return buffer;
}

static const char *route_choose_dropped(char *buffer, size_t room)
{
    const struct sy_route_drop *drop;
    size_t used = 0;

    buffer[0] = '\0';
    for (unsigned i = 0; (drop = sy_routes_dropped(i)) && used < room; i++)
        used += (size_t)snprintf(buffer + used, room - used, "%s%s (%s)",
                                 used ? ", " : "; left out here: ", drop->name, drop->why);
    return buffer;
}

/* No transport reaches PE pe: says what each side has, and what stands in the way. */
static int route_choose_no_route(const struct sy_route_job *job, int pe, unsigned rule,
                                 struct sy_error *err)
{
    char ours[80], theirs[110], text[80], by_rule[110] = "", dropped[400];

    if (rule)
        snprintf(by_rule, sizeof by_rule, "; SHMEM_ROUTES: %s",
                 sy_route_rule_text(rule, text, sizeof text));
    return sy_fail(
        err, EHOSTUNREACH,
        "no transport reaches PE %d on host %s from PE %d on host %s; opened here: %s; there: "
        "%s%s%s%.140s. Name one that spans both in SHMEM_TRANSPORTS; SHMEM_DEBUG=routes says "
        "more%s",
        pe, sy_world_place(pe).host, sy_world.pe, sy_world.host,
        route_choose_names_of(job, sy_world.pe, ours, sizeof ours),
        route_choose_names_of(job, pe, theirs, sizeof theirs), by_rule,
        *sy_routes.remark ? "; " : "", sy_routes.remark,
        route_choose_dropped(dropped, sizeof dropped));
}

/* ---- all pairs ---- */

/* cells: this PE's row of the table, or NULL. */
static int route_choose_all(const struct sy_route_job *job, struct sy_route_cell *cells,
                            struct sy_error *err)
{
    struct sy_route_end mine = route_choose_end_of(job, sy_world.pe);

    for (int pe = 0; pe < sy_world.npes; pe++) {
        struct sy_route_cell cell = {.transport = SY_TRANSPORT_NONE, .why = SY_ROUTE_FIRST};
        unsigned rule;
        if (pe != sy_world.pe) {
            cell = route_choose_one(job, &mine, pe, &rule);
            if (cell.transport == SY_TRANSPORT_NONE)
                return route_choose_no_route(job, pe, rule, err);
            sy_routes.of[pe] = (uint8_t)job->kind[cell.transport].own;
            sy_route_enter_windows(pe);
            const struct sy_route_cell reached = sy_route_cell_of(SY_WINDOW_HEAP, pe);
            cell.how = reached.how;
            cell.how_data = reached.how_data;
        }
        if (cells)
            cells[pe] = cell;
    }
    return 0;
}

/* Rows of all PEs are gathered only for the table that is printed, and not in jobs whose table
 * would be too large. */
static int route_choose_show_table(const struct sy_route_job *job, const struct sy_route_cell *row,
                                   double seconds, struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes;
    struct sy_route_cell *all = npes <= SY_ROUTE_TABLE_PES ? calloc(npes, npes * sizeof *all)
                                                           : NULL;
    int rc = 0;

    if (all)
        rc = sy_boot->allgather(sy_boot_self, "table of routes", row, all, npes * sizeof *row,
                                seconds, err);
    if (all && !rc && !sy_world.pe)
        sy_routes_show(all, sy_world.npes, job->name);
    free(all);
    return rc;
}

/* ---- all steps ---- */

/* Connects the transports. They wait for other PEs, which may be dead: the guard thread listens for
 * that. */
static int route_choose_connect(struct sy_route_job *job, bool beyond, double seconds,
                                struct sy_error *err)
{
    sy_guard_listen();
    int rc = sy_route_job_connect(job, seconds, err);
    sy_guard_stop();
    return rc ? rc : sy_route_agree(job, beyond, seconds, err);
}

static int route_choose_steps(struct sy_route_job *job, bool beyond, bool show, double seconds,
                              struct sy_error *err)
{
    struct sy_route_cell *row = show ? calloc((size_t)sy_world.npes, sizeof *row) : NULL;
    int rc = route_choose_connect(job, beyond, seconds, err);

    sy_routes.shown = show;
    if (!rc)
        sy_route_job_tell_dropped(job);
    if (!rc) /* some windows are mapped by their keys */
        rc = sy_route_connect_windows(job, seconds, err);
    if (!rc)
        rc = route_choose_all(job, row, err);
    if (!rc && row)
        rc = route_choose_show_table(job, row, seconds, err);
    free(row);
    return rc;
}

bool sy_routes_lead(const void *self, int pe)
{
    const struct sy_route_transport *t = sy_route_to(pe);

    return t && t->self == self;
}

static int route_choose_note_descriptors(struct sy_error *err)
{
    for (unsigned i = 0; i < sy_routes.count; i++) {
        struct sy_route_transport *t = &sy_routes.transport[i];
        t->wait_fd = t->table->wait_fd(t->self);
        struct sy_error why = {""};
        int rc = sy_route_check_fd(t->plugin.table, t->wait_fd, &why);
        if (rc)
            return sy_fail(err, -rc, "transport %s: %s", t->plugin.name, why.text);
        t->polled = t->carries || t->wait_fd >= 0;
    }
    return 0;
}

/* Forgets all routes. */
static int route_choose_reset(bool (*same_layout)(int pe), struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes;

    if (!sy_routes.of)
        sy_routes.of = malloc(npes);
    if (!sy_routes.other)
        sy_routes.other = calloc(npes, 1);
    if (!sy_routes.of || !sy_routes.other)
        return sy_fail(err, ENOMEM, "no memory for routes to %zu PEs", npes);
    memset(sy_routes.of, SY_TRANSPORT_NONE, npes);
    for (int pe = 0; pe < sy_world.npes; pe++)
        sy_routes.other[pe] = !same_layout(pe);
    for (unsigned w = SY_WINDOW_DATA; w < sy_windows.count + sy_windows.constants; w++)
        sy_windows.entry[w].absent = sy_routes.other;
    return 0;
}

int sy_routes_connect(const char *all, size_t stride, bool (*same_layout)(int pe), double seconds,
                      bool beyond, bool show, struct sy_error *err)
{
    struct sy_route_job job;
    int rc = route_choose_reset(same_layout, err);

    if (rc)
        return rc;
    rc = sy_route_job_open(&job, all, stride, err);
    if (!rc)
        rc = route_choose_steps(&job, beyond, show, seconds, err);
    sy_route_job_close(&job);
    return rc ? rc : route_choose_note_descriptors(err);
}
