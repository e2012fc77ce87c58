/* Text that quotes others, as the environment, files and plugins, on its way to a terminal. Inline,
 * so that tools have it too. */
#ifndef SY_UTIL_PRINTABLE_H
#define SY_UTIL_PRINTABLE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Makes control characters question marks, but for tabs and, where they may be, newlines. */
static inline void sy_printable(char *line, size_t length, int newlines)
{
    unsigned char *text = (unsigned char *)line;

    for (size_t i = 0; i < length; i++) {
        if ((text[i] < ' ' && text[i] != '\t' && !(newlines && text[i] == '\n')) || text[i] == 0x7f)
            text[i] = '?';
        else if (text[i] == 0xc2 && i + 1 < length && text[i + 1] < 0xa0)
            text[i] = text[i + 1] = '?';
    }
}

/* fprintf of the text made printable: its length; 0 where there is no memory for it. */
static inline int __attribute__((format(printf, 2, 3))) sy_print(FILE *to, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    if (length < 0)
        return 0;
    sy_printable(text, (size_t)length, 1);
    fputs(text, to);
    free(text);
    return length;
}

#endif
