/* Large data beside messages: chunks of a piece in any order, among those of other pieces, stored
 * byte by byte. What comes before this side has named the memory for it is kept. See fake.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/fake.h"
#include "util/bits.h"

/* A piece, until it has been sent or has come. */
struct fake_piece {
    struct fake_piece *next;
    int pe;
    uint64_t number, due; /* due: not sent before, ns */
    const char *from;     /* NULL: it comes */
    char *to;
    size_t length, moved, first; /* first: the chunk that is sent before the others */
    void *ticket;
};

/* A chunk of a piece that nobody has asked for yet. */
struct fake_early {
    struct fake_early *next;
    struct fake_message message; /* data as long as its length */
};

static void large_link(struct fake *f, struct fake_piece *piece)
{
    piece->next = f->pieces;
    f->pieces = piece;
    f->leaving += piece->from != NULL;
}

/* The transport is done with it. */
static void large_end(struct fake *f, struct fake_piece **link)
{
    struct fake_piece *piece = *link;

    *link = piece->next;
    f->leaving -= piece->from != NULL;
    f->instance.large_done(f->instance.receiver, piece->ticket);
    free(piece);
}

/* ---- receiving ---- */

/* The last byte first. What orders this before who reads it is not seen by ThreadSanitizer, as with
 * what the engine stores. */
SY_ORDERED_ELSEWHERE static void large_store(char *to, const char *from, size_t length)
{
    while (length--)
        ((volatile char *)to)[length] = from[length];
}

/* False: nobody has asked for it. */
static bool large_take(struct fake *f, const struct fake_message *m)
{
    struct fake_piece **link = &f->pieces;
    uint64_t offset;

    while (*link && ((*link)->from || (*link)->pe != (int)m->from || (*link)->number != m->id))
        link = &(*link)->next;
    struct fake_piece *piece = *link;
    if (!piece)
        return false;
    memcpy(&offset, m->words, sizeof offset);
    if (m->length > piece->length || offset > piece->length - m->length) {
        f->host->lost(piece->pe, EPROTO, "large data are longer than announced");
        return true;
    }
    large_store(piece->to + offset, m->data, m->length);
    piece->moved += m->length;
    if (piece->moved == piece->length)
        large_end(f, link);
    return true;
}

void fake_large_come(struct fake *f, const struct fake_message *m)
{
    if (large_take(f, m))
        return;
    struct fake_early *early = malloc(sizeof *early);
    if (!early) {
        f->host->lost((int)m->from, ENOMEM, "no memory for large data");
        return;
    }
    memcpy(&early->message, m, FAKE_HEAD + m->length);
    early->next = f->early;
    f->early = early;
}

static void large_take_early(struct fake *f)
{
    struct fake_early **link = &f->early;

    while (*link) {
        struct fake_early *early = *link;
        if (!large_take(f, &early->message)) {
            link = &early->next;
            continue;
        }
        *link = early->next;
        free(early);
    }
}

/* ---- sending ---- */

/* One chunk more; false: there is no room, or it is to wait. */
static bool large_send_chunk(struct fake *f, struct fake_piece *piece)
{
    size_t chunks = (piece->length + FAKE_CHUNK - 1) / FAKE_CHUNK,
           offset = (piece->first + piece->moved) % chunks * FAKE_CHUNK,
           left = piece->length - offset, length = left < FAKE_CHUNK ? left : FAKE_CHUNK;
    struct fake_message m = {.kind = FAKE_LARGE,
                             .from = (uint32_t)f->host->pe,
                             .id = piece->number,
                             .length = (uint32_t)length};
    uint64_t at = offset;

    memcpy(m.key, f->host->job_key, sizeof m.key);
    memcpy(m.words, &at, sizeof at);
    int rc = fake_wire_send(f, piece->pe, &m, piece->from + offset, length);
    if (rc && rc != -EAGAIN)
        f->host->lost(piece->pe, -rc, "large data could not be sent");
    if (rc)
        return false;
    piece->moved++;
    return true;
}

int fake_large_progress(struct fake *f)
{
    uint64_t now = f->leaving ? fake_now() : 0;
    int moved = 0;

    for (struct fake_piece **link = &f->pieces; f->leaving && *link;) {
        struct fake_piece *piece = *link;
        size_t chunks = (piece->length + FAKE_CHUNK - 1) / FAKE_CHUNK;
        while (piece->from && now >= piece->due && piece->moved < chunks && !fake_chance(f, 20) &&
               large_send_chunk(f, piece))
            moved++;
        if (piece->from && piece->moved == chunks)
            large_end(f, link);
        else
            link = &piece->next;
    }
    return moved;
}

/* ---- what the library calls ---- */

static struct fake_piece *large_make(struct fake *f, int pe, uint64_t number, size_t length,
                                     void *ticket)
{
    struct fake_piece *piece = malloc(sizeof *piece);

    if (piece)
        *piece = (struct fake_piece){.pe = pe,
                                     .number = number,
                                     .length = length,
                                     .ticket = ticket,
                                     .first = (size_t)(f->random % 64)};
    return piece;
}

int fake_large_send(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                    void *ticket)
{
    struct fake *f = self;
    int rc = -EAGAIN;

    pthread_mutex_lock(&f->lock);
    if (!fake_chance(f, f->settings->again)) {
        struct fake_piece *piece = large_make(f, pe, number, length, ticket);
        rc = piece ? 0 : -ENOMEM;
        if (piece) {
            piece->from = bytes;
            if (fake_chance(f, 12))
                piece->due = fake_now() + (uint64_t)f->settings->late * 1000;
            large_link(f, piece);
            fake_queue_wake(f);
        }
    }
    pthread_mutex_unlock(&f->lock);
    return rc;
}

int fake_large_receive(void *self, int pe, uint64_t number, void *bytes, size_t length,
                       void *ticket)
{
    struct fake *f = self;

    pthread_mutex_lock(&f->lock);
    struct fake_piece *piece = large_make(f, pe, number, length, ticket);
    if (piece) {
        piece->to = bytes;
        large_link(f, piece);
        large_take_early(f);
    }
    pthread_mutex_unlock(&f->lock);
    return piece ? 0 : -ENOMEM;
}

/* Their memory is not touched any more. */
void fake_large_drop(struct fake *f)
{
    while (f->pieces) {
        struct fake_piece *next = f->pieces->next;
        free(f->pieces);
        f->pieces = next;
    }
    while (f->early) {
        struct fake_early *next = f->early->next;
        free(f->early);
        f->early = next;
    }
}
