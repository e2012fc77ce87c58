/* Names of hosts in short, as batch systems and users write them: n[01-08,10]r[1-2]. Text comes
 * from outside: anything may be in it. */
#ifndef SY_UTIL_NET_HOST_PATTERN_H
#define SY_UTIL_NET_HOST_PATTERN_H

#include <stddef.h>

#include <switchyard/error.h>

/* The length of the first element of a list of patterns: up to a comma or blank that is not in
 * brackets. */
size_t sy_host_pattern_length(const char *list);

/* Calls `each` for every name that the first `length` bytes of `text` stand for, the last bracket
 * counting fastest, until it answers other than 0; that, or 0, is returned. A name that is longer
 * than any host's is cut. Before the first call: -EINVAL, and err says why, where the text is no
 * pattern, or stands for more than `most` names. */
int sy_host_pattern_expand(const char *text, size_t length, long most,
                           int (*each)(void *arg, const char *name), void *arg,
                           struct sy_error *err);

/* Reads the first element of Slurm's numbers for the hosts of a list, "2(x3),1": *each for each of
 * *hosts hosts. Returns what follows it, or NULL where there is none or it is malformed. */
const char *sy_host_pattern_number(const char *list, long *each, long *hosts);

#endif
