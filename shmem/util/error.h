/* Failure texts: see switchyard/error.h. */
#ifndef SY_UTIL_ERROR_H
#define SY_UTIL_ERROR_H

#include <switchyard/error.h>

/* Formats the failure into err (NULL: nowhere) and returns -code; code: an errno value above 0. */
int sy_fail(struct sy_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
