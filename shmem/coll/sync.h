/* Synchronisation of all PEs, under every collective routine. */
#ifndef SY_COLL_SYNC_H
#define SY_COLL_SYNC_H

#include <stdbool.h>

/* Waits until all PEs have entered; stores made before are visible to all after. Completes no
 * communication. */
void sy_sync_world(void);

/* sy_sync_world after a quiet on the default context. */
void sy_barrier_world(void);

/* Collective: whether every PE says yes. Synchronises like sy_sync_world. */
bool sy_agree_world(bool yes);

#endif
