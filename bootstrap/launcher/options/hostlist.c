/* Lists of hosts: see hostlist.h. */
#include "bootstrap/launcher/options/hostlist.h"

#include "bootstrap/launcher/memory.h"
#include "util/bits.h"
#include "util/net/host_pattern.h"
#include "util/net/names.h"
#include "util/parse.h"
#include "util/text_file.h"

enum { FIRST_PLACES = 64 };

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

/* What all names of a pattern get. */
struct sharing {
    struct sy_hostlist *list;
    int slots, most;
    char *fault;
};

static int hostlist_put_one(void *arg, const char *name)
{
    struct sharing *sharing = arg;

    sharing->fault = sy_hostlist_put(sharing->list, name, sharing->slots, sharing->most);
    return sharing->fault != NULL;
}

static char *hostlist_expand(struct sy_hostlist *list, const char *text, int slots, int most)
{
    struct sharing sharing = {.list = list, .slots = slots, .most = most};
    struct sy_error err = {""};
    int rc = sy_host_pattern_expand(text, strlen(text), SY_HOSTS_MAX, hostlist_put_one, &sharing,
                                    &err);

    return rc < 0 ? sy_memory_string(err.text) : sharing.fault;
}

/* Takes the brackets off an address of IPv6, as in "user@[::1]:4"; ranges have no colons. Returns
 * the colon before a number of slots, or NULL. The second colon of an address that has no brackets
 * tells it from such a number. */
static char *hostlist_find_slots(char *name, bool *bracketed)
{
    char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;
    char *colon = strrchr(name, ':');

    *bracketed = close && memchr(open, ':', (size_t)(close - open)) && strchr(":", close[1]);
    if (!*bracketed)
        return colon && strchr(name, ':') == colon ? colon : NULL;
    colon = close[1] ? close + 1 : NULL;
    *close = '\0';
    memmove(open, open + 1, (size_t)(close - open));
    return colon;
}

/* "host", "host:4", "user@host:4", "[::1]:4". */
static char *hostlist_add_element(struct sy_hostlist *list, const char *element, int slots,
                                  int most)
{
    char *name = sy_memory_string(element), *fault;
    bool bracketed;
    char *colon = hostlist_find_slots(name, &bracketed);
    long number;

    if (colon) {
        *colon = '\0';
        if (sy_parse_int(colon + 1, 1, SY_HOST_SLOTS_MAX, &number) != 0) {
            free(name);
            return sy_memory_text("'%s' should be HOST:SLOTS, with a number of slots", element);
        }
        slots = (int)number;
    }
    fault = bracketed ? sy_hostlist_put(list, name, slots, most)
                      : hostlist_expand(list, name, slots, most);
    free(name);
    return fault;
}

static char *hostlist_add_elements(struct sy_hostlist *list, const char *text, int slots, int most)
{
    char *fault = NULL;

    while (*text && !fault) {
        size_t length = sy_host_pattern_length(text);
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
    char *text, *rest, *line, *fault = NULL;
    int number = 0, before = list->count;
    struct sy_error unread;

    if (sy_text_file_read(strcmp(path, "-") ? path : NULL, SY_TEXT_FILE_LIST, &text, &unread))
        return sy_memory_text("cannot read the file of hosts '%s': %s", path, unread.text);
    for (rest = text; !fault && (line = strsep(&rest, "\n"));) {
        char *why = hostlist_read_line(list, line);

        number++;
        if (why)
            fault = sy_memory_text("%s:%d: %s", path, number, why);
        free(why);
    }
    free(text);
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
