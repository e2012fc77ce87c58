/* Both ends of a new connection prove that they know the secret, by HMAC-SHA256 over both ends'
 * random numbers. Fixed sizes, nothing is stored for a stranger but one message, and nothing that a
 * stranger sends is looked into.
 *
 *   client -> server   banner, the client's number, authenticator of both
 *   server -> client   banner, the server's number, authenticator of all so far
 *   client -> server   authenticator of both numbers
 *
 * The first authenticator may be a recording. It earns no trust, but keeps the connection from
 * being pushed out by those who cannot even say that much. A banner begins alike in all releases,
 * so that two that do not fit can say so. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/control/tree/state.h"
#include "config.h"
#include "util/auth.h"
#include "util/bits.h"

enum { NONCE = TREE_NONCE, MAC = SY_AUTH_MAC };

struct banner {
    char name[7];
    uint8_t version;
    char release[24]; /* in words, ended by NUL */
};

static const struct banner banner = {"SWYTREE", TREE_VERSION, PACKAGE_VERSION};

/* What each side sends first. */
struct hello {
    struct banner banner;
    unsigned char nonce[NONCE], proof[MAC];
};

void sy_tree_derive(const unsigned char secret[TREE_SECRET], const char *purpose, const void *more,
                    size_t length, unsigned char out[TREE_SECRET])
{
    const struct sy_auth_part parts[] = {{purpose, strlen(purpose) + 1}, {more, length}};

    sy_auth_mac(secret, parts, SY_COUNT(parts), out);
}

static void handshake_prove(struct tree *tree, const char *who,
                            const unsigned char nonces[2 * NONCE], unsigned char out[MAC])
{
    sy_tree_derive(tree->key, who, nonces, 2 * NONCE, out);
}

static bool handshake_proves(struct tree *tree, const unsigned char proof[MAC], const char *who,
                             const unsigned char nonces[2 * NONCE])
{
    const struct sy_auth_part parts[] = {{who, strlen(who) + 1}, {nonces, 2 * NONCE}};

    return sy_auth_valid(tree->key, parts, SY_COUNT(parts), proof);
}

/* ---- banners ---- */

/* The other end's release, from bytes that anybody may have sent. */
static const char *handshake_banner_release(const struct banner *from,
                                            char text[sizeof from->release])
{
    size_t i = 0;

    for (; i + 1 < sizeof from->release && from->release[i]; i++)
        text[i] = from->release[i] > ' ' && from->release[i] < 127 ? from->release[i] : '?';
    text[i] = '\0';
    return i ? text : "?";
}

static bool banner_is_ours(const struct banner *from)
{
    return memcmp(from->name, banner.name, sizeof banner.name) == 0;
}

/* ---- the PE that connects ---- */

