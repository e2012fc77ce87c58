/* A range of ports, as users write it. */
#ifndef SY_UTIL_NET_PORTS_H
#define SY_UTIL_NET_PORTS_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reads "FIRST:LAST", ports from 1 on; or "", for which both are 0. Else both are 0 too: -EINVAL.
 */
static inline int sy_ports_read(const char *text, unsigned *first, unsigned *last)
{
    int used = 0;

    *first = *last = 0;
    if (!*text || (strspn(text, "0123456789:") == strlen(text) &&
                   sscanf(text, "%5u:%5u%n", first, last, &used) == 2 && !text[used] && *first &&
                   *first <= *last && *last <= 65535))
        return 0;
    *first = *last = 0;
    return -EINVAL;
}

#endif
