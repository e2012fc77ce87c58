/* The contact on one node: see handout.h. The socket has a name that is no file, so nothing is left
 * over. Another user can take the name first: then there is an error, not a leak. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/slurm/handout.h"
#include "bootstrap/control/tree/tree.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/list.h"
#include "util/net/io.h"
#include "util/net/unix_name.h"

static const double FIRST_WORD = 2, NEXT_WORD = 10; /* seconds after which a wait is explained */
static const double ANSWER = 2;                     /* for one PE */

/* PEs that wait for their answer at once: each takes a descriptor. More are answered early. */
enum { WAITING = 512 };

static socklen_t handout_name(struct sockaddr_un *address, const char *step)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "switchyard-%ld-%s",
                          (long)geteuid(), step);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- PE 0 ---- */

/* All are answered when all have come, since PE 0 takes no other calls before. */
struct handout {
    const struct sy_host *host;
    const struct tree_contact *contact;
    int listener, npes;
    int *caller; /* by PE: who waits for the answer, or -1 */
    bool *came;
    int waiting;
};

static void handout_answer(const struct handout *h, int fd)
{
    double deadline = sy_clock() + ANSWER;

    sy_net_send(fd, h->contact, sizeof *h->contact, &deadline);
    close(fd);
}

/* Keeps a caller until all have come. One that calls again has lost its first call. */
static void handout_keep(struct handout *h, int pe, int fd)
{
    if (h->caller[pe] >= 0) {
        close(h->caller[pe]);
        h->waiting--;
    }
    h->caller[pe] = -1;
    if (h->waiting == WAITING) {
        handout_answer(h, fd);
        return;
    }
    h->caller[pe] = fd;
    h->waiting++;
}

/* Takes one call. Returns how many PEs have come by it. */
static int handout_take(struct handout *h)
{
    int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC), pe = 0;
    double deadline = sy_clock() + ANSWER;

    if (fd < 0)
        return 0;
    if (sy_unix_same_user(fd) != 1 || sy_net_receive(fd, &pe, sizeof pe, &deadline) || pe <= 0 ||
        pe >= h->npes) {
        close(fd);
        return 0;
    }
    handout_keep(h, pe, fd);
    bool fresh = !h->came[pe];
    h->came[pe] = true;
    return fresh;
}

static int handout_await_all(struct handout *h, double seconds, struct sy_error *err)
{
    double begin = sy_clock(), word = FIRST_WORD;
    char missing[SY_LIST_TEXT];

    for (int count = 1; count < h->npes;) {
        struct pollfd wait = {.fd = h->listener, .events = POLLIN};
        double waited = sy_clock() - begin;
        if (waited > word || waited > seconds)
            sy_list_missing(h->came, h->npes, NULL, NULL, missing, sizeof missing);
        if (waited > seconds)
            return h->host->fail(
                err, ETIMEDOUT,
                "waited %.0f s for %s of %d, which did not come to shmem_init; all PEs "
                "must call it (SHMEM_INIT_TIMEOUT is the limit)",
                seconds, missing, h->npes);
        if (waited > word) {
            h->host->log(SY_LOG_WARN, "boot", "start-up: waiting for %s of %d to call shmem_init",
                         missing, h->npes);
            word = waited + NEXT_WORD;
        }
        if (poll(&wait, 1, 200) > 0)
            count += handout_take(h);
    }
    return 0;
}

static int handout_open(struct handout *h, const char *step, struct sy_error *err)
{
    struct sockaddr_un address;
    socklen_t length = handout_name(&address, step);

    h->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    h->caller = malloc((size_t)h->npes * sizeof *h->caller);
    h->came = calloc((size_t)h->npes, sizeof *h->came);
    if (h->listener < 0 || !h->caller || !h->came ||
        bind(h->listener, (struct sockaddr *)&address, length) != 0 ||
        listen(h->listener, h->npes) != 0)
        return h->host->fail(err, errno, "the socket @%s on which PEs are awaited: %s",
                             address.sun_path + 1, strerror(errno));
    h->came[0] = true;
    for (int pe = 0; pe < h->npes; pe++)
        h->caller[pe] = -1;
    return 0;
}

int sy_slurm_hand_out(const struct sy_host *host, const char *step,
                      const struct tree_contact *contact, int npes, double seconds,
                      struct sy_error *err)
{
    struct handout h = {.host = host, .contact = contact, .npes = npes};
    int closed = handout_open(&h, step, err);
    int rc = closed ? closed : handout_await_all(&h, seconds, err);

    for (int pe = 0; !closed && pe < npes; pe++) {
        if (h.caller[pe] >= 0 && !rc)
            handout_answer(&h, h.caller[pe]);
        else if (h.caller[pe] >= 0)
            close(h.caller[pe]);
    }
    sy_file_close(&h.listener);
    free(h.caller);
    free(h.came);
    return rc;
}

/* ---- the others ---- */

static int handout_call(const char *step, struct tree_contact *contact, int pe, double seconds)
{
    struct sockaddr_un address;
    socklen_t length = handout_name(&address, step);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc = -errno;
    double deadline = sy_clock() + seconds;

    if (fd < 0)
        return rc;
    if (connect(fd, (struct sockaddr *)&address, length) != 0)
        rc = -errno;
    else if (sy_unix_same_user(fd) != 1)
        rc = -EPERM;
    else
        rc = sy_net_send(fd, &pe, sizeof pe, &deadline);
    if (rc == 0)
        rc = sy_net_receive(fd, contact, sizeof *contact, &deadline);
    close(fd);
    return rc;
}

int sy_slurm_fetch(const struct sy_host *host, const char *step, struct tree_contact *contact,
                   int pe, double seconds, struct sy_error *err)
{
    struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    double begin = sy_clock(), word = FIRST_WORD;

    for (;;) {
        int rc = handout_call(step, contact, pe, seconds);
        double waited = sy_clock() - begin;
        if (rc == 0)
            return 0;
        if (rc == -EPERM)
            return host->fail(err, EPERM, "another user's process pretends to be PE 0");
        if (waited > seconds)
            return host->fail(err, ETIMEDOUT,
                              "waited %.0f s for PE 0 on this host to call shmem_init (%s)", waited,
                              strerror(-rc));
        if (pe == 1 && waited > word) {
            host->log(SY_LOG_WARN, "boot", "start-up: waiting for PE 0 to call shmem_init");
            word = waited + NEXT_WORD;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 200 * 1000 * 1000)
            pause.tv_nsec *= 2;
    }
}
