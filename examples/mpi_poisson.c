/* A program of MPI and OpenSHMEM: Poisson's equation on a square, by conjugate gradients. Each PE
 * has a strip of rows. MPI adds scalar products over all; OpenSHMEM puts the edges of a strip into
 * the neighbours' memory, with a signal, and meanwhile the rows between are computed.
 *
 *     OSHCC_CC=mpicc oshcc mpi_poisson.c -O2 -lm -o mpi_poisson && mpiexec -n 4 ./mpi_poisson 400
 */
#include <math.h>
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows 1 to `rows` of `width` cells are this PE's; row 0 and the last are the neighbours' edges, or
 * the square's edge, which is 0. */
struct strip {
    int width, rows, above, below; /* above, below: PEs, or -1 */
    int most;                      /* rows of the PE that has most of them */
    uint64_t steps;
    uint64_t *come; /* signals: how many edges have come from above, and from below */
    double *x, *residual, *product;
    double *direction; /* symmetric */
};

static double add_over_all(double own)
{
    double sum = 0;

    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static double scalar_product(const struct strip *s, const double *a, const double *b)
{
    double own = 0;

    for (size_t i = (size_t)s->width, end = i * (size_t)(s->rows + 1); i < end; i++)
        own += a[i] * b[i];
    return add_over_all(own);
}

/* product = A direction, in one row: four times a cell less its neighbours. */
static void apply_row(const struct strip *s, int row)
{
    size_t w = (size_t)s->width;
    const double *d = s->direction + (size_t)row * w;
    double *to = s->product + (size_t)row * w;

    for (size_t i = 0; i < w; i++)
        to[i] = 4 * d[i] - d[i - w] - d[i + w] - (i ? d[i - 1] : 0) - (i + 1 < w ? d[i + 1] : 0);
}

/* The first row becomes the last of the PE above, whose strip may have one row more or less. */
static void send_edges(const struct strip *s, int rows_above)
{
    size_t w = (size_t)s->width;

    if (s->above >= 0)
        shmem_double_put_signal_nbi(s->direction + (size_t)(rows_above + 1) * w, s->direction + w,
                                    w, &s->come[1], 1, SHMEM_SIGNAL_ADD, s->above);
    if (s->below >= 0)
        shmem_double_put_signal_nbi(s->direction, s->direction + (size_t)s->rows * w, w,
                                    &s->come[0], 1, SHMEM_SIGNAL_ADD, s->below);
}

static void apply(struct strip *s, int rows_above)
{
    send_edges(s, rows_above);
    for (int row = 2; row < s->rows; row++)
        apply_row(s, row);
    s->steps++;
    if (s->above >= 0)
        shmem_signal_wait_until(&s->come[0], SHMEM_CMP_GE, s->steps);
    if (s->below >= 0)
        shmem_signal_wait_until(&s->come[1], SHMEM_CMP_GE, s->steps);
    apply_row(s, 1);
    if (s->rows > 1)
        apply_row(s, s->rows);
    shmem_quiet(); /* the edges have left, so they may be changed */
}

/* Nobody writes an edge that is still read: a neighbour's next one comes after the MPI_Allreduce
 * of the step, which all enter behind apply(). Returns the steps it took. */
static int solve(struct strip *s, int rows_above, double enough)
{
    size_t begin = (size_t)s->width, end = begin * (size_t)(s->rows + 1);
    double now = scalar_product(s, s->residual, s->residual), first = now;
    int steps = 0;

    for (; now > enough * enough * first && steps < 20 * s->width; steps++) {
        apply(s, rows_above);
        double alpha = now / scalar_product(s, s->direction, s->product), before = now;
        for (size_t i = begin; i < end; i++) {
            s->x[i] += alpha * s->direction[i];
            s->residual[i] -= alpha * s->product[i];
        }
        now = scalar_product(s, s->residual, s->residual);
        for (size_t i = begin; i < end; i++)
            s->direction[i] = s->residual[i] + now / before * s->direction[i];
    }
    return steps;
}

/* What the solution is known to be: sin(pi u) sin(pi v), for which A has one eigenvalue, plus a
 * second wave, so that more than one step is needed. */
static double wanted(const struct strip *s, int first, size_t i)
{
    double h = acos(-1) / (s->width + 1), u = h * (double)(i % (size_t)s->width + 1),
           v = h * (double)(first + (int)(i / (size_t)s->width));

    return sin(u) * sin(v) + sin(3 * u) * sin(5 * v) * exp(u / 3);
}

static int allocate(struct strip *s)
{
    size_t cells = (size_t)(s->rows + 2) * (size_t)s->width;

    s->come = shmem_calloc(2, sizeof *s->come);
    s->direction = shmem_calloc((size_t)(s->most + 2) * (size_t)s->width, sizeof(double));
    s->x = calloc(cells, sizeof(double));
    s->residual = calloc(cells, sizeof(double));
    s->product = calloc(cells, sizeof(double));
    return s->come && s->direction && s->x && s->residual && s->product;
}

/* The right side is A applied to the solution, so that it is known how far off x is. */
static double run(struct strip *s, int first, int rows_above, int *steps)
{
    size_t w = (size_t)s->width, end = w * (size_t)(s->rows + 1);
    double worst = 0, all = 0;

    for (size_t i = w; i < end; i++)
        s->direction[i] = wanted(s, first, i - w);
    apply(s, rows_above);
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = w; i < end; i++)
        s->direction[i] = s->residual[i] = s->product[i];
    *steps = solve(s, rows_above, 1e-10);
    for (size_t i = w; i < end; i++)
        worst = fmax(worst, fabs(s->x[i] - wanted(s, first, i - w)));
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static int rows_of(int width, int pe, int npes)
{
    return width / npes + (pe < width % npes);
}

int main(int argc, char **argv)
{
    int width = argc > 1 ? atoi(argv[1]) : 200, level, rank, steps = 0, first = 1;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* for SHMEM_TRANSPORTS=mpi */
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 || width < npes || width > 20000 || rank != me) {
        if (me == 0)
            fprintf(stderr, "usage: mpi_poisson [WIDTH]; from the number of PEs to 20000\n");
        shmem_global_exit(2);
    }
    struct strip strip = {.width = width,
                          .rows = rows_of(width, me, npes),
                          .most = rows_of(width, 0, npes),
                          .above = me - 1,
                          .below = me + 1 < npes ? me + 1 : -1};
    for (int pe = 0; pe < me; pe++)
        first += rows_of(width, pe, npes);
    if (!allocate(&strip)) {
        fprintf(stderr, "mpi_poisson: PE %d: no memory; see SHMEM_SYMMETRIC_SIZE\n", me);
        shmem_global_exit(1);
    }
    double begin = MPI_Wtime();
    double worst = run(&strip, first, me ? rows_of(width, me - 1, npes) : 0, &steps);
    int right = worst < 1e-6;
    if (me == 0)
        printf("mpi_poisson: %s: %d x %d cells on %d PEs, %d steps in %.3f s, at most %.1e off\n",
               right ? "OK" : "FAILED", width, width, npes, steps, MPI_Wtime() - begin, worst);
    shmem_finalize();
    MPI_Finalize();
    return !right;
}
