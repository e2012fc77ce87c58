/* Making and ending spaces: see space.h. Three exchanges over all PEs: what each PE has got of the
 * device; the keys of its region; whether it reaches the others. After each of them all PEs know
 * the same and so decide the same; one that fails has all of them undo what they have done.
 *
 * The exchanges go through the small buffers of the world team, which have room for a PE's report.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/sync.h"
#include "coll/team.h"
#include "core/memory/staged.h"
#include "core/route/route.h"
#include "core/start/world.h"
#include "space/space.h"
#include "util/error.h"
#include "util/log.h"

static const char routine[] = "shmemx_space_create";

/* For the windows and the transports' regions, of which threads may change several at once. Nobody
 * waits for another PE under it that might wait for this thread. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* ---- what PEs tell each other ---- */

enum { MEMBER, ABSENT };

/* What a PE has kept of earlier jobs: the last generation, and the last committed one. */
struct kept {
    uint64_t generation, committed;
};

/* A PE's part of a step. */
struct report {
    int32_t code; /* -errno, or 0 */
    int32_t state;
    struct kept kept;
    uint64_t length, base, origin;
    uint32_t capabilities, kind;
    uint64_t windows[SY_REGIONS / 64]; /* that are free */
    char why[240];                     /* of a failure, or of being absent */
    char keys[SY_ROUTE_KEYS];
};

_Static_assert(sizeof(struct report) <= SY_SLOT_BYTES, "a report has room in a slot");

/* One call of shmemx_space_create. */
struct creation {
    const shmemx_space_config_t *config;
    struct report mine, *all;
    int *member, members; /* PEs */
    unsigned window;
    struct sy_space *space; /* NULL: no member */
    struct sy_team *team;   /* the program's */
};

static void create_share(struct creation *c)
{
    struct sy_group world = sy_group_of_team(&sy_team_world);
    struct report room;

    memcpy(sy_group_slot(&world), &c->mine, sizeof c->mine);
    sy_group_sync(&world);
    for (int pe = 0; pe < sy_world.npes; pe++)
        memcpy(&c->all[pe], sy_group_read_slot(&world, pe, 0, sizeof room, &room), sizeof room);
    sy_group_slot_done(&world);
}

/* Called on all PEs. None goes on, to end the job perhaps, before the words are out. */
static SY_COLD int create_refuse(int code, const char *why)
{
    if (!sy_world.pe)
        sy_log(SY_LOG_WARN, "space", "%s: %s; there is no space on any PE", routine, why);
    sy_sync_world();
    return code;
}

/* The first failure in the reports, which all PEs see: 0 or its code. */
static int create_judge(const struct creation *c)
{
    char text[400];

    for (int pe = 0; pe < sy_world.npes; pe++)
        if (c->all[pe].code) {
            snprintf(text, sizeof text, "PE %d on host %s: %s", pe, sy_world_place(pe).host,
                     c->all[pe].why);
            return create_refuse(c->all[pe].code, text);
        }
    return 0;
}

static void create_note(struct creation *c, int rc, const struct sy_error *err)
{
    c->mine.code = rc;
    snprintf(c->mine.why, sizeof c->mine.why, "%.239s", *err->text ? err->text : strerror(-rc));
}

/* ---- first: the pool of this PE ---- */

static void create_report_pool(struct creation *c)
{
    struct sy_error err = {""};
    int rc = sy_space_make_pool(c->space, c->config, &err);
    const struct sy_pool_info *info = &c->space->info;

    create_note(c, rc == -ENODEV ? 0 : rc, &err);
    c->mine.state = rc == -ENODEV ? ABSENT : MEMBER;
    sy_space_free_windows(c->mine.windows);
    if (!rc) {
        c->mine.kept = (struct kept){info->generation, info->committed};
        c->mine.length = info->region.length;
        c->mine.base = (uintptr_t)info->region.base;
        c->mine.capabilities = info->capabilities;
        c->mine.kind = (uint32_t)info->region.kind;
    }
}

/* ---- what follows from the reports ---- */

/* Whether CPUs cannot load and store what member i has. */
static bool create_copies(const struct creation *c, int i)
{
    return c->all[c->member[i]].kind == SY_REGION_DEVICE;
}

