/* Failure texts: see error.h. Knows nothing of logs: the caller that can act on a failure decides
 * whether its text is printed. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"

int sy_fail(struct sy_error *err, int code, const char *fmt, ...)
{
    static const char cut[] = "...";
    va_list args;

    if (err) {
        va_start(args, fmt);
        int length = vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
        if (length >= (int)sizeof err->text) /* what is missing shows */
            memcpy(err->text + sizeof err->text - sizeof cut, cut, sizeof cut);
    }
    return -code;
}
