/* The teams that conformance programs run collective routines on: the whole job, the PEs that share
 * memory, the job in reverse, every second PE up and down, and this PE alone. A member's number is
 * worked out here and compared with what the library says. */
#ifndef TEAM_CASES_H
#define TEAM_CASES_H

#include "check.h"

enum { TEAM_MOST = 64 };

struct team_case {
    const char *name;
    shmem_team_t team; /* SHMEM_TEAM_INVALID where this PE is no member */
    int me, size;
    int world[TEAM_MOST]; /* the number in the job of each member */
};

enum {
    TEAM_OF_ALL,
    TEAM_THAT_SHARES,
    TEAM_REVERSED,
    TEAM_OF_PARITY,
    TEAM_OF_EVEN_DOWN,
    TEAM_ALONE,
    TEAM_CASES
};

static void team_describe(struct team_case *c, const char *name, shmem_team_t team)
{
    c->name = name;
    c->team = team;
    if (team == SHMEM_TEAM_INVALID)
        return;
    c->me = shmem_team_my_pe(team);
    c->size = shmem_team_n_pes(team);
    CHECK(c->size >= 1 && c->size <= TEAM_MOST && c->me >= 0 && c->me < c->size);
    for (int i = 0; i < c->size; i++)
        c->world[i] = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    CHECK(c->world[c->me] == shmem_my_pe());
}

/* Collective over the job: makes the team of size PEs start, start + stride, ... and describes it
 * in c if this PE is a member. */
static void team_split(struct team_case *c, const char *name, int start, int stride, int size)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;

    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
    if (team == SHMEM_TEAM_INVALID)
        return;
    team_describe(c, name, team);
    CHECK(c->size == size);
    for (int i = 0; i < c->size; i++)
        CHECK(c->world[i] == start + i * stride);
}

/* Collective over the job. */
static void teams_make(struct team_case cases[TEAM_CASES])
{
    int npes = shmem_n_pes(), evens = (npes + 1) / 2;

    for (int i = 0; i < TEAM_CASES; i++)
        cases[i] = (struct team_case){.name = "no member", .team = SHMEM_TEAM_INVALID};
    check_case = "making of teams";
    team_describe(&cases[TEAM_OF_ALL], "all", SHMEM_TEAM_WORLD);
    team_describe(&cases[TEAM_THAT_SHARES], "shared", SHMEM_TEAM_SHARED);
    team_split(&cases[TEAM_REVERSED], "reversed", npes - 1, -1, npes);
    team_split(&cases[TEAM_OF_PARITY], "even", 0, 2, evens);
    if (npes > 1)
        team_split(&cases[TEAM_OF_PARITY], "odd", 1, 2, npes / 2);
    team_split(&cases[TEAM_OF_EVEN_DOWN], "even down", 2 * (evens - 1), -2, evens);
    for (int pe = 0; pe < npes; pe++)
        team_split(&cases[TEAM_ALONE], "alone", pe, pe, 1);
    CHECK(cases[TEAM_OF_PARITY].team != SHMEM_TEAM_INVALID);
    CHECK(cases[TEAM_ALONE].team != SHMEM_TEAM_INVALID);
}

/* Each team is destroyed by its members. */
static void teams_destroy(struct team_case cases[TEAM_CASES])
{
    for (int i = TEAM_REVERSED; i < TEAM_CASES; i++)
        shmem_team_destroy(cases[i].team);
}

#endif
