/* Stack traces of the PEs of this host, by gdb where there is one. */
#ifndef SY_LAUNCHER_TRACE_H
#define SY_LAUNCHER_TRACE_H

struct sy_local_pe;

/* Begins; the daemon sends TRACED for the PE if it lives, within a limited time. */
void sy_trace_start(struct sy_local_pe *local);

#endif
