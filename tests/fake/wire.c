/* Datagrams: see fake.h. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/apply.h"
#include "tests/fake/fake.h"

static int watch(const struct fake *f, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(f->poll, EPOLL_CTL_ADD, fd, &event);
}

int fake_wire_open(struct fake *f, struct sy_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;

    f->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    f->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    f->poll = epoll_create1(EPOLL_CLOEXEC);
    if (f->socket < 0 || f->timer < 0 || f->poll < 0 ||
        bind(f->socket, (struct sockaddr *)&address, sizeof(sa_family_t)) ||
        getsockname(f->socket, (struct sockaddr *)&address, &length) || watch(f, f->socket) ||
        watch(f, f->timer)) {
        int code = errno;
        fake_wire_close(f);
        return f->host->fail(err, code, "no socket: %s", strerror(code));
    }
    f->own.length = length - (socklen_t)offsetof(struct sockaddr_un, sun_path);
    memcpy(f->own.name, address.sun_path, f->own.length);
    return 0;
}

void fake_wire_close(struct fake *f)
{
    int *const fds[] = {&f->socket, &f->timer, &f->poll};

    for (unsigned i = 0; i < 3; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    while (f->answers) {
        struct fake_answer *next = f->answers->next;
        free(f->answers);
        f->answers = next;
    }
}

int fake_wire_send(struct fake *f, int pe, const struct fake_message *message, const char *data,
                   size_t length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct iovec parts[2] = {{(void *)message, FAKE_HEAD}, {(void *)data, length}};
    struct msghdr header = {.msg_name = &address, .msg_iov = parts, .msg_iovlen = length ? 2 : 1};

    memcpy(address.sun_path, f->peer[pe].name, f->peer[pe].length);
    header.msg_namelen = (socklen_t)offsetof(struct sockaddr_un, sun_path) + f->peer[pe].length;
    if (sendmsg(f->socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return 0;
    return errno == ENOBUFS || errno == EINTR ? -EAGAIN : -errno;
}

/* ---- serving ---- */

/* Executes a request and writes its answer. Everything the request says is checked; here, that all
 * the data it announces have arrived. */
static uint32_t apply(struct fake *f, const struct fake_message *m, size_t data,
                      struct fake_message *answer)
{
    unsigned op = sy_record_op(sy_record_word(m->words));
    bool carries = op == SY_RECORD_PUT_LONG || op == SY_RECORD_PUT_STRIDED;
    long reply = sy_record_reply(m->words);

    sy_regions_ensure(&f->regions);
    if (reply < 0 || reply > FAKE_CHUNK || data != (carries ? sy_record_data(m->words) : 0))
        return EFAULT;
    answer->length = (uint32_t)reply;
    return sy_apply(&f->regions, m->words, m->data, answer->data) ? EFAULT : 0;
}

static void serve(struct fake *f, const struct fake_message *m, size_t data)
{
    struct fake_answer *answer = malloc(sizeof *answer);

    if (!answer) {
        f->host->lost((int)m->from, ENOMEM, "no memory for an answer");
        return;
    }
    answer->pe = (int)m->from;
    answer->due = fake_chance(f, 12) ? fake_now() + (uint64_t)f->settings->late * 1000 : 0;
    answer->message = (struct fake_message){
        .kind = FAKE_ANSWER, .from = (uint32_t)f->host->pe, .id = m->id};
    memcpy(answer->message.key, f->host->job_key, sizeof answer->message.key);
    answer->message.error = apply(f, m, data, &answer->message);
    answer->next = f->answers;
    f->answers = answer;
}

int fake_wire_receive(struct fake *f)
{
    struct fake_message m;
    int taken = 0;

    for (ssize_t got; (got = recv(f->socket, &m, sizeof m, MSG_DONTWAIT)) >= 0; taken++) {
        if ((size_t)got < FAKE_HEAD || m.from >= (uint32_t)f->host->npes || !f->peer ||
            memcmp(m.key, f->host->job_key, sizeof m.key) != 0)
            continue;
        size_t data = (size_t)got - FAKE_HEAD;
        if (m.kind == FAKE_REQUEST)
            serve(f, &m, data);
        else if (m.kind == FAKE_MESSAGE)
            f->instance.received(f->instance.receiver, (int)m.from, m.data, data);
        else if (m.kind == FAKE_LARGE && data == m.length)
            fake_large_come(f, &m);
        else if (data == m.length)
            fake_queue_answered(f, &m);
    }
    return taken;
}

/* Answers overtake each other: the list is a stack, and some answers wait. */
static int answer_all(struct fake *f, uint64_t now, bool *left)
{
    struct fake_answer **link = &f->answers;
    int sent = 0;

    while (*link) {
        struct fake_answer *a = *link;
        int rc = now < a->due
                     ? -EAGAIN
                     : fake_wire_send(f, a->pe, &a->message, a->message.data, a->message.length);
        if (rc == -EAGAIN) {
            link = &a->next;
            *left = true;
            continue;
        }
        if (rc && now < UINT64_MAX)
            f->host->lost(a->pe, -rc, "an answer could not be sent");
        *link = a->next;
        free(a);
        sent++;
    }
    return sent;
}

int fake_wire_answer(struct fake *f, bool *left)
{
    return answer_all(f, fake_now(), left);
}

/* Sends all answers that are still due, before their time too; for two seconds at most, because the
 * PEs that await them may be gone. */
void fake_wire_flush(struct fake *f)
{
    bool left = true;

    for (int tries = 0; left && tries < 20000; tries++) {
        left = false;
        answer_all(f, UINT64_MAX, &left);
        if (left)
            usleep(100);
    }
}
