/* For fuzz targets of oshrun: stand-ins for the files that start, signal and reap PEs (child.c,
 * reaper.c, trace.c, bind.c). No input starts a process, and every pretended process ends when it
 * is killed. */
#ifndef TESTS_FUZZ_PROCESSES_H
#define TESTS_FUZZ_PROCESSES_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/bind.h"
#include "bootstrap/launcher/daemon/child.h"
#include "bootstrap/launcher/daemon/reaper.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/daemon/daemon.h"

enum { FIRST_PID = 1 << 24, MOST_PIDS = 1 << 12 }; /* above what the kernel gives */

static int started_pids;
static bool dead[MOST_PIDS];

/* What PEs write to oshrun's socket. */
static const uint8_t *frames;
static size_t frames_length;

int sy_child_start(const struct sy_child_plan *plan, const cpu_set_t *cpus, bool with_stdin,
                   struct sy_child *child)
{
    int link[2], out[2], err[2];

    (void)cpus;
    (void)plan;
    *child = (struct sy_child){.executed = true};
    if (started_pids == MOST_PIDS)
        return -EAGAIN;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0 ||
        pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(err, O_CLOEXEC | O_NONBLOCK) != 0)
        abort();
    if (write(link[1], frames, frames_length) != (ssize_t)frames_length ||
        write(err[1], "PE 0@h: error: x\n", 17) != 17)
        abort();
    close(link[1]);
    close(out[1]);
    close(err[1]);
    child->pid = FIRST_PID + started_pids;
    dead[started_pids++] = false;
    child->link = link[0];
    child->out = out[0];
    child->err = err[0];
    child->in = with_stdin ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    return 0;
}

int kill(pid_t pid, int number)
{
    int index = abs(pid) - FIRST_PID;

    if (index < 0 || index >= started_pids)
        return 0;
    if (!dead[index] && (number == SIGTERM || number == SIGKILL)) {
        dead[index] = true;
        raise(SIGCHLD);
    }
    return 0;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    static int next;

    (void)pid;
    (void)options;
    for (int i = 0; i < started_pids; i++) {
        next = (next + 1) % started_pids;
        if (!dead[next])
            continue;
        dead[next] = false;
        *status = SIGTERM;
        return FIRST_PID + next;
    }
    return 0;
}

int chdir(const char *path)
{
    (void)path;
    return 0;
}

int sy_reaper_start(struct sy_reaper *reaper, int count)
{
    (void)reaper;
    (void)count;
    return 0;
}

void sy_reaper_add(struct sy_reaper *reaper, int index, pid_t pid)
{
    (void)reaper;
    (void)index;
    (void)pid;
}

bool sy_reaper_restart(struct sy_reaper *reaper, pid_t pid)
{
    (void)reaper;
    (void)pid;
    return false;
}

void sy_reaper_review(struct sy_reaper *reaper, int index)
{
    (void)reaper;
    (void)index;
}

void sy_reaper_end(struct sy_reaper *reaper)
{
    (void)reaper;
}

void sy_trace_start(struct sy_local_pe *local)
{
    (void)local;
}

char *sy_bind_find(struct sy_bind *bind, int binding)
{
    (void)bind;
    (void)binding;
    return sy_memory_string("there are no processors");
}

void sy_bind_share(struct sy_bind *bind, int pes, int least)
{
    (void)pes;
    (void)least;
    memset(bind, 0, sizeof *bind);
}

const char *sy_bind_name(int binding)
{
    return binding ? "core" : "none";
}

const char *sy_bind_text(const cpu_set_t *set, char *text, size_t room)
{
    (void)set;
    (void)room;
    *text = '\0';
    return text;
}

void sy_bind_free(struct sy_bind *bind)
{
    (void)bind;
}

#endif
