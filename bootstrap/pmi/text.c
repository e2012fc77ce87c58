/* Reading PMI's messages. They come from a socket, so anything may be in them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/pmi/client.h"
#include "util/parse.h"

bool sy_pmi_word(const char *message, char between, const char *key, char *value, size_t room)
{
    size_t length = strlen(key);

    for (const char *at = message; *at;) {
        const char *end = at;
        while (*end && *end != between && *end != '\n')
            end++;
        if ((size_t)(end - at) > length && !strncmp(at, key, length) && at[length] == '=') {
            size_t bytes = (size_t)(end - at) - length - 1;
            if (bytes >= room)
                return false;
            memcpy(value, at + length + 1, bytes);
            value[bytes] = '\0';
            return true;
        }
        at = *end ? end + 1 : end;
    }
    return false;
}

bool sy_pmi_number(const char *message, char between, const char *key, int *number)
{
    char text[24];
    long value;

    if (!sy_pmi_word(message, between, key, text, sizeof text) ||
        sy_parse_int(text, INT_MIN, INT_MAX, &value))
        return false;
    *number = (int)value;
    return true;
}

bool sy_pmi_mapping_is_one_node(const char *mapping)
{
    static const char begin[] = "(vector";
    long node = -1;
    const char *at = mapping + sizeof begin - 1;

    if (strncmp(mapping, begin, sizeof begin - 1) != 0)
        return false;
    while (*at == ',') {
        char *end;
        if (at[1] != '(')
            return false;
        long first = strtol(at + 2, &end, 10);
        if (*end != ',')
            return false;
        long nodes = strtol(end + 1, &end, 10);
        if (*end != ',' || nodes != 1 || (node >= 0 && first != node))
            return false;
        strtol(end + 1, &end, 10);
        if (*end != ')')
            return false;
        node = first;
        at = end + 1;
    }
    return node >= 0 && *at == ')';
}

int sy_pmi_length(const char field[6])
{
    int value = 0, i = 0, digits = 0;

    while (i < 6 && field[i] == ' ')
        i++;
    for (; i < 6 && field[i] >= '0' && field[i] <= '9'; i++, digits++)
        value = value * 10 + field[i] - '0';
    while (i < 6 && field[i] == ' ')
        i++;
    return i == 6 && digits ? value : -1;
}
