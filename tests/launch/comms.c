/* comms [WHAT]: teams made of MPI's communicators and the other way round (<shmemx_mpi.h>); all of
 * it, or "session" (an MPI 4 session and no MPI_Init), "spawn" (a communicator with processes that
 * are no PEs), "alone" (check_alone). No static data are used by other PEs, so PEs may be of
 * different executables.
 */
#include <pthread.h>
#include <shmemx_mpi.h>
#include <string.h>

static int me, npes, wrong;
static long *word; /* symmetric: one for each PE, and one for sums */

#define CHECK(WHAT)                                                                                \
    do {                                                                                           \
        if (!(WHAT)) {                                                                             \
            wrong = 1;                                                                             \
            printf("PE %d, line %d: not so: %s\n", me, __LINE__, #WHAT);                           \
        }                                                                                          \
    } while (0)

/* Team and communicator have the same processes in the same order, and the team works. `scratch`:
 * npes + 1 words. */
static void check_same(MPI_Comm comm, shmem_team_t team, long *scratch)
{
    int rank, size, *pe;
    long *sum = scratch + npes;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(shmem_team_my_pe(team) == rank);
    CHECK(shmem_team_n_pes(team) == size);
    pe = malloc((size_t)size * sizeof *pe);
    MPI_Allgather(&me, 1, MPI_INT, pe, 1, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        CHECK(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == pe[i]);
    free(pe);
    *sum = me;
    shmem_long_fcollect(team, scratch, sum, 1);
    for (int i = 0; i < size; i++)
        CHECK(scratch[i] == shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD));
    shmem_team_sync(team);
}

static void check_from(MPI_Comm comm, long *scratch)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;

    CHECK(shmemx_team_from_comm(comm, &team) == 0);
    if (comm == MPI_COMM_NULL) {
        CHECK(team == SHMEM_TEAM_INVALID);
        return;
    }
    check_same(comm, team, scratch);
    shmem_team_destroy(team);
}

static void check_to(shmem_team_t team)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    CHECK(shmemx_team_to_comm(team, &comm) == 0);
    if (team == SHMEM_TEAM_INVALID) {
        CHECK(comm == MPI_COMM_NULL);
        return;
    }
    check_same(comm, team, word);
    MPI_Comm_free(&comm);
}

static void check_split(MPI_Comm world, int color, int key)
{
    MPI_Comm part;

    MPI_Comm_split(world, color, key, &part);
    check_from(part, word);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
}

static void check_splits(MPI_Comm world)
{
    check_from(world, word);
    check_from(MPI_COMM_NULL, word);
    check_split(world, 0, -me);                          /* the other way round */
    check_split(world, me % 2, me);                      /* two at a time */
    check_split(world, me ? 1 : MPI_UNDEFINED, me);      /* PE 0 has none */
    check_split(world, 0, me == npes - 1 ? -1 : me * 3); /* no rule: 3 0 1 2 */
    for (int i = 0; i < 6; i++)
        check_split(world, (me + i) % 3, -me);
}

/* Made by members alone; each of its own. */
static void check_groups(void)
{
    MPI_Group world, some;
    MPI_Comm comm;
    int few[] = {npes - 1, 0};

    check_from(MPI_COMM_SELF, word);
    if (npes < 2)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, few, &some);
    if (me == 0 || me == npes - 1) {
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &comm);
        check_from(comm, word);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&world);
}

