/* What the kernel tells a process of its own memory. Reading it so is safe where an address may
 * cease to be mapped meanwhile. */
#ifndef SY_UTIL_OWN_MEMORY_H
#define SY_UTIL_OWN_MEMORY_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SY_OWN_MAPPINGS "/proc/self/maps"

struct sy_mapping {
    uintptr_t begin, end;
    bool usable;    /* to be read and written */
    char name[300]; /* its file, or what the kernel calls it, as "[stack]"; "": nothing */
};

/* The next mapping of SY_OWN_MAPPINGS, in the order of addresses; false: there are no more. */
static inline bool sy_mapping_next(FILE *maps, struct sy_mapping *mapping)
{
    unsigned long begin, end;
    char line[400], rights[8];

    while (fgets(line, sizeof line, maps)) {
        int name = 0;
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &begin, &end, rights, &name) != 3 || !name)
            continue; /* the rest of a long line */
        *mapping = (struct sy_mapping){
            .begin = begin, .end = end, .usable = rights[0] == 'r' && rights[1] == 'w'};
        snprintf(mapping->name, sizeof mapping->name, "%.*s", (int)strcspn(line + name, "\n"),
                 line + name);
        return true;
    }
    return false;
}

/* Finds the first mapping that ends behind address `at` and, unless that is NULL, has this name. */
static inline bool sy_mapping_find(uintptr_t at, const char *name, struct sy_mapping *mapping)
{
    FILE *maps = fopen(SY_OWN_MAPPINGS, "re");
    bool found = false;

    while (maps && !found && sy_mapping_next(maps, mapping))
        found = at < mapping->end && (!name || !strcmp(mapping->name, name));
    if (maps)
        fclose(maps);
    return found;
}

/* Copies up to `most` words of memory from address `at` on: how many. */
static inline size_t sy_own_memory_read(uintptr_t at, uintptr_t *words, size_t most)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : pread(fd, words, most * sizeof *words, (off_t)at);

    if (fd >= 0)
        close(fd);
    return length > 0 ? (size_t)length / sizeof *words : 0;
}

#endif
