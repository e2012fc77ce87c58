/* What the two halves of the crew share. */
#ifndef SY_LAUNCHER_CREW_START_H
#define SY_LAUNCHER_CREW_START_H

#include "bootstrap/launcher/crew.h"

/* Opens what a PE that has started is heard and fed by. */
void sy_crew_attach(struct sy_member *member, const struct sy_child *child);

#endif
