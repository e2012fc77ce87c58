/* The agent of the check on a host: answers questions about it, which come on stdin. A question is
 * a line:
 *
 *     facts                       lines "name value" about the host
 *     clock                       its clock, in nanoseconds since 1970
 *     listen TOKEN LOW HIGH       opens ports (of the range, unless LOW is 0) for one measurement
 *     measure TOKEN PORT,... ADDRESS...   connects to the first of the addresses that can be
 * reached
 *
 * The answer on stdout is a line with its length in bytes, and these; "! why" if there is none. */
#ifndef CHECK_PROBE_H
#define CHECK_PROBE_H

/* The agent's first words, on a line of their own, and SY_LAUNCH_VERSION. */
#define PROBE_BANNER "oshcheck-agent "

#define PROBE_ANSWER_MAX   (1 << 20)
#define PROBE_QUESTION_MAX (PROBE_ANSWER_MAX + 2048) /* with the ports of another's answer */

/* Runs until there are no more questions, or one is too long. Returns the exit status. */
int sy_probe_run(void);

#endif
