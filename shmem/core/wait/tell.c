#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/start/boot.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "core/fatal.h"
#include "core/guard.h"
#include "core/wait/blocked.h"
#include "core/wait/ending.h"
#include "core/wait/stall.h"
#include "core/wait/tell.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/symbol.h"

/* What the launcher is given to say why a PE is missing. */
#define HEARD_OUT_NS UINT64_C(1000000000)

/* The blocked wait that the launcher was told of last, and for how long it had lasted then. */
static struct {
    uint64_t wait;
    unsigned flags;
    double seconds;
} told;

static struct {
    void (*_Atomic wake)(void); /* NULL: our handler is not the one of SIGUSR1 */
    void (*behind)(int);        /* that it calls, of an MPI; NULL: none */
} usr1;

/* What this PE does, and for how many seconds. */
static double tell_text(char *text, size_t room)
{
    double seconds = sy_stall_text(text, room);

    if (sy_ending_since())
        snprintf(text, room, "in MPI_Finalize, which waits for the other processes");
    return seconds;
}

static void tell_launcher(bool asked)
{
    char text[200];
    double seconds = tell_text(text, sizeof text), blocked;
    unsigned flags = 0;
    uint64_t wait = 0;

    if (asked && sy_config.deadlock_timeout > 0)
        wait = sy_blocked_look(sy_config.deadlock_timeout, &flags, &blocked);
    if (asked)
        sy_boot->blocked(sy_boot_self, wait, flags);
    sy_boot->note(sy_boot_self, text, seconds, asked);
}

void sy_tell_asked(void)
{
    while (sy_guard_hear()) {
        tell_launcher(true);
        told.wait = 0;
    }
}

void sy_tell_stalled(double every)
{
    if (sy_stall_due(sy_config.stall_report, every))
        tell_launcher(false);
}

double sy_tell_blocked(void)
{
    unsigned flags;
    double seconds;
    uint64_t wait = sy_blocked_look(sy_config.deadlock_timeout, &flags, &seconds);

    if (!wait && sy_blocked_deserted())
        sy_fatal(
            "the main thread has ended by pthread_exit, without shmem_finalize, and it was the "
            "last one of the program; have main return, or call exit");
    if (!wait || (wait == told.wait && flags == told.flags && seconds < 2 * told.seconds))
        return seconds;
    told.flags = flags;
    told.wait = wait;
    told.seconds = seconds;
    sy_boot->blocked(sy_boot_self, wait, flags);
    return seconds;
}

void sy_tell_hear_out(void)
{
    const uint64_t end = sy_clock_ns() + HEARD_OUT_NS;

    if (!sy_boot || sy_boot->wait_fd(sy_boot_self) < 0 || getpid() != sy_world.process)
        return;
    while (sy_clock_ns() < end) {
        if (sy_guard_hear())
            tell_launcher(true);
        sy_clock_sleep(10 * 1000 * 1000);
    }
}

/* ---- SIGUSR1 ---- */

void sy_tell_log(void)
{
    char text[200];
    double seconds = tell_text(text, sizeof text);

    if (seconds > 0)
        sy_log(SY_LOG_WARN, "progress", "SIGUSR1: this PE is %s, for %.1f s", text, seconds);
    else
        sy_log(SY_LOG_WARN, "progress", "SIGUSR1: this PE is %s", text);
    sy_stall_tell_outstanding();
}

/* An MPI that came later calls this one in turn, perhaps from the handler that this one calls. A
 * thread may be in here while another one calls sy_tell_usr1_end. */
void sy_tell_on_usr1(int number)
{
    static atomic_bool inside;

    if (atomic_exchange(&inside, true))
        return;
    void (*wake)(void) = atomic_load(&usr1.wake);
    if (wake)
        wake();
    if (usr1.behind)
        usr1.behind(number);
    atomic_store(&inside, false);
}

/* Whether a handler is that of an MPI, which is a library. MPICH has one, to hear from hydra that a
 * process has failed. */
static bool tell_is_mpis(const struct sigaction *action)
{
    const void *init = dlsym(RTLD_DEFAULT, "MPI_Init");
    const char *file = init ? sy_symbol_file(init) : NULL,
               *of = sy_symbol_file((const void *)(uintptr_t)action->sa_handler);

    return file && *file && of && !strcmp(of, file) && !(action->sa_flags & SA_SIGINFO);
}

void sy_tell_usr1_begin(void (*wake)(void))
{
    struct sigaction action;

    memset(&usr1, 0, sizeof usr1);
    if (sigaction(SIGUSR1, NULL, &action) ||
        (action.sa_handler != SIG_DFL && !tell_is_mpis(&action)))
        return;
    usr1.behind = action.sa_handler == SIG_DFL ? NULL : action.sa_handler;
    usr1.wake = wake;
    memset(&action, 0, sizeof action);
    action.sa_handler = sy_tell_on_usr1;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGUSR1, &action, NULL))
        usr1.wake = NULL;
}

void sy_tell_usr1_end(void)
{
    struct sigaction action;

    if (usr1.wake && !sigaction(SIGUSR1, NULL, &action) && action.sa_handler == sy_tell_on_usr1)
        signal(SIGUSR1, usr1.behind ? usr1.behind : SIG_DFL);
    usr1.wake = NULL;
}
