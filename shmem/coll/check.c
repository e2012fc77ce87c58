#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "coll/check.h"
#include "coll/data.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/memory/heap.h"
#include "core/rma.h"
#include "core/start/world.h"

static const char *const names[] = {
    [SY_COLL_SYNC] = "sync",
    [SY_COLL_VOTE] = "allocation, or making or ending a team",
    [SY_COLL_SPLIT] = "a team's split",
    [SY_COLL_GATHER] = "gather",
    [SY_COLL_BROADCAST] = "broadcast",
    [SY_COLL_COLLECT] = "collect",
    [SY_COLL_FCOLLECT] = "fcollect",
    [SY_COLL_ALLTOALL] = "alltoall",
    [SY_COLL_ALLTOALLS] = "alltoalls",
    [SY_COLL_REDUCE] = "reduction",
    [SY_COLL_INSCAN] = "inclusive scan",
    [SY_COLL_EXSCAN] = "exclusive scan",
};

enum { NAME = 48, STREAM = 1 << 8 };

/* What members compare, and the routine's name, which has to be the same where it says what is done
 * with the data: all types of one size are equal to those that only move them. The slot of a member
 * that is in no such routine has other bytes: data, or a record of two uses ago. */
struct record {
    uint64_t mark;
    uint64_t size;
    int32_t routine, root; /* STREAM is or-ed to the routine of a stream */
    char name[NAME];
    uint64_t space; /* 1 + a window, as coll_check_space has it; 0: there is no buffer */
};

bool (*sy_coll_of_stream)(const struct sy_team *team, const char **routine);

/* The window of a buffer's space; that of the heap stands for the executable's data too. */
static unsigned coll_check_space(const void *address)
{
    unsigned window;
    uint64_t offset;

    return !sy_windows_find(address, &window, &offset) && window >= SY_WINDOWS_START
               ? window
               : SY_WINDOW_HEAP;
}

static const char *coll_check_place(unsigned space)
{
    return space == SY_WINDOW_HEAP ? "symmetric heap or the executable's data"
                                   : sy_windows.entry[space].heap->name;
}

static const char *coll_check_describe(const struct record *record, char *text, size_t room)
{
    int length = snprintf(text, room, "%.*s", NAME - 1, record->name),
        routine = record->routine & ~STREAM;

    if (routine > SY_COLL_SPLIT && routine != SY_COLL_COLLECT)
        length += snprintf(text + length, room - (size_t)length, " of %llu bytes",
                           (unsigned long long)record->size);
    if (routine == SY_COLL_BROADCAST)
        length += snprintf(text + length, room - (size_t)length, " from root %d",
                           (int)record->root);
    if (record->space && record->space <= SY_REGIONS && sy_windows.entry[record->space - 1].heap)
        snprintf(text + length, room - (size_t)length, " in the %s",
                 coll_check_place((unsigned)record->space - 1));
    return text;
}

static void coll_check_explain(const struct record *mine, const struct record *other, int me,
                               int pe)
{
    char text[2][160];
    int routine = other->routine & ~STREAM;
    bool known = other->mark == mine->mark && routine >= SY_COLL_SYNC && routine <= SY_COLL_EXSCAN;

    sy_fatal(
        "collective routines do not match: PE %d is in %s, and PE %d is in %s; all PEs of a team "
        "must call the same ones, in the same order, with the same sizes and roots, all on a "
        "stream or none",
        me, coll_check_describe(mine, text[0], sizeof text[0]), pe,
        known ? coll_check_describe(other, text[1], sizeof text[1]) : "another routine");
}

/* Whether two members do the same with their data, by the same or the profiling name. */
static bool coll_check_names_match(const struct record *a, const struct record *b)
{
    if ((a->routine & ~STREAM) < SY_COLL_REDUCE)
        return true;
    return !strncmp(a->name + (*a->name == 'p'), b->name + (*b->name == 'p'), NAME - 1);
}

/* Each member looks at the one after it: if all of these are equal, all members are. */
static void coll_check_members(const struct sy_group *group, const struct sy_coll_call *call,
                               unsigned space, bool stream)
{
    struct record mine = {.mark = sy_hash(&group->team->turn, sizeof group->team->turn, 0x636f6c6c),
                          .size = call->size,
                          .routine = (int32_t)call->routine | (stream ? STREAM : 0),
                          .space = space,
                          .root = call->root};
    struct record room;

    snprintf(mine.name, sizeof mine.name, "%s", sy_callsite_routine(names[call->routine]));
    memcpy(sy_group_slot(group), &mine, sizeof mine);
    sy_group_sync(group);
    int next = sy_data_after(group, group->members.size > 1);
    const struct record *other = sy_group_read_slot(group, next, 0, sizeof room, &room);
    if (memcmp(other, &mine, offsetof(struct record, name)) != 0 ||
        !coll_check_names_match(other, &mine) || (space && other->space && space != other->space))
        coll_check_explain(&mine, other, sy_world.pe, sy_members_pe(&group->members, next));
    sy_group_slot_done(group);
}

