/* What the bootstrap needs of MPI: see world.h. Compiled with each MPI's own mpi.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "bootstrap/mpi/world.h"

/* Open MPI 5 has sessions, though it calls itself 3.1. */
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define SESSIONS 1
#else
#define SESSIONS 0
#endif

struct mpi_world {
    const struct sy_host *host;
    MPI_Comm comm; /* MPI_COMM_NULL once it is done */
    bool owned;    /* MPI was initialised here */
#if SESSIONS
    MPI_Session session;
#endif
};

static int world_fail(struct mpi_world *world, int code, const char *what, struct sy_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(code, text, &length);
    return world->host->fail(err, EIO, "%s: %.300s", what, text);
}

static bool world_is(int (*question)(int *flag))
{
    int flag = 0;

    return question(&flag) == MPI_SUCCESS && flag;
}

static int world_size(void)
{
    int size = 0;

    if (world_is(MPI_Initialized) && !world_is(MPI_Finalized))
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

static const char *world_version(void)
{
    static _Thread_local char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    return MPI_Get_library_version(text, &length) == MPI_SUCCESS ? text : "";
}

/* A spawned process's MPI_COMM_WORLD is the processes that were spawned together; they are no PEs
 * of the job that spawned them (OpenSHMEM 1.6, D.1.2). */
static bool world_is_spawned(void)
{
    MPI_Comm parent = MPI_COMM_NULL;

    return MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
}

/* ---- joining ---- */

#if SESSIONS

/* One session until the end of the process: MPICH 4.0.2 crashes where a second one is begun after
 * the last has ended. Its thread level is that of sessions after it in MPICH 5, and the transport
 * needs the highest. */
static int world_begin_session(struct mpi_world *world, struct sy_error *err)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info;
    int rc = MPI_Info_create(&info);

    if (rc)
        return world_fail(world, rc, "MPI_Info_create", err);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    rc = MPI_Session_init(info, MPI_ERRORS_RETURN, &world->session);
    MPI_Info_free(&info);
    if (rc)
        return world_fail(world, rc, "MPI_Session_init", err);
    rc = MPI_Group_from_session_pset(world->session, "mpi://WORLD", &group);
    if (rc)
        return world_fail(world, rc, "MPI_Group_from_session_pset", err);
    rc = MPI_Comm_create_from_group(group, "switchyard.bootstrap", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                    &world->comm);
    MPI_Group_free(&group);
    return rc ? world_fail(world, rc, "MPI_Comm_create_from_group", err) : 0;
}

static void world_end_session(struct mpi_world *world)
{
    if (world->session != MPI_SESSION_NULL)
        MPI_Session_finalize(&world->session);
}

#endif

/* MPI_Init may be called once in a process: the program cannot call it any more. */
static int world_init(struct mpi_world *world, struct sy_error *err)
{
    int provided, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);

    if (rc)
        return world_fail(world, rc, "MPI_Init_thread", err);
    world->owned = true;
    return 0;
}

static int world_check_thread(struct mpi_world *world, struct sy_error *err)
{
    int level = MPI_THREAD_SINGLE, main_thread = 1;

    MPI_Query_thread(&level);
    MPI_Is_thread_main(&main_thread);
    if (level >= MPI_THREAD_SERIALIZED || main_thread)
        return 0;
    return world->host->fail(err, EPERM,
                             "MPI is initialised for its main thread alone, and another one calls "
                             "shmem_init; ask MPI_Init_thread for MPI_THREAD_SERIALIZED");
}

static int world_begin_init(struct mpi_world *world, struct sy_error *err)
{
    int rc = world_is(MPI_Initialized) ? world_check_thread(world, err) : world_init(world, err);

    if (rc)
        return rc;
    if (world_is_spawned())
        return -ECHILD;
    rc = MPI_Comm_dup(MPI_COMM_WORLD, &world->comm);
    if (rc)
        return world_fail(world, rc, "MPI_Comm_dup", err);
    MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    return 0;
}

/* In Open MPI 5 some ways between processes know no sessions. */
static int world_begin(struct mpi_world *world, struct sy_error *err)
{
#if SESSIONS
    if (MPI_VERSION >= 4)
        return world_begin_session(world, err);
    if (!world_is(MPI_Initialized) && !world_begin_session(world, err))
        return 0;
    world_end_session(world);
#endif
    return world_begin_init(world, err);
}

static int world_join(const struct sy_host *host, struct mpi_world **made, int *rank, int *size,
                      struct sy_error *err)
{
    struct mpi_world *world;
    bool initialized = world_is(MPI_Initialized);

    if (initialized && world_is(MPI_Finalized))
        return -ECONNRESET;
    if (initialized && world_is_spawned())
        return -ECHILD;
    *made = world = calloc(1, sizeof *world);
    if (!world)
        return host->fail(err, ENOMEM, "no memory");
    world->host = host;
    world->comm = MPI_COMM_NULL;
#if SESSIONS
    world->session = MPI_SESSION_NULL;
#endif
    int rc = world_begin(world, err);
    if (rc)
        return rc;
    MPI_Comm_rank(world->comm, rank);
    MPI_Comm_size(world->comm, size);
    return 0;
}

/* ---- the exchange ---- */

static int world_same(struct mpi_world *world, uint64_t value, bool *same, struct sy_error *err)
{
    uint64_t mine[2] = {value, ~value}, all[2] = {0, 0};
    int rc = MPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_BAND, world->comm);

    *same = (all[0] | all[1]) == UINT64_MAX;
    return rc ? world_fail(world, rc, "MPI_Allreduce", err) : 0;
}

static int world_broadcast(struct mpi_world *world, void *bytes, int length, struct sy_error *err)
{
    int rc = MPI_Bcast(bytes, length, MPI_BYTE, 0, world->comm);

    return rc ? world_fail(world, rc, "MPI_Bcast", err) : 0;
}

static void world_abort(struct mpi_world *world, int status)
{
    if (world->comm != MPI_COMM_NULL)
        MPI_Abort(world->comm, status);
    else if (world_is(MPI_Initialized) && !world_is(MPI_Finalized))
        MPI_Abort(MPI_COMM_WORLD, status);
}

static void world_done(struct mpi_world *world)
{
    if (world->comm != MPI_COMM_NULL)
        MPI_Comm_free(&world->comm);
}

static void world_end(struct mpi_world *world, bool all)
{
#if SESSIONS
    if (all)
        world_end_session(world);
#endif
    if (all && world->owned && !world_is(MPI_Finalized))
        MPI_Finalize();
    free(world);
}

__attribute__((visibility("default"))) extern const struct mpi_world_calls shmem_mpi_bootstrap_1;
const struct mpi_world_calls shmem_mpi_bootstrap_1 = {
    .size = sizeof(struct mpi_world_calls),
    .sessions = SESSIONS,
    .world_size = world_size,
    .spawned = world_is_spawned,
    .version = world_version,
    .join = world_join,
    .same = world_same,
    .broadcast = world_broadcast,
    .abort = world_abort,
    .done = world_done,
    .end = world_end,
};
