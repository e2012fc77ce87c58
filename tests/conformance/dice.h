/* Pseudo-random numbers that a program can draw again (splitmix64). */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

static uint64_t dice_state; /* to be set: the same numbers follow the same state */

/* A number below `limit`. */
static uint64_t any(uint64_t limit)
{
    dice_state += 0x9e3779b97f4a7c15u;
    uint64_t x = dice_state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

#endif
