/* oshbench: command line, start and end. What is measured is in rows.c, how in run.c. */
#include <errno.h>
#include <getopt.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/raw_tcp.h"
#include "util/standard.h"
#include "util/printable.h"

static const char usage[] =
    "usage: oshrun -n 2 oshbench [--rows NAME,...] [--time SECONDS] [--trials N] [--json]\n"
    "       oshrun -n 2 oshbench --sizes 8:4m [--peers FILE,...] [--picture FILE] ...\n";

static void print_help(void)
{
    printf("%s\n"
           "Measures what operations cost, each beside the raw limit of this machine.\n"
           "  -r, --rows NAME,...   only these rows; a name may end in * (all rows)\n"
           "  -t, --time SECONDS    time for each row (0.5), a fifth of it for each size\n"
           "  -n, --trials N        trials whose median is shown, 7 or more (9)\n"
           "  -j, --json            JSON instead of a table\n"
           "  -s, --sizes SIZES     other rows, by size: 8:4m (each twice the one before), "
           "8,1k,1m; or both\n"
           "  -p, --peers FILE,...  print them beside what --json has written for other libraries\n"
           "  -g, --picture FILE    draw them (SVG), those of --peers too\n"
           "  -l, --list            the rows and what they are\n"
           "  -h, --help            this text\n"
           "  -V, --version         the version of the library\n",
           usage);
}

/* PE 0 reports for all: every PE reads the same command line. */
static bool complain(const struct bench *bench, const char *what, const char *value)
{
    if (bench->me == 0)
        sy_print(stderr, "oshbench: %s: \"%s\"\n", what, value);
    return false;
}

/* Whether a name, of `length` characters, is that of a row or of a figure by size. */
static bool name_is_known(const struct bench *bench, const char *name, size_t length)
{
    char *one = strndup(name, length);
    bool known = false;

    for (int i = 0; one && i < bench_row_count && !bench->by_size.sizes; i++)
        known = known || curve_listed(one, bench_rows[i].name);
    for (int i = 0; one && i < curve_row_count && bench->by_size.sizes; i++)
        known = known || curve_listed(one, curve_rows[i].name);
    free(one);
    return known;
}

/* Each name in the list has to be that of a row. */
static bool check_rows(const struct bench *bench)
{
    size_t length;

    for (const char *at = bench->rows; at && *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (!name_is_known(bench, at, length))
            return complain(bench, "no row has a name in --rows (oshbench --list shows all)", at);
    }
    return !bench->rows || *bench->rows || complain(bench, "--rows names no row", "");
}

/* Files of --peers; read by PE 0 alone, so that it alone refuses them, later. */
static bool read_peers(struct bench *bench, char *files)
{
    char *save = NULL;

    for (char *file = strtok_r(files, ",", &save); file; file = strtok_r(NULL, ",", &save)) {
        if (bench->peers == CURVE_PEERS)
            return complain(bench, "--peers takes four files at most, not also", file);
        bench->peers++;
        const char *wrong = curve_peer_read(&bench->peer_of[bench->peers], file);
        if (wrong && bench->me == 0)
            sy_print(stderr, "oshbench: --peers %s: %s\n", file, wrong);
        if (wrong)
            return false;
    }
    return true;
}

static bool read_option(struct bench *bench, int option)
{
    char *end = NULL;
    long trials;

    switch (option) {
    case 's':
        return curve_read_sizes(&bench->by_size, optarg) ||
               complain(bench,
                        "--sizes takes sizes in ascending order, up to 256m, such as 8:4m or 8,1k",
                        optarg);
    case 'p':
        return read_peers(bench, optarg);
    case 'g':
        bench->picture = optarg;
        return true;
    case 'r':
        bench->rows = optarg;
        return true;
    case 't':
        bench->seconds = strtod(optarg, &end);
        return (end != optarg && !*end && bench->seconds > 0.0 && bench->seconds <= 3600.0) ||
               complain(bench, "--time takes seconds, up to 3600", optarg);
    case 'n':
        trials = strtol(optarg, &end, 10);
        bench->trials = (int)trials;
        return (end != optarg && !*end && trials >= 7 && trials <= BENCH_MOST_TRIALS) ||
               complain(bench, "--trials takes a number from 7 to 1001", optarg);
    case 'j':
        return bench->json = true;
    case 'l':
        return bench->list = true;
    case 'h':
        return bench->help = true;
    case 'V':
        return bench->version = true;
    default:
        return false;
    }
}

