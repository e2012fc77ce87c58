/* An MPI's calls: see calls.h. Compiled once for each family of MPIs. This file alone includes
 * mpi.h, and has the process's state: MPI is begun once in a process, and ended once. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transports/mpi/calls.h"
#include "util/parse.h"
#include "util/stays.h"

#if MPI_VERSION >= 4
#define SESSIONS 1
#else
#define SESSIONS 0
#endif

#define TAG 1

enum { WATCHERS = 32 };

/* Changed under `lock` only. */
static struct {
    pthread_mutex_t lock;
    bool started, ended;
    bool own;       /* MPI_Init_thread was called here */
    bool everybody; /* all processes of MPI's world are PEs */
    struct mpi_self self;
    int key; /* of the attribute of MPI_COMM_SELF */
    struct {
        void (*over)(void *arg);
        void *arg;
    } watcher[WATCHERS];
#if SESSIONS
    MPI_Session session;
#endif
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local char said[MPI_MAX_ERROR_STRING];

static int calls_fail(struct sy_error *err, int code, const char *text)
{
    if (err)
        snprintf(err->text, sizeof err->text, "%s", text);
    return -code;
}

/* An errno value for an MPI error, negative; 0: success. */
static int calls_judge(int rc)
{
    int length;

    if (rc == MPI_SUCCESS)
        return 0;
    if (MPI_Error_string(rc, said, &length))
        snprintf(said, sizeof said, "MPI error %d", rc);
    return -EIO;
}

static int calls_tell(struct sy_error *err, const char *what)
{
    if (err)
        snprintf(err->text, sizeof err->text, "%s: %.300s", what, said);
    return -EIO;
}

static const char *calls_text(void)
{
    return said;
}

/* ---- the life of MPI ---- */

static const char too_few_threads[] =
    "MPI lets one thread call it: ask for MPI_THREAD_MULTIPLE by MPI_Init_thread, or by MPI_Init "
    "and MPIR_CVAR_DEFAULT_THREAD_LEVEL=MPI_THREAD_MULTIPLE, with Open MPI OMPI_MPI_THREAD_LEVEL=3";

/* For others of the library, which find it by name as they find MPI_Initialized: whether there is a
 * session, which takes leave of the launcher when it ends. */
extern __attribute__((visibility("default"))) int shmem_mpi_in_session(int *flag);
int shmem_mpi_in_session(int *flag)
{
    *flag = process.self.session;
    return 0;
}

#if SESSIONS

/* Begins the one session, which lasts until the process ends: MPICH 4.0 does not survive a session
 * that begins after the last one has ended. So it is kept where the start fails later. */
static int calls_open_session(struct sy_error *err)
{
    MPI_Info info;

    if (process.self.session)
        return 0;
    if (MPI_Info_create(&info))
        return calls_fail(err, EIO, "MPI_Info_create failed");
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    int rc = calls_judge(MPI_Session_init(info, MPI_ERRORS_RETURN, &process.session));
    MPI_Info_free(&info);
    if (rc)
        return calls_tell(err, "MPI_Session_init");
    process.self.session = true;
    return 0;
}

static int calls_begin_session(struct sy_error *err)
{
    MPI_Info info;
    char level[64] = "";
    int found = 0, rc = calls_open_session(err);

    if (rc)
        return rc;
    if (!MPI_Session_get_info(process.session, &info)) {
        MPI_Info_get(info, "thread_level", sizeof level - 1, level, &found);
        MPI_Info_free(&info);
    }
    int initialized = 0, provided = MPI_THREAD_MULTIPLE;
    MPI_Initialized(&initialized);
    if (initialized)
        MPI_Query_thread(&provided);
    if ((found && strcmp(level, "MPI_THREAD_MULTIPLE") != 0) || provided != MPI_THREAD_MULTIPLE)
        return calls_fail(err, ENODEV, too_few_threads);
    return 0;
}

#define calls_begin calls_begin_session

#else

static int calls_begin_world(struct sy_error *err)
{
    int initialized = 0, finalized = 0, level = MPI_THREAD_SINGLE;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (finalized)
        return calls_fail(err, ENODEV,
                          "the program has finalised MPI already, and it cannot begin again: call "
                          "shmem_init before MPI_Finalize");
    if (initialized)
        MPI_Query_thread(&level);
    else if (calls_judge(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level)))
        return calls_tell(err, "MPI_Init_thread");
    process.own = process.own || !initialized; /* an earlier start may have failed after it */
    return level == MPI_THREAD_MULTIPLE ? 0 : calls_fail(err, ENODEV, too_few_threads);
}

