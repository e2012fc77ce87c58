/* Memory that other processes map, on the pages and on the nodes of memory that were asked for: of
 * the pools of the host's memory, and of the symmetric heap. Wishes (SY_WISH_ of device.h) that the
 * machine cannot fulfil are not failures but words: `got` says what became of them. Wishes that no
 * machine could fulfil, or that name something absent, are failures. */
#ifndef SY_UTIL_PAGES_H
#define SY_UTIL_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/device.h>

/* What was asked for. */
struct sy_pages_wish {
    size_t length;
    int flags;          /* SY_WISH_HUGE_2M .. SY_WISH_LOCKED */
    unsigned long numa; /* nodes of memory, as bits; 0: none named */
};

/* What became of it. */
struct sy_pages {
    int fd;        /* sealed (memfd.h); begins at base */
    char *base;    /* on a boundary of the pages that were asked for */
    size_t length; /* of whole pages of the size asked for, got or not: the same on all PEs */
    bool failed;   /* a wish was not fulfilled */
    char got[224]; /* in words; "" where there were no wishes */
};

/* Makes and maps a file that reads as zero. Where `at` is not NULL and free, it is mapped there.
 * 0; -EINVAL: wishes that do not go together or name what is not there; another -errno: there is no
 * such memory at all. */
int sy_pages_open(const char *name, const struct sy_pages_wish *wish, char *at,
                  struct sy_pages *pages, struct sy_error *err);
void sy_pages_close(struct sy_pages *pages);

/* Maps `length` bytes at `offset` of a file, shared: at `at` where that is not NULL and free, else
 * on a boundary of `unit`. flags: of mmap, more than MAP_SHARED. MAP_FAILED with errno. */
char *sy_pages_map(int fd, uint64_t offset, size_t length, size_t unit, int flags, char *at);

/* What the machine has of all this, for the user, as snprintf: lines divided by newlines. */
int sy_pages_describe(char *text, size_t room);

#endif
