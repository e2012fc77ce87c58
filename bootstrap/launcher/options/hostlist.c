/* Lists of hosts: see hostlist.h. */
#include "bootstrap/launcher/options/hostlist.h"

#include <errno.h>

#include "bootstrap/launcher/memory.h"
#include "util/bits.h"
#include "util/net/names.h"
#include "util/parse.h"
#include "util/text_file.h"

enum {
    BRACKETS = 8, /* of one name */
    DIGITS = 9,   /* of a number in a range */
    FIRST_PLACES = 64
};

bool sy_hostlist_is_here(const char *name)
{
    return strcmp(name, "127.0.0.1") == 0 || strcmp(name, "::1") == 0 ||
           sy_name_is_localhost(name) || sy_name_is_own(name);
}

/* ---- the hosts by name ---- */

/* The place in the table where a name is or belongs. */
static int *hostlist_find_place(const struct sy_hostlist *list, const char *name)
{
    unsigned at = (unsigned)sy_hash(name, strlen(name), 0) & (list->places - 1);

    while (list->table[at] && strcmp(list->host[list->table[at] - 1].name, name) != 0)
        at = (at + 1) & (list->places - 1);
    return &list->table[at];
}

static void hostlist_build_table(struct sy_hostlist *list, unsigned places)
{
    free(list->table);
    list->table = sy_memory_zeroed(places, sizeof *list->table);
    list->places = places;
    for (int i = 0; i < list->count; i++)
        *hostlist_find_place(list, list->host[i].name) = i + 1;
}

static void hostlist_add_host(struct sy_hostlist *list, const char *name, int slots, int most)
{
    struct sy_listed *host;

    /* Room for as many hosts as half of the table's places. */
    if (2u * (unsigned)list->count >= list->places) {
        list->places = list->places ? 2 * list->places : FIRST_PLACES;
        list->host = sy_memory_resize(list->host, list->places / 2 * sizeof *list->host);
        hostlist_build_table(list, list->places);
    }
    host = &list->host[list->count];
    host->name = sy_memory_string(name);
    host->slots = slots;
    host->most = most;
    *hostlist_find_place(list, name) = ++list->count;
}

/* A name goes into commands and messages: it is one word, and contains no control character. */
static char *hostlist_check_name(const char *name)
{
    if (strlen(name) > SY_HOST_NAME_MAX)
        return sy_memory_text(
            "'%.40s...' is not the name of a host: it has more than %d characters", name,
            SY_HOST_NAME_MAX);
    if (!*name || *name == '-')
        return sy_memory_text("'%s' is not the name of a host", name);
    for (const char *at = name; *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return sy_memory_text(
                "'%s' is not the name of a host: it has blanks or control characters", name);
    }
    return NULL;
}

char *sy_hostlist_put(struct sy_hostlist *list, const char *name, int slots, int most)
{
    struct sy_listed *host;
    char *fault = hostlist_check_name(name);
    int index = list->places ? *hostlist_find_place(list, name) : 0;

    if (fault)
        return fault;
    if (++list->named > SY_HOSTS_NAMED)
        return sy_memory_text("the lists of hosts have more than %d names; oshrun reads no more",
                              SY_HOSTS_NAMED);
    if (!index && list->count == SY_HOSTS_MAX)
        return sy_memory_text("the lists name more than %d hosts, at '%s'; oshrun takes no more",
                              SY_HOSTS_MAX, name);
    if (!index) {
        hostlist_add_host(list, name, slots, most);
        return NULL;
    }
    host = &list->host[index - 1];
    /* A host that is named again without a number gets one slot more. */
    host->slots = (host->slots ? host->slots : 1) + (slots ? slots : 1);
    if (host->slots > SY_HOST_SLOTS_MAX)
        host->slots = SY_HOST_SLOTS_MAX;
    if (most)
        host->most = most;
    return NULL;
}

void sy_hostlist_remove(struct sy_hostlist *list, int index)
{
    free(list->host[index].name);
    list->count--;
    memmove(&list->host[index], &list->host[index + 1],
            (size_t)(list->count - index) * sizeof *list->host);
    hostlist_build_table(list, list->places);
}

/* ---- texts ---- */

/* The length of one element of a list: up to a comma or blank that is not in brackets. */
static size_t hostlist_element_length(const char *text)
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