/* Overlap is an error except for reductions and scans in place; a PE's broadcast to itself in place
 * is harmless. */
static void coll_check_overlap(const struct sy_coll_call *call, const char *name)
{
    uintptr_t dest = (uintptr_t)call->dest, source = (uintptr_t)call->source;
    bool in_place = call->routine >= SY_COLL_REDUCE || call->routine == SY_COLL_BROADCAST;

    if ((dest == source && in_place) || !call->dest_length || !call->source_length)
        return;
    if (dest < source + call->source_length && source < dest + call->dest_length)
        sy_fatal("%s: dest (%zu bytes at %p) and source (%zu bytes at %p) overlap%s",
                 sy_callsite_routine(name), call->dest_length, call->dest, call->source_length,
                 call->source,
                 in_place ? "; they may only be the same array or have nothing in common" : "");
}

static void coll_check_psync(const char *name, const long *psync)
{
    unsigned window;
    uint64_t offset;

    if (sy_windows_find(psync, &window, &offset))
        sy_fatal("%s: pSync at %p is not symmetric", sy_callsite_routine(name),
                 (const void *)psync);
    sy_rma_target(name, psync, SHMEM_SYNC_SIZE * sizeof(long), sy_world.pe);
}

/* The buffers of one collective are in one space, whose members all members of the group are.
 * Returns what a record has of it. */
static unsigned coll_check_spaces(const struct sy_group *group, const struct sy_coll_call *call,
                                  const char *name)
{
    unsigned dest = coll_check_space(call->dest), source = coll_check_space(call->source);

    if (!call->dest_length)
        return call->source_length ? source + 1 : 0;
    if (dest != source && call->source_length)
        sy_fatal(
            "%s: dest (%p) is in the %s and source (%p) in the %s; the buffers of a collective "
            "routine must be in one space",
            sy_callsite_routine(name), call->dest, coll_check_place(dest), call->source,
            coll_check_place(source));
    for (int i = 0; dest && i < group->members.size; i++)
        if (!sy_windows_usable(dest, sy_members_pe(&group->members, i)))
            sy_fatal("%s: dest (%p) is in the %s, but PE %d is not in the team of that space",
                     sy_callsite_routine(name), call->dest, coll_check_place(dest),
                     sy_members_pe(&group->members, i));
    return dest + 1;
}

bool sy_coll_check_streams(const struct sy_team *team, const char *name)
{
    bool (*of_stream)(const struct sy_team *, const char **) = __atomic_load_n(&sy_coll_of_stream,
                                                                               __ATOMIC_ACQUIRE);
    const char *left = NULL;
    bool stream = of_stream && of_stream(team, &left);

    if (left)
        sy_fatal("%s was called by the program while %s is not complete on a stream of this PE: "
                 "two collective routines of one team would meet each other on other PEs. Wait for "
                 "the stream first (shmemx_stream_synchronize), or make another team for one of "
                 "them (shmem_team_split_strided)",
                 sy_callsite_routine(name), left);
    return stream;
}

void sy_coll_check_extent(enum sy_coll_routine routine, const void *address, size_t length)
{
    unsigned window;
    uint64_t offset;

    if (!length)
        return;
    if (sy_config.check || (!sy_windows_find(address, &window, &offset) &&
                            length > sy_windows.entry[window].own.length - offset))
        sy_rma_target(names[routine], address, length, sy_world.pe);
}

void sy_coll_check(const struct sy_group *group, struct sy_coll_call call)
{
    const char *name = names[call.routine];
    bool stream = group->team && sy_coll_check_streams(group->team, name);

    sy_coll_check_extent(call.routine, call.dest, call.dest_length);
    sy_coll_check_extent(call.routine, call.source, call.source_length);
    if (group->psync)
        coll_check_psync(name, group->psync);
    coll_check_overlap(&call, name);
    unsigned space = coll_check_spaces(group, &call, name);
    if (group->team)
        coll_check_members(group, &call, space, stream);
}
