/* Teams (9.4), and team_ptr (9.1.10). */

#include "api/alias.h"
#include "coll/check.h"
#include "coll/team.h"
#include "core/memory/windows.h"
#include "core/start/world.h"
#include "stream/stream.h"

#define DEFINE_QUERY(NAME, MEMBER)                                                                 \
    SY_DEFINE(int, NAME, (shmem_team_t team),                                                      \
              const struct sy_team *of = sy_team_need(team, #NAME);                                \
              return of ? of->members.MEMBER : -1;)
DEFINE_QUERY(shmem_team_my_pe, me)
DEFINE_QUERY(shmem_team_n_pes, size)

int pshmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)
{
    const struct sy_team *of = sy_team_need(team, "shmem_team_get_config");

    if (of && config_mask & SHMEM_TEAM_NUM_CONTEXTS)
        config->num_contexts = of->num_contexts;
    return of ? 0 : -1;
}
SY_ALIAS(shmem_team_get_config);

int pshmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    const struct sy_team *source = sy_team_need(src_team, "shmem_team_translate_pe"),
                         *dest = sy_team_of(dest_team);

    if (!source || !dest || src_pe < 0 || src_pe >= source->members.size)
        return -1;
    return sy_members_find(&dest->members, sy_members_pe(&source->members, src_pe));
}
SY_ALIAS(shmem_team_translate_pe);

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
    const struct sy_team *t = sy_team_need(team, "shmem_team_ptr");

    if (!t || pe < 0 || pe >= t->members.size)
        return NULL;
    return pshmem_ptr(dest, sy_members_pe(&t->members, pe));
}
SY_ALIAS(shmem_team_ptr);

/* ---- creation ---- */

static int contexts_of(const shmem_team_config_t *config, long mask)
{
    return config && mask & SHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
}

/* Whether start, start + stride, ... are `size` different members of a team of `all`. With a stride
 * of 0 only a size of 1 is valid; the caller goes on with a stride of 1. */
static bool teams_valid_triplet(int start, int stride, int size, int all)
{
    if (start < 0 || start >= all || size < 1 || size > all || (stride == 0 && size > 1))
        return false;
    long long last = start + (long long)stride * (size - 1);
    return last >= 0 && last < all;
}

int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team)
{
    struct sy_team *parent = sy_team_need(parent_team, "shmem_team_split_strided"), *made = NULL;

    *new_team = SHMEM_TEAM_INVALID;
    if (!parent || !teams_valid_triplet(start, stride, size, parent->members.size))
        return -1;
    int rc = sy_team_create(parent, start, size == 1 ? 1 : stride, size,
                            contexts_of(config, config_mask), &made);
    *new_team = made ? sy_team_handle(made) : SHMEM_TEAM_INVALID;
    return rc;
}
SY_ALIAS(shmem_team_split_strided);

int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
                         const shmem_team_config_t *xaxis_config, long xaxis_mask,
                         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                         long yaxis_mask, shmem_team_t *yaxis_team)
{
    struct sy_team *parent = sy_team_need(parent_team, "shmem_team_split_2d"), *row = NULL,
                   *column = NULL;

    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (!parent || xrange < 1)
        return -1;
    int all = parent->members.size, me = parent->members.me, width = xrange < all ? xrange : all;
    int x = me % width, y = me / width, left = all - y * width;
    int rc = sy_team_create(parent, y * width, 1, left < width ? left : width,
                            contexts_of(xaxis_config, xaxis_mask), &row);
    if (rc)
        return rc;
    rc = sy_team_create(parent, x, width, (all - x + width - 1) / width,
                        contexts_of(yaxis_config, yaxis_mask), &column);
    if (rc) {
        sy_team_destroy(row);
        return rc;
    }
    *xaxis_team = sy_team_handle(row);
    *yaxis_team = sy_team_handle(column);
    return 0;
}
SY_ALIAS(shmem_team_split_2d);

void pshmem_team_destroy(shmem_team_t team)
{
    sy_world_need("shmem_team_destroy");
    /* The predefined teams last as long as the library; asking to end them is ignored. */
    if (team == SHMEM_TEAM_INVALID || team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
        return;
    struct sy_team *ended = sy_team_checked(team);
    sy_streams_close(ended);
    sy_coll_check_streams(ended, "shmem_team_destroy"); /* those of other teams */
    sy_team_destroy(ended);
}
SY_ALIAS(shmem_team_destroy);