/* "01-08" or "7": the numbers and with how many digits they are written. */
static bool hostlist_read_range(const char *range, long *from, long *to, int *digits)
{
    size_t length = strcspn(range, "-");
    char from_text[DIGITS + 1];

    if (length > DIGITS || strlen(range) > 2 * DIGITS + 1)
        return false;
    memcpy(from_text, range, length);
    from_text[length] = '\0';
    *digits = (int)length;
    return sy_parse_int(from_text, 0, 999999999, from) == 0 &&
           sy_parse_int(range[length] ? range + length + 1 : from_text, 0, 999999999, to) == 0 &&
           *to >= *from;
}

/* What a name stands for: text between brackets, and what the brackets hold. */
struct pattern {
    char *copy;                /* of the text, cut into what follows */
    char *piece[BRACKETS + 1]; /* before the first bracket, between two, after the last */
    char *ranges[BRACKETS];
    int brackets;
};

/* Cuts a text at its brackets. A bracket around a port or an IPv6 address does not occur here. */
static char *hostlist_cut_pattern(struct pattern *pattern, const char *text)
{
    char *at = pattern->copy = sy_memory_string(text), *close;

    pattern->brackets = 0;
    for (pattern->piece[0] = at; (at = strchr(at, '[')); at = close + 1) {
        if (pattern->brackets == BRACKETS)
            return sy_memory_text("'%s' has more than %d ranges", text, BRACKETS);
        close = strchr(at, ']');
        if (!close || close == at + 1)
            return sy_memory_text("'%s' has a [ without a range and a ]", text);
        *at = *close = '\0';
        pattern->ranges[pattern->brackets++] = at + 1;
        pattern->piece[pattern->brackets] = close + 1;
    }
    for (int i = 0; i <= pattern->brackets; i++) {
        if (strchr(pattern->piece[i], ']'))
            return sy_memory_text("'%s' has a ] without a [", text);
    }
    return NULL;
}

/* Checks all ranges of a bracket, and counts what they stand for; at most a number above
 * SY_HOSTS_MAX. */
static char *hostlist_count_ranges(const char *ranges, const char *text, long *count)
{
    char *copy = sy_memory_string(ranges), *save = NULL, *fault = NULL;

    *count = 0;
    for (char *range = strtok_r(copy, ",", &save); range && !fault;
         range = strtok_r(NULL, ",", &save)) {
        long from, to;
        int digits;

        if (!hostlist_read_range(range, &from, &to, &digits))
            fault = sy_memory_text(
                "the range '%s' in '%s' is not two numbers of up to %d digits with the "
                "smaller first",
                range, text, DIGITS);
        else if (*count <= SY_HOSTS_MAX)
            *count += to - from + 1;
    }
    free(copy);
    return fault;
}

/* Counts the hosts that a pattern stands for, before it is expanded: there may be more than a job
 * can have. */
static char *hostlist_count_pattern(const struct pattern *pattern, const char *text)
{
    long product = 1;

    for (int i = 0; i < pattern->brackets; i++) {
        long count;
        char *fault = hostlist_count_ranges(pattern->ranges[i], text, &count);

        if (fault)
            return fault;
        /* Both are below 2^31, so that the product is right. */
        product *= count;
        if (product > SY_HOSTS_MAX)
            return sy_memory_text("'%s' stands for more than %d hosts; oshrun takes no more", text,
                                  SY_HOSTS_MAX);
    }
    return NULL;
}

/* Adds all names that begin with `head` and go on as the pattern does from this bracket on. */
static char *hostlist_expand_pattern(struct sy_hostlist *list, const struct pattern *pattern,
                                     int bracket, const char *head, int slots, int most)
{
    char name[2 * SY_HOST_NAME_MAX], *copy, *save = NULL, *fault = NULL;
    size_t length = strlen(head);

    if (length > SY_HOST_NAME_MAX || bracket == pattern->brackets)
        return sy_hostlist_put(list, head, slots, most);
    copy = sy_memory_string(pattern->ranges[bracket]);
    memcpy(name, head, length);
    for (char *range = strtok_r(copy, ",", &save); range && !fault;
         range = strtok_r(NULL, ",", &save)) {
        long from, to;
        int digits;

        hostlist_read_range(range, &from, &to, &digits);
        for (long i = from; i <= to && !fault; i++) {
            snprintf(name + length, sizeof name - length, "%0*ld%s", digits, i,
                     pattern->piece[bracket + 1]);
            fault = hostlist_expand_pattern(list, pattern, bracket + 1, name, slots, most);
        }
    }
    free(copy);
    return fault;
}

