/* Small arithmetic and compiler hints. */
#ifndef SY_UTIL_BITS_H
#define SY_UTIL_BITS_H

#include <stddef.h>
#include <stdint.h>

#define SY_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SY_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SY_COLD        __attribute__((cold, noinline))
#define SY_HIDDEN      __attribute__((visibility("hidden"))) /* variables: no detour over the GOT */
#define SY_INLINE      __attribute__((always_inline)) static inline
#define SY_NOINLINE    __attribute__((noinline)) /* keeps its registers out of the caller */
#define SY_LINE        64                        /* bytes of a cache line */

/* Has the compiler forget how a pointer was computed, where it would compute it again. */
#define SY_OPAQUE(pointer) __asm__("" : "+r"(pointer))

#ifdef __SANITIZE_THREAD__
#define SY_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SY_THREAD_SANITIZER 1
#endif
#endif

/* For functions whose accesses are ordered with the program's by a message of another process,
 * which ThreadSanitizer cannot see. clang's no_sanitize leaves atomic operations instrumented,
 * which would then seem to race with the program's plain ones. */
#ifndef SY_THREAD_SANITIZER
#define SY_ORDERED_ELSEWHERE
#elif defined __clang__
#define SY_ORDERED_ELSEWHERE __attribute__((disable_sanitizer_instrumentation, noinline))
#else
#define SY_ORDERED_ELSEWHERE __attribute__((no_sanitize("thread"), noinline))
#endif

/* Before a release store in such a function: tells ThreadSanitizer of it, whose loads by the
 * program see it. Before a call that reads memory: tells of that, which it notes itself only once
 * the call has returned, when what was sent may have been answered, and the memory be another
 * thread's. */
#ifdef SY_THREAD_SANITIZER
void __tsan_release(void *word);
void __tsan_read_range(void *from, unsigned long length);
#define SY_TELL_RELEASE(word)      __tsan_release(word)
#define SY_TELL_READ(from, length) __tsan_read_range(from, length)
#else
#define SY_TELL_RELEASE(word)      ((void)0)
#define SY_TELL_READ(from, length) ((void)0)
#endif

#define SY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Rounds up to a power of two. */
static inline uint64_t sy_round_up(uint64_t value, uint64_t power)
{
    return (value + power - 1) & ~(power - 1);
}

/* The bytes of `count` elements; SIZE_MAX, which no memory has, where they are more. */
SY_INLINE size_t sy_bytes(size_t count, size_t size)
{
    size_t bytes;

    return SY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)) ? SIZE_MAX : bytes;
}

/* The bytes of a stride of `count` elements; PTRDIFF_MAX where they are more, either direction. */
SY_INLINE ptrdiff_t sy_stride(ptrdiff_t count, size_t size)
{
    ptrdiff_t bytes;

    return SY_UNLIKELY(__builtin_mul_overflow(count, size, &bytes)) ? PTRDIFF_MAX : bytes;
}

/* FNV-1a, for names and identities; not for secrets. */
static inline uint64_t sy_hash(const void *bytes, uint64_t length, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed ^ 0xcbf29ce484222325u;

    while (length--)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

#endif
