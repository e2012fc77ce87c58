/* Whether transfers that are too short to be spread over several connections as a rule are spread
 * between two processes, because one connection carries little. Networks often limit what one may
 * carry; where it is slow for another reason, a busy link or a busy peer, more of them are of no
 * use. So both are measured: where transfers over one are slow several times in a row, a few are
 * spread, and that is kept up only if they were faster. */
#ifndef TCP_PACE_H
#define TCP_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tcp_pace_state { TCP_PACE_ALONE, TCP_PACE_TRYING, TCP_PACE_SPREAD };

/* Written by the producer. Zeros are the beginning. */
struct tcp_pace {
    enum tcp_pace_state state;
    unsigned times;   /* ALONE: slow ones in a row; others: measured in this state */
    unsigned tries;   /* in vain, of late */
    double one, many; /* bytes per nanosecond, over one connection and over several */
};

/* Whether the next transfer is to be spread; measured: sy_tcp_pace_note will be called for it. */
bool sy_tcp_pace_spreads(const struct tcp_pace *pace, bool measured);

/* `bytes` have taken `nanoseconds`, spread or not. */
void sy_tcp_pace_note(struct tcp_pace *pace, bool spread, size_t bytes, uint64_t nanoseconds);

#endif
