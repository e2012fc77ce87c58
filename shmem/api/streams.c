/* Streams and events. */
#include <stdlib.h>
#include <sys/queue.h>

#include "api/streams.h"
#include "core/fatal.h"
#include "core/issue.h"
#include "core/start/config.h"
#include "core/start/world.h"

int pshmemx_stream_create(shmem_team_t team, const shmemx_stream_config_t *config,
                          shmemx_stream_t *stream)
{
    struct sy_team *of = sy_team_need(team, SY_ROUTINE);

    *stream = SHMEMX_STREAM_INVALID;
    return sy_stream_create(of, config ? config->depth : 0, stream);
}
SY_ALIAS(shmemx_stream_create);

void pshmemx_stream_destroy(shmemx_stream_t stream)
{
    sy_world_need(SY_ROUTINE);
    if (stream)
        sy_stream_destroy(stream, SY_ROUTINE);
}
SY_ALIAS(shmemx_stream_destroy);

int pshmemx_stream_synchronize(shmemx_stream_t stream)
{
    return sy_stream_synchronize(stream, SY_ROUTINE);
}
SY_ALIAS(shmemx_stream_synchronize);

int pshmemx_stream_query(shmemx_stream_t stream)
{
    return sy_stream_query(stream, SY_ROUTINE);
}
SY_ALIAS(shmemx_stream_query);

int pshmemx_stream_call(shmemx_stream_t stream, void (*fn)(void *), void *arg)
{
    return sy_stream_call(stream, SY_ROUTINE, fn, arg);
}
SY_ALIAS(shmemx_stream_call);

/* ---- events ---- */

/* An event stands for the point in a stream where it was last recorded, or for nothing. */
struct sy_event {
    struct sy_point *point; /* holds a reference */
    LIST_ENTRY(sy_event) link;
};

/* Guards the list of events and the points that they stand for. */
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, sy_event) events = LIST_HEAD_INITIALIZER(events);

/* Ends the job where the handle is no event, or the process a child; without SHMEM_CHECK only the
 * invalid one is found. */
static void streams_check_event(shmemx_event_t event, const char *routine)
{
    sy_world_need(routine);
    sy_issue_refuse_child(routine);
    if (!event)
        sy_fatal("%s was given SHMEMX_EVENT_INVALID", routine);
    if (!sy_config.check)
        return;
    pthread_mutex_lock(&events_lock);
    const struct sy_event *known = LIST_FIRST(&events);
    while (known && known != event)
        known = LIST_NEXT(known, link);
    pthread_mutex_unlock(&events_lock);
    if (!known)
        sy_fatal(
            "%s was given the event %p, which does not exist: it was never created, or has been "
            "destroyed",
            routine, (void *)event);
}

/* The point that an event stands for, with a reference to it; or NULL. */
static struct sy_point *streams_point_of(shmemx_event_t event, const char *routine)
{
    streams_check_event(event, routine);
    pthread_mutex_lock(&events_lock);
    struct sy_point *point = event->point;
    if (point)
        sy_point_hold(point);
    pthread_mutex_unlock(&events_lock);
    return point;
}

/* Has an event stand for another point; returns the one before, or NULL. */
static struct sy_point *streams_exchange_point(shmemx_event_t event, struct sy_point *point)
{
    pthread_mutex_lock(&events_lock);
    struct sy_point *before = event->point;
    event->point = point;
    pthread_mutex_unlock(&events_lock);
    return before;
}

int pshmemx_event_create(shmemx_event_t *event)
{
    sy_world_need(SY_ROUTINE);
    sy_issue_refuse_child(SY_ROUTINE);
    *event = calloc(1, sizeof **event);
    if (!*event)
        return -1;
    pthread_mutex_lock(&events_lock);
    LIST_INSERT_HEAD(&events, *event, link);
    pthread_mutex_unlock(&events_lock);
    return 0;
}
SY_ALIAS(shmemx_event_create);

void pshmemx_event_destroy(shmemx_event_t event)
{
    if (!event)
        return;
    if (sy_config.check)
        streams_check_event(event, SY_ROUTINE);
    pthread_mutex_lock(&events_lock);
    LIST_REMOVE(event, link);
    pthread_mutex_unlock(&events_lock);
    if (event->point)
        sy_point_drop(event->point);
    free(event);
}
SY_ALIAS(shmemx_event_destroy);

int pshmemx_event_record(shmemx_event_t event, shmemx_stream_t stream)
{
    streams_check_event(event, SY_ROUTINE);
    struct sy_point *point = sy_point_new();
    if (!point)
        return -1;
    sy_stream_mark(stream, SY_ROUTINE, point);
    struct sy_point *before = streams_exchange_point(event, point);
    if (before)
        sy_point_drop(before);
    return 0;
}
SY_ALIAS(shmemx_event_record);

int pshmemx_event_query(shmemx_event_t event)
{
    struct sy_point *point = streams_point_of(event, SY_ROUTINE);
    if (!point)
        return 1;
    bool reached = sy_point_reached(point);
    sy_point_drop(point);
    return reached;
}
SY_ALIAS(shmemx_event_query);

int pshmemx_event_synchronize(shmemx_event_t event)
{
    struct sy_point *point = streams_point_of(event, SY_ROUTINE);
    if (!point)
        return 0;
    sy_point_await(point, SY_ROUTINE);
    sy_point_drop(point);
    return 0;
}
SY_ALIAS(shmemx_event_synchronize);

int pshmemx_stream_wait_event(shmemx_stream_t stream, shmemx_event_t event)
{
    struct sy_point *point = streams_point_of(event, SY_ROUTINE);
    return point ? sy_stream_gate(stream, SY_ROUTINE, point) : 0;
}
SY_ALIAS(shmemx_stream_wait_event);
