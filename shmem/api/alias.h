/* Every routine is defined under its profiling name, p and its own name, and has its own name as a
 * weak alias, so that a tool or a program can replace it and still call the original (10). */
#ifndef SY_API_ALIAS_H
#define SY_API_ALIAS_H

#include <pshmemx.h>

#define SY_ALIAS(name) extern __typeof__(p##name) name __attribute__((weak, alias("p" #name)))

/* Defines the routine NAME, with the rest as its body. PARAMETERS are in parentheses. */
#define SY_DEFINE(RESULT, NAME, PARAMETERS, ...)                                                   \
    RESULT p##NAME PARAMETERS { __VA_ARGS__ }                                                      \
    SY_ALIAS(NAME);

/* Defines a routine in its two forms, shmem_NAME on the default context and shmem_ctx_NAME with a
 * context before its other PARAMETERS; in the body of either it is `ctx`. */
#define SY_DEFINE_CTX(RESULT, NAME, PARAMETERS, ...)                                               \
    SY_DEFINE(RESULT, shmem_##NAME, PARAMETERS, const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;         \
              __VA_ARGS__)                                                                         \
    SY_DEFINE(RESULT, shmem_ctx_##NAME, (shmem_ctx_t ctx, SY_UNWRAP PARAMETERS), __VA_ARGS__)
#define SY_UNWRAP(...) __VA_ARGS__

#endif
