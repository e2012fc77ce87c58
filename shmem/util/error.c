/* Failure texts: see error.h. Knows nothing of logs: the caller that can act on a failure decides
 * whether its text is printed. */
#include <stdarg.h>
#include <stdio.h>

#include "util/error.h"

int sy_fail(struct sy_error *err, int code, const char *fmt, ...)
{
    va_list args;

    if (err) {
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return -code;
}
