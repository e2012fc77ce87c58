/* A team of the processes of another library's group, and what such a library needs of a team: see
 * team.h. Everything that the processes tell each other goes through that library's allgather:
 * first who each one is, then what coll/team.c agrees by. All of them see the same and so decide
 * the same. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "coll/check.h"
#include "coll/team.h"
#include "core/fatal.h"
#include "core/start/world.h"
#include "util/log.h"

static const char routine[] = "shmemx_team_from_group";

/* What a process tells the others about itself. */
struct rank_info {
    int32_t pe; /* -1: none, since it is not between shmem_init and shmem_finalize */
    char job[sizeof sy_world.job.id];
};

struct gathering {
    const struct sy_processes *of;
    void *all; /* room for what is gathered */
    bool failed;
};

/* Gathers bytes by the other library. Stores before it are visible after, also where that library
 * moves bytes without a fence. */
static bool team_group_gather(struct gathering *g, const void *mine, size_t length)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!g->failed && g->of->allgather(g->of->arg, mine, g->all, length))
        g->failed = true;
    atomic_thread_fence(memory_order_seq_cst);
    return !g->failed;
}

/* The conjunction of words over all processes. If the other library has failed it is 0: no slot is
 * free. */
static void team_group_all(void *who, uint64_t *words, unsigned count)
{
    struct gathering *g = who;
    const uint64_t *of = g->all;
    bool whole = team_group_gather(g, words, count * sizeof *words);

    memset(words, whole ? 0xff : 0, count * sizeof *words);
    for (size_t i = 0; whole && i < (size_t)g->of->size * count; i++)
        words[i % count] &= of[i];
}

static void team_group_most(void *who, uint64_t *words, unsigned count)
{
    struct gathering *g = who;
    const uint64_t *of = g->all;
    bool whole = team_group_gather(g, words, count * sizeof *words);

    memset(words, whole ? 0 : 0xff, count * sizeof *words);
    for (size_t i = 0; whole && i < (size_t)g->of->size * count; i++)
        if (words[i % count] < of[i])
            words[i % count] = of[i];
}

/* Why a process cannot be in a team with the first one; NULL: it can. */
static const char *team_group_unfit(const struct rank_info *info, const struct rank_info *first)
{
    if (info->pe < 0)
        return "is no PE: it is not between shmem_init and shmem_finalize";
    return memcmp(info->job, first->job, sizeof info->job) == 0
               ? NULL
               : "is a PE of another job than the first one";
}

/* The PEs of the processes, in their order. -EINVAL: some process cannot be in a team, and why has
 * been told before any process goes on. */
static int team_group_list(struct gathering *g, int *pe)
{
    const struct rank_info *info = g->all;
    char told = 1;

    for (int i = 0; i < g->of->size; i++) {
        const char *why = team_group_unfit(&info[i], &info[0]);
        if (why && info[0].pe == (sy_world.depth ? sy_world.pe : -1))
            sy_log(SY_LOG_WARN, "team", "%s: process %d of %d %s; no team is made", routine, i,
                   g->of->size, why);
        if (why) {
            team_group_gather(g, &told, sizeof told);
            return -EINVAL;
        }
        pe[i] = info[i].pe;
    }
    return 0;
}

static int team_group_create(struct gathering *g, int *pe, struct sy_team **made)
{
    struct rank_info mine = {.pe = sy_world.depth ? sy_world.pe : -1};

    memcpy(mine.job, sy_world.job.id, sizeof mine.job);
    int rc = team_group_gather(g, &mine, sizeof mine) ? team_group_list(g, pe) : -EIO;
    if (rc)
        return rc;
    const struct sy_agreement agreement = {
        .all = team_group_all,
        .most = team_group_most,
        .who = g,
        .salt = sy_hash(pe, (size_t)g->of->size * sizeof *pe, 1)};
    rc = sy_team_create_list(&agreement, pe, g->of->size, 0, made);
    return g->failed ? -EIO : rc;
}

int sy_team_from_group(const struct sy_processes *of, struct sy_team **made)
{
    size_t words = sizeof(uint64_t) * SY_TEAM_WORDS_MAX, size = (size_t)of->size;
    size_t most = words > sizeof(struct rank_info) ? words : sizeof(struct rank_info);
    struct gathering g = {.of = of, .all = malloc(size * most)};
    int *pe = malloc(size * sizeof *pe);

    *made = NULL;
    if (!g.all || !pe)
        sy_fatal("%s: no memory for what %d processes tell each other", routine, of->size);
    int rc = team_group_create(&g, pe, made);
    free(g.all);
    free(pe);
    return rc;
}

/* ---- the other way round ---- */

void sy_team_gather(struct sy_team *team, const void *mine, void *all, size_t length)
{
    struct sy_group group = sy_group_of_team(team);
    char room[SY_SLOT_BYTES];

    SY_COLL_CHECK(&group, .routine = SY_COLL_GATHER, .size = length);
    for (size_t done = 0, part; done < length; done += part) {
        part = length - done < sizeof room ? length - done : sizeof room;
        memcpy(sy_group_slot(&group), (const char *)mine + done, part);
        sy_group_sync(&group);
        for (int i = 0; i < group.members.size; i++)
            memcpy((char *)all + (size_t)i * length + done,
                   sy_group_read_slot(&group, i, 0, part, room), part);
        sy_group_slot_done(&group);
    }
}
