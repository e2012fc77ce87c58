/* OpenSHMEM made of MPI's one-sided calls as a well known sketch has it, and by this library, in
 * one process. docs/mpi-paper.md says what each case is about.
 *
 *     OSHCC_CC=mpicc oshcc -O2 faults.c -o faults
 *     SHMEM_TRANSPORTS=mpi mpiexec -n 2 ./faults displacement
 *
 * The status says whether this library is right; of the sketch a line is printed. */
#include <mpi.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 512, ROUNDS = 200 };

static MPI_Win heap;
static long *mine;        /* its memory */
static long words[WORDS]; /* OpenSHMEM's */
static int me, last;

/* The window of the sketch, without its info. */
static int open_window(void)
{
    int rc = MPI_Win_allocate(sizeof words, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
                              &heap);

    memset(mine, 0, sizeof words);
    MPI_Win_lock_all(0, heap);
    MPI_Barrier(MPI_COMM_WORLD);
    return rc;
}

static void close_window(void)
{
    MPI_Win_unlock_all(heap);
    MPI_Win_free(&heap);
}

/* A put to the fourth word. The window counts in words, a difference of addresses in bytes. */
static int displacement(void)
{
    long value = 7;

    open_window();
    if (me == 0) {
        MPI_Put(&value, 1, MPI_LONG, last, (char *)&mine[3] - (char *)mine, 1, MPI_LONG, heap);
        MPI_Win_flush(last, heap);
        shmem_long_put(&words[3], &value, 1, last);
    }
    shmem_barrier_all();
    for (int i = 0; me == last && i < WORDS; i++)
        if (mine[i])
            printf("sketch: a put to word 3 has changed word %d\n", i);
    close_window();
    return me == last && words[3] != 7;
}

/* Whether the word changes while this process computes, for so many seconds at most. */
static int sees(volatile long *word, double seconds)
{
    double until = MPI_Wtime() + seconds;

    while (!*word && MPI_Wtime() < until)
        ;
    return *word != 0;
}

/* Process 0 puts and waits for the end of it, while the last one computes. */
static int progress(void)
{
    long value = 1;
    int seen;

    open_window();
    if (me == 0) {
        MPI_Put(&value, 1, MPI_LONG, last, 0, 1, MPI_LONG, heap);
        MPI_Win_flush(last, heap);
    }
    seen = me != last || sees(mine, 0.5);
    if (me == last)
        printf("sketch: a put was %s while the PE computed\n", seen ? "seen" : "not seen");
    MPI_Barrier(MPI_COMM_WORLD);
    close_window();
    if (me == 0) {
        shmem_long_put(words, &value, 1, last);
        shmem_quiet();
    }
    seen = me != last || sees(words, 5);
    shmem_barrier_all();
    return !seen;
}

/* All add to one word: by an addition, and by a loop of compare-and-swap. MPI defines no such
 * mixture. */
static int mixture(void)
{
    long one = 1, old = 0, new, found;

    open_window();
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, heap);
        for (;; old = found) {
            new = old + 1;
            MPI_Compare_and_swap(&new, &old, &found, MPI_LONG, 0, 0, heap);
            MPI_Win_flush(0, heap);
            if (found == old)
                break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("sketch: a sum of %ld of %d\n", mine[0], 2 * ROUNDS * (last + 1));
    close_window();
    return 0;
}

static int mixture_of_shmem(void)
{
    long old = 0, found;

    for (int i = 0; i < ROUNDS; i++) {
        shmem_long_atomic_add(words, 1, 0);
        while ((found = shmem_long_atomic_compare_swap(words, old, old + 1, 0)) != old)
            old = found;
    }
    shmem_barrier_all();
    return me == 0 && words[0] != 2 * ROUNDS * (last + 1);
}

/* What MPI makes of a key of the window. */
static void try_key(const char *key, const char *value)
{
    char text[MPI_MAX_ERROR_STRING], kept[256] = "";
    int length, found = 0;
    MPI_Info info, answer;
    MPI_Win window;

    MPI_Info_create(&info);
    int rc = MPI_Info_set(info, key, value);
    if (!rc && !(rc = MPI_Win_allocate(64, 8, info, MPI_COMM_WORLD, &mine, &window))) {
        MPI_Win_get_info(window, &answer);
        MPI_Info_get(answer, key, sizeof kept - 1, kept, &found);
        MPI_Info_free(&answer);
        MPI_Win_free(&window);
    }
    MPI_Error_string(rc, text, &length);
    if (me == 0)
        printf("sketch: %s=\"%s\": %s%s\n", key, value, rc ? text : "it is ", kept);
    MPI_Info_free(&info);
}

static int keys(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    try_key("accumulate_ordering", "");
    try_key("accumulate_ordering", "none");
    try_key("accumulate_ops", "same_op_no_op,");
    return 0;
}

/* The last process ends alone, as the sketch has it where there is no finalize; without OpenSHMEM.
 */
static void ending(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &last);
    if (me == last - 1)
        MPI_Abort(MPI_COMM_SELF, 0);
    sees(words, 5);
    printf("sketch: the others go on\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = {{"displacement", displacement},
                 {"progress", progress},
                 {"mixture", mixture},
                 {"mixture_of_shmem", mixture_of_shmem},
                 {"keys", keys}};
    int level, wrong = 2;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (argc > 1 && !strcmp(argv[1], "ending"))
        ending();
    shmem_init();
    me = shmem_my_pe();
    last = shmem_n_pes() - 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && !strcmp(argv[1], cases[i].name))
            wrong = cases[i].run();
    if (wrong)
        fprintf(stderr, "PE %d: %s\n", me,
                wrong == 2 ? "usage: faults CASE" : "OpenSHMEM is wrong");
    shmem_finalize();
    MPI_Finalize();
    return wrong;
}
