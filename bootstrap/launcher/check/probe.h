/* The agent's side of the pre-flight check: answers questions about its host. A question is a line:
 *
 *     facts                       lines "name value" about the host
 *     clock                       its clock, in nanoseconds since 1970
 *     listen TOKEN LOW HIGH       opens ports (of the range, unless LOW is 0) for one measurement
 *     measure TOKEN PORT,... ADDRESS...   connects to the first of the addresses that can be
 * reached
 */
#ifndef SY_LAUNCHER_PROBE_H
#define SY_LAUNCHER_PROBE_H

/* The answer, allocated. "! why" if there is none. */
char *sy_probe_answer(const char *question);

#endif
