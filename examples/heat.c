/* Heat spreads over a plate. Each PE holds a strip of rows, and one row more above and below: the
 * halo, into which the neighbours put their outermost row after every step. A PE waits for its two
 * neighbours only, there is no barrier in the loop.
 *
 * PE 0 can write the result as a picture (PPM), and compares it with a run of its own.
 *
 *     oshcc heat.c -o heat && oshrun -n 4 ./heat --output plate.ppm */
#include <getopt.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ABOVE, BELOW };

struct options {
    long width, height, steps;
    const char *output;
    bool check;
};

/* The strip of one PE: rows 1..rows are its own, 0 and rows + 1 are the halo. */
struct strip {
    double *now, *next;
    long first, rows; /* row 1 is row `first` of the plate */
    int above, below; /* neighbouring PEs, -1 at the edge of the plate */
};

/* The last step whose halo row has arrived from above and from below. */
static long arrived[2];
static long verdict;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

static double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The plate at the beginning: its left and top edges are warm and stay so, and there are hot discs.
 */
static double beginning(const struct options *o, long row, long column)
{
    static const double discs[][3] = {{0.30, 0.35, 0.10}, {0.70, 0.60, 0.14}, {0.35, 0.80, 0.06}};
    double x = (double)column / (double)o->width, y = (double)row / (double)o->height;

    if (row == 0 || column == 0)
        return 60.0;
    for (size_t i = 0; i < sizeof(discs) / sizeof(discs[0]); i++) {
        double dx = x - discs[i][0], dy = y - discs[i][1];

        if (dx * dx + dy * dy < discs[i][2] * discs[i][2])
            return 100.0;
    }
    return 0.0;
}

/* One step for a row: each cell becomes the mean of its four neighbours; the edges stay. */
static void relax_row(const double *row, double *result, long width)
{
    const double *above = row - width, *below = row + width;

    result[0] = row[0];
    for (long i = 1; i < width - 1; i++)
        result[i] = 0.25 * (above[i] + below[i] + row[i - 1] + row[i + 1]);
    result[width - 1] = row[width - 1];
}

static void relax(const struct strip *s, const struct options *o)
{
    for (long i = 1; i <= s->rows; i++) {
        long row = s->first + i - 1, at = i * o->width;

        if (row == 0 || row == o->height - 1)
            memcpy(s->next + at, s->now + at, (size_t)o->width * sizeof(double));
        else
            relax_row(s->now + at, s->next + at, o->width);
    }
}

/* The strip of a PE: the first height % npes PEs have one row more. */
static void divide(const struct options *o, int pe, int npes, long *first, long *rows)
{
    long each = o->height / npes, more = o->height % npes;

    *rows = each + (pe < more);
    *first = pe * each + (pe < more ? pe : more);
}

/* Gives the outermost rows of the new state to the neighbours, says so, and waits for theirs. A
 * neighbour has finished with the row that is overwritten here, since it said so for the step
 * before. */
static void exchange(const struct strip *s, const struct options *o, long step, int npes)
{
    size_t width = (size_t)o->width;
    long first, rows;

    if (s->above >= 0) {
        divide(o, s->above, npes, &first, &rows);
        shmem_double_put(s->next + (rows + 1) * o->width, s->next + width, width, s->above);
    }
    if (s->below >= 0)
        shmem_double_put(s->next, s->next + s->rows * o->width, width, s->below);

    shmem_fence(); /* the rows before the numbers that announce them */
    if (s->above >= 0)
        shmem_long_p(&arrived[BELOW], step, s->above);
    if (s->below >= 0)
        shmem_long_p(&arrived[ABOVE], step, s->below);

    if (s->above >= 0)
        shmem_long_wait_until(&arrived[ABOVE], SHMEM_CMP_GE, step);
    if (s->below >= 0)
        shmem_long_wait_until(&arrived[BELOW], SHMEM_CMP_GE, step);
}

static void run(struct strip *s, const struct options *o, int npes)
{
    for (long step = 1; step <= o->steps; step++) {
        double *old = s->now;

        relax(s, o);
        exchange(s, o, step, npes);
        s->now = s->next;
        s->next = old;
    }
}

/* Both states of a strip, halo included, filled with the beginning. */
static void fill(struct strip *s, const struct options *o)
{
    for (long i = 0; i < s->rows + 2; i++) {
        for (long column = 0; column < o->width; column++) {
            double value = beginning(o, s->first + i - 1, column);

            s->now[i * o->width + column] = s->next[i * o->width + column] = value;
        }
    }
}

/* PE 0 collects the plate with a get from every PE. The caller frees it; NULL if there is no
 * memory. */
static double *gather(const struct strip *s, const struct options *o, int npes)
{
    double *plate = malloc((size_t)o->width * (size_t)o->height * sizeof(*plate));
    long first, rows;

    for (int pe = 0; plate && pe < npes; pe++) {
        divide(o, pe, npes, &first, &rows);
        shmem_double_get(plate + first * o->width, s->now + o->width, (size_t)(rows * o->width),
                         pe);
    }
    return plate;
}

/* The largest difference from the same run by one PE alone, or a negative number if there is no
 * memory. */
static double compare(const double *plate, const struct options *o)
{
    size_t cells = (size_t)o->width * (size_t)(o->height + 2);
    struct strip alone = {.first = 0, .rows = o->height, .above = -1, .below = -1};
    double *memory = malloc(2 * cells * sizeof(*memory)), worst = -1.0;

    if (memory) {
        alone.now = memory;
        alone.next = memory + cells;
        fill(&alone, o);
        run(&alone, o, 1);
        worst = 0.0;
        for (long i = 0; i < o->width * o->height; i++)
            worst = larger(worst, distance(plate[i], alone.now[o->width + i]));
    }
    free(memory);
    return worst;
}

