/* Figures of an OpenSHMEM library beside those of the MPI in the same process:
 *
 *     OSHCC_CC=mpicc oshcc -O2 figures.c -o figures
 *     SHMEM_TRANSPORTS=mpi mpiexec -n 2 ./figures
 *
 * PE 0 works with the last PE, the others wait in a barrier. A figure is the median of nine trials.
 * MPI is measured before shmem_init and again behind everything else. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 9, LARGE = 1 << 20, LARGES = 16, SLOTS = 256 };

static const double trial = 0.03; /* seconds */
static long *words, *stop;
static char *large, *from; /* LARGES of LARGE bytes, LARGE bytes */
static int me, last;

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static double median(double *of, int count)
{
    qsort(of, (size_t)count, sizeof *of, ascending);
    return of[count / 2];
}

/* ---- MPI ---- */

/* Seconds of n messages, each answered by so many bytes; or of n times LARGES, then one answer. */
static double exchange(int length, int answer, long n)
{
    double begin = MPI_Wtime();
    MPI_Request each[LARGES];
    MPI_Status status[LARGES];

    for (long i = 0; i < n; i++) {
        if (answer > 0 && me == 0) {
            MPI_Send(from, length, MPI_BYTE, last, 0, MPI_COMM_WORLD);
            MPI_Recv(large, answer, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (answer > 0) {
            MPI_Recv(large, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(from, answer, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        } else {
            for (size_t k = 0; k < LARGES; k++)
                if (me == 0)
                    MPI_Isend(from, length, MPI_BYTE, last, 0, MPI_COMM_WORLD, &each[k]);
                else
                    MPI_Irecv(large + k * LARGE, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &each[k]);
            MPI_Waitall(LARGES, each, status);
        }
    }
    if (answer == 0)
        exchange(8, 8, 1);
    return MPI_Wtime() - begin;
}

static void show_mpi(const char *when)
{
    double there[TRIALS], answered[TRIALS], row[TRIALS];

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TRIALS && (me == 0 || me == last); i++) {
        exchange(8, 8, 20);
        there[i] = exchange(8, 8, 500) / 500 * 1e6;
        answered[i] = LARGES * 1e-9 * LARGE / exchange(LARGE, 8, LARGES);
        row[i] = LARGES * 1e-9 * LARGE / exchange(LARGE, 0, 1);
    }
    if (me == 0)
        printf("MPI, %s: ping-pong %.2f us; 1 MiB: answered %.2f, 16 at once %.2f GB/s\n", when,
               median(there, TRIALS), median(answered, TRIALS), median(row, TRIALS));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- OpenSHMEM ---- */

static void put(void)
{
    shmem_long_put(words, words + 1, 1, last);
    shmem_quiet();
}
static void get(void)
{
    shmem_long_get(words + 1, words, 1, last);
}
static void fetch_add(void)
{
    shmem_long_atomic_fetch_add(words, 1, last);
}

static void p(void)
{
    for (int i = 0; i < SLOTS; i++)
        shmem_long_p(&words[i], i, last);
}
static void put_nbi(void)
{
    for (int i = 0; i < SLOTS; i++)
        shmem_long_put_nbi(&words[i], (long *)from, 1, last);
}
static void add(void)
{
    for (int i = 0; i < SLOTS; i++)
        shmem_long_atomic_add(&words[i], 1, last);
}

static void large_put(void)
{
    shmem_putmem(large, from, LARGE, last);
    shmem_quiet();
}
static void large_put_nbi(void)
{
    for (size_t i = 0; i < LARGES; i++)
        shmem_putmem_nbi(large + i * LARGE, from, LARGE, last);
    shmem_quiet();
}
static void large_get(void)
{
    shmem_getmem(from, large, LARGE, last);
}

/* Seconds of a call, of what can be repeated by PE 0 alone. */
static double take(void (*call)(void))
{
    double took[TRIALS];

    for (int i = 0; i < TRIALS; i++) {
        double begin = MPI_Wtime();
        long n = 0;
        while (MPI_Wtime() - begin < trial) {
            call();
            n++;
        }
        shmem_quiet();
        took[i] = (MPI_Wtime() - begin) / (double)n;
    }
    return median(took, TRIALS);
}

static void show_barrier(void)
{
    double took[TRIALS];

    for (int i = 0; i < TRIALS; i++) {
        double begin = MPI_Wtime();
        for (int n = 0; n < 200; n++)
            shmem_barrier_all();
        took[i] = (MPI_Wtime() - begin) / 200;
    }
    if (me == 0)
        printf("barrier_all %.2f us\n", median(took, TRIALS) * 1e6);
}

/* The last PE computes, without a call, until it sees that it may end. */
static void show_computing(void)
{
    enum { GETS = 200 };
    double took[GETS], until = MPI_Wtime() + 1.0;

    shmem_barrier_all();
    while (me == last && MPI_Wtime() < until && !*(volatile long *)stop)
        ;
    for (int i = 0; me == 0 && i < GETS; i++) {
        double begin = MPI_Wtime();
        get();
        took[i] = MPI_Wtime() - begin;
        if (i == GETS - 1 || MPI_Wtime() > until) {
            shmem_long_p(stop, 1, last);
            double middle = median(took, i + 1);
            printf("get from a PE that computes: median %.1f us, 95 %% %.1f us, of %d\n",
                   middle * 1e6, took[i * 95 / 100] * 1e6, i + 1);
            break;
        }
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    int level, size, finalized;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = size - 1;
    large = from = calloc(LARGES, LARGE);
    show_mpi("first");
    free(from);
    shmem_init();
    words = shmem_calloc(SLOTS, sizeof *words);
    stop = shmem_calloc(1, sizeof *stop);
    large = shmem_malloc((size_t)LARGES * LARGE);
    from = shmem_malloc(LARGE);
    memset(large, 1, (size_t)LARGES * LARGE);
    memset(from, 1, LARGE);
    shmem_barrier_all();
    if (me == 0 && last > 0) {
        printf("put and quiet %.2f us, get %.2f us, fetch_add %.2f us\n", take(put) * 1e6,
               take(get) * 1e6, take(fetch_add) * 1e6);
        printf("p %.3f M/s, put_nbi %.3f M/s, add %.3f M/s\n", SLOTS * 1e-6 / take(p),
               SLOTS * 1e-6 / take(put_nbi), SLOTS * 1e-6 / take(add));
        printf("1 MiB: put and quiet %.2f GB/s, put_nbi %.2f GB/s, get %.2f GB/s\n",
               LARGE * 1e-9 / take(large_put), LARGES * LARGE * 1e-9 / take(large_put_nbi),
               LARGE * 1e-9 / take(large_get));
    }
    show_barrier();
    show_computing();
    show_mpi("last");
    shmem_finalize();
    MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
    return 0;
}
