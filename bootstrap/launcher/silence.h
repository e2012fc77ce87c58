/* How long the other end of a conversation has been silent, as far as this end can judge. Time in
 * which this process did not run, or in which the processes that carry the conversation (ssh) were
 * kept from running, does not count as the other side's silence. No clock and no descriptor is read
 * here. */
#ifndef SY_LAUNCHER_SILENCE_H
#define SY_LAUNCHER_SILENCE_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    SY_SILENCE_BEATS = 8 /* looks within the time of silence that the other side is allowed */
};

struct sy_silence {
    double beat;    /* seconds between two looks */
    double looked;  /* when the last one was */
    double delay;   /* of the carriers, at the last look */
    double counted; /* seconds of silence */
    bool silent;    /* nothing had come at the last look */
};

/* The processes that carry the conversation. */
struct sy_carriers {
    double delay; /* seconds for which they have ever waited for a processor, waits that last left
                     out */
    bool ready;   /* one of them waits for a processor now, or has one */
};

/* limit: the seconds of silence that the other side is allowed. now: sy_clock() (net/io.h).
 */
void sy_silence_begin(struct sy_silence *silence, double limit, double now);

/* A check, to be made once a beat. heard: bytes have come since the last check, or wait to be read;
 * the carriers are asked for only where nothing was heard. Returns the seconds of silence that
 * count. */
double sy_silence_look(struct sy_silence *silence, double now, bool heard,
                       struct sy_carriers carriers);

/* The kernel's figures for a process (0: none) and, if wanted, for its children of the same group.
 */
struct sy_carriers sy_silence_carriers(pid_t pid, bool children);

#endif
