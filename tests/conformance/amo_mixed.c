/* One domain of atomicity: every PE works on the same words of every PE, over whatever route it has
 * to them. Where nodes have several PEs, some updates are made by the processor of the PE that asks
 * and some by one that serves a request. All operations of both widths, with outcomes that are
 * known exactly. */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "dice.h"

enum { PES = 1024 }; /* most that this program is for */

static int me, npes;

/* clang-format off */

/* Everything for one type. `bit`: the one of a word that only this PE changes. */
#define WIDTH(T, TYPE, BITS) \
    static TYPE T##_count, T##_ticket, T##_bits, T##_hat, T##_last, T##_lock, T##_guarded; \
    \
    static TYPE T##_raise(int pe) \
    { \
        TYPE old = shmem_##T##_atomic_fetch(&T##_count, pe), seen; \
        while ((seen = shmem_##T##_atomic_compare_swap(&T##_count, old, old + 1, pe)) != old) \
            old = seen; \
        return 1; \
    } \
    \
    /* All ways to add; returns what was added. */ \
    static TYPE T##_add_some(int pe, TYPE *later) \
    { \
        TYPE value = (TYPE)any(1000), old = 0; \
        switch (any(6)) { \
        case 0: shmem_##T##_atomic_inc(&T##_count, pe); return 1; \
        case 1: shmem_##T##_atomic_add(&T##_count, value, pe); return value; \
        case 2: old = shmem_##T##_atomic_fetch_inc(&T##_count, pe); (void)old; return 1; \
        case 3: shmem_##T##_atomic_fetch_add(&T##_count, value, pe); return value; \
        case 4: shmem_##T##_atomic_fetch_add_nbi(later, &T##_count, value, pe); return value; \
        default: return T##_raise(pe); \
        } \
    } \
    \
    static void T##_counts(long rounds) \
    { \
        static TYPE added[1], sum[1], drawn[2], drawn_sum[2]; \
        TYPE later[64]; \
        for (int pe = 0; pe < npes; pe++) { \
            added[0] = drawn[0] = drawn[1] = 0; \
            shmem_barrier_all(); \
            for (long i = 0; i < rounds; i++) { \
                added[0] += T##_add_some(pe, &later[i % 64]); \
                if (i % 64 == 63) \
                    shmem_quiet(); \
                if (any(4) == 0) { \
                    drawn[0]++; \
                    drawn[1] += shmem_##T##_atomic_fetch_inc(&T##_ticket, pe); \
                } \
            } \
            shmem_##T##_sum_reduce(SHMEM_TEAM_WORLD, sum, added, 1); \
            shmem_##T##_sum_reduce(SHMEM_TEAM_WORLD, drawn_sum, drawn, 2); \
            shmem_barrier_all(); \
            if (me == pe) { \
                CHECK(T##_count == sum[0]); \
                CHECK(T##_ticket == drawn_sum[0]); \
                CHECK(drawn_sum[1] == (TYPE)((uint64_t)T##_ticket * ((uint64_t)T##_ticket - 1) / 2)); \
            } \
        } \
    } \
    \
    /* Each PE sets, clears and flips its own bit of one word and sees it as it left it. */ \
    static void T##_flips(long rounds) \
    { \
        TYPE bit = (TYPE)1 << me % BITS, mine, old = 0, before, later = 0; \
        for (int pe = 0; pe < npes && me < BITS; pe++) { \
            mine = shmem_##T##_atomic_fetch(&T##_bits, pe) & bit; \
            for (long i = 0; i < rounds; i++) { \
                before = mine; \
                switch (any(8)) { \
                case 0: old = shmem_##T##_atomic_fetch_or(&T##_bits, bit, pe); mine = bit; break; \
                case 1: old = shmem_##T##_atomic_fetch_and(&T##_bits, (TYPE)~bit, pe); mine = 0; break; \
                case 2: old = shmem_##T##_atomic_fetch_xor(&T##_bits, bit, pe); mine ^= bit; break; \
                case 3: \
                    shmem_##T##_atomic_fetch_xor_nbi(&later, &T##_bits, bit, pe); \
                    shmem_quiet(); \
                    old = later; \
                    mine ^= bit; \
                    break; \
                case 4: shmem_##T##_atomic_or(&T##_bits, bit, pe); mine = bit; old = before; break; \
                case 5: shmem_##T##_atomic_and(&T##_bits, (TYPE)~bit, pe); mine = 0; old = before; break; \
                case 6: shmem_##T##_atomic_xor(&T##_bits, bit, pe); mine ^= bit; old = before; break; \
                default: old = shmem_##T##_atomic_fetch(&T##_bits, pe); \
                } \
                CHECK((old & bit) == before); \
                shmem_fence(); \
            } \
            CHECK((shmem_##T##_atomic_fetch(&T##_bits, pe) & bit) == mine); \
        } \
        shmem_barrier_all(); \
    } \
    \
    /* Each value that is swapped in comes out once, or is there at the end. */ \
    static void T##_hats(long rounds) \
    { \
        static TYPE flow[2], sum[2]; \
        for (int pe = 0; pe < npes; pe++) { \
            flow[0] = flow[1] = 0; \
            shmem_barrier_all(); \
            for (long i = 0; i < rounds; i++) { \
                TYPE value = (TYPE)any(1u << 20), old; \
                if (any(2)) { \
                    old = shmem_##T##_atomic_swap(&T##_hat, value, pe); \
                } else { \
                    shmem_##T##_atomic_swap_nbi(&old, &T##_hat, value, pe); \
                    shmem_quiet(); \
                } \
                flow[0] += value; \
                flow[1] += old; \
            } \
            shmem_##T##_sum_reduce(SHMEM_TEAM_WORLD, sum, flow, 2); \
            shmem_barrier_all(); \
            if (me == pe) \
                CHECK(sum[0] == (TYPE)(sum[1] + T##_hat)); \
        } \
    } \
    \
    /* A word that all PEs set: the values of one writer reach a reader in order. */ \
    static void T##_sets(long rounds) \
    { \
        static TYPE seen[PES]; \
        for (int pe = 0; pe < npes; pe++) { \
            memset(seen, 0, sizeof seen); \
            shmem_barrier_all(); \
            for (long i = 1; i <= rounds; i++) { \
                shmem_##T##_atomic_set(&T##_last, (TYPE)(i * npes + me), pe); \
                shmem_fence(); \
                TYPE got = shmem_##T##_atomic_fetch(&T##_last, pe), writer = got % (TYPE)npes; \
                CHECK(got / (TYPE)npes <= (TYPE)rounds && got / (TYPE)npes >= 1); \
                CHECK(got >= seen[writer]); \
                seen[writer] = got; \
            } \
            shmem_barrier_all(); \
            shmem_##T##_atomic_set(&T##_last, 0, pe); \
            shmem_barrier_all(); \
        } \
    } \
    \
    /* A lock made of compare-and-swap protects a plain variable. */ \
    static void T##_locks(long rounds) \
    { \
        shmem_barrier_all(); \
        for (int pe = 0; pe < npes; pe++) \
            for (long i = 0; i < rounds; i++) { \
                while (shmem_##T##_atomic_compare_swap(&T##_lock, 0, (TYPE)me + 1, pe) != 0) \
                    ; \
                shmem_##T##_p(&T##_guarded, shmem_##T##_g(&T##_guarded, pe) + 1, pe); \
                shmem_quiet(); \
                CHECK(shmem_##T##_atomic_compare_swap(&T##_lock, (TYPE)me + 1, 0, pe) == (TYPE)me + 1); \
            } \
        shmem_barrier_all(); \
        CHECK(T##_guarded == (TYPE)(rounds * npes)); \
    }
WIDTH(uint32, uint32_t, 32)
WIDTH(uint64, uint64_t, 64)

/* clang-format on */

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 200;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    dice_state = (uint64_t)me << 32;
    CHECK(npes <= PES);
    uint32_counts(rounds);
    uint64_counts(rounds);
    uint32_flips(rounds);
    uint64_flips(rounds);
    uint32_hats(rounds);
    uint64_hats(rounds);
    uint32_sets(rounds);
    uint64_sets(rounds);
    uint32_locks(rounds / 40);
    uint64_locks(rounds / 40);
    int status = check_end("amo_mixed");
    shmem_finalize();
    return status;
}