/* Blue is cold, then green and yellow, red is hot. */
static void colour(double heat, unsigned char rgb[3])
{
    double t = heat / 100.0, red = 3.0 * t - 0.9;

    rgb[0] = (unsigned char)(255.0 * (red > 1.0 ? 1.0 : larger(0.0, red)));
    rgb[1] = (unsigned char)(255.0 * larger(0.0, 1.0 - distance(2.4 * t, 1.1)));
    rgb[2] = (unsigned char)(255.0 * larger(0.0, 0.6 - 2.0 * t));
}

static bool write_picture(const double *plate, const struct options *o)
{
    FILE *file = fopen(o->output, "wb");
    unsigned char rgb[3];
    bool written;

    if (!file) {
        perror(o->output);
        return false;
    }
    fprintf(file, "P6\n%ld %ld\n255\n", o->width, o->height);
    for (long i = 0; i < o->width * o->height; i++) {
        colour(plate[i], rgb);
        fwrite(rgb, 1, sizeof(rgb), file);
    }
    written = !ferror(file);
    if (fclose(file) || !written) {
        perror(o->output);
        return false;
    }
    printf("heat: the picture is in %s\n", o->output);
    return true;
}

/* PE 0's part after the run. True if all is well. */
static bool report(const struct strip *s, const struct options *o, int npes, double time)
{
    double *plate = gather(s, o, npes), worst = 0.0;
    bool good = plate != NULL, alike;

    if (good && o->output)
        good = write_picture(plate, o);
    if (good && o->check)
        worst = compare(plate, o);
    alike = worst >= 0.0 && worst < 1e-9;
    if (!plate || worst < 0.0)
        fprintf(stderr, "heat: no memory to collect and check the plate on PE 0\n");
    printf("heat: %s: %ld x %ld cells, %ld steps on %d PEs in %.3f s; %s\n",
           good && alike ? "OK" : "FAILED", o->width, o->height, o->steps, npes, time,
           !o->check || !good ? "not checked"
           : alike            ? "equal to a run by one PE"
                              : "differs from a run by one PE");
    free(plate);
    return good && alike;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {{"width", required_argument, NULL, 'w'},
                                          {"height", required_argument, NULL, 'h'},
                                          {"steps", required_argument, NULL, 's'},
                                          {"output", required_argument, NULL, 'o'},
                                          {"no-check", no_argument, NULL, 'n'},
                                          {"help", no_argument, NULL, '?'},
                                          {0}};
    int option;
    char none[] = "", *end = none;

    *o = (struct options){.width = 400, .height = 400, .steps = 1000, .check = true};
    while ((option = getopt_long(argc, argv, "o:", names, NULL)) != -1) {
        long *number = option == 'w'   ? &o->width
                       : option == 'h' ? &o->height
                       : option == 's' ? &o->steps
                                       : NULL;
        if (option == 'o')
            o->output = optarg;
        else if (option == 'n')
            o->check = false;
        else if (!number)
            return false;
        else
            *number = strtol(optarg, &end, 10);
        if (*end)
            return false;
    }
    if (o->width < 3 || o->height < 3 || o->steps < 0 || o->width > 1000000 || o->height > 1000000)
        return false;
    if (o->height < shmem_n_pes() && shmem_my_pe() == 0)
        fprintf(stderr, "heat: %ld rows are not enough for %d PEs\n", o->height, shmem_n_pes());
    return optind == argc && o->height >= shmem_n_pes();
}

int main(int argc, char **argv)
{
    struct options options;
    struct strip strip;

    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    opterr = me == 0;
    if (!read_options(argc, argv, &options)) {
        if (me == 0)
            fprintf(
                stderr,
                "usage: %s [--width N] [--height N] [--steps N] [--output FILE.ppm] [--no-check]\n"
                "  a plate of width x height cells (400 x 400), at least one row for each PE;\n"
                "  that many steps (1000); a picture of the result; no comparison with a run by\n"
                "  one PE, which takes as long as all PEs together\n",
                argv[0]);
        shmem_finalize();
        return 2;
    }

    divide(&options, me, npes, &strip.first, &strip.rows);
    strip.above = me - 1;
    strip.below = me + 1 < npes ? me + 1 : -1;
    /* Of the largest strip: symmetric objects have the same size everywhere. */
    size_t cells = (size_t)(options.height / npes + 3) * (size_t)options.width;
    strip.now = shmem_malloc(cells * sizeof(double));
    strip.next = shmem_malloc(cells * sizeof(double));
    if (!strip.now || !strip.next) {
        if (me == 0)
            fprintf(stderr,
                    "heat: no room for 2 x %zu bytes on each PE; set SHMEM_SYMMETRIC_SIZE\n",
                    cells * sizeof(double));
        shmem_global_exit(1);
    }
    fill(&strip, &options);

    shmem_barrier_all(); /* all are ready */
    double begin = seconds();
    shmem_barrier_all(); /* no PE begins before the clock of PE 0 */
    run(&strip, &options, npes);
    shmem_barrier_all();
    if (me == 0)
        verdict = report(&strip, &options, npes, seconds() - begin);
    shmem_barrier_all();
    verdict = shmem_long_g(&verdict, 0);
    shmem_finalize();
    return verdict ? 0 : 1;
}
