/* Memory for oshrun: its requests are small and bounded, so when one fails oshrun says so and
 * leaves; the PEs then die with it. */
#ifndef SY_LAUNCHER_MEMORY_H
#define SY_LAUNCHER_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *sy_memory_check(void *block)
{
    if (!block) {
        fputs("oshrun: out of memory\n", stderr);
        _Exit(1);
    }
    return block;
}

static inline void *sy_memory_zeroed(size_t count, size_t size)
{
    return sy_memory_check(calloc(count ? count : 1, size));
}

static inline void *sy_memory_resize(void *block, size_t bytes)
{
    return sy_memory_check(realloc(block, bytes ? bytes : 1));
}

/* A text that is written like a file: where it is, and how long, is known once it is ended. */
static inline FILE *sy_memory_stream(char **text, size_t *length)
{
    return sy_memory_check(open_memstream(text, length));
}

static inline void sy_memory_stream_end(FILE *stream)
{
    if (fclose(stream) != 0)
        sy_memory_check(NULL);
}

static inline char *sy_memory_vtext(const char *fmt, va_list args)
{
    char *text;
    int n = vasprintf(&text, fmt, args);

    return sy_memory_check(n < 0 ? NULL : text);
}

static inline char *sy_memory_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline char *sy_memory_text(const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = sy_memory_vtext(fmt, args);
    va_end(args);
    return text;
}

static inline char *sy_memory_string(const char *text)
{
    return sy_memory_check(strdup(text));
}

/* Lists of words that end with NULL. Adds the word with number *count. */
static inline void sy_memory_add(char ***list, size_t *count, char *word)
{
    *list = sy_memory_resize(*list, (*count + 2) * sizeof **list);
    (*list)[(*count)++] = word;
    (*list)[*count] = NULL;
}

/* Frees the words, too. */
static inline void sy_memory_free_list(char **list)
{
    for (char **word = list; word && *word; word++)
        free(*word);
    free(list);
}

#endif
