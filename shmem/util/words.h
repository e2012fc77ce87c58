/* Lists of words, as settings have them: "a,b,c". Inline, so that plugins have it too. */
#ifndef SY_UTIL_WORDS_H
#define SY_UTIL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether the word of `length` letters stands in a list, divided by `divider`. NULL is empty. */
static inline bool sy_words_have(const char *list, char divider, const char *word, size_t length)
{
    const char divide[] = {divider, '\0'};

    while (list && *list) {
        size_t n = strcspn(list, divide);
        if (n == length && !memcmp(list, word, n))
            return true;
        list += n + (list[n] == divider);
    }
    return false;
}

#endif
