/* stdin for PEs: see feed.h. A background job must leave the terminal alone: there nothing is read
 * until oshrun is in the foreground again. SIGTTIN is ignored by oshrun, so that the race between
 * looking and reading gives EIO and does not stop the whole job. */
#include "bootstrap/launcher/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

static const double LOOK_AGAIN = 0.5; /* seconds between two looks at who has the terminal */

static bool in_background(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);

    return foreground > 0 && foreground != getpgrp();
}

void sy_feed_close(struct sy_feed *feed)
{
    if (!feed->open)
        return;
    feed->open = false;
    ev_io_stop(feed->loop, &feed->read);
    ev_timer_stop(feed->loop, &feed->background);
    free(feed->wants);
    free(feed->owes);
    feed->wants = feed->owes = NULL;
}

static void wait_for_foreground(struct sy_feed *feed)
{
    ev_io_stop(feed->loop, &feed->read);
    ev_timer_again(feed->loop, &feed->background);
}

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    static char data[65536];
    struct sy_feed *feed = io->data;
    ssize_t n;

    (void)events;
    if (in_background()) {
        wait_for_foreground(feed);
        return;
    }
    n = read(STDIN_FILENO, data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && errno == EIO && in_background()) {
        wait_for_foreground(feed);
        return;
    }
    if (n <= 0) {
        feed->pass(feed, "", 0);
        sy_feed_close(feed);
        return;
    }
    ev_io_stop(loop, io);
    feed->unanswered = feed->readers;
    memcpy(feed->owes, feed->wants, (size_t)feed->npes * sizeof *feed->owes);
    feed->pass(feed, data, (size_t)n);
}

static void look_again(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_feed *feed = timer->data;

    (void)events;
    if (in_background())
        return;
    ev_timer_stop(loop, timer);
    ev_io_start(loop, &feed->read);
}

bool sy_feed_awaits(const struct sy_feed *feed, int pe)
{
    return feed->open && feed->owes[pe];
}

/* What no PE wants stays in oshrun's stdin. */
void sy_feed_taken(struct sy_feed *feed, int pe, bool closed)
{
    if (!sy_feed_awaits(feed, pe))
        return;
    feed->owes[pe] = false;
    if (closed) {
        feed->wants[pe] = false;
        feed->readers--;
    }
    feed->unanswered--;
    if (!feed->readers)
        sy_feed_close(feed);
    else if (feed->unanswered <= 0)
        ev_io_start(feed->loop, &feed->read);
}

void sy_feed_open(struct sy_feed *feed, struct ev_loop *loop)
{
    feed->loop = loop;
    feed->open = true;
    feed->owes = sy_memory_zeroed((size_t)feed->npes, sizeof *feed->owes);
    for (int pe = 0; pe < feed->npes; pe++)
        feed->readers += feed->wants[pe];
    ev_io_init(&feed->read, readable, STDIN_FILENO, EV_READ);
    ev_timer_init(&feed->background, look_again, 0., LOOK_AGAIN);
    feed->read.data = feed->background.data = feed;
    ev_io_start(loop, &feed->read);
}