static void check_inter(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    MPI_Comm half, inter;

    if (npes < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 9, &inter);
    CHECK(shmemx_team_from_comm(inter, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void check_teams(void)
{
    shmem_team_t reverse;

    check_to(SHMEM_TEAM_WORLD);
    check_to(SHMEM_TEAM_SHARED);
    check_to(SHMEM_TEAM_INVALID);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &reverse);
    check_to(reverse);
    shmem_team_destroy(reverse);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &reverse);
    check_to(reverse);
    if (reverse != SHMEM_TEAM_INVALID)
        shmem_team_destroy(reverse);
}

/* More bytes than go at once, at odd addresses. */
static void check_gather(void)
{
    enum { BYTES = 20001 };
    char *mine = malloc(BYTES), *all = malloc((size_t)npes * BYTES);

    memset(mine, me + 1, BYTES);
    CHECK(shmemx_team_gather(SHMEM_TEAM_WORLD, mine, all, BYTES) == 0);
    for (int pe = 0; pe < npes; pe++)
        for (int i = 0; i < BYTES; i++)
            if (all[pe * BYTES + i] != pe + 1) {
                CHECK(all[pe * BYTES + i] == pe + 1);
                break;
            }
    CHECK(shmemx_team_gather(SHMEM_TEAM_INVALID, mine, all, 1) != 0);
    free(mine);
    free(all);
}

static int refuse_to_gather(void *arg, const void *mine, void *all, size_t length)
{
    (void)mine, (void)all, (void)length;
    ++*(int *)arg;
    return 1;
}

static void check_failure(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int calls = 0;

    CHECK(shmemx_team_from_group(1, refuse_to_gather, &calls, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID && calls == 1);
    CHECK(shmemx_team_from_group(0, refuse_to_gather, &calls, &team) != 0);
}

/* Rows and columns, each made by a thread of its own. */
struct line {
    MPI_Comm comm;
    long *scratch;
};

static void *check_line(void *arg)
{
    struct line *line = arg;

    for (int i = 0; i < 6; i++)
        check_from(line->comm, line->scratch);
    return NULL;
}

static void check_threads(void)
{
    struct line line[2];
    pthread_t thread[2];

    for (int i = 0; i < 2; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, i ? me / 2 : me % 2, me, &line[i].comm);
        line[i].scratch = shmem_malloc((size_t)(npes + 1) * sizeof(long));
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, check_line, &line[i]);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], NULL);
        MPI_Comm_free(&line[i].comm);
    }
}

static void begin(void)
{
    int level;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    word = shmem_malloc((size_t)(npes + 1) * sizeof(long));
}

static void check_all(int *argc, char ***argv)
{
    MPI_Comm comm;
    int level;

    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    begin();
    check_splits(MPI_COMM_WORLD);
    check_groups();
    check_inter();
    check_teams();
    check_gather();
    check_failure();
    if (level == MPI_THREAD_MULTIPLE)
        check_threads();
    MPI_Finalize();
    CHECK(shmemx_team_to_comm(SHMEM_TEAM_WORLD, &comm) != 0);
    CHECK(comm == MPI_COMM_NULL);
    shmem_finalize();
}

#if MPI_VERSION >= 4
static void check_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm world;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "comms", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
    begin();
    check_splits(world);
    MPI_Comm_free(&world);
    MPI_Group_free(&group);
    shmem_finalize();
    MPI_Session_finalize(&session);
}
#endif

static void check_alone(int *argc, char ***argv)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    MPI_Init(argc, argv);
    begin();
    check_from(MPI_COMM_WORLD, word);
    CHECK(shmemx_team_to_comm(SHMEM_TEAM_WORLD, &comm) != 0);
    CHECK(comm == MPI_COMM_NULL);
    shmem_finalize();
    CHECK(shmemx_team_to_comm(SHMEM_TEAM_WORLD, &comm) != 0);
    MPI_Finalize();
}

/* One child, which is no PE, and all parents. */
static void check_spawn(int *argc, char ***argv)
{
    shmem_team_t team = SHMEM_TEAM_WORLD;
    char *more[] = {"spawn", NULL};
    MPI_Comm parent, children, all;

    MPI_Init(argc, argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        begin();
        MPI_Comm_spawn((*argv)[0], more, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE);
    } else {
        me = -1;
        children = parent;
    }
    MPI_Intercomm_merge(children, parent != MPI_COMM_NULL, &all);
    CHECK(shmemx_team_from_comm(all, &team) != 0);
    CHECK(team == SHMEM_TEAM_INVALID);
    MPI_Comm_free(&all);
    if (parent == MPI_COMM_NULL) {
        check_from(MPI_COMM_WORLD, word);
        shmem_finalize();
    }
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "spawn"))
        check_spawn(&argc, &argv);
    else if (!strcmp(what, "alone"))
        check_alone(&argc, &argv);
#if MPI_VERSION >= 4
    else if (!strcmp(what, "session"))
        check_session();
#endif
    else
        check_all(&argc, &argv);
    if (me <= 0 && !wrong)
        printf("done %s on %d\n", me ? "child" : "PE 0", npes);
    return wrong;
}
