/* Memory spaces: symmetric memory of a kind of device, made and ended while the program runs.
 *
 * space.c   the table of spaces, and what is asked about them
 * create.c  makes and ends them, together with the other PEs
 * device.c  the plugins that have the memory (device.h)
 * keep.c    what outlives the job
 * pool.c    this PE's memory of a space, which a plugin makes
 * show.c    how members reach each other's part
 *
 * A space is a window (core/memory/windows.h) and a region of the transports, under a number that
 * is free on all PEs; the rest of the library knows no more of it. A PE that is no member has a
 * region of length 0 until the number is used again. An entry of the table is written by the
 * thread that creates or destroys its space; other threads may do so with others meanwhile, and read
 * this one. */
#ifndef SY_SPACE_SPACE_H
#define SY_SPACE_SPACE_H

#include <shmemx.h>
#include <switchyard/device.h>

#include "coll/alloc.h"
#include "core/team.h"
#include "space/device.h"

struct sy_space {
    shmemx_space_t handle;
    unsigned window; /* also the origin of its teams */
    shmemx_device_type_t type;
    shmemx_space_cap_t caps;
    struct sy_heap heap;
    struct sy_arena arena; /* its team is the library's own, of the members */
    const struct sy_device_instance *device;
    bool has_pool;
    void *pool; /* as the plugin has it, which may be NULL */
    struct sy_pool_info info;
    uint64_t generation;     /* the last that is kept by all members */
    unsigned char absent[1]; /* npes flags: is no member */
};

/* The space of a handle, or of a window; NULL: there is none, or it is the default one. */
struct sy_space *sy_space_of(shmemx_space_t handle);
struct sy_space *sy_space_in(unsigned window);

/* The space of a handle. Where sy_space_of answers NULL it ends the job, naming the routine. */
struct sy_space *sy_space_need(const char *routine, shmemx_space_t handle);

/* Enters a space under its window; takes it out. */
void sy_space_enter(struct sy_space *space);
void sy_space_leave(struct sy_space *space);

/* The windows that have no space, as bits. */
void sy_space_free_windows(uint64_t words[SY_REGIONS / 64]);

/* The team that the program was given, while it has it; else SHMEM_TEAM_INVALID. */
shmem_team_t sy_space_team(const struct sy_space *space);

/* Has the device make this PE's pool of a new space. 0; -ENODEV: this PE has no such device; other
 * -errno: it has one, but not what was asked for, as err says. */
int sy_space_make_pool(struct sy_space *space, const shmemx_space_config_t *config,
                       struct sy_error *err);

/* Ends it, if there is one. */
void sy_space_end_pool(struct sy_space *space);

/* Makes a space, with the program's team of it, collective over all PEs. wanted: false where the
 * program has no place for the handles: then there is none on any PE. *made: NULL where this PE is
 * no member. 0; or -errno, the same on all PEs, when PE 0 has written why. */
int sy_space_create(const shmemx_space_config_t *config, bool wanted, struct sy_space **made);

/* Ends one, collective over its members. -EBUSY on all where one of them still has a team of it. */
int sy_space_destroy(struct sy_space *space);

/* Ends all; no PE uses them any more. */
void sy_spaces_close(void);

/* Has PE 0 write how PEs reach a window of this type, where somebody wants to see routes;
 * collective over all PEs. */
void sy_space_show(unsigned window, shmemx_device_type_t type);

/* shmemx_space_sync. */
int sy_space_sync(struct sy_space *space, uint64_t *generation);

#endif
