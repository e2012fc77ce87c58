/* One measurement between two hosts, over TCP: the pre-flight check's look at the ways that a job's
 * data will take. Both sides know a token, so that strangers are not measured. */
#ifndef SY_LAUNCHER_MEASURE_H
#define SY_LAUNCHER_MEASURE_H

/* Opens a port, from `low` to `high` or, if low is 0, any; a process of its own serves one
 * measurement. The answer, allocated: "PORT", or "! why". */
char *sy_measure_listen(const char *token, int low, int high);

/* Connects to the first of the addresses (divided by blanks) that answers. The answer, allocated:
 * "ADDRESS LATENCY BANDWIDTH", in microseconds for a round trip and in MB/s, or "! why". */
char *sy_measure_connect(const char *token, int port, const char *addresses);

#endif
