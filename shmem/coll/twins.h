/* Two binary trees over parties 1, 2, ..., both fed by party 0, of which each carries half of the
 * data in chunks. A party that has children in one tree has none in the other: so each sends as
 * much as it receives, all lines are in use both ways, and the last party is log2(count) levels
 * away. Along a chain lines are used as well, but it is `count` levels long; in one tree a party
 * sends all data twice.
 *
 * The first tree has the parties in order: those with an odd number are leaves, those below party x
 * are nearer to it than its lowest bit. The second is the same over the parties in another order,
 * which moves each by an odd number of places. */
#ifndef SY_COLL_TWINS_H
#define SY_COLL_TWINS_H

#define SY_TWINS         2
#define SY_TWIN_CHILDREN 2

/* A party's place in one of the trees. */
struct sy_twin {
    int parent; /* party 0 has none: -1 */
    int which;  /* which of its parent's children it is */
    int children, child[SY_TWIN_CHILDREN];
};

/* From a party to its place in a tree, and back; party 0 has place 0. An even number of places is
 * turned round, an odd one moved by one. */
static inline int sy_twin_place(int parties, int party, int twin)
{
    if (!twin || !party)
        return party;
    return parties % 2 == 0 ? parties + 1 - party : party > 1 ? party - 1 : parties;
}

static inline int sy_twin_party(int parties, int place, int twin)
{
    if (!twin || !place)
        return place;
    return parties % 2 == 0 ? parties + 1 - place : place % parties + 1;
}

/* The place above place x of 1 .. parties. */
static inline int sy_twin_above(int parties, int x)
{
    int low = x & -x, above = (x ^ low) | low << 1;

    return above <= parties ? above : x ^ low;
}

/* Tree number `twin` of `count` parties, party 0 included, as party `me` sees it. */
static inline struct sy_twin sy_twin_make(int count, int me, int twin)
{
    int parties = count - 1, x = sy_twin_place(parties, me, twin), low = x & -x, top = 1;
    struct sy_twin t = {.parent = -1};

    if (!x) {
        while (top <= parties / 2)
            top *= 2;
        if (parties)
            t.child[t.children++] = sy_twin_party(parties, top, twin);
        return t;
    }
    int above = sy_twin_above(parties, x);
    t.parent = sy_twin_party(parties, above, twin);
    t.which = above && x > above;
    if (low > 1)
        t.child[t.children++] = sy_twin_party(parties, x - low / 2, twin);
    for (low /= 2; low && x + low > parties;)
        low /= 2;
    if (low)
        t.child[t.children++] = sy_twin_party(parties, x + low, twin);
    return t;
}

#endif
