/* One measurement between two hosts, over TCP: the pre-flight check tries the paths that a job's
 * data will take. Both sides know a token, so that strangers are not measured. */
#ifndef CHECK_MEASURE_H
#define CHECK_MEASURE_H

enum {
    SY_MEASURE_PORTS = 8 /* that are tried of a range */
};

/* Opens ports from all over the range from `low` to `high` or, if low is 0, any one; a process of
 * its own serves one measurement, until the next one or the end. The answer, allocated:
 * "PORT,PORT...", or "! why". */
char *sy_measure_listen(const char *token, int low, int high);

/* Ends that process, and closes its ports. */
void sy_measure_end(void);

/* Measures the way to the first of the addresses (divided by blanks) of which all ports answer. The
 * answer, allocated: "ADDRESS LATENCY BANDWIDTH", in microseconds for a round trip and in MB/s, or
 * "! why", with the addresses and ports that cannot be reached. */
char *sy_measure_connect(const char *token, const char *ports, const char *addresses);

#endif