/* Chooses the members, and the first window that is free on all PEs. */
static int create_choose(struct creation *c)
{
    c->window = 0;
    for (int pe = 0; pe < sy_world.npes; pe++)
        if (c->all[pe].state == MEMBER)
            c->member[c->members++] = pe;
    if (!c->members) {
        char text[400];
        snprintf(text, sizeof text, "no PE has a device of type %d; PE 0: %s",
                 (int)c->config->device_type, c->all[0].why);
        return create_refuse(-ENODEV, text);
    }
    for (int i = 1; i < c->members; i++)
        if (create_copies(c, i) != create_copies(c, 0))
            return create_refuse(-EINVAL, "CPUs can load and store what some PEs have of the "
                                          "device, and not what others have; "
                                          "SHMEMX_SPACE_FLAG_BUFFER makes it the same");
    for (unsigned w = SY_WINDOWS_START; w < SY_REGIONS && !c->window; w++) {
        bool free_on_all = true;
        for (int pe = 0; pe < sy_world.npes; pe++)
            free_on_all = free_on_all && (c->all[pe].windows[w / 64] >> w % 64 & 1);
        c->window = free_on_all ? w : 0;
    }
    return c->window ? 0 : create_refuse(-ENOSPC, "there are as many spaces as there can be");
}

static shmemx_space_cap_t create_caps(const struct creation *c)
{
    const struct report *first = &c->all[c->member[0]];
    bool device = first->kind == SY_REGION_DEVICE, same = true;
    unsigned can = UINT_MAX;

    for (int i = 0; i < c->members; i++) {
        can &= c->all[c->member[i]].capabilities;
        same = same && c->all[c->member[i]].base == first->base;
    }
    return SHMEMX_SPACE_CAP_RMA | SHMEMX_SPACE_CAP_COLLECTIVES |
           (!device || can & SY_POOL_AMO ? SHMEMX_SPACE_CAP_ATOMICS : 0) |
           (device ? 0 : SHMEMX_SPACE_CAP_DIRECT_ACCESS) |
           (c->members == sy_world.npes ? SHMEMX_SPACE_CAP_WORLD_ACCESS : 0) |
           (same ? SHMEMX_SPACE_CAP_IDENT_ADDR : 0) |
           (can & SY_POOL_DURABLE ? SHMEMX_SPACE_CAP_DURABLE : 0);
}

/* The length of the space. Pools differ where pages do; all use as much as the smallest has. */
static size_t create_length(const struct creation *c)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < c->members; i++)
        if (c->all[c->member[i]].length < least)
            least = c->all[c->member[i]].length;
    return (size_t)least;
}

/* ---- memory of a device, which CPUs cannot store to: puts to this PE itself copy ---- */

static void create_clear(void *block, size_t length)
{
    static const char zeros[65536];

    for (size_t done = 0, part; done < length; done += part) {
        part = length - done < sizeof zeros ? length - done : sizeof zeros;
        sy_put(SHMEM_CTX_DEFAULT, (char *)block + done, zeros, part, 1, sy_world.pe, SY_BLOCKING);
    }
}

static void create_move(void *to, const void *from, size_t length)
{
    sy_put(SHMEM_CTX_DEFAULT, to, from, length, 1, sy_world.pe, SY_BLOCKING);
}

/* ---- second and third: the region ---- */

/* The handle of a new space. Handles do not come again. All PEs make the same calls, so they have
 * the same handle. */
static shmemx_space_t create_handle(unsigned window)
{
    static uintptr_t made;

    return (shmemx_space_t)(++made * SY_REGIONS + window);
}

/* Fills a member's space in. */
static int create_settle(struct creation *c, shmemx_space_t handle, struct sy_team *team,
                         struct sy_error *err)
{
    struct sy_space *space = c->space;
    bool device = space->info.region.kind == SY_REGION_DEVICE;
    char name[sizeof space->heap.name];

