/* What the two halves of the daemon share. */
#ifndef SY_LAUNCHER_DAEMON_START_H
#define SY_LAUNCHER_DAEMON_START_H

#include "bootstrap/launcher/daemon/daemon.h"

/* Opens a started PE's socket, output and input on the daemon's side. */
void sy_daemon_attach(struct sy_local_pe *local, const struct sy_child *child);

#endif
