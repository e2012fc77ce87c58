/* Bounce buffers of a PE: memory of the host, at the end of its control window, through which long
 * transfers of other PEs with its devices' memory go, where a transport moves memory of the host by
 * itself but carries such transfers in small messages. Each is a slot.
 *
 * The PE that transfers claims some slots, by atomic operations on a word beside them, and is the
 * only one that uses them until it has released them. It has the other PE copy between a slot and
 * the device by a command: a put to the place behind the end of the device's window, which begins
 * the copy. Gets of bytes behind that tell whether it is over. So the PE whose device it is never
 * waits for a copy, but moves data of other slots meanwhile.
 *
 * Order. Requests of the PE that transfers do not wait for a copy that has begun. So that PE waits
 * until it has heard that all copies of a call are over, before the call returns; what it issues
 * afterwards, a fence and a signal too, comes after them. */
#ifndef SY_CORE_BOUNCE_H
#define SY_CORE_BOUNCE_H

#include <shmem.h>
#include <stdbool.h>
#include <switchyard/transport.h>

#define SY_BOUNCE_BYTES ((size_t)1 << 20) /* of a slot */
#define SY_BOUNCE_SLOTS 4                 /* of a claim */

/* Slots of a PE that this one has claimed. */
struct sy_bounce {
    const char *what;
    shmem_ctx_t ctx;
    int pe;
    unsigned first;
};

/* Claims SY_BOUNCE_SLOTS slots. Waits while others have them; these go on without this PE. */
void sy_bounce_claim(struct sy_bounce *bounce, const char *what, shmem_ctx_t ctx, int pe);

/* Nothing is under way with them any more. */
void sy_bounce_release(const struct sy_bounce *bounce);

/* A transfer between `local` and a slot. */
struct sy_transfer sy_bounce_slot(const struct sy_bounce *bounce, unsigned slot, void *local,
                                  size_t length);

/* Has the PE begin to copy between a slot and its device: to it (in) or from it. The slot must not
 * be copied already. */
void sy_bounce_ask(const struct sy_bounce *bounce, unsigned slot, unsigned window, bool in,
                   uint64_t offset, size_t length);

/* Gets a byte, which is 1 when the slot's copy is over, and 0 before. */
void sy_bounce_inquire(const struct sy_bounce *bounce, unsigned slot, unsigned window, char *over);

/* Requests of other PEs for places behind the end of this PE's window of a device: a command, by a
 * put, and an inquiry. 0; -EFAULT: it is none, or an impossible one. */
int sy_bounce_command(unsigned window, uint64_t offset, const void *bytes, size_t length);
int sy_bounce_answer(unsigned window, uint64_t offset, void *over, size_t length);

/* Waits for all copies with a window that goes. */
void sy_bounce_end(unsigned window);

#endif
