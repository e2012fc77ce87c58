/* Mistakes that programs make, one a run, by the name on the command line: their messages are
 * tested. PE 0 prints "null" where a routine returns NULL. */
#include <pthread.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static long from[6], to[6], sync_array[SHMEM_BARRIER_SYNC_SIZE], lock;
static uint64_t sync_signal;

static useconds_t patience;

static void give_back(void *block)
{
    if (!block && shmem_my_pe() == 0)
        printf("null\n");
    shmem_free(block);
}

#ifdef __x86_64__
/* Calls a routine by a pointer, behind bytes that look like a direct call to where nothing is. */
void call_by_pointer(void *block, void (*routine)(void *));
__asm__(".text\n.local call_by_pointer\n.type call_by_pointer, @function\ncall_by_pointer:\n"
        ".cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "mov $0xe800, %edx\ncall *%rsi\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n"
        ".size call_by_pointer, . - call_by_pointer\n");
#else
static void call_by_pointer(void *block, void (*routine)(void *))
{
    routine(block);
}
#endif

/* PEs that do not make the same calls. */
static void differ(const char *what)
{
    int me = shmem_my_pe();

    if (strcmp(what, "sizes") == 0)
        shmem_malloc(me == 1 ? 4096 : 64);
    else if (strcmp(what, "alignments") == 0)
        shmem_align(me == 1 ? 256 : 64, 64);
    else if (strcmp(what, "hints") == 0)
        shmem_malloc_with_hints(64, me == 1 ? SHMEM_MALLOC_ATOMICS_REMOTE : 0);
    else if (strcmp(what, "allocators") == 0)
        me == 1 ? shmem_calloc(4, 16) : shmem_malloc(64);
    else if (strcmp(what, "blocks") == 0) {
        void *block[] = {shmem_malloc(64), shmem_malloc(128)};
        shmem_free(block[me == 1]);
    } else if (strcmp(what, "growth") == 0) {
        void *block = shmem_malloc(64);
        shmem_realloc(block, me == 1 ? 1000 : 2000);
    } else if (strcmp(what, "count") == 0) {
        if (me == 1)
            shmem_malloc(64);
        shmem_barrier_all();
    } else if (strcmp(what, "leave") == 0) {
        if (me == 1)
            exit(0);
        shmem_barrier_all();
    }
}

/* What is done to a block; SHMEM_CHECK finds most. */
static void abuse(const char *what)
{
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    long *block = shmem_malloc(5 * sizeof *block), *other = shmem_malloc(64);
    shmem_ctx_t ctx;

    if (strcmp(what, "overrun") == 0)
        shmem_long_put(block, from, 6, next);
    else if (strcmp(what, "inside") == 0)
        shmem_free(block + 1);
    else if (strcmp(what, "grow inside") == 0)
        shmem_realloc(other + 2, 1000);
    else if (strcmp(what, "overread") == 0)
        shmem_long_put(other, block + 2, 4, next);
    else if (strcmp(what, "overadd") == 0)
        shmem_long_atomic_inc(block + 5, next);
    else if (strcmp(what, "freed") == 0) {
        shmem_free(block);
        shmem_long_p(block, 1, next);
    } else if (strcmp(what, "context") == 0) {
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
        shmem_ctx_long_p(ctx, other, 1, next);
    } else if (strcmp(what, "replaced") == 0) {
        for (int fd = 3; fd < 100; fd++)
            dup2(STDERR_FILENO, fd);
        sleep(2);
    } else if (strcmp(what, "garbage") == 0) {
        shmem_ctx_fence((shmem_ctx_t)0x123450);
    } else if (strcmp(what, "within") == 0) {
        shmem_ctx_create(0, &ctx);
        shmem_ctx_long_put(ctx, block, from, 4, next);
        shmem_ctx_long_p(ctx, block + 4, 1, next);
        shmem_ctx_quiet(ctx);
        block = shmem_realloc(block, 8000);
        shmem_long_p(block + 999, 1, next);
        shmem_ctx_destroy(ctx);
    } else {
        differ(what);
    }
}

/* A context that is used after its team's end. */
static void outlive(const char *what)
{
    shmem_team_t team;
    shmem_ctx_t ctx;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
    shmem_team_create_ctx(team, 0, &ctx);
    shmem_ctx_long_p(ctx, to, 1, 0);
    shmem_team_destroy(team);
    if (strcmp(what, "outlived put") == 0)
        shmem_ctx_long_p(ctx, to, 1, 0);
    else
        shmem_ctx_quiet(ctx);
}

static void *finish(void *arg)
{
    shmem_finalize();
    return arg;
}

