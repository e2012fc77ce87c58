/* Text without control characters: see plain.h. */
#include "bootstrap/launcher/stdio/plain.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/launcher/memory.h"

/* The character that begins here and the number of its bytes; 0 bytes where it is no UTF-8. */
static size_t plain_decode(const unsigned char *at, size_t length, uint32_t *character)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

    if (!bytes || bytes > length || *at > 0xf4)
        return 0;
    *character = bytes == 1 ? *at : *at & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (at[i] & 0x3fu);
    }
    if (*character < LEAST[bytes] || *character > 0x10ffff ||
        (*character >= 0xd800 && *character < 0xe000))
        return 0;
    return bytes;
}

static bool plain_is_obeyed(uint32_t character)
{
    if (character == '\t' || character == '\n')
        return false;
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           /* marks, separators, embeddings and isolates that change what is read where */
           character == 0x61c || (character >= 0x200b && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2060 && character <= 0x206f) || character == 0xfeff;
}

size_t sy_plain(char *out, const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    size_t used = 0;

    while (at < end) {
        uint32_t character = 0;
        size_t bytes = plain_decode(at, (size_t)(end - at), &character);
        bool shown = bytes && !plain_is_obeyed(character);

        for (size_t i = 0; i < (bytes ? bytes : 1); i++, at++) {
            if (shown)
                out[used++] = (char)*at;
            else
                used += (size_t)sprintf(out + used, "\\x%02x", *at);
        }
    }
    out[used] = '\0';
    return used;
}

char *sy_plain_string(const char *text)
{
    size_t length = strlen(text);
    char *out = sy_memory_resize(NULL, SY_PLAIN_ROOM(length));

    sy_plain(out, text, length);
    return out;
}