#define calls_begin calls_begin_world

#endif

static int calls_group(MPI_Group *group)
{
#if SESSIONS
    return calls_judge(MPI_Group_from_session_pset(process.session, "mpi://WORLD", group));
#else
    return calls_judge(MPI_Comm_group(MPI_COMM_WORLD, group));
#endif
}

static bool calls_ends_deaf(const char *version)
{
    return (strstr(version, "Version:\t4.0") || strstr(version, "Version:\t4.1")) &&
           strstr(version, "ch4:ucx") && !strstr(version, "pmi2") && !strstr(version, "pmix");
}

static int calls_measure(struct sy_error *err)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    struct mpi_self *self = &process.self;
    MPI_Group group;
    int length;

    if (calls_group(&group))
        return calls_tell(err, "the group of all processes");
    MPI_Group_rank(group, &self->rank);
    MPI_Group_size(group, &self->size);
    MPI_Group_free(&group);
    MPI_Get_library_version(version, &length);
    snprintf(self->version, sizeof self->version, "%.*s", MPI_CALLS_VERSION - 1, version);
    self->by_messages = !strncmp(version, "MPICH", strlen("MPICH"));
    self->ends_deaf = calls_ends_deaf(version);
    return 0;
}

#if SESSIONS
/* All meet before they end a deaf MPI, as later MPICHs do themselves, by the server of PMI, which
 * MPI talks to by the same words. No process listens from here to the end of MPI, so none is
 * answered by one that is not ending too. */
static void calls_meet(void)
{
    static const char in[] = "cmd=barrier_in\n";
    int fd = (int)sy_parse_variable("PMI_FD");
    char answer = 0;

    if (!process.self.ends_deaf || !process.everybody || fd < 0)
        return;
    if (TEMP_FAILURE_RETRY(write(fd, in, sizeof in - 1)) != (ssize_t)sizeof in - 1)
        return;
    while (answer != '\n' && TEMP_FAILURE_RETRY(read(fd, &answer, 1)) == 1)
        ;
}
#endif

/* The process ends, and the instances are closed. MPI waits here for the other processes of its
 * job; not so where the process ends in the middle of something. */
static void calls_end(void)
{
    for (int i = 0; i < WATCHERS; i++)
        if (process.watcher[i].over)
            return;
#if SESSIONS
    if (process.self.session && !process.ended) {
        calls_meet();
        MPI_Session_finalize(&process.session);
        process.ended = true; /* this may be asked for twice, where a first start failed */
    }
#else
    int finalized = 1;

    if (process.own)
        MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
#endif
}

static int calls_start(struct mpi_self *self, struct sy_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&process.lock);
    if (!process.started) {
        sy_stays((void *)(uintptr_t)MPI_Get_version, RTLD_GLOBAL);
        sy_stays((void *)(uintptr_t)shmem_mpi_in_session, RTLD_GLOBAL);
        rc = calls_begin(err);
        if (!rc)
            rc = calls_measure(err);
        process.started = !rc;
        atexit(calls_end); /* before what MPI has asked for: MPICH 5 takes leave of PMI then */
    }
    *self = process.self;
    pthread_mutex_unlock(&process.lock);
    return rc;
}

/* ---- who is to know of its end ---- */

/* Called by MPI_Finalize before anything else. */
static int calls_on_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    for (int i = 0; i < WATCHERS; i++) {
        pthread_mutex_lock(&process.lock);
        void (*over)(void *) = process.watcher[i].over;
        void *arg = process.watcher[i].arg;
        pthread_mutex_unlock(&process.lock);
        if (over)
            over(arg);
    }
    return MPI_SUCCESS;
}

