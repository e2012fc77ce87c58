/* Lists of PEs in messages: "PE 3", "PEs 0, 2-4, 9", "PEs 0, 2, 4 and 1021 more". Inline, so that
 * plugins and oshrun have it as the library does. */
#ifndef SY_UTIL_LIST_H
#define SY_UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Ranges that are shown: a line of a terminal or so. */
#define SY_LIST_RANGES 12

/* Bytes that hold any list without hosts. */
#define SY_LIST_TEXT 400

struct sy_list {
    char *text;
    size_t room, used;
    int first, last;   /* the range that is being gathered; first < 0: none */
    char host[256];    /* of that range, or "" */
    int shown, ranges; /* PEs and ranges in the text */
    int total;         /* PEs added */
};

/* The text is complete after sy_list_end. room: at least 64. */
static inline struct sy_list sy_list_begin(char *text, size_t room)
{
    *text = '\0';
    return (struct sy_list){.text = text, .room = room, .first = -1};
}

static inline void sy_list_flush(struct sy_list *list)
{
    char range[400], to[16] = "";

    if (list->first < 0)
        return;
    if (list->last > list->first)
        snprintf(to, sizeof to, "-%d", list->last);
    int n = snprintf(range, sizeof range, "%s%d%s%s%.300s%s", list->ranges ? ", " : "", list->first,
                     to, *list->host ? " (host " : "", list->host, *list->host ? ")" : "");
    size_t length = n > 0 ? (size_t)n : 0;
    if (list->ranges < SY_LIST_RANGES && length < sizeof range &&
        list->used + length + sizeof "PEs  and 2147483647 more" < list->room) {
        memcpy(list->text + list->used, range, length + 1);
        list->used += length;
        list->shown += list->last - list->first + 1;
        list->ranges++;
    } else {
        list->ranges = SY_LIST_RANGES; /* nothing is shown behind a gap */
    }
    list->first = -1;
}

/* Adds a PE; numbers ascend. host: where it is, which is then said, or NULL. */
static inline void sy_list_add_on(struct sy_list *list, int pe, const char *host)
{
    host = host ? host : "";
    if (list->first < 0 || pe != list->last + 1 || strcmp(host, list->host) != 0) {
        sy_list_flush(list);
        list->first = pe;
        snprintf(list->host, sizeof list->host, "%s", host);
    }
    list->last = pe;
    list->total++;
}

static inline void sy_list_add(struct sy_list *list, int pe)
{
    sy_list_add_on(list, pe, NULL);
}

/* Completes the text and returns it: "no PE" if none was added. */
static inline const char *sy_list_end(struct sy_list *list)
{
    const char *head = list->total == 1 ? "PE " : "PEs ";

    sy_list_flush(list);
    if (!list->total) {
        snprintf(list->text, list->room, "no PE");
        return list->text;
    }
    memmove(list->text + strlen(head), list->text, list->used + 1);
    memcpy(list->text, head, strlen(head));
    list->used += strlen(head);
    if (list->total > list->shown)
        snprintf(list->text + list->used, list->room - list->used, "%s%d%s",
                 list->shown ? " and " : "", list->total - list->shown,
                 list->shown ? " more" : " in all");
    return list->text;
}

/* Where a PE is or should be, or NULL; what is returned holds until the next call. */
typedef const char *sy_host_of(void *owner, int pe);

/* Names in words the PEs of `count` that `have` leaves out. host_of may be NULL. */
static inline const char *sy_list_missing(const bool *have, int count, sy_host_of *host_of,
                                          void *owner, char *text, size_t room)
{
    struct sy_list list = sy_list_begin(text, room);

    for (int pe = 0; pe < count; pe++)
        if (!have[pe])
            sy_list_add_on(&list, pe, host_of ? host_of(owner, pe) : NULL);
    return sy_list_end(&list);
}

/* Steps through `count` texts, each once however often it is there; NULL: that PE has none. Starts
 * at *at and returns whether there was another: *at is then the first PE that has it, and `who`
 * lists all of them. */
static inline bool sy_list_next_alike(char *const *text, int count, int *at, char *who, size_t room)
{
    for (; *at < count; ++*at) {
        int first = 0;

        if (!text[*at])
            continue;
        while (!text[first] || strcmp(text[first], text[*at]) != 0)
            first++;
        if (first < *at)
            continue;
        struct sy_list list = sy_list_begin(who, room);
        for (int pe = first; pe < count; pe++)
            if (text[pe] && strcmp(text[pe], text[first]) == 0)
                sy_list_add(&list, pe);
        sy_list_end(&list);
        return true;
    }
    return false;
}

#endif
