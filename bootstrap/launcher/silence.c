/* The judge of silence: see silence.h.
 *
 * Why a host is not called lost because this machine is overloaded: silence grows by one beat for
 * each look at which nothing has come and nothing waits to be read, so that it takes as many looks
 * as there are beats in the limit, however much time a look was late. A look that is late by a time
 * proves that this process did not run for that time, and it counts for so much less. Bytes that
 * have come as far as this machine count as heard even if a frame is not complete or not read. What
 * is left is a carrier that does not run: the kernel tells how long a process was ready and not
 * running, once it runs again, and this too is taken off; while one is ready nothing counts. A host
 * whose agent itself does not run for so long, while all here runs well, cannot be told from one
 * that is lost. */
#include "bootstrap/launcher/silence.h"

#include <stdio.h>
#include <unistd.h>

#include "util/proc.h"

enum { CARRIERS = 8 /* processes that are looked at: ssh, and the scripts around it */ };

void sy_silence_begin(struct sy_silence *silence, double limit, double now)
{
    *silence = (struct sy_silence){.beat = limit / SY_SILENCE_BEATS, .looked = now};
}

double sy_silence_look(struct sy_silence *silence, double now, bool heard,
                       struct sy_carriers carriers)
{
    double elapsed = now - silence->looked;
    double counts = elapsed < silence->beat ? elapsed : silence->beat;

    if (elapsed > silence->beat)
        counts -= elapsed - silence->beat;
    if (carriers.delay > silence->delay)
        counts -= carriers.delay - silence->delay;
    silence->looked = now;
    silence->delay = carriers.delay;
    /* The first silent check notes the carriers' delay so far; it counts nothing itself. */
    if (heard || !silence->silent)
        silence->counted = 0;
    else if (counts > 0 && !carriers.ready)
        silence->counted += counts;
    silence->silent = !heard;
    return silence->counted;
}

/* How long the process was ready and not running, in seconds. */
static double silence_delay(pid_t pid)
{
    char text[SY_PROC_TEXT];
    uint64_t ns;

    return sy_proc_queued(sy_proc_of(pid, "schedstat", text), &ns) ? (double)ns / 1e9 : 0;
}

struct sy_carriers sy_silence_carriers(pid_t pid, bool children)
{
    pid_t carrier[CARRIERS] = {pid};
    int count = pid > 0 ? 1 : 0;
    struct sy_carriers carriers = {0};

    for (int i = 0; i < count; i++) {
        char path[64], text[SY_PROC_TEXT];
        int child;
        FILE *in;

        carriers.delay += silence_delay(carrier[i]);
        carriers.ready = carriers.ready ||
                         sy_proc_state(sy_proc_of(carrier[i], "stat", text)) == 'R';
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)carrier[i], (int)carrier[i]);
        in = children ? fopen(path, "re") : NULL;
        while (in && count < CARRIERS && fscanf(in, "%d", &child) == 1) {
            /* PEs are no carriers, where the command is an agent itself. */
            if (getpgid(child) == getpgid(pid))
                carrier[count++] = child;
        }
        if (in)
            fclose(in);
    }
    return carriers;
}
