#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/net/host_pattern.h"

enum {
    BRACKETS = 8, /* of one name */
    DIGITS = 9,   /* of a number in a range */
    NAME = 512    /* more than any name may have */
};

struct range {
    long from, to;
    int digits; /* with how many the first is written */
};

struct expansion {
    const char *end;
    int (*each)(void *arg, const char *name);
    void *arg;
    char name[NAME]; /* what stands before the bracket that is expanded */
};

size_t sy_host_pattern_length(const char *list)
{
    size_t length = 0;

    for (bool inside = false; list[length] && (inside || !strchr(", \t\n", list[length]));
         length++) {
        if (list[length] == '[')
            inside = true;
        else if (list[length] == ']')
            inside = false;
    }
    return length;
}

/* Reads a number; returns what follows it, or NULL. */
static const char *host_pattern_digits(const char *at, long *number)
{
    size_t digits = strspn(at, "0123456789");

    *number = digits && digits <= DIGITS ? strtol(at, NULL, 10) : -1;
    return *number < 0 ? NULL : at + digits;
}

/* Reads "01-08" or "7"; returns the comma or bracket behind it, or NULL. */
static const char *host_pattern_range(const char *at, struct range *range)
{
    const char *end = host_pattern_digits(at, &range->from);

    range->to = range->from;
    range->digits = end ? (int)(end - at) : 0;
    if (end && *end == '-')
        end = host_pattern_digits(end + 1, &range->to);
    return end && range->to >= range->from && (*end == ',' || *end == ']') ? end : NULL;
}

/* Counts what the bracket behind *at stands for, and moves *at to its end. */
static int host_pattern_count_bracket(const char **at, const char *text, int length, long *count,
                                      struct sy_error *err)
{
    struct range range;

    *count = 0;
    do {
        const char *begin = *at + 1;
        *at = host_pattern_range(begin, &range);
        if (!*at)
            return sy_fail(err, EINVAL,
                           "the range '%.*s' in '%.*s' is not two numbers of up to %d digits with "
                           "the smaller first",
                           (int)strcspn(begin, ",]"), begin, length, text, DIGITS);
        *count += range.to - range.from + 1;
    } while (**at == ',');
    return 0;
}

/* Checks a pattern. There may be more names than anybody wants to see. */
static int host_pattern_check(const char *text, const char *end, long most, struct sy_error *err)
{
    int length = end - text < 200 ? (int)(end - text) : 200, brackets = 0;
    long names = 1, count;

    for (const char *at = text; at < end; at++) {
        if (*at == ']')
            return sy_fail(err, EINVAL, "'%.*s' has a ] without a [", length, text);
        if (*at != '[')
            continue;
        if (++brackets > BRACKETS)
            return sy_fail(err, EINVAL, "'%.*s' has more than %d ranges", length, text, BRACKETS);
        if (!memchr(at, ']', (size_t)(end - at)) || at[1] == ']')
            return sy_fail(err, EINVAL, "'%.*s' has a [ without a range and a ]", length, text);
        int rc = host_pattern_count_bracket(&at, text, length, &count, err);
        if (rc)
            return rc;
        if (count > most / names)
            return sy_fail(err, EINVAL, "'%.*s' stands for more than %ld hosts", length, text,
                           most);
        names *= count;
    }
    return end > text ? 0 : sy_fail(err, EINVAL, "'' is not the name of a host");
}

/* Goes through the names that begin with `length` bytes of e->name and go on as the pattern does
 * at `at`. */
static int host_pattern_go_through(struct expansion *e, size_t length, const char *at)
{
    const char *open = memchr(at, '[', (size_t)(e->end - at)), *upto = open ? open : e->end;
    struct range range;
    int rc = 0;

    snprintf(e->name + length, NAME - length, "%.*s", (int)(upto - at), at);
    length += strlen(e->name + length);
    if (!open)
        return e->each(e->arg, e->name);
    const char *close = strchr(open, ']');
    for (at = open; !rc && at != close;) {
        at = host_pattern_range(at + 1, &range);
        for (long i = range.from; i <= range.to && !rc; i++) {
            snprintf(e->name + length, NAME - length, "%0*ld", range.digits, i);
            rc = host_pattern_go_through(e, length + strlen(e->name + length), close + 1);
        }
    }
    return rc;
}

int sy_host_pattern_expand(const char *text, size_t length, long most,
                           int (*each)(void *arg, const char *name), void *arg,
                           struct sy_error *err)
{
    struct expansion e = {.end = text + length, .each = each, .arg = arg};
    int rc = host_pattern_check(text, e.end, most, err);

    return rc ? rc : host_pattern_go_through(&e, 0, text);
}

const char *sy_host_pattern_number(const char *list, long *each, long *hosts)
{
    char *end;

    *each = strtol(list, &end, 10);
    *hosts = 1;
    if (end == list)
        return NULL;
    if (!strncmp(end, "(x", 2)) {
        *hosts = strtol(end + 2, &end, 10);
        if (*end++ != ')')
            return NULL;
    }
    return *end == ',' ? end + 1 : *end ? NULL : end;
}
