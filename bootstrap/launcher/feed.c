/* stdin for a PE: see feed.h. A background job must leave the terminal alone: there nothing is read
 * until oshrun is in the foreground again. SIGTTIN is ignored by oshrun, so that the race between
 * looking and reading gives EIO and does not stop the whole job. */
#include "bootstrap/launcher/feed.h"

#include <errno.h>
#include <unistd.h>

static const double LOOK_AGAIN = 0.5; /* seconds between two looks at who has the terminal */

static bool in_background(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);

    return foreground > 0 && foreground != getpgrp();
}

static void end_input(struct sy_feed *feed)
{
    feed->ended = true;
    ev_io_stop(feed->loop, &feed->read);
    ev_timer_stop(feed->loop, &feed->background);
}

void sy_feed_close(struct sy_feed *feed)
{
    if (feed->out < 0)
        return;
    end_input(feed);
    ev_io_stop(feed->loop, &feed->write);
    close(feed->out);
    feed->out = -1;
}

/* Reads only when all that was read is gone: what PE 0 does not want stays in oshrun's stdin. */
static void pass_on(struct sy_feed *feed)
{
    while (feed->start < feed->end) {
        ssize_t n = write(feed->out, feed->data + feed->start, feed->end - feed->start);

        if (n >= 0) {
            feed->start += (size_t)n;
        } else if (errno == EAGAIN) {
            ev_io_stop(feed->loop, &feed->read);
            ev_io_start(feed->loop, &feed->write);
            return;
        } else if (errno != EINTR) {
            sy_feed_close(feed);
            return;
        }
    }
    ev_io_stop(feed->loop, &feed->write);
    if (feed->ended)
        sy_feed_close(feed);
    else
        ev_io_start(feed->loop, &feed->read);
}

static void wait_for_foreground(struct sy_feed *feed)
{
    ev_io_stop(feed->loop, &feed->read);
    ev_timer_again(feed->loop, &feed->background);
}

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct sy_feed *feed = io->data;
    ssize_t n;

    (void)loop;
    (void)events;
    if (in_background()) {
        wait_for_foreground(feed);
        return;
    }
    n = read(STDIN_FILENO, feed->data, sizeof feed->data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && errno == EIO && in_background()) {
        wait_for_foreground(feed);
        return;
    }
    feed->start = 0;
    feed->end = n > 0 ? (size_t)n : 0;
    if (n <= 0)
        end_input(feed);
    pass_on(feed);
}

static void writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    pass_on(io->data);
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

void sy_feed_open(struct sy_feed *feed, struct ev_loop *loop, int out)
{
    feed->loop = loop;
    feed->out = out;
    ev_io_init(&feed->read, readable, STDIN_FILENO, EV_READ);
    ev_io_init(&feed->write, writable, out, EV_WRITE);
    ev_timer_init(&feed->background, look_again, 0., LOOK_AGAIN);
    feed->read.data = feed->write.data = feed->background.data = feed;
    ev_io_start(loop, &feed->read);
}
