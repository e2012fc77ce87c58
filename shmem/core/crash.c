/* See crash.h. The handler works once: SA_RESETHAND restores the signal's default effect, and the
 * instruction that failed fails again when the handler returns. The handler must not take locks of
 * the program or allocate, with three exceptions: the first backtrace() of a process loads a
 * library (sy_callsite_prepare does that in time, for processes that live a second), dladdr() takes
 * a lock of the dynamic linker, and the mapping of a stack that is full or of memory that is lost
 * is read from a stream. Should it block in one of these, or crash, the process ends by the same
 * signal: a timer sends it, and while the handler runs it is not installed any more. */
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/callsite.h"
#include "core/crash.h"
#include "core/memory/heap.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/log.h"
#include "util/own_memory.h"
#include "util/signals.h"
#include "util/symbol.h"

enum {
    FRAMES = 24,  /* that are looked at */
    SHOWN = 12,   /* of those above the crash */
    PATIENCE = 2, /* seconds */
    STACK = 64 * 1024,
    BELOW = 256,    /* bytes below the stack pointer that are in use */
    GUARD = 1 << 20 /* bytes below a stack in which nothing else is mapped, as Linux has it */
};

static atomic_flag told = ATOMIC_FLAG_INIT;

/* Where the handler runs on the thread that has initialised the library, whose stack may be full.
 * Another thread has no such place: the kernel then ends the process without a report. */
static char stack[STACK] __attribute__((aligned(16)));

static const char *crash_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV (invalid memory access)";
    case SIGBUS:
        return "SIGBUS (memory that cannot be had)";
    case SIGFPE:
        return "SIGFPE (arithmetic error)";
    case SIGILL:
        return "SIGILL (invalid instruction)";
    default:
        return "SIGABRT (abort)";
    }
}

static void crash_limit(int number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec when = {.it_value.tv_sec = PATIENCE};
    int timer;

    /* Not the C library's: it may allocate. */
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0)
        syscall(SYS_timer_settime, timer, 0, &when, NULL);
}

/* The frames above the handler: the kernel's frame for the signal has the address `at` above it.
 * Where that is not found, as after abort(), all are shown. */
static int crash_first(void *const *frame, int count, uintptr_t at)
{
    for (int i = 0; i < count; i++)
        if ((uintptr_t)frame[i] == at)
            return i;
    return count > 2 ? 2 : 0; /* the handler and the kernel's */
}

static void crash_frames(uintptr_t at)
{
    void *frame[FRAMES];
    int count = backtrace(frame, FRAMES);

    if (!count) /* its library cannot be loaded any more, as after chroot */
        frame[count++] = (void *)at;
    int first = crash_first(frame, count, at);
    for (int i = first; i < count && i < first + SHOWN; i++) {
        char place[300];
        if (!sy_symbol_text(frame[i], i > first, place, sizeof place))
            snprintf(place, sizeof place, "at %p", frame[i]);
        sy_log(SY_LOG_ERROR, "", "  #%d %s", i - first, place);
        if (!strncmp(place, "main ", 5))
            break;
    }
}

/* The address of the instruction, or the stack pointer. */
static uintptr_t crash_register(const ucontext_t *context, bool stack_pointer)
{
#if defined __x86_64__
    return (uintptr_t)context->uc_mcontext.gregs[stack_pointer ? REG_RSP : REG_RIP];
#elif defined __aarch64__
    return stack_pointer ? context->uc_mcontext.sp : context->uc_mcontext.pc;
#else
    (void)context, (void)stack_pointer;
    return 0;
#endif
}

/* Explains an access to an address, of the program itself or of a wait or test of the library. A
 * stack is full where the address and the stack pointer are just below what is mapped of it. */