static char *hostlist_expand(struct sy_hostlist *list, const char *text, int slots, int most)
{
    struct pattern pattern;
    char *fault = hostlist_cut_pattern(&pattern, text);

    if (!fault)
        fault = hostlist_count_pattern(&pattern, text);
    if (!fault)
        fault = hostlist_expand_pattern(list, &pattern, 0, pattern.piece[0], slots, most);
    free(pattern.copy);
    return fault;
}

/* "host", "host:4", "user@host:4". The second colon of an address of IPv6 tells it
 * from a number of slots. */
static char *hostlist_add_element(struct sy_hostlist *list, const char *element, int slots,
                                  int most)
{
    char *name = sy_memory_string(element), *fault;
    char *colon = strrchr(name, ':');
    long number;

    if (colon && strchr(name, ':') == colon) {
        *colon = '\0';
        if (sy_parse_int(colon + 1, 1, SY_HOST_SLOTS_MAX, &number) != 0) {
            free(name);
            return sy_memory_text("'%s' should be HOST:SLOTS, with a number of slots", element);
        }
        slots = (int)number;
    }
    fault = hostlist_expand(list, name, slots, most);
    free(name);
    return fault;
}

static char *hostlist_add_elements(struct sy_hostlist *list, const char *text, int slots, int most)
{
    char *fault = NULL;

    while (*text && !fault) {
        size_t length = hostlist_element_length(text);
        char *element = sy_memory_check(strndup(text, length));

        if (length)
            fault = hostlist_add_element(list, element, slots, most);
        free(element);
        text += length + (text[length] != '\0');
    }
    return fault;
}

char *sy_hostlist_add(struct sy_hostlist *list, const char *text)
{
    char *fault = hostlist_add_elements(list, text, 0, 0);

    if (!fault && !list->count)
        fault = sy_memory_text("'%s' names no host", text);
    return fault;
}

/* Reads what follows the name on a line of a file. */
static char *hostlist_read_setting(const char *word, int *slots, int *most)
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
        return sy_memory_text(
            "'%s' is not known; a host may be followed by slots=N and max-slots=N", word);
    if (sy_parse_int(value, 1, SY_HOST_SLOTS_MAX, &number) != 0)
        return sy_memory_text("'%s' has no number of slots", word);
    *to = (int)number;
    return NULL;
}

static char *hostlist_read_line(struct sy_hostlist *list, char *line)
{
    int slots = 0, most = 0;
    char *save = NULL, *name, *word, *fault = NULL;

    line[strcspn(line, "#\n\r")] = '\0';
    name = strtok_r(line, " \t", &save);
    if (!name)
        return NULL;
    while (!fault && (word = strtok_r(NULL, " \t", &save)) != NULL)
        fault = hostlist_read_setting(word, &slots, &most);
    return fault ? fault : hostlist_add_elements(list, name, slots, most);
}

char *sy_hostlist_read(struct sy_hostlist *list, const char *path)
{
    FILE *in = strcmp(path, "-") == 0 ? stdin : sy_text_file_open(path);
    char *line = NULL, *fault = NULL;
    size_t room = 0;
    int number = 0, before = list->count;

    if (!in)
        return sy_memory_text("cannot read the file of hosts '%s': %s", path,
                              sy_text_file_why(errno));
    while (!fault && getline(&line, &room, in) >= 0) {
        char *why;

        number++;
        why = hostlist_read_line(list, line);
        if (why)
            fault = sy_memory_text("%s:%d: %s", path, number, why);
        free(why);
    }
    if (!fault && ferror(in))
        fault = sy_memory_text("cannot read the file of hosts '%s': %s", path, strerror(errno));
    free(line);
    if (in != stdin)
        fclose(in);
    if (!fault && list->count == before)
        fault = sy_memory_text("the file of hosts '%s' names no host", path);
    return fault;
}

void sy_hostlist_free(struct sy_hostlist *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->host[i].name);
    free(list->host);
    free(list->table);
    memset(list, 0, sizeof *list);
}
