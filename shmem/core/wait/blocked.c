/* See blocked.h. The program's threads are those that there are beside the library's own. Some are
 * parked: only another thread of the process can wake them. If all others have notes of a wait
 * (stall.h), none does anything else. */
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <shmem/constants.h>

#include "core/wait/tell.h"
#include "core/wait/blocked.h"
#include "core/wait/ending.h"
#include "core/route/route.h"
#include "core/wait/stall.h"
#include "core/start/world.h"
#include "util/clock.h"
#include "util/own_memory.h"
#include "util/proc.h"
#include "util/says.h"
#include "util/symbol.h"

/* How long to look for the end of what is outstanding, and the first time between two looks. */
#define OUTSTANDING_NS UINT64_C(20000000)
#define MOMENT_NS      UINT64_C(500000)

/* Multiple of the time limit where no PE is in shmem_finalize: the program may be waiting for
 * something from outside. */
#define LONG 12

enum {
    MOST = 64,         /* threads */
    STACK_WORDS = 1024 /* of a thread that sleeps, from its stack pointer on */
};

/* Threads, by their numbers; count -1: there are too many, or they cannot be seen. */
struct tasks {
    int count;
    pid_t task[MOST];
};

static struct tasks before, own = {.count = -1};

static atomic_bool issues; /* threads of the library issue operations */

/* Libraries that have a thread for their own events, which sleeps on descriptors. None of these
 * threads calls a program. The first are this library's own, which a transport may start later. */
static const char *const services[] = {"shmem_transport_", "libucs.", "libfabric.", "libopen-pal.",
                                       "libpmix."};

/* Where the C library's function that begins a thread calls the thread's own function. */
static const void *_Atomic begins;

static bool wait_blocked_is_among(const struct tasks *tasks, pid_t task)
{
    for (int i = 0; i < tasks->count; i++)
        if (tasks->task[i] == task)
            return true;
    return false;
}

/* The threads that there are, but for those in `others`. */
static void wait_blocked_list_tasks(struct tasks *tasks, const struct tasks *others)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;

    tasks->count = folder ? 0 : -1;
    while (folder && tasks->count >= 0 && (entry = readdir(folder))) {
        pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task <= 0 || (others && wait_blocked_is_among(others, task)))
            continue;
        if (tasks->count == MOST)
            tasks->count = -1;
        else
            tasks->task[tasks->count++] = task;
    }
    if (folder)
        closedir(folder);
}

void sy_blocked_threads_begin(void)
{
    wait_blocked_list_tasks(&before, NULL);
}

void sy_blocked_threads_end(void)
{
    own.count = -1;
    if (before.count > 0)
        wait_blocked_list_tasks(&own, &before);
}

void sy_blocked_threads_base(const void *address)
{
    atomic_store(&begins, address);
}

void sy_blocked_threads_issue(void)
{
    atomic_store(&issues, true);
}

/* Whether a thread is in a futex without a limit that is private to the process, as in
 * pthread_cond_wait or between two parallel regions of OpenMP; or waits in pthread_join for one of
 * `tasks`, whose number is the word that is waited for. */
static bool wait_blocked_is_parked(pid_t task, const struct tasks *tasks)
{
    unsigned long word, operation, value, limit;
    char text[SY_PROC_TEXT];
    long call;

    if (sscanf(sy_proc_of_thread(task, "syscall", text), "%ld %lx %lx %lx %lx", &call, &word,
               &operation, &value, &limit) != 5 ||
        call != SYS_futex || limit)
        return false;
    operation &= ~(unsigned long)FUTEX_CLOCK_REALTIME;
    bool private = operation & FUTEX_PRIVATE_FLAG;
    operation &= ~(unsigned long)FUTEX_PRIVATE_FLAG;
    return (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
           (private || wait_blocked_is_among(tasks, (pid_t)value));
}

/* The words of a sleeping thread's stack, from its stack pointer on: how many. The thread may end
 * meanwhile. */
static size_t wait_blocked_read_stack(pid_t task, uintptr_t *words, size_t most)
{
    unsigned long pointer;
    char text[SY_PROC_TEXT];

    if (sscanf(sy_proc_of_thread(task, "syscall", text), "%*d %*x %*x %*x %*x %*x %*x %lx",
               &pointer) != 1)
        return 0;
    return sy_own_memory_read(pointer, words, most);
}

static bool wait_blocked_names_service(const char *file, bool *served)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (!strncmp(name, services[i], strlen(services[i]))) {
            *served |= i > 0;
            return true;
        }
    return false;
}

/* Whether a thread sleeps in a function of one of `services`, by which it was begun: that function
 * has the last return address on the stack before the one into the C library that began it.
 * served: set where that is not this library's own. */
static bool wait_blocked_is_service(pid_t task, bool *served)
{
    uintptr_t word[STACK_WORDS];
    const void *base = atomic_load(&begins);
    const char *library = base ? sy_symbol_file(base) : NULL, *file = NULL;
    size_t count = library ? wait_blocked_read_stack(task, word, STACK_WORDS) : 0, i = 0;

    while (i < count && word[i] != (uintptr_t)base)
        i++;
    if (i == count)
        return false;
    while (i-- > 0 && (!file || !strcmp(file, library)))
        file = sy_symbol_file((const void *)word[i]);
    return file && wait_blocked_names_service(file, served);
}

