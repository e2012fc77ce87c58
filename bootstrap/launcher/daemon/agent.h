/* oshrun --agent: the daemon of a host whose head is elsewhere. The conversation goes through the
 * agent's stdin and stdout, which are those of the command that started it (ssh, srun, ...). */
#ifndef SY_LAUNCHER_AGENT_H
#define SY_LAUNCHER_AGENT_H

#include "bootstrap/launcher/daemon/child.h"

/* The agent's first words, on a line of their own; the shells before it may have said something.
 * Then a version, the order of bytes and the host's name. Frames follow. */
#define SY_AGENT_BANNER "oshrun-agent "

/* The order of bytes of this machine: 1 little, 0 big. */
int sy_agent_byte_order(void);

/* Runs until the head is done with it or is lost. Returns the exit status. */
int sy_agent_run(const struct sy_child_plan *plan);

#endif
