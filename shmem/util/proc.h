/* What the kernel says of a process or a thread, in the files of /proc. */
#ifndef SY_UTIL_PROC_H
#define SY_UTIL_PROC_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { SY_PROC_TEXT = 512, SY_PROC_NAME = 64 };

/* The beginning of a file; "" where there is none. */
static inline const char *sy_proc_read(const char *path, char text[SY_PROC_TEXT])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, SY_PROC_TEXT - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* The same of a file of a process. */
static inline const char *sy_proc_of(pid_t pid, const char *file, char text[SY_PROC_TEXT])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return sy_proc_read(path, text);
}

/* The same of a thread of this process. */
static inline const char *sy_proc_of_thread(pid_t task, const char *file, char text[SY_PROC_TEXT])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)task, file);
    return sy_proc_read(path, text);
}

/* The state in the text of a file "stat", such as R: on a processor, or waiting for one; '?' where
 * that is empty. The name before it may contain anything. */
static inline char sy_proc_state(const char *stat)
{
    const char *after = strrchr(stat, ')');

    return after && after[1] ? after[2] : '?';
}

/* For how many nanoseconds a process or a thread has waited for a processor, by the text of its
 * file "schedstat". False: the kernel does not count that. */
static inline bool sy_proc_queued(const char *schedstat, uint64_t *ns)
{
    return sscanf(schedstat, "%*u %" SCNu64, ns) == 1;
}

/* The parent of a process, and its own name; 0: the parent is not in this namespace of processes,
 * or the process is gone, and then the name is empty. */
static inline pid_t sy_proc_parent(pid_t pid, char name[SY_PROC_NAME])
{
    char text[SY_PROC_TEXT];
    int parent = 0;

    *name = '\0';
    const char *begin = strchr(sy_proc_of(pid, "stat", text), '('), *end = strrchr(text, ')');
    if (!begin || !end || end < begin || sscanf(end + 1, " %*c %d", &parent) != 1)
        return 0;
    snprintf(name, SY_PROC_NAME, "%.*s", (int)(end - begin - 1), begin + 1);
    return parent;
}

#endif