    space->handle = handle;
    space->window = c->window;
    space->type = c->config->device_type;
    space->caps = create_caps(c);
    space->info.region.length = create_length(c);
    memset(space->absent, 1, (size_t)sy_world.npes);
    for (int i = 0; i < c->members; i++)
        space->absent[c->member[i]] = 0;
    snprintf(name, sizeof name, "memory space %zu", (size_t)((uintptr_t)handle / SY_REGIONS));
    space->arena = (struct sy_arena){.heap = &space->heap,
                                     .team = team,
                                     .larger = "The size in shmemx_space_create makes it larger",
                                     .clear = device ? create_clear : NULL,
                                     .copy = device ? create_move : NULL};
    int rc = sy_heap_open(&space->heap, name, space->info.region.base, space->info.region.length,
                          err);
    if (!rc && sy_windows_add(c->window, &space->info.region, sy_world.pe, true))
        rc = sy_fail(err, ENOMEM, "no memory for a table of %d PEs", sy_world.npes);
    if (!rc && device)
        sy_staged_add(c->window, space->device->table, space->device->self, space->pool,
                      space->info.capabilities);
    if (!rc) {
        sy_windows.entry[c->window].heap = &space->heap;
        sy_windows.entry[c->window].absent = space->absent;
    }
    return rc;
}

/* The generation that the members go on from, or pass over. Without SHMEMX_SPACE_FLAG_RESTART it
 * need not be whole: it is not read, and the next one has a higher number than all. */
static int create_choose_kept(struct creation *c, uint64_t *generation)
{
    uint64_t committed = 0;
    int least = c->member[0];
    char text[400];

    for (int i = 0; i < c->members; i++) {
        const struct kept *kept = &c->all[c->member[i]].kept;
        least = kept->generation < c->all[least].kept.generation ? c->member[i] : least;
        committed = kept->committed > committed ? kept->committed : committed;
    }
    *generation = c->all[least].kept.generation;
    if (*generation >= committed)
        return 0;
    snprintf(text, sizeof text,
             "generation %llu was whole, but PE %d on host %s has nothing later than generation "
             "%llu of \"%.64s\"",
             (unsigned long long)committed, least, sy_world_place(least).host,
             (unsigned long long)*generation, c->config->name ? c->config->name : "");
    *generation = committed;
    return c->config->flags & SHMEMX_SPACE_FLAG_RESTART ? create_refuse(-ENOENT, text) : 0;
}

static int create_attach(struct creation *c, uint64_t generation, struct sy_error *err)
{
    static const struct sy_region none = {.kind = SY_REGION_CPU, .fd = -1};
    struct sy_space *space = c->space;
    int rc = 0;

    if (space && space->info.capabilities & SY_POOL_DURABLE) {
        rc = space->device->table->restore(space->device->self, space->pool, generation,
                                           &c->mine.origin, err);
        space->generation = generation;
    }
    return rc ? rc
              : sy_route_region_attach(c->window, space ? &space->info.region : &none, c->mine.keys,
                                       err);
}

/* Whether what the members go on from belongs together. */
static int create_judge_origin(const struct creation *c)
{
    for (int i = 1; i < c->members; i++)
        if (c->all[c->member[i]].origin != c->all[c->member[0]].origin)
            return create_refuse(-EINVAL, "what the PEs have kept was not written together");
    return 0;
}

static int create_connect(struct creation *c, shmemx_space_t handle, struct sy_team *team,
                          uint64_t generation)
{
    struct sy_error err = {""};

    pthread_mutex_lock(&changing);
    int rc = c->space ? create_settle(c, handle, team, &err) : 0;
    if (!rc)
        rc = create_attach(c, generation, &err);
    pthread_mutex_unlock(&changing);
    create_note(c, rc, &err);
    create_share(c);
    rc = create_judge(c);
    if (!rc && c->config->flags & SHMEMX_SPACE_FLAG_RESTART)
        rc = create_judge_origin(c);
    if (rc)
        return rc;
    rc = sy_route_region_connect(c->window, c->all[0].keys, sizeof *c->all, &err);
    create_note(c, rc, &err);
    create_share(c);
    return create_judge(c);
}

/* ---- teams ---- */

/* The library's own team, and the program's, which has the window as its origin. */
static int create_teams(struct creation *c, struct sy_team **own)
{
    struct sy_agreement agreement = sy_agreement_of_team(&sy_team_world);
    int rc = sy_team_create_list(&agreement, c->member, c->members, 0, own);

    if (!rc)
        rc = sy_team_create_list(&agreement, c->member, c->members, c->window, &c->team);
    if (rc && *own)
        sy_team_destroy(*own);
    return rc ? create_refuse(rc, rc == -ENOSPC ? "there is no room for its two teams: "
                                                  "SHMEM_TEAMS_MAX makes more"
                                                : strerror(-rc))
              : 0;
}

