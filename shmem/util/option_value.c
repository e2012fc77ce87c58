/* From the text of an option to its value: see option_set.h. Must not know where the text is
 * from. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/bits.h"
#include "util/option_set.h"
#include "util/parse.h"

union value {
    bool boolean;
    long integer;
    size_t size;
    double seconds;
    const char *string;
    int choice;
};

static int option_value_parse_choice(const char *choices, const char *text, int *out)
{
    int index = 0;

    for (const char *word = choices; *word; index++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && !strncasecmp(text, word, length)) {
            *out = index;
            return 0;
        }
        word += length + (word[length] == '|');
    }
    return -EINVAL;
}

static int option_value_parse(const struct sy_option *row, const char *text, union value *out)
{
    switch (row->type) {
    case SY_OPTION_BOOL:
        return sy_parse_bool(text, &out->boolean);
    case SY_OPTION_FLAG:
        if (sy_parse_bool(text, &out->boolean))
            out->boolean = true;
        return 0;
    case SY_OPTION_INT:
        return sy_parse_int(text, row->min, row->max, &out->integer);
    case SY_OPTION_SIZE:
        return sy_parse_size(text, &out->size);
    case SY_OPTION_SECONDS:
        return sy_parse_seconds(text, &out->seconds);
    case SY_OPTION_STRING:
    case SY_OPTION_LIST:
        out->string = text;
        return 0;
    case SY_OPTION_CHOICE:
        return option_value_parse_choice(row->choices, text, &out->choice);
    }
    return -EINVAL;
}

size_t sy_option_size(enum sy_option_type type)
{
    const union value *value;
    static const size_t sizes[] = {
        [SY_OPTION_BOOL] = sizeof value->boolean,    [SY_OPTION_FLAG] = sizeof value->boolean,
        [SY_OPTION_INT] = sizeof value->integer,     [SY_OPTION_SIZE] = sizeof value->size,
        [SY_OPTION_SECONDS] = sizeof value->seconds, [SY_OPTION_STRING] = sizeof value->string,
        [SY_OPTION_CHOICE] = sizeof value->choice,   [SY_OPTION_LIST] = sizeof value->string,
    };

    return (unsigned)type < SY_COUNT(sizes) ? sizes[type] : 0;
}

static uint32_t option_value_hash(const struct sy_option *row, const union value *value)
{
    bool text = row->type == SY_OPTION_STRING || row->type == SY_OPTION_LIST;
    uint64_t hash = text ? sy_hash(value->string, strlen(value->string), 0)
                         : sy_hash(value, sizeof *value, 0);

    return (uint32_t)(hash ^ hash >> 32);
}

int sy_option_assign(struct sy_option_entry *entry, const char *text, void *settings)
{
    union value value;

    memset(&value, 0, sizeof value); /* the hash takes in all of it */
    if (option_value_parse(&entry->row, text, &value))
        return -EINVAL;
    entry->hash = option_value_hash(&entry->row, &value);
    memcpy((char *)settings + entry->row.offset, &value, sy_option_size(entry->row.type));
    return 0;
}

const char *sy_option_allowed(const struct sy_option *row, char *buffer, size_t room)
{
    switch (row->type) {
    case SY_OPTION_BOOL:
    case SY_OPTION_FLAG:
        return "0, no, off, false or 1, yes, on, true";
    case SY_OPTION_INT:
        if (row->max == LONG_MAX)
            snprintf(buffer, room, "whole numbers from %ld", row->min);
        else
            snprintf(buffer, room, "whole numbers from %ld to %ld", row->min, row->max);
        return buffer;
    case SY_OPTION_SIZE:
        return "a number of bytes such as 1048576, 64m or .5g (k, m, g, t: times 1024, 1024^2, "
               "...)";
    case SY_OPTION_SECONDS:
        return "a number of seconds from 0, such as 30 or 2.5";
    case SY_OPTION_STRING:
        return "a text";
    case SY_OPTION_LIST:
        return "a text, or an array of texts or of objects whose members are texts";
    case SY_OPTION_CHOICE:
        snprintf(buffer, room, "one of ");
        for (const char *at = row->choices; *at; at++) {
            size_t used = strlen(buffer);
            if (used + 1 == room) {
                memcpy(buffer + room - sizeof "...", "...", sizeof "...");
                break;
            }
            snprintf(buffer + used, room - used, *at == '|' ? ", " : "%c", *at);
        }
        return buffer;
    }
    return "";
}
