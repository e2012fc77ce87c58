/* The rows of figures by size, and which are wanted. */
#include "bench/curves/curves.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

const struct curve curve_rows[] = {
    {"put", "put and quiet", CURVE_US, CURVE_ONE, false, 0, curve_put},
    {"get", "get", CURVE_US, CURVE_ONE, false, 0, curve_get},
    {"put_bw", "non-blocking puts, one PE to another", CURVE_MBPS, CURVE_ONE, false, 0,
     curve_put_stream},
    {"get_bw", "non-blocking gets, one PE from another", CURVE_MBPS, CURVE_ONE, false, 0,
     curve_get_stream},
    {"put_bibw", "non-blocking puts, two PEs to each other", CURVE_MBPS, CURVE_BOTH, false, 0,
     curve_put_both},
    {"put_pairs", "non-blocking puts, the first half of the PEs to the second", CURVE_MBPS,
     CURVE_PAIRS, false, 0, curve_put_pairs},
    {"put_rate", "non-blocking puts of 8 bytes, by pairs of PEs", CURVE_MOPS, CURVE_PAIRS, true, 0,
     curve_put_rate},
    {"add_rate", "atomic additions, by pairs of PEs", CURVE_MOPS, CURVE_PAIRS, true, 0,
     curve_add_rate},
    {"put_overlap", "of a non-blocking put, what computing for as long hides", CURVE_PERCENT,
     CURVE_ONE, false, 0, curve_put_overlap},
    {"get_overlap", "of a non-blocking get, what computing for as long hides", CURVE_PERCENT,
     CURVE_ONE, false, 0, curve_get_overlap},
    {"broadcast", "broadcast from PE 0", CURVE_US, CURVE_ONE, false, 0, curve_broadcast},
    {"reduce", "sum of doubles", CURVE_US, CURVE_ONE, false, 0, curve_reduce},
    {"collect", "collect, by what each PE gives", CURVE_US, CURVE_ONE, false, 1, curve_collect},
    {"fcollect", "fcollect, by what each PE gives", CURVE_US, CURVE_ONE, false, 1, curve_fcollect},
    {"alltoall", "alltoall, by what each PE gives to each", CURVE_US, CURVE_ONE, false, 1,
     curve_alltoall},
    {"alltoalls", "alltoall of every second 8 bytes, by what each PE gives to each", CURVE_US,
     CURVE_ONE, false, 2, curve_alltoalls},
#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 106
    {"inscan", "sums of doubles up to each PE", CURVE_US, CURVE_ONE, false, 0, curve_inscan},
    {"exscan", "sums of doubles before each PE", CURVE_US, CURVE_ONE, false, 0, curve_exscan},
#endif
};
const int curve_row_count = sizeof curve_rows / sizeof *curve_rows;

bool curve_listed(const char *list, const char *name)
{
    size_t length;

    for (const char *at = list; at && *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (length && at[length - 1] == '*' ? !strncmp(name, at, length - 1)
                                            : strlen(name) == length && !strncmp(name, at, length))
            return true;
    }
    return !list;
}

/* A number with k or m behind it; 0: it is none, or out of range. *end: what follows. */
static size_t table_read_size(const char *text, char **end)
{
    unsigned long long size = *text >= '0' && *text <= '9' ? strtoull(text, end, 10) : 0;

    if (!size || size > CURVE_MOST_SIZE)
        return 0;
    if (**end == 'k' || **end == 'K')
        size <<= 10, ++*end;
    else if (**end == 'm' || **end == 'M')
        size <<= 20, ++*end;
    return size <= CURVE_MOST_SIZE ? (size_t)size : 0;
}

static bool table_add_size(struct curves *curves, size_t size)
{
    if (curves->sizes == CURVE_POINTS || (curves->sizes && size <= curves->size[curves->sizes - 1]))
        return false;
    curves->size[curves->sizes++] = size;
    return true;
}

bool curve_read_sizes(struct curves *curves, const char *text)
{
    char *end;

    for (;; text = end + 1) {
        size_t from = table_read_size(text, &end), to = from;

        if (from && *end == ':')
            to = table_read_size(end + 1, &end);
        if (!from || to < from)
            return false;
        for (; from <= to; from *= 2)
            if (!table_add_size(curves, from))
                return false;
        if (*end != ',')
            return !*end;
    }
}
