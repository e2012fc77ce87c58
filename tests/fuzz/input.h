/* What a fuzz target has been given, taken from its begin; zeros behind its end. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
    const uint8_t *at;
    size_t left;
};

static inline void take(struct input *in, void *to, size_t length)
{
    size_t have = length < in->left ? length : in->left;

    memset(to, 0, length);
    memcpy(to, in->at, have);
    in->at += have;
    in->left -= have;
}

static inline uint8_t byte(struct input *in)
{
    uint8_t value;

    take(in, &value, 1);
    return value;
}

#endif