static int calls_set_attribute(void)
{
    if (process.self.session || process.key)
        return 0;
    int rc = calls_judge(
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, calls_on_finalize, &process.key, NULL));
    return rc ? rc : calls_judge(MPI_Comm_set_attr(MPI_COMM_SELF, process.key, NULL));
}

static int calls_watch(void (*over)(void *arg), void *arg)
{
    int rc = -ENOSPC;

    pthread_mutex_lock(&process.lock);
    for (int i = 0; i < WATCHERS && rc; i++)
        if (!process.watcher[i].over) {
            process.watcher[i].over = over;
            process.watcher[i].arg = arg;
            rc = calls_set_attribute();
            break;
        }
    pthread_mutex_unlock(&process.lock);
    return rc;
}

static void calls_unwatch(void *arg)
{
    pthread_mutex_lock(&process.lock);
    for (int i = 0; i < WATCHERS; i++)
        if (process.watcher[i].over && process.watcher[i].arg == arg)
            process.watcher[i].over = NULL;
    pthread_mutex_unlock(&process.lock);
}

/* ---- communicators ---- */

static int calls_comm_create(MPI_Group group, const char *name, MPI_Comm *comm)
{
#if SESSIONS
    return calls_judge(
        MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm));
#else
    (void)name;
    return calls_judge(MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, comm));
#endif
}

static int calls_comm_open(const int *ranks, int count, const char *name, mpi_comm *comm,
                           struct sy_error *err)
{
    MPI_Group world, group;
    MPI_Comm made = MPI_COMM_NULL;

    if (calls_group(&world))
        return calls_tell(err, "the group of all processes");
    int rc = calls_judge(MPI_Group_incl(world, count, ranks, &group));
    MPI_Group_free(&world);
    if (rc)
        return calls_tell(err, "a group of the PEs");
    rc = calls_comm_create(group, name, &made);
    MPI_Group_free(&group);
    if (rc)
        return calls_tell(err, "a communicator of the PEs");
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    pthread_mutex_lock(&process.lock);
    process.everybody = count == process.self.size;
    pthread_mutex_unlock(&process.lock);
    *comm = (mpi_comm)made;
    return 0;
}

static void calls_comm_close(mpi_comm comm)
{
    MPI_Comm c = (MPI_Comm)comm;

    MPI_Comm_free(&c);
}

static int calls_barrier(mpi_comm comm, mpi_request *request)
{
    MPI_Request r;
    int rc = calls_judge(MPI_Ibarrier((MPI_Comm)comm, &r));

    *request = (mpi_request)r;
    return rc;
}

/* ---- messages ---- */

static int calls_send(mpi_comm comm, const void *bytes, size_t length, int to, int tag,
                      mpi_request *request)
{
    MPI_Request r;
    int rc = calls_judge(MPI_Isend(bytes, (int)length, MPI_BYTE, to, tag, (MPI_Comm)comm, &r));

    *request = (mpi_request)r;
    return rc;
}

static int calls_receive(mpi_comm comm, void *bytes, size_t room, int from, int tag,
                         mpi_request *request)
{
    MPI_Request r;
    int rc = calls_judge(MPI_Irecv(bytes, (int)room, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from,
                                   tag, (MPI_Comm)comm, &r));

    *request = (mpi_request)r;
    return rc;
}

static int calls_test(mpi_request *request, int *from, size_t *length)
{
    MPI_Request r = (MPI_Request)*request;
    MPI_Status status;
    int done = 0, count = 0, rc = MPI_Test(&r, &done, &status);

    *request = (mpi_request)r;
    if (rc)
        return calls_judge(rc);
    if (!done || !from)
        return done;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *length = (size_t)count;
    return 1;
}

