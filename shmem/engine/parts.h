/* Transfers of several records, each of which fits into one: strided ones, and those that are
 * longer than a record where the transport has no way of its own for them. */
#ifndef SY_ENGINE_PARTS_H
#define SY_ENGINE_PARTS_H

#include "engine/engine.h"

/* One part of a transfer, of so many bytes (or blocks), `done` before it. *wanted: the number of
 * the reply, of a get. False: there is no room for it now. */
struct sy_parts {
    struct sy_engine *engine;
    struct sy_engine_ctx *ctx;
    int pe;
    size_t length, most; /* of all, and of a part at most */
    const void *transfer;
    bool (*issue)(const struct sy_parts *parts, size_t done, size_t part, uint64_t *wanted);
};

/* Where on the target a part of a contiguous transfer goes, or comes from. */
uint64_t sy_parts_place(const struct sy_parts *parts, size_t done);

/* Issues all parts, and with `wait` waits for the last reply. 0, or -EAGAIN with nothing issued. */
int sy_parts_issue(const struct sy_parts *parts, bool wait);

/* Issues all parts and does not wait. *wanted: what the last part's issue() has set, if it has. 0,
 * or -EAGAIN with nothing issued. */
int sy_parts_issue_all(const struct sy_parts *parts, uint64_t *wanted);

int sy_parts_put(struct sy_engine *engine, struct sy_engine_ctx *ctx, const struct sy_transfer *t);
int sy_parts_get(struct sy_engine *engine, struct sy_engine_ctx *ctx, const struct sy_transfer *t,
                 unsigned flags);

#endif
