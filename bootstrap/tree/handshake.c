/* Both ends of a new connection prove that they know the secret, by HMAC-SHA256 over both ends'
 * random numbers. Fixed sizes, nothing is stored for a stranger but one message, and nothing that a
 * stranger sends is looked into. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/tree/state.h"
#include "util/auth.h"
#include "util/bits.h"

enum { NONCE = 32, MAC = SY_AUTH_MAC };

static const char greeting[8] = {'S', 'W', 'Y', 'T', 'R', 'E', 'E', TREE_VERSION};

struct opening {
    char greeting[sizeof greeting];
    unsigned char nonce[NONCE];
};

struct answer {
    unsigned char nonce[NONCE], proof[MAC];
};

int sy_tree_derive(const unsigned char secret[TREE_SECRET], const char *purpose, const void *more,
                   size_t length, unsigned char out[TREE_SECRET])
{
    const struct sy_auth_part parts[] = {{purpose, strlen(purpose) + 1}, {more, length}};

    return sy_auth_mac(secret, parts, SY_COUNT(parts), out);
}

static int prove(const char *who, const unsigned char nonces[2 * NONCE], unsigned char out[MAC])
{
    return sy_tree_derive(sy_tree.key, who, nonces, 2 * NONCE, out);
}

static bool proves(const unsigned char proof[MAC], const char *who,
                   const unsigned char nonces[2 * NONCE])
{
    const struct sy_auth_part parts[] = {{who, strlen(who) + 1}, {nonces, 2 * NONCE}};

    return sy_auth_valid(sy_tree.key, parts, SY_COUNT(parts), proof);
}

/* ---- sockets ---- */

int sy_tree_wait(int fd, short events, double deadline)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = events};
        double left = deadline - sy_tree_now();
        if (left <= 0)
            return -ETIMEDOUT;
        int ready = poll(&wait, 1, left > 1000 ? 1000000 : (int)(left * 1000) + 1);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

int sy_tree_send_all(int fd, const void *data, size_t length, double deadline)
{
    const char *at = data;

    while (length) {
        ssize_t n = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        int rc = 0;
        if (n >= 0) {
            at += n;
            length -= (size_t)n;
        } else if (errno == EAGAIN) {
            rc = sy_tree_wait(fd, POLLOUT, deadline);
        } else if (errno != EINTR) {
            rc = -errno;
        }
        if (rc)
            return rc;
    }
    return 0;
}

int sy_tree_receive_all(int fd, void *data, size_t length, double deadline)
{
    char *at = data;

    while (length) {
        ssize_t n = recv(fd, at, length, MSG_DONTWAIT);
        int rc = 0;
        if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (n == 0) {
            rc = -ECONNRESET;
        } else if (errno == EAGAIN) {
            rc = sy_tree_wait(fd, POLLIN, deadline);
        } else if (errno != EINTR) {
            rc = -errno;
        }
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the two ends ---- */

int sy_tree_handshake_client(int fd, double deadline, struct sy_error *err)
{
    unsigned char nonces[2 * NONCE], proof[MAC];
    struct opening opening;
    struct answer answer;

    memcpy(opening.greeting, greeting, sizeof greeting);
    int rc = sy_auth_random(opening.nonce, NONCE);
    if (rc)
        return sy_tree.host->fail(err, -rc, "no random numbers: %s", strerror(-rc));
    rc = sy_tree_send_all(fd, &opening, sizeof opening, deadline);
    if (rc == 0)
        rc = sy_tree_receive_all(fd, &answer, sizeof answer, deadline);
    if (rc)
        return sy_tree.host->fail(err, -rc, "%s",
                                  rc == -ECONNRESET
                                      ? "it closes the connection: it does not know this "
                                        "job's secret, or is something else"
                                      : strerror(-rc));
    memcpy(nonces, opening.nonce, NONCE);
    memcpy(nonces + NONCE, answer.nonce, NONCE);
    if (!proves(answer.proof, "tree server", nonces))
        return sy_tree.host->fail(err, EACCES,
                                  "what answers there does not know this job's secret");
    rc = prove("tree client", nonces, proof);
    if (rc == 0)
        rc = sy_tree_send_all(fd, proof, MAC, deadline);
    return rc ? sy_tree.host->fail(err, -rc, "%s", strerror(-rc)) : 0;
}

static const void *take(struct tree_link *link, size_t length)
{
    struct tree_buffer *in = &link->in;

    if (in->length - in->taken < length)
        return NULL;
    in->taken += length;
    return in->data + in->taken - length;
}

static int answer_opening(struct tree_link *link, const struct opening *opening)
{
    struct answer answer;

    if (memcmp(opening->greeting, greeting, sizeof greeting) != 0 ||
        sy_auth_random(answer.nonce, NONCE) != 0)
        return -EPROTO;
    memcpy(link->nonces, opening->nonce, NONCE);
    memcpy(link->nonces + NONCE, answer.nonce, NONCE);
    if (prove("tree server", link->nonces, answer.proof) != 0)
        return -EIO;
    sy_tree_link_write(link, &answer, sizeof answer);
    link->answered = true;
    return 0;
}

int sy_tree_handshake_server(struct tree_link *link)
{
    const void *at;

    if (!link->answered) {
        at = take(link, sizeof(struct opening));
        if (!at)
            return 0;
        int rc = answer_opening(link, at);
        if (rc)
            return rc;
    }
    at = take(link, MAC);
    if (!at)
        return 0;
    return proves(at, "tree client", link->nonces) ? 1 : -EACCES;
}
