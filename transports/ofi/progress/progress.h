/* Progress, and signs of life: what goes on while nobody calls.
 *
 * progress.c   polls completion queues; when the core's progress thread sleeps and wakes
 * sleep.c      the descriptors on which threads sleep
 * wakeup.c     wakes a PE that computes where its main queue cannot
 * probe.c      whether the hosts of PEs that owe something still answer */
#ifndef SY_TRANSPORTS_OFI_PROGRESS_H
#define SY_TRANSPORTS_OFI_PROGRESS_H

#include "transports/ofi/message/message.h"

#define OFI_TICK_NS    250000L /* between looks where nothing is sure to wake who sleeps */
#define OFI_UNHEARD_NS 50000L  /* until the other side gets a wake-up, if this one does not wait */

/* A wait inside a call; zeros when it begins. */
struct ofi_wait {
    uint64_t since; /* the core's */
    int idle;       /* looks in a row that found nothing */
};

/* See wakeup.c. */
struct ofi_wakeup {
    int fd;        /* -1: none */
    uint16_t port; /* in the network's order */
    bool wanted;   /* some PEs have to be woken */
    bool from_far; /* PEs on other hosts may send some */
};

/* See probe.c. The progress thread's, but for what any thread writes. */
struct ofi_probes {
    struct ofi_probe *first;
    uint64_t looked;          /* the last look; 0: none since something is owed */
    _Atomic uint64_t look_at; /* when the next one is; any thread */
    _Atomic bool watching;    /* something is owed; any thread */
};

/* progress.c */
int sy_ofi_progress(struct ofi_state *ofi);
int sy_ofi_poll(struct ofi_state *ofi); /* with the main endpoint locked */
int sy_ofi_event(struct ofi_state *ofi);
int sy_ofi_arm(void *self);
void sy_ofi_wait(struct ofi_state *ofi, _Atomic int *left);
void sy_ofi_wait_step(struct ofi_state *ofi, struct ofi_wait *wait);
bool sy_ofi_drain(struct ofi_state *ofi, double seconds);

/* sleep.c */
int sy_ofi_sleep_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_sleep_close(struct ofi_state *ofi);
int sy_ofi_wait_fd(void *self);
void sy_ofi_set_timer(struct ofi_state *ofi, long ns); /* with the main endpoint locked */
void sy_ofi_watch_queue(struct ofi_state *ofi, bool on);

/* wakeup.c */
int sy_ofi_wakeup_open(struct ofi_state *ofi);
int sy_ofi_wakeup_meet(struct ofi_peer *peer, const void *address, uint16_t its_port);
bool sy_ofi_wakeup_taken(struct ofi_state *ofi);
void sy_ofi_wakeup_send(struct ofi_peer *peer, unsigned flags);
void sy_ofi_wakeup_due(struct ofi_state *ofi);
bool sy_ofi_wakeup_inquire(struct ofi_state *ofi, bool now);

/* probe.c */
void sy_ofi_probes_meet(struct ofi_peer *peer, const void *address);
void sy_ofi_probes_look(struct ofi_state *ofi);
void sy_ofi_probes_heard(struct ofi_peer *peer, uint32_t received, uint32_t applied);
void sy_ofi_probes_close(struct ofi_state *ofi);

#endif
