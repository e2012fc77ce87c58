/* Parsing of values, by the same rules everywhere (options, oshrun's flags, what launchers put into
 * the environment). Leading and trailing blanks are not allowed. Functions with `out` return 0 or
 * -EINVAL, and leave *out alone on failure. */
#ifndef SY_UTIL_PARSE_H
#define SY_UTIL_PARSE_H

#include <stdbool.h>
#include <stddef.h>

int sy_parse_bool(const char *text, bool *out);
int sy_parse_int(const char *text, long min, long max, long *out);

/* The number, from 0 to INT_MAX, that a variable of the environment holds; else -1. */
long sy_parse_variable(const char *name);

/* From 0 to SY_SECONDS_MAX; what is more counts as that. It is as good as for ever, and fits all
 * units of time that limits are turned into. */
#define SY_SECONDS_MAX 1e9
int sy_parse_seconds(const char *text, double *out);

/* SHMEM_SYMMETRIC_SIZE's syntax, specification section 8: a non-negative integer or decimal
 * fraction (".5" allowed), perhaps with an exponent ("1e6"), then nothing or one of kKmMgGtT
 * (powers of 1024); what follows the multiplier is ignored. Rounded up to a whole byte. Invalid:
 * "", "abc", "-1", "20x", "nan", "inf", "0x10", "1e", and what exceeds SIZE_MAX. */
int sy_parse_size(const char *text, size_t *out);

/* "0,4-7": whether n is in the list; -EINVAL for a malformed list, else 0 or 1. "" contains all. */
int sy_parse_in_ranges(const char *list, long n);

/* The word among `count` that is nearest to `word` (Damerau-Levenshtein, case-insensitive), or NULL
 * when none is near enough to be a likely typing error. */
const char *sy_nearest(const char *word, const char *const *words, size_t count);

#endif
