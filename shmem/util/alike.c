/* See alike.h. */
#include <string.h>

#include "util/alike.h"
#include "util/list.h"

static bool same(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static bool alike_was_before(char *const *text, int pe)
{
    for (int i = 0; i < pe; i++)
        if (same(text[i], text[pe]))
            return true;
    return false;
}

bool sy_alike_next(char *const *text, int count, int *at, char *who, size_t room)
{
    while (*at < count && (!text[*at] || alike_was_before(text, *at)))
        ++*at;
    if (*at >= count)
        return false;
    struct sy_list list = sy_list_begin(who, room);
    for (int pe = *at; pe < count; pe++)
        if (same(text[pe], text[*at]))
            sy_list_add(&list, pe);
    sy_list_end(&list);
    return true;
}
