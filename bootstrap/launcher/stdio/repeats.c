/* Lines that many streams write: see repeats.h. */
#include "bootstrap/launcher/stdio/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "bootstrap/launcher/memory.h"
#include "util/list.h"

static void repeats_arm(struct sy_repeats *repeats)
{
    ev_timer_stop(repeats->loop, &repeats->timer);
    if (!repeats->first)
        return;
    double after = repeats->first->due - ev_now(repeats->loop);
    ev_timer_set(&repeats->timer, after > 0 ? after : 0., 0.);
    ev_timer_start(repeats->loop, &repeats->timer);
}

/* All wait equally long, so those that are due are the first ones; save where all have said one,
 * which is due at once. The timer is not set again for what is due and not shown: that is up to
 * streams that wait for a slow reader. */
static void repeats_due(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_repeats *repeats = timer->data;
    struct sy_repeat *next = NULL;

    (void)events;
    for (struct sy_repeat *at = repeats->first; at; at = at->next) {
        at->is_due = at->is_due || at->due <= ev_now(loop) + 0.001;
        if (!at->is_due && !next)
            next = at;
    }
    if (next) {
        ev_timer_set(timer, next->due - ev_now(loop), 0.);
        ev_timer_start(loop, timer);
    }
    repeats->ready(repeats->owner);
}

void sy_repeats_open(struct sy_repeats *repeats, struct ev_loop *loop)
{
    repeats->loop = loop;
    repeats->first = NULL;
    repeats->last = &repeats->first;
    ev_timer_init(&repeats->timer, repeats_due, 0., 0.);
    repeats->timer.data = repeats;
}

struct sy_repeat *sy_repeats_find(const struct sy_repeats *repeats, const struct sy_repeat *before,
                                  const void *place, const char *text, size_t length)
{
    struct sy_repeat *at = before ? before->next : repeats->first;

    while (at && (at->length != length || at->place != place || memcmp(at->text, text, length)))
        at = at->next;
    return at;
}

void sy_repeats_join(struct sy_repeats *repeats, struct sy_repeat *repeat, int source)
{
    if (repeat->sayers == repeat->places) {
        repeat->places = repeat->places ? 2 * repeat->places : 4;
        repeat->source = sy_memory_resize(repeat->source,
                                          (size_t)repeat->places * sizeof *repeat->source);
    }
    repeat->source[repeat->sayers] = source;
    repeat->users++;
    if (++repeat->sayers < repeats->streams || repeat->is_due)
        return;
    /* The timer calls, so that the first stream shows the line, not the last one to join. */
    repeat->due = ev_now(repeats->loop);
    ev_timer_stop(repeats->loop, &repeats->timer);
    ev_timer_set(&repeats->timer, 0., 0.);
    ev_timer_start(repeats->loop, &repeats->timer);
}

struct sy_repeat *sy_repeats_add(struct sy_repeats *repeats, const void *place, const char *text,
                                 size_t length, int source)
{
    struct sy_repeat *repeat;

    if (repeats->count == SY_REPEATS_MAX)
        return NULL;
    repeat = sy_memory_zeroed(1, sizeof *repeat);
    repeat->place = place;
    repeat->text = sy_memory_resize(NULL, length);
    memcpy(repeat->text, text, length);
    repeat->length = length;
    repeat->due = ev_now(repeats->loop) + SY_REPEATS_DELAY;
    *repeats->last = repeat;
    repeats->last = &repeat->next;
    repeats->count++;
    sy_repeats_join(repeats, repeat, source);
    if (!sy_repeats_wait(repeats))
        repeats_arm(repeats);
    return repeat;
}

static int repeats_by_number(const void *a, const void *b)
{
    int first = *(const int *)a, second = *(const int *)b;

    return (first > second) - (first < second);
}

void sy_repeats_others(const struct sy_repeat *repeat, int source, char *text, size_t room)
{
    struct sy_list list = sy_list_begin(text, room);

    qsort(repeat->source, (size_t)repeat->sayers, sizeof *repeat->source, repeats_by_number);
    for (int i = 0; i < repeat->sayers; i++)
        if (repeat->source[i] != source)
            sy_list_add(&list, repeat->source[i]);
    sy_list_end(&list);
}

void sy_repeats_show(struct sy_repeats *repeats, struct sy_repeat *repeat)
{
    struct sy_repeat **at = &repeats->first;

    repeat->shown = true;
    while (*at && *at != repeat)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = repeat->next;
    if (!*at)
        repeats->last = at;
    repeat->next = NULL;
    repeats->count--;
}

void sy_repeats_leave(struct sy_repeats *repeats, struct sy_repeat *repeat)
{
    if (--repeat->users > 0)
        return;
    sy_repeats_show(repeats, repeat);
    free(repeat->source);
    free(repeat->text);
    free(repeat);
}

bool sy_repeats_wait(const struct sy_repeats *repeats)
{
    return ev_is_active(&repeats->timer) || ev_is_pending(&repeats->timer);
}

void sy_repeats_release(struct sy_repeats *repeats)
{
    for (struct sy_repeat *at = repeats->first; at; at = at->next)
        at->is_due = true;
    if (repeats->first)
        repeats->ready(repeats->owner);
}

void sy_repeats_close(struct sy_repeats *repeats)
{
    if (repeats->loop)
        ev_timer_stop(repeats->loop, &repeats->timer);
}