/* A second thread calls shmem_finalize while PE 0's first is in it, or leaves main. */
/* Writes to a constant. */
static void change(const char *how, int pe)
{
    static const long constant[4] = {1, 2, 3, 4};
    long *there = (long *)constant;

    if (strcmp(how, " put") == 0)
        shmem_long_put(there, from, 2, pe);
    else if (strcmp(how, " iput") == 0)
        shmem_long_iput(there, from, 1, 1, 2, pe);
    else if (strcmp(how, " inc") == 0)
        shmem_long_atomic_inc(there, pe);
    else
        shmem_long_put_signal(to, from, 1, (uint64_t *)there, 1, SHMEM_SIGNAL_SET, pe);
}

static void finish_twice(const char *what)
{
    pthread_t thread;

    if (shmem_my_pe() == 1)
        sleep(2);
    else if (!pthread_create(&thread, NULL, finish, NULL))
        usleep(200000);
    if (strcmp(what, "thread exits") == 0)
        exit(0);
}

/* A team that is used after its end, ended twice, or was never made. */
static void join(const char *what)
{
    shmem_team_t team;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
    shmem_long_sum_reduce(team, to, from, 1);
    shmem_team_destroy(team);
    if (strcmp(what, "team garbage") == 0)
        team = (shmem_team_t)(uintptr_t)0x123456780;
    if (strcmp(what, "team twice") == 0)
        shmem_team_destroy(team);
    else
        shmem_team_sync(team);
}

/* PE 0 holds the lock and PE 1 waits for it, or has failed to get it; then one makes a mistake. */
static void hold(const char *what)
{
    bool first = shmem_my_pe() == 0, other = strcmp(what, "lock foreign") == 0;

    if (strcmp(what, "lock garbage") == 0)
        lock = -1;
    if (first)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (!first && other)
        shmem_clear_lock(&lock);
    if (!first && !shmem_test_lock(&lock))
        puts("the lock was had twice");
    if (!first)
        shmem_set_lock(&lock);
    usleep(200000); /* for the others to come */
    shmem_set_lock(&lock);
}

/* More elements than there are bytes: what these wrap around to would fit. */
static void overflow(const char *routine, int next)
{
    const size_t count = SIZE_MAX / sizeof(long) + 3;
    const ptrdiff_t stride = (ptrdiff_t)(count - 1); /* wraps around to one element */

    if (strcmp(routine, "put") == 0)
        shmem_long_put(to, from, count, next);
    else if (strcmp(routine, "get") == 0)
        shmem_long_get(to, from, count, next);
    else if (strcmp(routine, "put_nbi") == 0)
        shmem_long_put_nbi(to, from, count, next);
    else if (strcmp(routine, "iput") == 0)
        shmem_long_iput(to, from, stride, 1, 2, next);
    else if (strcmp(routine, "iget") == 0)
        shmem_long_iget(to, from, stride, 1, 2, next);
    else if (strcmp(routine, "ibget") == 0)
        shmem_long_ibget(to, from, 1, -stride, 1, 2, next);
    else if (strcmp(routine, "alltoalls stride") == 0)
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, to, from, stride, 1, 1);
    else if (strcmp(routine, "ibput") == 0)
        shmem_long_ibput(to, from, 1, 1, count, 3, next);
    else if (strcmp(routine, "sum_reduce") == 0)
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, count);
    else if (strcmp(routine, "sum_inscan") == 0)
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, to, from, count);
    else if (strcmp(routine, "broadcast") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, count, 0);
    else if (strcmp(routine, "collect") == 0)
        shmem_long_collect(SHMEM_TEAM_WORLD, to, from, count);
    else if (strcmp(routine, "alltoall") == 0) /* wraps around with two members */
        shmem_long_alltoall(SHMEM_TEAM_WORLD, to, from, count / 2);
    else if (strcmp(routine, "alltoalls") == 0)
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, to, from, 1, 1, count / 2);
}

static void end_twice(void)
{
    shmem_team_t team, same;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
    same = team;
    shmem_team_destroy(team);
    shmem_team_destroy(same);
}

/* The kernel finds that the source is not there. */
static void put_unmapped(int pe)
{
    size_t length = (size_t)16 << 20;
    char *dest = shmem_malloc(length),
         *source = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(source, length);
    shmem_putmem_nbi(dest, source, length, pe);
    shmem_quiet();
}

