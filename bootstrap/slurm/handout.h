/* PE 0's contact, handed to the other processes of a step on the same node over a UNIX socket, of
 * which the kernel says whose process is at the other end. */
#ifndef SLURM_HANDOUT_H
#define SLURM_HANDOUT_H

#include "bootstrap/control/tree/tree.h"

/* step: names the socket. seconds: the limit, after which err names the PEs that have not come. */
int sy_slurm_hand_out(const struct sy_host *host, const char *step,
                      const struct tree_contact *contact, int npes, double seconds,
                      struct sy_error *err);
int sy_slurm_fetch(const struct sy_host *host, const char *step, struct tree_contact *contact,
                   int pe, double seconds, struct sy_error *err);

#endif
