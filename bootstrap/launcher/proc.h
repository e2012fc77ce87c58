/* What the kernel says of a process, in the files of /proc. */
#ifndef SY_LAUNCHER_PROC_H
#define SY_LAUNCHER_PROC_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum { SY_PROC_LINE = 512 };

/* The first line of a file of the process, without its newline; "" where there is none. */
static inline const char *sy_proc_line(pid_t pid, const char *file, char line[SY_PROC_LINE])
{
    char path[64];
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    *line = '\0';
    in = fopen(path, "re");
    if (!in)
        return line;
    if (!fgets(line, SY_PROC_LINE, in))
        *line = '\0';
    fclose(in);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Its state, such as R: on a processor, or waiting for one; '?' where it is gone. */
static inline char sy_proc_state(pid_t pid)
{
    char line[SY_PROC_LINE];
    const char *after = strrchr(sy_proc_line(pid, "stat", line), ')');

    return after && after[1] ? after[2] : '?';
}

#endif
