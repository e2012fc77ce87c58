/* See alike.h. */
#include <stdio.h>
#include <string.h>

#include "util/alike.h"

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static bool was_before(char *const *text, int pe)
{
    for (int i = 0; i < pe; i++)
        if (same(text[i], text[pe]))
            return true;
    return false;
}

static void name_all(char *const *text, int count, int first, char *who, size_t room)
{
    size_t used = 0;
    int listed = 0;

    for (int pe = first, last; pe < count; pe = last + 1) {
        last = pe;
        if (!same(text[pe], text[first]))
            continue;
        while (last + 1 < count && same(text[last + 1], text[first]))
            last++;
        const char *comma = listed ? ", " : "";
        listed += last - pe + 1;
        char *at = who + used;
        if (used + sizeof "PEs , -2147483647-2147483647, ..." > room) {
            snprintf(at, room - used, "%s...", comma);
            return;
        }
        used += (size_t)(last > pe ? sprintf(at, "%s%d-%d", comma, pe, last)
                                   : sprintf(at, "%s%d", comma, pe));
    }
}

bool sy_alike_next(char *const *text, int count, int *at, char *who, size_t room)
{
    while (*at < count && (!text[*at] || was_before(text, *at)))
        ++*at;
    if (*at >= count)
        return false;
    bool one = true;
    for (int pe = *at + 1; one && pe < count; pe++)
        one = !same(text[pe], text[*at]);
    size_t head = (size_t)sprintf(who, one ? "PE " : "PEs ");
    name_all(text, count, *at, who + head, room - head);
    return true;
}
