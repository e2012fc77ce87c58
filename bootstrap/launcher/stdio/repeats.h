/* Lines that many streams write at once, and that are shown once: "PE 0@a: warning: ... (and 31
 * more PEs)". A line that may be such a one waits for a moment for the same line of others. This
 * file tells streams apart, and compares lines by their text; it knows nothing else of either. */
#ifndef SY_LAUNCHER_REPEATS_H
#define SY_LAUNCHER_REPEATS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#define SY_REPEATS_DELAY 0.25 /* seconds that a line waits for others to say the same */

enum {
    SY_REPEATS_MAX = 1024 /* texts that wait at a time; more pass as they come */
};

/* One text that waits, or was shown and is still to be taken out of streams. */
struct sy_repeat {
    struct sy_repeat *next; /* while it waits: younger ones */
    const void *place;      /* where it is to be shown: the same text elsewhere is another */
    char *text;
    size_t length;
    int sayers;  /* that have said it */
    int *source; /* and which they are */
    int places;  /* of source */
    int users;   /* of them, those that have not got so far in their output */
    double due;  /* when it is shown at the latest */
    bool is_due; /* it may be shown */
    bool shown;
};

struct sy_repeats {
    struct ev_loop *loop;
    struct sy_repeat *first, **last; /* those that wait, oldest first */
    int count;
    int streams; /* that may say the same; when all have, nobody is waited for. The owner's */
    ev_timer timer;
    void (*ready)(void *owner); /* streams may go on */
    void *owner;
};

/* streams, ready and owner are set by the caller. */
void sy_repeats_open(struct sy_repeats *repeats, struct ev_loop *loop);

/* The next waiting text that equals this one, after `before` (NULL: from the beginning), or NULL. A
 * stream that writes a line twice has it shown twice: so it searches for one that it has not
 * joined. */
struct sy_repeat *sy_repeats_find(const struct sy_repeats *repeats, const struct sy_repeat *before,
                                  const void *place, const char *text, size_t length);

/* One more stream has the line. */
void sy_repeats_join(struct sy_repeats *repeats, struct sy_repeat *repeat, int source);

/* The first stream with this line; NULL where too many texts wait already. */
struct sy_repeat *sy_repeats_add(struct sy_repeats *repeats, const void *place, const char *text,
                                 size_t length, int source);

/* "PEs 1-3, 7": the streams that have the line, save one (util/list.h). */
void sy_repeats_others(const struct sy_repeat *repeat, int source, char *text, size_t room);

/* The line is shown now, and no stream joins it any more. */
void sy_repeats_show(struct sy_repeats *repeats, struct sy_repeat *repeat);

/* A stream has passed the line in its output. */
void sy_repeats_leave(struct sy_repeats *repeats, struct sy_repeat *repeat);

/* Whether a text waits, and `ready` will be called. */
bool sy_repeats_wait(const struct sy_repeats *repeats);

/* Nothing waits any longer. */
void sy_repeats_release(struct sy_repeats *repeats);

void sy_repeats_close(struct sy_repeats *repeats);

#endif
