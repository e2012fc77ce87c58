/* Hints for system calls that a rule refuses (seccomp, a security module), whatever their
 * arguments. */
#ifndef SY_UTIL_DENIED_H
#define SY_UTIL_DENIED_H

#include <errno.h>

/* What may be too low where a thread could not be started. */
#define SY_DENIED_THREAD "(ulimit -u, pids.max of the control group; ulimit -v, for its stack)"

/* What to add to the error's text, or "". None of the calls for which this is used fails in these
 * ways by itself. */
static inline const char *sy_denied_hint(int code)
{
    code = code < 0 ? -code : code;
    return code == EPERM || code == EACCES || code == ENOSYS
               ? "; a filter of system calls (seccomp, such as a container's profile) forbids it, "
                 "most likely"
               : "";
}

#endif
