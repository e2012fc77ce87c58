#include "transports/tcp/peer/pace.h"

#define SLOW       1.5  /* bytes per nanosecond: 12 Gbit/s */
#define SLOW_TIMES 3    /* in a row, before spreading is tried; fourfold after each try in vain */
#define GAIN       1.25 /* that spreading must bring */
#define MOST_TRIES 6
#define TRY_TIMES  4  /* the first of them makes the connections */
#define PROBES     64 /* of transfers that would be spread one in so many is not, to compare */

bool sy_tcp_pace_spreads(const struct tcp_pace *pace, bool measured)
{
    switch (pace->state) {
    case TCP_PACE_TRYING:
        return measured;
    case TCP_PACE_SPREAD:
        return !measured || pace->times % PROBES;
    default:
        return false;
    }
}

static void enter(struct tcp_pace *pace, enum tcp_pace_state state)
{
    pace->state = state;
    pace->times = 0;
}

static void pace_note_alone(struct tcp_pace *pace, double rate)
{
    pace->one = rate > pace->one || !pace->times ? rate : pace->one;
    pace->times = rate < SLOW ? pace->times + 1 : 0;
    if (pace->times < (unsigned)SLOW_TIMES << 2 * pace->tries)
        return;
    pace->many = 0;
    enter(pace, TCP_PACE_TRYING);
}

static void pace_note_try(struct tcp_pace *pace, double rate)
{
    pace->many = rate > pace->many ? rate : pace->many;
    if (++pace->times < TRY_TIMES)
        return;
    bool gains = pace->many > pace->one * GAIN;
    pace->tries = gains ? 0 : pace->tries < MOST_TRIES ? pace->tries + 1 : MOST_TRIES;
    enter(pace, gains ? TCP_PACE_SPREAD : TCP_PACE_ALONE);
    pace->times += gains; /* the first is no probe */
}

void sy_tcp_pace_note(struct tcp_pace *pace, bool spread, size_t bytes, uint64_t nanoseconds)
{
    double rate = (double)bytes / (double)(nanoseconds ? nanoseconds : 1);

    if (pace->state == TCP_PACE_ALONE && !spread) {
        pace_note_alone(pace, rate);
    } else if (pace->state == TCP_PACE_TRYING && spread) {
        pace_note_try(pace, rate);
    } else if (pace->state == TCP_PACE_SPREAD) {
        pace->times++;
        if (spread)
            pace->many += (rate - pace->many) / 8;
        else if (rate * GAIN > pace->many)
            enter(pace, TCP_PACE_ALONE);
    }
}
