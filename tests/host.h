/* What the core offers to a plugin (struct sy_host), for programs that run a part of one without
 * the core: each takes what it needs of these, and writes what it watches itself. */
#ifndef TESTS_HOST_H
#define TESTS_HOST_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* A region of a device: its number, and bytes that are not where its addresses say. */
enum { HOST_DEVICE = 3, HOST_DEVICE_LENGTH = 16384 };

static inline int host_device_copy(unsigned window, bool in, uint64_t offset, void *local,
                                   size_t length)
{
    static char *bytes;

    if (!bytes)
        bytes = calloc(1, HOST_DEVICE_LENGTH);
    if (window != HOST_DEVICE)
        abort(); /* nobody is to ask for what is no device's */
    if (offset > HOST_DEVICE_LENGTH || length > HOST_DEVICE_LENGTH - offset)
        return -EFAULT;
    memcpy(in ? bytes + offset : local, in ? local : bytes + offset, length);
    return 0;
}

static inline int host_device_amo(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                                  uint64_t operand, uint64_t compare, uint64_t *result)
{
    uint64_t word = 0;

    if (offset % width)
        abort();
    int rc = host_device_copy(window, false, offset, &word, width);
    if (rc)
        return rc;
    host_amo(op, &word, width, operand, compare, result);
    return host_device_copy(window, true, offset, &word, width);
}

static inline int host_device_window(struct sy_region *region)
{
    *region = (struct sy_region){.kind = SY_REGION_DEVICE,
                                 .base = (char *)(uintptr_t)4096,
                                 .length = HOST_DEVICE_LENGTH,
                                 .fd = -1};
    return 0;
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