static bool read_options(struct bench *bench, int argc, char **argv)
{
    static const struct option names[] = {
        {"rows", required_argument, NULL, 'r'},
        {"time", required_argument, NULL, 't'},
        {"trials", required_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'j'},
        {"sizes", required_argument, NULL, 's'},
        {"peers", required_argument, NULL, 'p'},
        {"picture", required_argument, NULL, 'g'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {0},
    };
    int option;

    opterr = bench->me == 0;
    while ((option = getopt_long(argc, argv, "r:t:n:s:p:g:jlhV", names, NULL)) != -1) {
        if (!read_option(bench, option))
            return false;
    }
    if (optind < argc)
        return complain(bench, "an argument is too much", argv[optind]);
    if ((bench->peers || bench->picture) && !bench->by_size.sizes)
        return complain(
            bench, "--peers and --picture are about figures by size, so --sizes is needed", "");
    if (bench->by_size.sizes && bench->npes < 2)
        return complain(bench, "--sizes needs 2 PEs or more", "1");
    return check_rows(bench);
}

/* False if there is no memory or no team on this PE. */
static bool allocate(struct bench *bench, double init_seconds)
{
    bench->shared = shmem_align(BENCH_LINE, sizeof(*bench->shared));
    bench->source = malloc(BENCH_BLOCK);
    if (!bench->shared || !bench->source) {
        fprintf(stderr, "oshbench: PE %d has no memory for %zu bytes%s\n", bench->me,
                sizeof(*bench->shared),
                bench->shared ? "" : " in the symmetric heap; set SHMEM_SYMMETRIC_SIZE");
        return false;
    }
    if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, bench->npes, NULL, 0, &bench->team)) {
        fprintf(stderr, "oshbench: PE %d gets no team of all PEs\n", bench->me);
        return false;
    }
    memset(bench->shared, 0, sizeof(*bench->shared));
    memset(bench->source, 1, BENCH_BLOCK);
    bench->shared->init_seconds = init_seconds;
    bench->peer = bench->npes > 1 && bench->me < 2 ? shmem_ptr(bench->shared, 1 - bench->me) : NULL;
    bench->first = shmem_ptr(bench->shared, 0);
    bench->one_node = true;
    for (int pe = 0; pe < bench->npes; pe++)
        bench->one_node = bench->one_node && shmem_ptr(bench->shared, pe);
    shmem_barrier_all();
    return true;
}

/* What the rows need where PE 0 and PE 1 do not map each other's memory. PE 0 decides for all. */
static void prepare_far(struct bench *bench)
{
    bench->link = -1;
    for (int pe = 0; bench->me == 0 && bench->npes > 1 && pe < bench->npes; pe++)
        shmem_long_p(&bench->shared->word, bench->peer ? 0 : 1, pe);
    shmem_barrier_all();
    bench->apart = bench->shared->word != 0;
    shmem_barrier_all(); /* the first row may write the word */
    if (!bench->apart)
        return;
    bench->table = shmem_malloc(BENCH_TABLE * sizeof(*bench->table));
    raw_tcp_open(bench);
}

/* Rows that are about the other kind of neighbour are left out unless they are asked for. */
static bool row_is_fit(const struct bench *bench, const struct bench_row *row)
{
    return bench->rows || !row->far || bench->apart;
}

static void measure_all(struct bench *bench)
{
    struct bench_output *output = bench->me == 0 ? bench_output_begin(bench) : NULL;

    if (bench->me == 0 && !output) {
        fprintf(stderr, "oshbench: no memory for the results\n");
        shmem_global_exit(1);
    }
    for (int i = 0; i < bench_row_count; i++) {
        struct bench_result result;

        if (!curve_listed(bench->rows, bench_rows[i].name) || !row_is_fit(bench, &bench_rows[i]))
            continue;
        result = bench_measure(bench, &bench_rows[i]);
        if (output)
            bench_output_row(output, &result);
    }
    if (output && !bench_output_end(output))
        shmem_global_exit(1);
}

/* Figures by size. Returns the exit status. */
static int measure_by_size(struct bench *bench)
{
    struct curves *curves = &bench->by_size;
    char library[SHMEM_MAX_NAME_LEN];

    shmem_info_get_name(library);
    curves->me = bench->me;
    curves->npes = bench->npes;
    curves->cpus = bench->cpus;
    curves->seconds = bench->seconds / 5;
    curves->trials = bench->trials;
    curves->rows = bench->rows;
    curves->json = bench->json;
    bench->peer_of[0].library = library;
    bench->peer_of[0].line = curve_run(curves, library, bench->peer_of + 1, bench->peers);
    if (!bench->peer_of[0].line) {
        if (bench->me == 0)
            sy_standard_end("oshbench", 1); /* where that is the reason */
        return 1;
    }
    if (bench->me || !bench->picture ||
        curve_draw(bench->picture, bench->peer_of, bench->peers + 1))
        return 0;
    sy_print(stderr, "oshbench: %s: %s\n", bench->picture, strerror(errno));
    return 1;
}

static void print_version(void)
{
    char library[SHMEM_MAX_NAME_LEN];

    shmem_info_get_name(library);
    printf("oshbench of %s\n", library);
}

int main(int argc, char **argv)
{
    struct bench bench = {.seconds = 0.5, .trials = 9};
    double begin = bench_now();
    int status = 0;

    shmem_init();
    begin = bench_now() - begin;
    bench.me = shmem_my_pe();
    bench.npes = shmem_n_pes();
    bench.cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);

    if (!read_options(&bench, argc, argv)) {
        if (bench.me == 0)
            fprintf(stderr, "%soshbench --help explains the options\n", usage);
        status = 2;
    } else if (bench.help || bench.version || bench.list) {
        if (bench.me == 0 && bench.help)
            print_help();
        else if (bench.me == 0 && bench.version)
            print_version();
        else if (bench.me == 0)
            bench_output_list();
        status = bench.me == 0 ? sy_standard_end("oshbench", 1) : 0;
    } else if (bench.by_size.sizes) {
        status = measure_by_size(&bench);
    } else if (!allocate(&bench, begin)) {
        shmem_global_exit(1);
    } else {
        prepare_far(&bench);
        measure_all(&bench);
        raw_tcp_close(&bench);
        shmem_free(bench.table);
        shmem_team_destroy(bench.team);
        free(bench.source);
        shmem_free(bench.shared);
    }
    shmem_finalize();
    return status;
}
