/* Racing the addresses of a peer: which one is tried next and when, and why the others failed. Each
 * address has a head start over the next one. One that answers gets more time before another is
 * tried, since the peer lives and may be busy. This is a policy only: sockets, waiting and the
 * clock (nanoseconds) are the caller's. race.c writes the structure, except where a member says
 * otherwise.
 */
#ifndef SY_UTIL_NET_RACE_H
#define SY_UTIL_NET_RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { SY_RACE_MOST = 32, SY_RACE_NOTE = 240, SY_RACE_TEXT = SY_RACE_NOTE + 40 };

struct sy_race {
    struct sockaddr_storage address[SY_RACE_MOST]; /* the caller's, best first */
    unsigned count;                                /* of addresses; the caller's */
    unsigned begun;                                /* attempts; attempt i is at address i */
    unsigned open; /* attempts that go on; the caller counts down those that end */
    uint64_t due;  /* when the next attempt begins; UINT64_MAX: never. The caller may put it off */
    unsigned seen; /* what all failures tell of the way: SY_WAY_, and the caller's bits */
    unsigned unnoted;        /* failures for which `note` has no room */
    char note[SY_RACE_NOTE]; /* why addresses failed, as far as there is room */
};

/* Whether it is time to begin an attempt. True: it counts as begun, with number race->begun - 1.
 * Where no address is left and no attempt is open, the race is lost, and due is now. */
bool sy_race_next(struct sy_race *race, uint64_t now);

/* An address has answered: no other is tried for `patience`. */
void sy_race_answered(struct sy_race *race, uint64_t now, uint64_t patience);

/* Notes why an attempt has failed, in words and by SY_WAY_. */
void sy_race_note(struct sy_race *race, unsigned attempt, unsigned seen, const char *why);

/* Drops `note` and `seen`: what follows explains more. */
void sy_race_forget(struct sy_race *race);

/* Begins again at `due`, with the address of this attempt first. No attempt may be open. */
void sy_race_again(struct sy_race *race, unsigned attempt, uint64_t due);

/* Why all addresses failed, to be followed by sy_way_text(); "" before the first failure. Returns
 * text, which has room for SY_RACE_TEXT bytes. */
const char *sy_race_text(const struct sy_race *race, char *text);

#endif
