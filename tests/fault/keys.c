/* keys PID...: in how many places of each process's memory the key of tests/shim/key.h, or half of
 * it, stands: a line "PID places". This process does not have it in one piece itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/shim/key.h"

enum { PIECE = 1 << 20 };

static bool is_key(const unsigned char *bytes)
{
    for (size_t i = 0; i < SHIM_KEY; i++)
        if (bytes[i] != (unsigned char)(SHIM_KEY_FACTOR * i + SHIM_KEY_FIRST))
            return false;
    return true;
}

/* Blocks overlap, so that no place is missed. */
static int search(int fd, unsigned long from, unsigned long to)
{
    static unsigned char piece[PIECE];
    int places = 0;

    while (to - from >= SHIM_KEY) {
        size_t wanted = to - from < PIECE ? to - from : PIECE;
        ssize_t got = pread(fd, piece, wanted, (off_t)from);
        if (got < SHIM_KEY)
            return places;
        const unsigned char *at = piece, *end = piece + got - SHIM_KEY + 1;
        for (; (at = memchr(at, SHIM_KEY_FIRST, (size_t)(end - at))); at++)
            places += is_key(at);
        from += (size_t)got - SHIM_KEY + 1;
    }
    return places;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char path[64], line[512], mode[8];
        unsigned long from, to;
        int places = 0;

        snprintf(path, sizeof path, "/proc/%s/mem", argv[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        snprintf(path, sizeof path, "/proc/%s/maps", argv[i]);
        FILE *maps = fopen(path, "re");
        if (fd < 0 || !maps) {
            if (errno == ENOENT)
                continue; /* it has ended */
            perror(path);
            return 1;
        }
        while (fgets(line, sizeof line, maps))
            if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && mode[0] == 'r')
                places += search(fd, from, to);
        fclose(maps);
        close(fd);
        printf("%s %d\n", argv[i], places);
    }
    return 0;
}
