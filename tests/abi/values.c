/* The binary interface in numbers (docs/abi.md): what compiled programs, and other languages' bindings,
 * have of shmem.h without asking the library. A line that fails here means that programs must be
 * compiled again: then the number in libsma.so's name goes up, and docs/abi.md says why.
 *
 * The numbers are written out on purpose. Runs as a job of any number of PEs. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <shmem.h>

static int failed;

static void values_same(const char *name, long long is, long long should)
{
    if (is == should)
        return;
    fprintf(stderr, "%s is %lld, and should be %lld\n", name, is, should);
    failed = 1;
}

#define SAME(IS, SHOULD) values_same(#IS, (long long)(IS), SHOULD)

static void numbers(void)
{
    SAME(SHMEM_CMP_EQ, 0);
    SAME(SHMEM_CMP_NE, 1);
    SAME(SHMEM_CMP_GT, 2);
    SAME(SHMEM_CMP_LE, 3);
    SAME(SHMEM_CMP_LT, 4);
    SAME(SHMEM_CMP_GE, 5);
    SAME(_SHMEM_CMP_EQ, 0);
    SAME(_SHMEM_CMP_GE, 5);
    SAME(SHMEM_SIGNAL_SET, 1);
    SAME(SHMEM_SIGNAL_ADD, 2);
    SAME(SHMEM_THREAD_SINGLE, 0);
    SAME(SHMEM_THREAD_FUNNELED, 1);
    SAME(SHMEM_THREAD_SERIALIZED, 2);
    SAME(SHMEM_THREAD_MULTIPLE, 3);
    SAME(SHMEM_CTX_PRIVATE, 1);
    SAME(SHMEM_CTX_SERIALIZED, 2);
    SAME(SHMEM_CTX_NOSTORE, 4);
    SAME(SHMEM_CTX_SESSION_TOTAL_OPS, 1);
    SAME(SHMEM_CTX_SESSION_BATCH, 1);
    SAME(SHMEM_TEAM_NUM_CONTEXTS, 1);
    SAME(SHMEM_MALLOC_ATOMICS_REMOTE, 1);
    SAME(SHMEM_MALLOC_SIGNAL_REMOTE, 2);
    SAME(SHMEM_MAX_NAME_LEN, 256);
    SAME(SHMEM_SYNC_VALUE, 0);
    SAME(SHMEM_SYNC_SIZE, 32);
    SAME(SHMEM_BARRIER_SYNC_SIZE, 32);
    SAME(SHMEM_BCAST_SYNC_SIZE, 32);
    SAME(SHMEM_COLLECT_SYNC_SIZE, 32);
    SAME(SHMEM_ALLTOALL_SYNC_SIZE, 32);
    SAME(SHMEM_ALLTOALLS_SYNC_SIZE, 32);
    SAME(SHMEM_REDUCE_SYNC_SIZE, 32);
    SAME(SHMEM_REDUCE_MIN_WRKDATA_SIZE, 16);
}

static void types(void)
{
    SAME(sizeof(shmem_team_t), sizeof(void *));
    SAME(sizeof(shmem_ctx_t), sizeof(void *));
    SAME(sizeof(shmem_team_config_t), sizeof(int));
    SAME(offsetof(shmem_team_config_t, num_contexts), 0);
    SAME(sizeof(shmem_ctx_session_config_t), sizeof(size_t));
    SAME(offsetof(shmem_ctx_session_config_t, total_ops), 0);
    SAME(sizeof SHMEM_CTX_PRIVATE, sizeof(long));
    SAME(sizeof SHMEM_SYNC_VALUE, sizeof(long));
    SAME(sizeof SHMEM_CMP_EQ, sizeof(int));
}

/* The variables that carry the handles' names, found by the linker, as Fortran's bind(C) does, and
 * by the dynamic loader. A static program has no names left to look up. */
extern const shmem_team_t team_invalid __asm__("SHMEM_TEAM_INVALID");
extern const shmem_team_t team_world __asm__("SHMEM_TEAM_WORLD");
extern const shmem_team_t team_shared __asm__("SHMEM_TEAM_SHARED");
extern const shmem_ctx_t ctx_invalid __asm__("SHMEM_CTX_INVALID");
extern const shmem_ctx_t ctx_default __asm__("SHMEM_CTX_DEFAULT");

static void handle(const char *name, const void *macro, const void *variable, long should)
{
    values_same(name, (long)macro, should);
    values_same(name, (long)variable, should);
#ifndef STATIC
    const void *const *found = dlsym(RTLD_DEFAULT, name);
    values_same(name, found ? (long)*found : -1, should);
#endif
}

int main(void)
{
    shmem_init();
    numbers();
    types();
    handle("SHMEM_TEAM_INVALID", SHMEM_TEAM_INVALID, team_invalid, 0);
    handle("SHMEM_TEAM_WORLD", SHMEM_TEAM_WORLD, team_world, 1);
    handle("SHMEM_TEAM_SHARED", SHMEM_TEAM_SHARED, team_shared, 2);
    handle("SHMEM_CTX_INVALID", SHMEM_CTX_INVALID, ctx_invalid, 0);
    handle("SHMEM_CTX_DEFAULT", SHMEM_CTX_DEFAULT, ctx_default, 1);
    values_same("PEs of the variable's team", shmem_team_n_pes(team_world), shmem_n_pes());
    shmem_ctx_quiet(ctx_default);
    shmem_finalize();
    return failed;
}
