/* What the core offers to a plugin (struct sy_host), for programs that run a part of one without
 * the core: each takes what it needs of these, and writes what it watches itself. */
#ifndef TESTS_HOST_H
#define TESTS_HOST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/host.h>

__attribute__((format(printf, 3, 4))) static inline int host_fail(struct sy_error *err, int code,
                                                                  const char *fmt, ...)
{
    struct sy_error own;
    va_list args;

    va_start(args, fmt);
    vsnprintf(err ? err->text : own.text, sizeof own.text, fmt, args);
    va_end(args);
    return -code;
}

/* Formats the line, so that a wrong argument is noticed, and drops it. */
__attribute__((format(printf, 3, 4))) static inline void
host_no_log(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    (void)level, (void)category;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
}

/* The arithmetic of the operand does not matter; that the word is aligned, and there, does. */
static inline void host_amo(enum sy_amo_op op, void *address, size_t width, uint64_t operand,
                            uint64_t compare, uint64_t *result)
{
    uint32_t *narrow = address;
    uint64_t *wide = address;

    if (width != 4 && width != 8)
        abort();
    uint64_t old = width == 4 ? *narrow : *wide;
    if (op != SY_AMO_FETCH && (op != SY_AMO_CSWAP || old == compare)) {
        if (width == 4)
            *narrow = (uint32_t)operand;
        else
            *wide = operand;
    }
    if (result)
        *result = old;
}

static inline void host_no_lost(int pe, int code, const char *why)
{
    (void)pe, (void)code, (void)why;
}

static inline void host_no_rest(uint64_t *since)
{
    (void)since;
}

static inline void host_no_soon(unsigned microseconds)
{
    (void)microseconds;
}

#endif