/* ---- all of it ---- */

/* Windows at which this PE, no member, has a region of length 0. */
static bool empty[SY_REGIONS];

static void create_undo_pool(struct sy_space *space)
{
    if (space)
        sy_space_end_pool(space);
    free(space);
}

static void create_undo_region(unsigned window, struct sy_space *space)
{
    pthread_mutex_lock(&changing);
    sy_route_region_detach(window);
    if (space) {
        sy_staged_remove(window);
        sy_windows_remove(window);
        sy_heap_close(&space->heap);
    }
    pthread_mutex_unlock(&changing);
}

/* Goes on with the reports of all PEs' pools. */
static int create_join(struct creation *c)
{
    shmemx_space_t handle = create_handle(c->window);
    struct sy_team *own = NULL;
    uint64_t generation;

    int rc = create_choose_kept(c, &generation);
    if (rc)
        return rc;
    rc = create_teams(c, &own);
    if (rc)
        return rc;
    if (empty[c->window])
        create_undo_region(c->window, NULL);
    rc = create_connect(c, handle, own, generation);
    empty[c->window] = !rc && !c->space;
    if (!rc)
        return 0;
    create_undo_region(c->window, c->space);
    if (c->space) {
        sy_team_destroy(c->team);
        sy_team_destroy(own);
    }
    return rc;
}

static int create_make(struct creation *c)
{
    create_report_pool(c);
    create_share(c);
    int rc = create_judge(c);
    if (!rc)
        rc = create_choose(c);
    if (c->mine.state == ABSENT) {
        create_undo_pool(c->space);
        c->space = NULL;
    }
    return rc ? rc : create_join(c);
}

/* The call as a vote compares it: all PEs have the same arguments but for the memory that they
 * bring. */
static struct sy_call create_call(const shmemx_space_config_t *config)
{
    struct sy_call call = {.routine = ""};
    uint64_t more[] = {0, 0, 0, 0, 0};

    snprintf(call.routine, sizeof call.routine, "%s", routine);
    if (!config)
        return call;
    call.bytes = config->size;
    more[0] = (uint64_t)config->device_type;
    more[1] = (uint64_t)config->flags;
    more[2] = (uint64_t)config->device;
    more[3] = config->numa_nodes;
    more[4] = config->name ? sy_hash(config->name, strlen(config->name), 1) : 0;
    call.more = (size_t)sy_hash(more, sizeof more, 0);
    return call;
}

int sy_space_create(const shmemx_space_config_t *config, bool wanted, struct sy_space **made)
{
    const struct sy_call call = create_call(config);
    size_t npes = (size_t)sy_world.npes;
    struct creation c = {.config = config,
                         .all = calloc(npes, sizeof *c.all),
                         .member = calloc(npes, sizeof *c.member),
                         .space = calloc(1, sizeof *c.space + npes)};

    *made = NULL;
    bool ready = config && wanted && c.all && c.member && c.space;
    int rc = sy_agree(&sy_team_world, &call, ready)
                 ? create_make(&c)
                 : create_refuse(-EINVAL, "a PE has given a null pointer, or lacks memory");
    if (rc)
        create_undo_pool(c.space);
    else
        sy_space_show(c.window, config->device_type);
    if (!rc && c.space) {
        sy_space_enter(c.space);
        *made = c.space;
    }
    free(c.all);
    free(c.member);
    return rc;
}

/* ---- the end ---- */

int sy_space_destroy(struct sy_space *space)
{
    static const struct sy_call call = {.routine = "shmemx_space_destroy"};
    struct sy_team *first, *team = space->arena.team;

    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    if (!sy_agree(team, &call, sy_team_descendants(space->window, &first) == 0))
        return -EBUSY;
    /* Every member has entered after its quiet, so nothing is under way. A thread that makes a
     * space finds the window free when it is. */
    create_undo_region(space->window, space);
    sy_space_leave(space);
    create_undo_pool(space);
    sy_team_destroy(team);
    return 0;
}
