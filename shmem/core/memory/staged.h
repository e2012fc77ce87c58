/* Windows of this PE that CPUs cannot load and store: of pools of a device that copies. Others
 * reach them by requests, which copy by these functions (struct sy_host), and this PE's transfers
 * go through memory of the host where their local side is there (core/rma_staged.h).
 *
 * While there is such a window all calls take the slow path, which looks for it, so that programs
 * without one pay nothing. A window is added and removed while no call names it. */
#ifndef SY_CORE_STAGED_H
#define SY_CORE_STAGED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <switchyard/device.h>

#include "util/bits.h"

/* How many there are. */
extern _Atomic unsigned sy_staged_windows SY_HIDDEN;

/* add: enters the pool of a window, after sy_windows_add. remove: takes it out again, before
 * sy_windows_remove; does nothing for a window that was not entered. capabilities: SY_POOL_ bits.
 */
void sy_staged_add(unsigned window, const struct sy_device *device, void *self, void *pool,
                   unsigned capabilities);
void sy_staged_remove(unsigned window);

/* Whether a window is staged; whether it has atomic operations. */
bool sy_staged_is(unsigned window);
bool sy_staged_has_amo(unsigned window);

/* Whether this PE's `address` lies in a staged window, and where. */
bool sy_staged_find(const void *address, unsigned *window, uint64_t *offset) SY_COLD;
static inline bool sy_staged_has(const void *address, unsigned *window, uint64_t *offset)
{
    return SY_UNLIKELY(atomic_load_explicit(&sy_staged_windows, memory_order_relaxed) != 0) &&
           sy_staged_find(address, window, offset);
}

/* Whether `length` bytes at `offset` of a staged window lie inside it. */
bool sy_staged_has_room(unsigned window, uint64_t offset, size_t length);

/* Members of struct sy_host. A device that fails ends the job, with its words. */
int sy_staged_copy(unsigned window, bool in, uint64_t offset, void *local, size_t length);
int sy_staged_amo(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                  uint64_t operand, uint64_t compare, uint64_t *result);

/* Copies in two steps, members of struct sy_host too (device_ahead, device_begin, device_end). */

/* Whether the device copies by itself; else a copy is over when it has begun. */
bool sy_staged_is_ahead(unsigned window);

/* Begins a copy; `local` must not change until it has ended. */
int sy_staged_begin(unsigned window, bool in, uint64_t offset, void *local, size_t length,
                    struct sy_device_copying *copying);

/* Whether the copy has ended; with `wait` waits for it. */
bool sy_staged_ended(struct sy_device_copying *copying, bool wait);

/* Whether the memory of a staged window can be mapped. */
bool sy_staged_maps(unsigned window);

/* Maps `length` bytes of a window of this PE, to be read or (in) to be written, until
 * sy_staged_unmap. Returns their address; NULL: they have to be copied, or are not there. Members
 * of struct sy_host too. */
void *sy_staged_map(unsigned window, bool in, uint64_t offset, size_t length);
void sy_staged_unmap(unsigned window, void *address);

#endif
