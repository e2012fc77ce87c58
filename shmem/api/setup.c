/* Library set-up, exit and query (9.1), thread support (9.2). */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/alias.h"
#include "coll/agree.h"
#include "coll/sync.h"
#include "coll/team.h"
#include "core/callsite.h"
#include "core/start/boot.h"
#include "core/ctx.h"
#include "core/fatal.h"
#include "core/issue.h"
#include "core/rma.h"
#include "core/start/world.h"
#include "space/space.h"
#include "stream/stream.h"
#include "util/log.h"
#include "util/says.h"

/* ---- begin and end ---- */

/* A program of MPI too may leave MPI to shmem_finalize, which ends both in libraries that are made
 * over MPI (Open MPI's). Launchers take a process that has not called MPI_Finalize for a failure.
 * It is called at exit, since the program may use MPI after shmem_finalize, and only where the
 * program ends well: elsewhere it would wait for the others, and the launcher is to end them. A
 * program that has begun OpenSHMEM again may have its messages in MPI: the end of that asks for it
 * once more. */
static void setup_finalize_other(int status, void *arg)
{
    int (*finalize)(void) = NULL;

    (void)arg;
    if (status || sy_world.depth || getpid() != sy_world.process || sy_says("MPI_Finalized") ||
        sy_says("MPI_Is_thread_main") <= 0)
        return;
    *(void **)&finalize = dlsym(RTLD_DEFAULT, "MPI_Finalize");
    if (finalize)
        finalize();
}

/* The routine is known here. PEs that start by the hundred wait for each other for long, and each
 * would look for the name on its stack. */
static void setup_open_world(const char *routine, int thread_level)
{
    sy_callsite_asked = routine;
    sy_world_open(thread_level);
    sy_sync_world();
    sy_callsite_asked = NULL;
}

/* glibc gives freed memory back to the kernel and gets it again page by page. That costs a program
 * that allocates the same in each iteration more than its communication. Freeing a large block for
 * the first time raises the limits of that, unless mallopt or the environment has set them. */
static void setup_keep_pages(void)
{
    void *volatile block = malloc(((size_t)32 << 20) - 8192); /* the largest that counts */

    free(block);
}

/* The vote comes first: a PE that completes it knows that all others are in shmem_finalize too, so
 * none of them waits for it. */
static void setup_close_world(void)
{
    static const struct sy_call call = {.routine = "shmem_finalize"};

    sy_world.finalizing = true;
    sy_world.streaming = true;
    sy_streams_close(NULL);
    sy_world.streaming = false;
    sy_ctx_destroy_all(NULL);
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_agree(&sy_team_world, &call, true);
    /* The barrier completes all communication; once it is over no PE uses another's memory. Its own
     * notifications may still be on their way to PEs that wait for them, until transports close. */
    sy_barrier_world();
    sy_teams_each(sy_team_end);
    sy_quiet(&sy_ctx_control, SY_ALL_PES);
    sy_spaces_close();
    sy_world_close();
    sy_world.finalizing = false;
    if (sy_says_initialized())
        on_exit(setup_finalize_other, NULL);
}

/* A thread is in shmem_finalize, or the exit handler finalises. */
static _Atomic bool setup_finalizer;

/* Two threads that finalise at once would be taken for PEs that make different calls. */
static void setup_refuse_second(const char *what)
{
    if (atomic_exchange(&setup_finalizer, true))
        sy_fatal("%s while a thread of this PE is in shmem_finalize; one thread, the one "
                 "that called shmem_init_thread, calls it, and the others end before",
                 what);
}

/* Implicit finalisation (F.1): a program may leave main without shmem_finalize. With an exit status
 * of failure this PE does not wait for the others; the launcher ends them. */
static void setup_at_exit(int status, void *arg)
{
    static bool ended;

    (void)arg;
    if (ended || getpid() != sy_world.process)
        return;
    ended = true;
    status &= 0377; /* as the parent sees it */
    if (sy_world.depth && !sy_world.ending && !status) {
        setup_refuse_second("the program ends");
        sy_world.exiting = true;
        setup_close_world();
        sy_world.depth = 0;
    }
    if (!sy_world.depth && !sy_world.ending) {
        sy_boot_close();
        return;
    }
    /* The progress thread may still run. */
    sy_leave_claim();
    if (!sy_world.ending)
        sy_boot->failing(sy_boot_self, status);
    sy_boot_leave();
}

