/* Log lines: PE, level, category, text; one write() a line, so lines of PEs do not mix. */
#ifndef SY_UTIL_LOG_H
#define SY_UTIL_LOG_H

#include <stdbool.h>
#include <switchyard/host.h>

/* Says which PE writes. Before it is called, lines name the process id and are written to stderr
 * whatever PE or file was asked for, since a PE that hangs while it starts must still be heard. All
 * are copied. */
void sy_log_identity(int pe, const char *host, const char *job);

/* Before that: which PE it most likely is, for the lines of a PE that cannot join its job. */
void sy_log_guess(int pe, const char *host);

/* What is written. categories: NULL, "" or "all" = all, or words divided by commas that raise just
 * these categories to `level` (others stay at warn). pes: NULL or "" = all, or "0,4-7". file: NULL
 * or "" = stderr, or a pattern with %h host, %j job, %p process id, %r PE, %% percent; it is
 * appended to. Errors are always written to stderr, by every PE. Returns 0 or -errno with err, and
 * then nothing has changed. A file whose name needs the identity is opened by sy_log_identity; if
 * that fails, a warning says so and lines go to stderr. Both functions are for times when no other
 * thread writes. */
int sy_log_configure(enum sy_log_level level, const char *categories, const char *pes,
                     const char *file, struct sy_error *err);

/* Whether a line would be written: lets a caller skip costly arguments. */
bool sy_log_enabled(enum sy_log_level level, const char *category);

/* Lines of level debug and trace carry the time. Control characters are written as question marks.
 * errno is left as it was. */
void sy_log(enum sy_log_level level, const char *category, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
