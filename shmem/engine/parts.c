#include <errno.h>

#include "engine/issue.h"
#include "engine/parts.h"

/* After a part has been issued the transfer cannot be undone, so this waits for room. */
int sy_parts_issue_all(const struct sy_parts *parts, uint64_t *wanted)
{
    struct sy_engine *engine = parts->engine;
    uint64_t since = 0;

    for (size_t done = 0; done < parts->length;) {
        size_t left = parts->length - done, part = left < parts->most ? left : parts->most;
        if (parts->issue(parts, done, part, wanted))
            done += part;
        else if (!done)
            return -EAGAIN;
        else
            sy_engine_pass_time(atomic_load(&engine->routes[parts->pe].peer), &since);
    }
    return 0;
}

int sy_parts_issue(const struct sy_parts *parts, bool wait)
{
    uint64_t wanted = 0;
    int rc = sy_parts_issue_all(parts, &wanted);

    if (!rc && wait && wanted) {
        struct sy_engine_peer *peer = atomic_load(&parts->engine->routes[parts->pe].peer);
        parts->engine->ops->send(peer);
        sy_engine_wait(peer, wanted);
    }
    return rc;
}

uint64_t sy_parts_place(const struct sy_parts *parts, size_t done)
{
    const struct sy_transfer *t = parts->transfer;

    return sy_engine_place(parts->engine, t->pe, t->window, t->offset + done);
}

static bool parts_issue_put(const struct sy_parts *parts, size_t done, size_t part,
                            uint64_t *wanted)
{
    const struct sy_transfer *t = parts->transfer;
    struct sy_engine_peer *peer = sy_engine_begin(parts->engine, parts->ctx, t->pe);
    size_t bytes = sy_request_put_size(part);
    char *room;

    (void)wanted;
    if (!peer || !(room = sy_engine_room(peer, bytes)))
        return false;
    sy_request_write_put(room, sy_parts_place(parts, done), (const char *)t->local + done, part);
    sy_engine_commit(parts->ctx, peer, bytes, false);
    return true;
}

static bool parts_issue_get(const struct sy_parts *parts, size_t done, size_t part,
                            uint64_t *wanted)
{
    const struct sy_transfer *t = parts->transfer;
    struct sy_engine_peer *peer = sy_engine_begin(parts->engine, parts->ctx, t->pe);
    size_t bytes = sy_request_get_size(part);
    uint64_t number;
    char *room = peer ? sy_engine_asking_room(parts->ctx, peer, bytes, (char *)t->local + done,
                                              part, SY_PENDING_PLAIN, &number)
                      : NULL;

    if (!room)
        return false;
    sy_request_write_get(room, sy_parts_place(parts, done), part);
    sy_engine_commit(parts->ctx, peer, bytes, false);
    *wanted = number;
    return true;
}

int sy_parts_put(struct sy_engine *engine, struct sy_engine_ctx *ctx, const struct sy_transfer *t)
{
    const struct sy_parts parts = {
        engine, ctx, t->pe, t->length, engine->ops->longest_put[1], t, parts_issue_put};

    return sy_parts_issue(&parts, false);
}

int sy_parts_get(struct sy_engine *engine, struct sy_engine_ctx *ctx, const struct sy_transfer *t,
                 unsigned flags)
{
    const struct sy_parts parts = {
        engine, ctx, t->pe, t->length, engine->ops->longest_get, t, parts_issue_get};

    return sy_parts_issue(&parts, flags & SY_BLOCKING);
}