static int calls_test_some(mpi_request *request, int count, int *which)
{
    MPI_Request r[MPI_CALLS_SOME];
    MPI_Status status[MPI_CALLS_SOME];
    int done = 0;

    for (int i = 0; i < count; i++)
        r[i] = (MPI_Request)request[i];
    int rc = MPI_Testsome(count, r, &done, which, status);
    for (int i = 0; i < count; i++)
        request[i] = (mpi_request)r[i];
    return rc ? calls_judge(rc) : done == MPI_UNDEFINED ? 0 : done;
}

static void calls_cancel(mpi_request *request)
{
    MPI_Request r = (MPI_Request)*request;

    MPI_Cancel(&r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* ---- windows ---- */

/* Makes a dynamic window. It has no info, whose keys are about accumulates; there are none here.
 * Errors of the creation go to the communicator, which returns them. */
static int calls_window_open(mpi_comm comm, mpi_window *window, struct sy_error *err)
{
    MPI_Win made;
    int *model = NULL, found = 0;

    if (calls_judge(MPI_Win_create_dynamic(MPI_INFO_NULL, (MPI_Comm)comm, &made)))
        return calls_tell(err, "MPI_Win_create_dynamic");
    MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
    MPI_Win_get_attr(made, MPI_WIN_MODEL, &model, &found);
    if (!found || *model != MPI_WIN_UNIFIED) {
        MPI_Win_free(&made);
        return calls_fail(
            err, EOPNOTSUPP,
            "this MPI keeps a copy of its own of a window's memory (not MPI_WIN_UNIFIED)");
    }
    if (calls_judge(MPI_Win_lock_all(MPI_MODE_NOCHECK, made))) {
        MPI_Win_free(&made);
        return calls_tell(err, "MPI_Win_lock_all");
    }
    *window = (mpi_window)made;
    return 0;
}

static void calls_window_close(mpi_window window)
{
    MPI_Win w = (MPI_Win)window;

    MPI_Win_unlock_all(w);
    MPI_Win_free(&w);
}

static int calls_attach(mpi_window window, void *base, size_t length)
{
    return calls_judge(MPI_Win_attach((MPI_Win)window, base, (MPI_Aint)length));
}

static int calls_detach(mpi_window window, void *base)
{
    return calls_judge(MPI_Win_detach((MPI_Win)window, base));
}

static int calls_put(mpi_window window, int to, const void *from, size_t length, uint64_t address,
                     mpi_request *request)
{
    MPI_Request r;
    int rc = !request ? MPI_Put(from, (int)length, MPI_BYTE, to, (MPI_Aint)address, (int)length,
                                MPI_BYTE, (MPI_Win)window)
                      : MPI_Rput(from, (int)length, MPI_BYTE, to, (MPI_Aint)address, (int)length,
                                 MPI_BYTE, (MPI_Win)window, &r);

    if (request)
        *request = (mpi_request)r;
    return calls_judge(rc);
}

static int calls_get(mpi_window window, int from, void *to, size_t length, uint64_t address,
                     mpi_request *request)
{
    MPI_Request r;
    int rc = MPI_Rget(to, (int)length, MPI_BYTE, from, (MPI_Aint)address, (int)length, MPI_BYTE,
                      (MPI_Win)window, &r);

    *request = (mpi_request)r;
    return calls_judge(rc);
}

static int calls_flush(mpi_window window, int rank)
{
    return calls_judge(MPI_Win_flush(rank, (MPI_Win)window));
}

extern __attribute__((visibility("default"))) const struct mpi_calls shmem_mpi_calls_1;
const struct mpi_calls shmem_mpi_calls_1 = {
    .size = sizeof(struct mpi_calls),
    .start = calls_start,
    .watch = calls_watch,
    .unwatch = calls_unwatch,
    .comm_open = calls_comm_open,
    .comm_close = calls_comm_close,
    .barrier = calls_barrier,
    .send = calls_send,
    .receive = calls_receive,
    .test = calls_test,
    .test_some = calls_test_some,
    .cancel = calls_cancel,
    .window_open = calls_window_open,
    .window_close = calls_window_close,
    .attach = calls_attach,
    .detach = calls_detach,
    .put = calls_put,
    .get = calls_get,
    .flush = calls_flush,
    .text = calls_text,
};
