/* keys PID...: in how many places of each process's memory the key of tests/shim/key.h, or half of
 * it, stands: a line "PID places". This process does not have it in one piece itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/shim/key.h"

enum { PIECE = 1 << 20, HALF = SHIM_KEY / 2 };

static bool is_half(const unsigned char *bytes, size_t first)
{
    for (size_t i = 0; i < HALF; i++)
        if (bytes[i] != (unsigned char)(SHIM_KEY_FACTOR * (first + i) + SHIM_KEY_FIRST))
            return false;
    return true;
}

/* Pieces overlap, so that nothing is missed. Both halves behind each other are one place. */
static int search(int fd, unsigned long from, unsigned long to)
{
    static unsigned char piece[PIECE];
    int places = 0;

    while (to - from >= HALF) {
        size_t wanted = to - from < PIECE ? to - from : PIECE;
        ssize_t got = pread(fd, piece, wanted, (off_t)from);
        if (got < HALF)
            return places;
        for (size_t i = 0; i + HALF <= (size_t)got; i++)
            if (is_half(piece + i, 0) ||
                (is_half(piece + i, HALF) && (i < HALF || !is_half(piece + i - HALF, 0))))
                places++;
        if ((size_t)got == wanted && wanted == to - from)
            return places;
        from += (size_t)got - HALF + 1;
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
