/* A mailbox that is first needed after the exchange: a region has been attached that is in no file,
 * or in a device's memory. Other PEs open the mailbox and its doorbell, a pipe, under /proc, as
 * they open the files of regions. The progress thread does not watch a doorbell that was not there
 * at the start, so a thread of this file serves the mailbox until the plugin is closed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/shm/shm.h"
#include "util/file.h"
#include "util/memfd.h"
#include "util/signals.h"

#define LOOKS 100 /* for another request before the thread sleeps; waking up takes longer */

static void *late_serve(void *arg)
{
    struct shm_state *shm = arg;
    struct pollfd bell = {.fd = shm->doorbell, .events = POLLIN};

    while (!atomic_load(&shm->late.ending)) {
        int looks = poll(&bell, 1, -1) > 0 ? (shm->host->crowded ? 1 : LOOKS) : 0;
        for (int left = looks; left; left--) {
            if (sy_shm_service_progress(shm) > 0)
                left = looks;
            else
                sched_yield();
        }
    }
    return NULL;
}

int sy_shm_late_open(struct shm_state *shm, struct sy_error *err)
{
    int bell[2];

    if (pipe2(bell, O_CLOEXEC | O_NONBLOCK))
        return shm->host->fail(err, errno, "a pipe: %s", strerror(errno));
    int rc = sy_shm_service_open(shm, bell[0], err);
    if (rc) {
        close(bell[0]);
        close(bell[1]);
        return rc;
    }
    shm->late.bell = bell[1];
    rc = sy_thread_start(&shm->late.thread, late_serve, shm);
    if (!rc)
        return 0;
    shm->late.bell = -1;
    close(bell[1]);
    sy_shm_service_close(shm);
    return shm->host->fail(err, rc, "a thread that serves memory: %s", strerror(rc));
}

void sy_shm_late_stop(struct shm_state *shm)
{
    if (shm->late.bell < 0)
        return;
    atomic_store(&shm->late.ending, true);
    sy_shm_service_ring(shm->late.bell);
    pthread_join(shm->late.thread, NULL);
    sy_file_close(&shm->late.bell);
}

int sy_shm_late_key(struct shm_state *shm, struct shm_key *key, struct sy_error *err)
{
    struct stat file, bell;

    if (fstat(shm->mailbox_fd, &file) || fstat(shm->doorbell, &bell))
        return shm->host->fail(err, errno, "the file of the mailbox: %s", strerror(errno));
    const struct shm_key where = {.process = getpid(),
                                  .fd = shm->mailbox_fd,
                                  .device = file.st_dev,
                                  .inode = file.st_ino,
                                  .length = sy_shm_mailbox_size(),
                                  .bell = shm->doorbell,
                                  .bell_inode = bell.st_ino};
    memcpy(key, &where, sizeof where);
    return sizeof where;
}

/* Whether a descriptor is what the key says, and safe to use. */
static bool late_is_bell(const struct shm_key *key, int fd)
{
    struct stat file;

    return !fstat(fd, &file) && S_ISFIFO(file.st_mode) && file.st_ino == key->bell_inode;
}

static bool late_is_mailbox(const struct shm_key *key, int fd)
{
    struct stat file;

    return !fstat(fd, &file) && file.st_dev == key->device && file.st_ino == key->inode &&
           sy_memfd_is_safe(fd, sy_shm_mailbox_size());
}

int sy_shm_late_meet(struct shm_state *shm, struct shm_peer *peer, const struct shm_key *key,
                     struct sy_error *err)
{
    void *box = MAP_FAILED;
    int why = 0;

    if (peer->mailbox)
        return 0;
    int fd = sy_shm_open_there(shm, key, key->fd, O_RDWR, peer->pe, err);
    int bell = fd < 0 ? fd
                      : sy_shm_open_there(shm, key, key->bell, O_RDWR | O_NONBLOCK, peer->pe, err);
    if (bell >= 0 && late_is_bell(key, bell) && late_is_mailbox(key, fd)) {
        box = mmap(NULL, sy_shm_mailbox_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        why = errno;
    }
    sy_file_close(&fd);
    if (box != MAP_FAILED) {
        peer->doorbell = bell;
        peer->mailbox = box;
        return 0;
    }
    if (bell < 0)
        return bell;
    close(bell);
    return shm->host->fail(err, why ? why : EACCES, "the mailbox of PE %d: %s", peer->pe,
                           why ? strerror(why) : "it is not what it was");
}