/* At exit the last that was asked for is called first. The first time is for an exit while the
 * library starts; the second for it to end before what the libraries of plugins have asked for
 * then: MPICH 5 takes leave of its launcher so. */
static void setup_begin(const char *routine, int thread_level)
{
    static bool registered;

    sy_issue_refuse_child(routine);
    if (sy_world.depth) {
        sy_world.depth++;
        return;
    }
    if (!registered)
        on_exit(setup_at_exit, NULL);
    setup_open_world(routine, thread_level);
    if (!registered) {
        on_exit(setup_at_exit, NULL);
        setup_keep_pages();
    }
    registered = true;
    sy_world.depth = 1;
}

void pshmem_init(void)
{
    setup_begin("shmem_init", SHMEM_THREAD_SINGLE);
}
SY_ALIAS(shmem_init);

int pshmem_init_thread(int requested, int *provided)
{
    int level = requested < SHMEM_THREAD_SINGLE     ? SHMEM_THREAD_SINGLE
                : requested > SHMEM_THREAD_MULTIPLE ? SHMEM_THREAD_MULTIPLE
                                                    : requested;
    setup_begin("shmem_init_thread", level);
    *provided = sy_world.thread_level;
    return 0;
}
SY_ALIAS(shmem_init_thread);

void pstart_pes(int npes)
{
    (void)npes;
    if (sy_world.depth)
        return;
    setup_begin("start_pes", SHMEM_THREAD_SINGLE);
}
SY_ALIAS(start_pes);

void pshmem_finalize(void)
{
    if (!sy_world.depth) { /* some programs call it once too often */
        sy_log(SY_LOG_WARN, "boot", "shmem_finalize has no effect: no shmem_init is left to end");
        return;
    }
    sy_issue_refuse_child("shmem_finalize");
    setup_refuse_second("shmem_finalize was called");
    if (sy_world.depth > 1) {
        sy_barrier_world();
        sy_world.depth--;
    } else {
        sy_callsite_asked = "shmem_finalize";
        setup_close_world();
        sy_callsite_asked = NULL;
        sy_world.depth = 0;
    }
    setup_finalizer = false;
}
SY_ALIAS(shmem_finalize);

void pshmem_query_initialized(int *initialized)
{
    *initialized = sy_world.depth > 0;
}
SY_ALIAS(shmem_query_initialized);

void pshmem_query_thread(int *provided)
{
    *provided = sy_world.thread_level;
}
SY_ALIAS(shmem_query_thread);

void pshmem_global_exit(int status)
{
    sy_exit_job(status);
}
SY_ALIAS(shmem_global_exit);

/* ---- query ---- */

#define DEFINE_QUERY(NAME, MEMBER)                                                                 \
    SY_DEFINE(int, NAME, (void), sy_world_need(#NAME); return sy_world.MEMBER;)
DEFINE_QUERY(shmem_my_pe, pe)
DEFINE_QUERY(shmem_n_pes, npes)
DEFINE_QUERY(_my_pe, pe)
DEFINE_QUERY(_num_pes, npes)

/* Every PE is reached by some route: otherwise the job would not have started. */
int pshmem_pe_accessible(int pe)
{
    return sy_world.depth && pe >= 0 && pe < sy_world.npes;
}
SY_ALIAS(shmem_pe_accessible);

int pshmem_addr_accessible(const void *addr, int pe)
{
    unsigned window;
    uint64_t offset;

    if (!pshmem_pe_accessible(pe) || sy_windows_find(addr, &window, &offset))
        return 0;
    return sy_windows_usable(window, pe);
}
SY_ALIAS(shmem_addr_accessible);

void *pshmem_ptr(const void *dest, int pe)
{
    unsigned window;
    uint64_t offset;

    if (!pshmem_pe_accessible(pe) || sy_windows_find(dest, &window, &offset))
        return NULL;
    char *base = sy_windows_peer(window, pe);
    return base ? base + offset : NULL;
}
SY_ALIAS(shmem_ptr);

void pshmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}
SY_ALIAS(shmem_info_get_version);

void pshmem_info_get_name(char *name)
{
    memcpy(name, SHMEM_VENDOR_STRING, sizeof SHMEM_VENDOR_STRING);
}
SY_ALIAS(shmem_info_get_name);
