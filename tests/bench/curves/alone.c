/* main for other libraries, whose oshcc builds the program that is to run beside oshbench:
 *
 *     oshcc -O2 -D_GNU_SOURCE -Itests -o curves \
 *         tests/bench/curves/{alone,table,point,coll,measure,print}.c
 *     oshrun -n 2 ./curves 8:4m [ROW,...] [SECONDS] [NAME] >other.json */
#include "bench/curves/curves.h"

#include <shmem.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct curves curves = {
        .seconds = 0.1, .trials = 9, .json = true, .cpus = (int)sysconf(_SC_NPROCESSORS_ONLN)};
    char library[SHMEM_MAX_NAME_LEN + 1] = "";
    struct curve_line *lines = NULL;

    shmem_init();
    shmem_info_get_name(library);
    curves.me = shmem_my_pe();
    curves.npes = shmem_n_pes();
    curves.rows = argc > 2 && *argv[2] ? argv[2] : NULL;
    curves.seconds = argc > 3 ? atof(argv[3]) : curves.seconds;
    if (argc < 2 || curves.npes < 2 || curves.seconds <= 0 || !curve_read_sizes(&curves, argv[1]))
        fprintf(stderr, "usage: oshrun -n 2 curves SIZES [ROW,...] [SECONDS] [NAME]\n");
    else
        lines = curve_run(&curves, argc > 4 ? argv[4] : library, NULL, 0);
    free(lines);
    shmem_finalize();
    return lines ? 0 : 2;
}
