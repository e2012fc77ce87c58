/* Names that mean this machine, whatever a resolver knows. */
#ifndef SY_UTIL_NET_NAMES_H
#define SY_UTIL_NET_NAMES_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Whether the name is "localhost", or below it, as RFC 6761 has it. */
static inline bool sy_name_is_localhost(const char *name)
{
    size_t length = strlen(name), word = strlen("localhost");

    if (length && name[length - 1] == '.')
        length--;
    return length >= word && !strncasecmp(name + length - word, "localhost", word) &&
           (length == word || name[length - word - 1] == '.');
}

/* A name without a domain and one with any domain count as equal, two domains do not. */
static inline bool sy_name_equal(const char *a, const char *b)
{
    size_t length = strcspn(a, ".");

    if (!length || !strcasecmp(a, b))
        return length > 0;
    return length == strcspn(b, ".") && !strncasecmp(a, b, length) && (!a[length] || !b[length]);
}

/* Whether the name is this machine's own, with or without its domain. */
static inline bool sy_name_is_own(const char *name)
{
    char mine[256];

    if (gethostname(mine, sizeof mine))
        return false;
    mine[sizeof mine - 1] = '\0';
    return sy_name_equal(name, mine);
}

#endif