static void crash_explain(const void *address, uintptr_t pointer)
{
    const uintptr_t at = (uintptr_t)address;
    struct sy_mapping found;
    unsigned window;
    uint64_t offset;

    if (sy_staged_has(address, &window, &offset))
        sy_log(SY_LOG_ERROR, "",
               "  the address is in a memory space of a device, which CPUs cannot load and store: "
               "put and get copy it, and what is to be waited for has to be in another space");
    if (at - (pointer - BELOW) < GUARD && sy_mapping_find(pointer, NULL, &found) &&
        (found.usable || sy_mapping_find(found.end, NULL, &found)) && at < found.begin &&
        found.begin - at < GUARD)
        sy_log(
            SY_LOG_ERROR, "",
            "  the stack of this thread is full, with %zu KiB%s: a function calls itself without "
            "end, or has large variables",
            (found.end - found.begin) >> 10,
            strcmp(found.name, "[stack]") ? "" : ", the limit of `ulimit -s` for this PE");
}

/* Explains an access to memory that is mapped and has lost its page: of this PE or another. */
static void crash_explain_lost(uintptr_t at)
{
    struct sy_mapping lost;
    unsigned window;
    uint64_t offset;
    int pe = sy_windows_mapped((const void *)at, &window, &offset);

    if (pe < 0)
        return;
    bool known = sy_mapping_find(at, NULL, &lost) && lost.begin <= at && *lost.name;
    sy_log(SY_LOG_ERROR, "",
           "  the address is in the %s of PE %d, in %s: somebody has shortened this file, or its "
           "disk is full, or gone",
           sy_windows.entry[window].heap ? sy_windows.entry[window].heap->name : "memory", pe,
           known ? lost.name : "an unknown file");
}

/* The handler. A signal that another process or raise() has sent does not come again by itself, so
 * it is raised again. */
static void crash_on(int number, siginfo_t *info, void *context)
{
    const bool sent = info->si_code <= 0;
    char where[40] = "";

    if (getpid() == sy_world.process && !atomic_flag_test_and_set(&told)) {
        crash_limit(number);
        if (!sent && (number == SIGSEGV || number == SIGBUS))
            snprintf(where, sizeof where, " at address %p", info->si_addr);
        sy_log(SY_LOG_ERROR, "", "this PE has crashed: %s%s (SHMEM_BACKTRACE=no leaves this out):",
               crash_name(number), where);
        if (sy_callsite_asked)
            sy_log(SY_LOG_ERROR, "", "  this thread carries out %s", sy_callsite_asked);
        if (sy_world.finalizing || (sy_world.npes && !sy_heap.base && !sy_callsite_asked))
            sy_log(SY_LOG_ERROR, "",
                   "  shmem_finalize is under way on this PE, or over: symmetric memory is gone; "
                   "other threads must have ended their calls, and the program's heap be whole");
        if (!sent && number == SIGSEGV)
            crash_explain(info->si_addr, crash_register(context, true));
        if (!sent && number == SIGBUS)
            crash_explain_lost((uintptr_t)info->si_addr);
        crash_frames(crash_register(context, false));
    } else if (getpid() == sy_world.process) {
        sleep(PATIENCE); /* another thread is reporting its own crash */
    }
    if (sent)
        raise(number);
}

static void crash_use_own_stack(void)
{
    stack_t now, own = {.ss_sp = stack, .ss_size = sizeof stack};

    if (!sigaltstack(NULL, &now) && now.ss_flags & SS_DISABLE)
        sigaltstack(&own, NULL);
}

void sy_crash_watch(void)
{
    static bool done;
    struct sigaction now,
        ours = {.sa_sigaction = crash_on,
                .sa_flags = (int)(SA_SIGINFO | SA_RESETHAND | SA_NODEFER | SA_ONSTACK)};

    if (done)
        return;
    done = true;
    sigemptyset(&ours.sa_mask);
    crash_use_own_stack();
    for (size_t i = 0; i < SY_COUNT(sy_crash_signals); i++)
        if (!sigaction(sy_crash_signals[i], NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            sigaction(sy_crash_signals[i], &ours, NULL);
}

void sy_crash_silence(void)
{
    (void)atomic_flag_test_and_set(&told);
}
