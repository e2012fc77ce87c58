/* The landing room of a PE: memory of the host, at the end of its control window, in which long
 * transfers of other PEs with its devices' memory stop over, where a transport moves memory of the
 * host by itself but carries such transfers in small messages.
 *
 * The PE that transfers claims some slots, by atomic operations on a word of the room, and is the
 * only one that uses them until it has released them. It has the other PE copy between a slot and
 * the device by a command: a put to the place behind the end of the device's window, which is
 * applied as all requests for memory of a device are, in its turn among them. */
#ifndef SY_CORE_LANDING_H
#define SY_CORE_LANDING_H

#include <shmem.h>
#include <stdbool.h>
#include <switchyard/transport.h>

#define SY_LANDING_BYTES ((size_t)1 << 20) /* of a slot */
#define SY_LANDING_SLOTS 4                 /* of a claim */

/* Slots of a PE that this one has claimed. */
struct sy_landing {
    const char *what;
    shmem_ctx_t ctx;
    int pe;
    unsigned first;
};

/* Claims SY_LANDING_SLOTS slots. Waits while others have them; their holders go on without this PE.
 */
void sy_landing_claim(struct sy_landing *landing, const char *what, shmem_ctx_t ctx, int pe);

/* Nothing is under way with them any more. */
void sy_landing_release(const struct sy_landing *landing);

/* A transfer between `local` and a slot. */
struct sy_transfer sy_landing_slot(const struct sy_landing *landing, unsigned slot, void *local,
                                   size_t length);

/* Asks the PE to copy between a slot and its device: to it (in) or from it. */
void sy_landing_ask(const struct sy_landing *landing, unsigned slot, unsigned window, bool in,
                    uint64_t offset, size_t length);

/* Carries out a command: a put of another PE to a place behind the end of this PE's window of a
 * device. 0; -EFAULT: it is no command, or an impossible one. */
int sy_landing_command(unsigned window, uint64_t offset, const void *bytes, size_t length);

#endif