/* Whether each thread of the program waits in the library or is parked; but for the main one, if it
 * is in MPI_Finalize. served: there is one of another library's service. */
static bool wait_blocked_all_threads(bool ending, bool *served)
{
    struct tasks others;

    if (own.count < 0)
        return false;
    wait_blocked_list_tasks(&others, &own);
    for (int i = 0; i < others.count; i++) {
        if ((ending && others.task[i] == getpid()) || sy_stall_is_waiting(others.task[i]) ||
            wait_blocked_is_parked(others.task[i], &others) ||
            wait_blocked_is_service(others.task[i], served))
            continue;
        return false;
    }
    return others.count > 0;
}

/* Whether no thread can do anything for another PE. Below SHMEM_THREAD_MULTIPLE one thread at a
 * time calls the library. Where that thread waits for words that only the library writes, the
 * others do not matter. */
static bool wait_blocked_threads(bool inside, bool *served)
{
    return (inside && sy_world.thread_level != SHMEM_THREAD_MULTIPLE && !atomic_load(&issues)) ||
           wait_blocked_all_threads(false, served);
}

/* As sy_stall_waits, where the main thread is in MPI_Finalize since `ending`. */
static uint64_t wait_blocked_ends(uint64_t ending, uint64_t wait, double *seconds)
{
    double ends = (double)(sy_clock_ns() - ending) / 1e9;

    *seconds = wait && *seconds < ends ? *seconds : ends;
    return wait * 31 + ending;
}

static bool wait_blocked_has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0 ||
           errno != ECHILD;
}

/* Less than 0: a transport cannot tell. */
static int wait_blocked_outstanding(void)
{
    struct sy_outstanding one;
    int count = 0;

    for (unsigned i = 0; i < sy_routes.count && !count; i++)
        count = sy_routes.transport[i].table->outstanding(sy_routes.transport[i].self, &one, 1);
    return count;
}

/* The same for some milliseconds. A transport cannot tell while a thread that waits is polling it,
 * and may ask the other side whether the last messages have arrived only when it is asked itself.
 * Each look comes later than the one before: hundreds of PEs on a host may be looking. */
static bool wait_blocked_stays_outstanding(void)
{
    struct timespec moment = {0};

    for (uint64_t waited = 0;; waited += (uint64_t)moment.tv_nsec) {
        int count = wait_blocked_outstanding();
        if (!count)
            return false;
        moment.tv_nsec = count > 0 && waited ? 2 * moment.tv_nsec : (long)MOMENT_NS;
        if (waited + (uint64_t)moment.tv_nsec > OUTSTANDING_NS)
            return true;
        nanosleep(&moment, NULL);
    }
}

/* Whether a handler of the program's, not the library's, may end a wait. Crashes' do not. */
static bool wait_blocked_has_handlers(void)
{
    static const unsigned long crashes = 1UL << SIGSEGV | 1UL << SIGBUS | 1UL << SIGFPE |
                                         1UL << SIGILL | 1UL << SIGABRT;
    struct sigaction action;

    for (int number = 1; number < NSIG; number++)
        if (!(number < 32 && crashes >> number & 1) && !sigaction(number, NULL, &action) &&
            (action.sa_flags & SA_SIGINFO ||
             (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
              action.sa_handler != sy_tell_on_usr1)))
            return true;
    return false;
}

bool sy_blocked_deserted(void)
{
    struct tasks others = {.count = -1};
    char text[SY_PROC_TEXT];

    if (sy_proc_state(sy_proc_of_thread(getpid(), "stat", text)) == 'Z' && own.count >= 0)
        wait_blocked_list_tasks(&others, &own);
    return others.count == 1;
}

uint64_t sy_blocked_look(double limit, unsigned *flags, double *seconds)
{
    bool inside, served = false;
    uint64_t wait = sy_stall_waits(&inside, seconds), ending = sy_ending_since();

    *flags = 0;
    if (ending)
        wait = wait_blocked_ends(ending, wait, seconds);
    if (!wait || *seconds < limit ||
        !(ending ? wait_blocked_all_threads(true, &served)
                 : wait_blocked_threads(inside, &served)) ||
        wait_blocked_stays_outstanding())
        return 0;
    if (ending)
        *flags |= SY_BLOCKED_ENDING;
    else if (sy_says_initialized()) /* an MPI_Finalize of others may wait for this process */
        *flags |= SY_BLOCKED_MPI;
    if (sy_world.finalizing)
        *flags |= SY_BLOCKED_FINALIZING;
    if (sy_world.streaming)
        *flags |= SY_BLOCKED_STREAM;
    if (*seconds >= LONG * limit)
        *flags |= SY_BLOCKED_LONG;
    if (inside)
        *flags |= SY_BLOCKED_INSIDE;
    if (served || wait_blocked_has_children() || wait_blocked_has_handlers())
        *flags |= SY_BLOCKED_OUTSIDE;
    return wait;
}
