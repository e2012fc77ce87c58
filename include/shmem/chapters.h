/* All prototypes, in the order of the specification. shmem.h includes this file with SY_API(name)
 * as the name itself, pshmem.h once more with the profiling name; hence neither it nor the chapters
 * have a guard, and hence they hold nothing but prototypes. Included alone, each gives shmem.h. */
#ifndef SY_API
#include "../shmem.h"
#else

/* C11 has a word for a function that does not return; before it and in C++ it is an attribute. */
#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L
#define SY_NORETURN _Noreturn
#elif defined __GNUC__
#define SY_NORETURN __attribute__((__noreturn__))
#else
#define SY_NORETURN
#endif

/* A routine in its two forms: on the default context, and on the one that is its first argument. */
#define SY_API_CTX(RESULT, NAME, ...)                                                              \
    RESULT SY_API(shmem_##NAME)(__VA_ARGS__);                                                      \
    RESULT SY_API(shmem_ctx_##NAME)(shmem_ctx_t ctx, __VA_ARGS__);

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#include "setup.h"
#include "memory.h"
#include "teams.h"
#include "contexts.h"
#include "rma.h"
#include "amo.h"
#include "signals.h"
#include "sessions.h"
#include "collectives.h"
#include "p2p.h"
#include "ordering.h"
#include "locks.h"
#include "profiling.h"

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#undef SY_API_CTX
#undef SY_NORETURN
#endif
