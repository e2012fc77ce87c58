/* Lists of hosts: see hostlist.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/hostlist.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "util/parse.h"

enum {
    MOST_HOSTS = 65536, /* of one range: more is a slip */
    MOST_SLOTS = 1 << 20
};

static char *wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *wrong(const char *fmt, ...)
{
    char *text;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    return sy_memory_check(n < 0 ? NULL : text);
}

bool sy_hostlist_is_here(const char *name)
{
    char own[256] = "";
    size_t length;

    if (strcmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
        strcmp(name, "::1") == 0)
        return true;
    if (gethostname(own, sizeof own - 1) != 0)
        return false;
    if (strcmp(own, name) == 0)
        return true;
    /* One of the two may be with its domain, the other without. */
    length = strcspn(own, ".");
    return length == strcspn(name, ".") && strncmp(own, name, length) == 0 &&
           (!own[length] || !name[length]);
}

void sy_hostlist_put(struct sy_hostlist *list, const char *name, int slots, int most)
{
    struct sy_listed *host;

    for (int i = 0; i < list->count; i++) {
        host = &list->host[i];
        if (strcmp(host->name, name) != 0)
            continue;
        /* Named again without a number: one more. */
        host->slots = (host->slots ? host->slots : 1) + (slots ? slots : 1);
        if (most)
            host->most = most;
        return;
    }
    list->host = sy_memory_resize(list->host, (size_t)(list->count + 1) * sizeof *list->host);
    host = &list->host[list->count++];
    host->name = sy_memory_string(name);
    host->slots = slots;
    host->most = most;
}

/* The length of one element of a list: up to a comma or blank that is not in brackets. */
static size_t element_length(const char *text)
{
    size_t length = 0;
    bool inside = false;

    for (; text[length] && (inside || !strchr(", \t\n", text[length])); length++) {
        if (text[length] == '[')
            inside = true;
        else if (text[length] == ']')
            inside = false;
    }
    return length;
}

static char *expand(struct sy_hostlist *list, const char *text, int slots, int most);

/* "01-08" or "7" between a head and a tail; digits is as many as the first number has. */
static char *expand_range(struct sy_hostlist *list, const char *head, const char *range,
                          const char *tail, int slots, int most)
{
    const char *dash = strchr(range, '-');
    int digits = (int)(dash ? (size_t)(dash - range) : strlen(range));
    char *from_text = sy_memory_check(strndup(range, (size_t)digits));
    long from, to;
    bool good = sy_parse_int(from_text, 0, 999999999, &from) == 0 &&
                sy_parse_int(dash ? dash + 1 : from_text, 0, 999999999, &to) == 0 && to >= from &&
                to - from < MOST_HOSTS;
    char *fault = NULL;

    free(from_text);
    if (!good)
        return wrong("the range '%s' in '%s[...]%s' is not two numbers with the smaller first",
                     range, head, tail);
    for (long i = from; i <= to && !fault; i++) {
        char *name;

        if (asprintf(&name, "%s%0*ld%s", head, digits, i, tail) < 0)
            sy_memory_check(NULL);
        fault = expand(list, name, slots, most);
        free(name);
    }
    return fault;
}

/* A name whose brackets hold ranges: for each number. A bracket that a port or an address of IPv6
 * is in does not occur here. */
static char *expand(struct sy_hostlist *list, const char *text, int slots, int most)
{
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    char *head, *ranges, *fault = NULL, *save = NULL;

    if (!open && !strchr(text, ']')) {
        sy_hostlist_put(list, text, slots, most);
        return NULL;
    }
    if (!close || close == open + 1)
        return wrong("'%s' has a [ without a range and a ]", text);
    head = sy_memory_check(strndup(text, (size_t)(open - text)));
    ranges = sy_memory_check(strndup(open + 1, (size_t)(close - open - 1)));
    for (char *range = strtok_r(ranges, ",", &save); range && !fault;
         range = strtok_r(NULL, ",", &save))
        fault = expand_range(list, head, range, close + 1, slots, most);
    free(ranges);
    free(head);
    return fault;
}