static void commit(const char *what)
{
    long local = 0;
    int next = (shmem_my_pe() + 1) % shmem_n_pes();

    if (strcmp(what, "slowly") == 0)
        patience = 300000;
    if (strcmp(what, "alignment") == 0)
        give_back(shmem_align(96, 1000));
    else if (strcmp(what, "size") == 0)
        give_back(shmem_malloc((size_t)1 << 60));
    else if (strcmp(what, "product") == 0)
        give_back(shmem_calloc((size_t)1 << 40, (size_t)1 << 40));
    else if (strcmp(what, "free") == 0)
        shmem_free(&local);
    else if (strcmp(what, "shfree") == 0)
        shfree(&local);
    else if (strcmp(what, "pointer") == 0)
        call_by_pointer(&local, shmem_free);
    else if (strcmp(what, "set") == 0)
        shmem_barrier(0, 1, shmem_n_pes(), sync_array);
    else if (strcmp(what, "apart") == 0)
        shmem_barrier(0, 32, shmem_n_pes(), sync_array);
    else if (strcmp(what, "twice") == 0)
        end_twice();
    else if (strcmp(what, "unmapped") == 0)
        put_unmapped(next);
    else if (strcmp(what, "member") == 0)
        shmem_barrier(0, 0, 1, sync_array);
    else if (strcmp(what, "pe") == 0)
        shmem_long_p(to, 1, 9);
    else if (strcmp(what, "elsewhere") == 0)
        shmem_long_g(shmem_ptr(to, next), next);
    else if (strcmp(what, "local") == 0 || strcmp(what, "slowly") == 0)
        shmem_long_g(&local, next);
    else if (strcmp(what, "length") == 0)
        shmem_putmem(to, from, (size_t)1 << 40, next);
    else if (strncmp(what, "overflow ", 9) == 0)
        overflow(what + 9, next);
    else if (strncmp(what, "constant", 8) == 0)
        change(what + 8, next);
    else if (strcmp(what, "odd") == 0)
        shmem_long_atomic_inc((long *)((char *)to + 1), next);
    else if (strcmp(what, "root") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 7);
    else if (strcmp(what, "waits") == 0) {
        if (shmem_my_pe() == 1)
            shmem_long_wait_until(to, SHMEM_CMP_EQ, 1);
        else
            sleep(3), shmem_long_p(to, 1, 1);
    } else if (strcmp(what, "unlock") == 0)
        shmem_clear_lock(&lock);
    else if (strncmp(what, "lock", 4) == 0)
        hold(what);
    else if (strncmp(what, "team", 4) == 0)
        join(what);
    else if (strcmp(what, "fork") == 0) {
        if (shmem_my_pe() == 0 && fork() == 0)
            shmem_long_p(to, 1, next);
        sleep(2); /* until the child has tried */
    } else if (strcmp(what, "finalize") == 0) {
        if (shmem_my_pe() == 0 && fork() == 0)
            shmem_finalize();
        sleep(2);
    } else if (strcmp(what, "init") == 0) {
        if (shmem_my_pe() == 0 && fork() == 0)
            shmem_init();
        sleep(2);
    } else if (strncmp(what, "outlived", 8) == 0)
        outlive(what);
    else if (strncmp(what, "thread", 6) == 0)
        finish_twice(what);
    else if (strcmp(what, "closed") == 0) {
        if (puts("text") == EOF || fflush(stdout) == EOF)
            fputs("not written\n", stderr);
    } else if (strcmp(what, "signal") == 0)
        shmem_long_put_signal(to, from, 1, &sync_signal, 1, 77, next);
    else
        abuse(what);
}

/* Routines on teams before the library is started. */
static void team_early(const char *routine)
{
    shmem_team_config_t config = {0};
    shmem_team_t team = SHMEM_TEAM_INVALID;

    if (strcmp(routine, "my_pe") == 0)
        printf("%d\n", shmem_team_my_pe(SHMEM_TEAM_WORLD));
    else if (strcmp(routine, "n_pes") == 0)
        printf("%d\n", shmem_team_n_pes(SHMEM_TEAM_SHARED));
    else if (strcmp(routine, "get_config") == 0)
        shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config);
    else if (strcmp(routine, "translate_pe") == 0)
        printf("%d\n", shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED));
    else if (strcmp(routine, "ptr") == 0)
        printf("%d\n", shmem_team_ptr(SHMEM_TEAM_WORLD, to, 0) == to);
    else
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
}

/* The library's threads still run while a program ends that way, and the end may take a while. */
__attribute__((destructor)) static void linger(void)
{
    usleep(patience);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        shmem_barrier_all();
    if (argc > 1 && strcmp(argv[1], "number") == 0)
        printf("%d\n", shmem_my_pe());
    if (argc > 1 && strncmp(argv[1], "early ", 6) == 0)
        team_early(argv[1] + 6);
    shmem_init();
    if (argc > 1 && strcmp(argv[1], "late") != 0)
        commit(argv[1]);
    shmem_finalize();
    if (argc > 1 && strcmp(argv[1], "late") == 0)
        printf("%d\n", shmem_n_pes());
    return 0;
}
