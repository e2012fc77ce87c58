/* The symmetric heap where SHMEM_SYMMETRIC_HUGE_PAGES, _NUMA or _FILE say: all PEs reach all of it,
 * also when the library is started again. heap WHAT [ticks]: PE 0 prints what the kernel says of
 * it: pages (its page size in KiB), policy (of get_mempolicy), or file (its name). ticks: signals
 * of a timer come while the library starts, as in a program that is profiled. */
#include <linux/mempolicy.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define WORDS (size_t)(1 << 20)

static int failed;

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("PE %d, line %d: %s\n", shmem_my_pe(), __LINE__, #condition);                   \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

/* Every PE writes its stripe of every PE's array, and all add to one word. */
static void exchange(void)
{
    int me = shmem_my_pe(), npes = shmem_n_pes();
    long *words = shmem_calloc(WORDS + 1, sizeof *words), *mine = malloc(WORDS * sizeof *mine);
    size_t stripe = WORDS / (size_t)npes;

    EXPECT(words && mine);
    for (size_t i = 0; i < stripe; i++)
        mine[i] = (long)((size_t)me * stripe + i);
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) {
        shmem_long_put(words + (size_t)me * stripe, mine, stripe, pe);
        shmem_long_atomic_add(words + WORDS, me + 1, pe);
    }
    shmem_barrier_all();
    for (size_t i = 0; i < stripe * (size_t)npes; i++)
        if (words[i] != (long)i) {
            EXPECT(words[i] == (long)i);
            break;
        }
    EXPECT(words[WORDS] == (long)npes * (npes + 1) / 2);
    shmem_long_get(mine, words, stripe, (me + 1) % npes);
    EXPECT(mine[stripe - 1] == (long)stripe - 1);
    shmem_barrier_all();
    free(mine);
    shmem_free(words);
}

/* The line of the kernel about the memory at an address that begins with a word. */
static void print_of_kernel(const void *address, const char *word)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long first, last;
    char line[1024], name[512] = "";
    int found = 0;

    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %511[^\n]", &first, &last, name) >= 2)
            found = (unsigned long)address - first < last - first;
        if (found && !strcmp(word, "file"))
            break;
        if (found && !strncmp(line, word, strlen(word)))
            break;
    }
    printf("%s", strcmp(word, "file") != 0 ? line : name);
    printf("\n");
    fclose(maps);
}

static void print_policy(void *address)
{
    static const char *const names[] = {[MPOL_DEFAULT] = "default",
                                        [MPOL_PREFERRED] = "preferred",
                                        [MPOL_BIND] = "bind",
                                        [MPOL_INTERLEAVE] = "interleave",
                                        [MPOL_LOCAL] = "local"};
    int policy = 0;

    if (syscall(SYS_get_mempolicy, &policy, NULL, 0, address, MPOL_F_ADDR))
        perror("get_mempolicy");
    printf("policy: %s\n", names[policy]);
}

static void take_tick(int number)
{
    (void)number;
}

/* Has a signal come again and again; 0: no more. */
static void tick(long microseconds)
{
    const struct itimerval every = {{0, microseconds}, {0, microseconds}};
    const struct sigaction action = {.sa_handler = take_tick, .sa_flags = SA_RESTART};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

int main(int argc, char **argv)
{
    for (int round = 0; round < 2; round++) {
        if (argc > 2)
            tick(500);
        shmem_init();
        tick(0);
        long *there = shmem_malloc(sizeof *there);
        exchange();
        EXPECT(shmem_ptr(there, shmem_my_pe()) == there);
        if (!shmem_my_pe() && argc > 1 && !strcmp(argv[1], "policy"))
            print_policy(there);
        else if (!shmem_my_pe() && argc > 1)
            print_of_kernel(there, argv[1]);
        shmem_free(there);
        shmem_finalize();
    }
    return failed;
}