/* "host", "host:4", "user@host:4". The second colon of an address of IPv6 tells it
 * from a number of slots. */
static char *add_element(struct sy_hostlist *list, const char *element, int slots, int most)
{
    char *name = sy_memory_string(element), *fault;
    char *colon = strrchr(name, ':');
    long number;

    if (colon && strchr(name, ':') == colon) {
        *colon = '\0';
        if (sy_parse_int(colon + 1, 1, MOST_SLOTS, &number) != 0) {
            free(name);
            return wrong("'%s' should be HOST:SLOTS, with a number of slots", element);
        }
        slots = (int)number;
    }
    if (!*name || *name == '-') {
        free(name);
        return wrong("'%s' is no name of a host", element);
    }
    fault = expand(list, name, slots, most);
    free(name);
    return fault;
}

static char *add_elements(struct sy_hostlist *list, const char *text, int slots, int most)
{
    char *fault = NULL;

    while (*text && !fault) {
        size_t length = element_length(text);
        char *element = sy_memory_check(strndup(text, length));

        if (length)
            fault = add_element(list, element, slots, most);
        free(element);
        text += length + (text[length] != '\0');
    }
    return fault;
}

char *sy_hostlist_add(struct sy_hostlist *list, const char *text)
{
    char *fault = add_elements(list, text, 0, 0);

    if (!fault && !list->count)
        fault = wrong("'%s' names no host", text);
    return fault;
}

/* What follows the name on a line of a file. */
static char *read_setting(const char *word, int *slots, int *most)
{
    static const char *const SLOTS[] = {"slots=", "cpu=", "count="};
    static const char *const MOST[] = {"max-slots=", "max_slots=", "slots_max="};
    long number;
    int *to = NULL;
    const char *value = word;

    for (size_t i = 0; i < 3; i++) {
        if (strncmp(word, SLOTS[i], strlen(SLOTS[i])) == 0) {
            to = slots;
            value = word + strlen(SLOTS[i]);
        } else if (strncmp(word, MOST[i], strlen(MOST[i])) == 0) {
            to = most;
            value = word + strlen(MOST[i]);
        }
    }
    if (!to && *word >= '0' && *word <= '9')
        to = slots;
    if (!to)
        return wrong("'%s' is not known; a host may be followed by slots=N and max-slots=N", word);
    if (sy_parse_int(value, 1, MOST_SLOTS, &number) != 0)
        return wrong("'%s' has no number of slots", word);
    *to = (int)number;
    return NULL;
}

static char *read_line(struct sy_hostlist *list, char *line)
{
    int slots = 0, most = 0;
    char *save = NULL, *name, *word, *fault = NULL;

    line[strcspn(line, "#\n\r")] = '\0';
    name = strtok_r(line, " \t", &save);
    if (!name)
        return NULL;
    while (!fault && (word = strtok_r(NULL, " \t", &save)) != NULL)
        fault = read_setting(word, &slots, &most);
    return fault ? fault : add_elements(list, name, slots, most);
}

char *sy_hostlist_read(struct sy_hostlist *list, const char *path)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    char *line = NULL, *fault = NULL;
    size_t room = 0;
    int number = 0, before = list->count;

    if (!in)
        return wrong("cannot read the file of hosts '%s': %s", path, strerror(errno));
    while (!fault && getline(&line, &room, in) >= 0) {
        char *why;

        number++;
        why = read_line(list, line);
        if (why)
            fault = wrong("%s:%d: %s", path, number, why);
        free(why);
    }
    free(line);
    if (in != stdin)
        fclose(in);
    if (!fault && list->count == before)
        fault = wrong("the file of hosts '%s' names no host", path);
    return fault;
}

void sy_hostlist_free(struct sy_hostlist *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->host[i].name);
    free(list->host);
    memset(list, 0, sizeof *list);
}
