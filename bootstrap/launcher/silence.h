/* How long the other end of a connection has been silent, as far as this end can judge. Time in
 * which this process did not run does not count, nor time in which the processes that carry the
 * connection (ssh) waited for a processor. No clock and no descriptor is read here. */
#ifndef SY_LAUNCHER_SILENCE_H
#define SY_LAUNCHER_SILENCE_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    SY_SILENCE_BEATS = 8 /* checks within the time that the other side may be silent */
};

struct sy_silence {
    double beat;    /* seconds between two checks */
    double looked;  /* when the last one was */
    double delay;   /* of the carriers, at the last check */
    double counted; /* seconds of silence */
    bool silent;    /* nothing had come at the last check */
};

/* The processes that carry the connection. */
struct sy_carriers {
    double delay; /* seconds for which they have waited for a processor since they began, without
                     a wait that still goes on */
    bool ready;   /* one of them waits for a processor now, or has one */
};

/* limit: for how many seconds the other side may be silent. now: sy_clock() (util/clock.h). */
void sy_silence_begin(struct sy_silence *silence, double limit, double now);

/* Makes a check, once a beat. heard: bytes have come since the last check, or wait to be read;
 * `carriers` matters only where nothing was heard. Returns the seconds of silence that count. */
double sy_silence_look(struct sy_silence *silence, double now, bool heard,
                       struct sy_carriers carriers);

/* The kernel's figures for a process (0: none) and, with `children`, for its children in the same
 * process group. */
struct sy_carriers sy_silence_carriers(pid_t pid, bool children);

#endif
