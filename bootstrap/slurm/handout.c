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
#include "util/list.h"
#include "util/net/io.h"
#include "util/net/unix_name.h"

static const double FIRST_WORD = 2, NEXT_WORD = 10; /* seconds after which a wait is explained */
static const double ANSWER = 2;                     /* for one PE */

static socklen_t handout_name(struct sockaddr_un *address, const char *step)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "switchyard-%ld-%s",
                          (long)geteuid(), step);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* ---- PE 0 ---- */

/* Answers one call; a repeated one too, for its first answer may have been lost. */
static int handout_serve(int listener, const struct tree_contact *contact, bool *served, int npes)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), pe = 0, fresh = 0;
    double deadline = sy_clock() + ANSWER;

    if (fd < 0)
        return 0;
    if (sy_unix_same_user(fd) == 1 && sy_net_receive(fd, &pe, sizeof pe, &deadline) == 0 &&
        pe > 0 && pe < npes && sy_net_send(fd, contact, sizeof *contact, &deadline) == 0) {
        fresh = !served[pe];
        served[pe] = true;
    }
    close(fd);
    return fresh;
}

static int handout_serve_all(const struct sy_host *host, int listener,
                             const struct tree_contact *contact, bool *served, int npes,
                             double seconds, struct sy_error *err)
{
    double begin = sy_clock(), word = FIRST_WORD;
    char missing[SY_LIST_TEXT];

    served[0] = true;
    for (int count = 1; count < npes;) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        double waited = sy_clock() - begin;
        if (waited > word || waited > seconds)
            sy_list_missing(served, npes, NULL, NULL, missing, sizeof missing);
        if (waited > seconds)
            return host->fail(
                err, ETIMEDOUT,
                "waited %.0f s for %s of %d, which did not come to shmem_init; all PEs "
                "must call it (SHMEM_INIT_TIMEOUT is the limit)",
                seconds, missing, npes);
        if (waited > word) {
            host->log(SY_LOG_WARN, "boot", "start-up: waiting for %s of %d to call shmem_init",
                      missing, npes);
            word = waited + NEXT_WORD;
        }
        if (poll(&wait, 1, 200) > 0)
            count += handout_serve(listener, contact, served, npes);
    }
    return 0;
}

int sy_slurm_hand_out(const struct sy_host *host, const char *step,
                      const struct tree_contact *contact, int npes, double seconds,
                      struct sy_error *err)
{
    struct sockaddr_un address;
    socklen_t length = handout_name(&address, step);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;
    bool *served = calloc((size_t)npes, sizeof *served);

    if (listener < 0 || !served || bind(listener, (struct sockaddr *)&address, length) != 0 ||
        listen(listener, npes) != 0)
        rc = host->fail(err, errno, "the socket @%s on which PEs are awaited: %s",
                        address.sun_path + 1, strerror(errno));
    else
        rc = handout_serve_all(host, listener, contact, served, npes, seconds, err);
    if (listener >= 0)
        close(listener);
    free(served);
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