int sy_tree_handshake_open(struct tree *tree, int fd, unsigned char nonce[TREE_NONCE])
{
    struct hello opening = {.banner = banner};
    int rc = sy_auth_random(nonce, NONCE);

    if (rc)
        return rc;
    memcpy(opening.nonce, nonce, NONCE);
    sy_tree_derive(tree->key, "tree opening", &opening, offsetof(struct hello, proof),
                   opening.proof);
    /* A new connection takes that much. */
    ssize_t sent = send(fd, &opening, sizeof opening, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == (ssize_t)sizeof opening ? 0 : sent < 0 ? -errno : -EMSGSIZE;
}

/* Anybody can send a banner, so this is no reason to give up. */
static int handshake_differs(struct tree *tree, const struct banner *from, struct sy_error *err)
{
    char release[sizeof from->release];

    return tree->host->fail(
        err, EACCES,
        "another release of this library answers there: %s, and PE %d on host %s runs %s; all "
        "hosts need the same one",
        handshake_banner_release(from, release), tree->pe, tree->host_name, PACKAGE_VERSION);
}

static const char *handshake_reason(int code)
{
    switch (code) {
    case ECONNRESET:
        return "it closes the connection: it does not know this job's secret, or is something else";
    case ETIMEDOUT:
        return "it connects, and does not end its answer: it is something else, most likely";
    default:
        return strerror(code);
    }
}

/* Receives the other end's answer. Another release that cannot speak with this PE sends its banner
 * and no more. */
static int handshake_hear(struct tree *tree, int fd, struct hello *answer, double deadline,
                          struct sy_error *err)
{
    const struct banner *from = &answer->banner;
    int rc = sy_net_receive(fd, &answer->banner, sizeof answer->banner, &deadline);
    bool ours = rc == 0 && banner_is_ours(from);

    if (ours && from->version != TREE_VERSION)
        return handshake_differs(tree, from, err);
    if (rc == 0)
        rc = sy_net_receive(fd, answer->nonce, sizeof *answer - sizeof *from, &deadline);
    if (rc == -ECONNRESET && ours &&
        strncmp(from->release, banner.release, sizeof banner.release) != 0)
        return handshake_differs(tree, from, err);
    return rc ? tree->host->fail(err, -rc, "%s", handshake_reason(-rc)) : 0;
}

int sy_tree_handshake_finish(struct tree *tree, int fd, const unsigned char nonce[TREE_NONCE],
                             double deadline, struct sy_error *err)
{
    unsigned char nonces[2 * NONCE], proof[MAC];
    struct hello answer;
    int rc = handshake_hear(tree, fd, &answer, deadline, err);

    if (rc)
        return rc;
    memcpy(nonces, nonce, NONCE);
    memcpy(nonces + NONCE, answer.nonce, NONCE);
    if (!banner_is_ours(&answer.banner) ||
        !handshake_proves(tree, answer.proof, "tree server", nonces))
        return tree->host->fail(err, EACCES, "what answers there does not know this job's secret");
    handshake_prove(tree, "tree client", nonces, proof);
    rc = sy_net_send(fd, proof, MAC, &deadline);
    return rc ? tree->host->fail(err, -rc, "%s", strerror(-rc)) : 0;
}

/* ---- the PE that was connected to ---- */

/* Whether another connection has the same number: a PE draws a new one for each. */
static bool handshake_seen(const struct tree_link *link, const unsigned char nonce[NONCE])
{
    struct tree *tree = link->tree;
    for (const struct tree_link *each = tree->links; each; each = each->next)
        if (each != link && each->state != TREE_LINK_HELLO && each->state != TREE_LINK_DEAD &&
            !memcmp(each->nonces, nonce, NONCE))
            return true;
    return false;
}

/* Tells a process of another release so. The connection stays in state HELLO until it closes. */
static int handshake_refuse(struct tree_link *link, const struct banner *from)
{
    struct tree *tree = link->tree;
    char release[sizeof from->release];

    if (!tree->told)
        tree->host->log(SY_LOG_WARN, "boot",
                        "a process of another release of this library (%s) has called on PE %d "
                        "on host %s, which runs %s; all hosts need the same one",
                        handshake_banner_release(from, release), tree->pe, tree->host_name,
                        PACKAGE_VERSION);
    tree->told = true;
    sy_tree_link_write(link, &banner, sizeof banner);
    shutdown(link->fd, SHUT_WR);
    link->refused = true;
    return 0;
}

static int handshake_answer(struct tree_link *link, const struct hello *opening)
{
    struct tree *tree = link->tree;
    const struct sy_auth_part parts[] = {{"tree opening", sizeof "tree opening"},
                                         {opening, offsetof(struct hello, proof)}};
    struct hello answer = {.banner = banner};

    if (!sy_auth_valid(tree->key, parts, SY_COUNT(parts), opening->proof) ||
        handshake_seen(link, opening->nonce) || sy_auth_random(answer.nonce, NONCE) != 0)
        return -EACCES;
    memcpy(link->nonces, opening->nonce, NONCE);
    memcpy(link->nonces + NONCE, answer.nonce, NONCE);
    handshake_prove(tree, "tree server", link->nonces, answer.proof);
    sy_tree_link_become(link, TREE_LINK_OPENED);
    sy_tree_link_write(link, &answer, sizeof answer);
    return 0;
}

/* Looks at the banner, or as much of it as has come: a beginning that no PE sends ends the
 * connection at once. The name of the release came with version 2. */
static int handshake_look(struct tree_link *link)
{
    const struct sy_frames_in *in = &link->in;
    size_t have = sy_frames_held(in);
    struct banner from = {.version = 0};

    memcpy(&from, in->data + in->taken, have < sizeof from ? have : sizeof from);
    if (memcmp(from.name, banner.name, have < sizeof from.name ? have : sizeof from.name) != 0)
        return -EPROTO;
    if (!from.version || from.version == TREE_VERSION || (from.version != 1 && have < sizeof from))
        return 0;
    if (from.version == 1)
        snprintf(from.release, sizeof from.release, "of protocol 1");
    return handshake_refuse(link, &from);
}

size_t sy_tree_handshake_wants(const struct tree_link *link)
{
    return link->state == TREE_LINK_HELLO ? sizeof(struct hello) : MAC;
}

int sy_tree_handshake_server(struct tree_link *link)
{
    struct tree *tree = link->tree;
    const void *at;

    if (link->refused) {
        sy_frames_take_raw(&link->in, sy_frames_held(&link->in));
        return 0;
    }
    if (link->state == TREE_LINK_HELLO) {
        int rc = handshake_look(link);
        at = rc || link->refused ? NULL : sy_frames_take_raw(&link->in, sizeof(struct hello));
        return at ? handshake_answer(link, at) : rc;
    }
    at = sy_frames_take_raw(&link->in, MAC);
    if (!at)
        return 0;
    if (!handshake_proves(tree, at, "tree client", link->nonces))
        return -EACCES;
    sy_tree_link_become(link, TREE_LINK_PROVED);
    return 1;
}
