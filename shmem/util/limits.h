/* Limits of a process and of its machine that may be too low for a large job. They are raised where
 * that is allowed, and reported otherwise, before anything fails because of them. Inline, so that
 * transports can use it. */
#ifndef SY_UTIL_LIMITS_H
#define SY_UTIL_LIMITS_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <switchyard/host.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/file.h"

/* Descriptors and mappings reserved for the program and the rest of the library. */
#define SY_LIMITS_FILES 64u
#define SY_LIMITS_MAPS  1000u

/* What every machine allows. */
#define SY_LIMITS_FEW_MAPS 100u
#define SY_LIMITS_BACKLOG  16u

/* The most that a transport may need in this PE; 0: too little to be checked. What every machine
 * allows is not looked up. */
struct sy_limits {
    unsigned long files; /* beside those that are open */
    unsigned long maps;
    unsigned long backlog; /* connections that others begin at once */
};

/* Makes sure that `more` descriptors can be opened: raises the soft limit where it is lower.
 * Returns the limit that is needed; *found: the present one. */
static inline unsigned long sy_limits_files(unsigned long more, unsigned long *found)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    int lowest = fcntl(0, F_DUPFD_CLOEXEC, 16); /* below are the library's own, and gaps */

    getrlimit(RLIMIT_NOFILE, &limit);
    unsigned long needed = (lowest < 0 ? (unsigned long)limit.rlim_cur : (unsigned long)lowest) +
                           more + SY_LIMITS_FILES;
    sy_file_close(&lowest);
    if (limit.rlim_cur < needed) {
        limit.rlim_cur = needed < limit.rlim_max ? (rlim_t)needed : limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    *found = (unsigned long)limit.rlim_cur;
    return needed;
}

/* Whether this is the first PE of its host, which reports for all of them. */
static inline bool sy_limits_speaks(const struct sy_host *host)
{
    const char *mine = host->place(host->pe).host;

    for (int pe = 0; pe < host->pe; pe++)
        if (!strcmp(host->place(pe).host, mine))
            return false;
    return true;
}

/* Raises and checks, and has one PE of each host say in one line what is too low. Places are known.
 * Returns the open files that this PE may need, all in all. */
static inline unsigned long sy_limits_check(const struct sy_host *host, const char *category,
                                            const struct sy_limits *needed)
{
    char text[600] = "";
    size_t used = 0;
    unsigned long files, most = sy_limits_files(needed->files, &files);
    unsigned long maps = LONG_MAX, backlog = LONG_MAX;

    if (needed->maps > SY_LIMITS_FEW_MAPS)
        maps = (unsigned long)sy_file_number("/proc/sys/vm/max_map_count", LONG_MAX);
    if (needed->backlog > SY_LIMITS_BACKLOG)
        backlog = (unsigned long)sy_file_number("/proc/sys/net/core/somaxconn", LONG_MAX);

    if (files < most)
        used += (size_t)snprintf(text, sizeof text,
                                 "; it may need %lu open files at each PE and gets %lu (raise the "
                                 "hard limit: ulimit -Hn %lu, LimitNOFILE of systemd)",
                                 most, files, most);
    if (maps < needed->maps + SY_LIMITS_MAPS)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "; it may need %lu mappings at each PE and gets %lu (sysctl -w "
                                 "vm.max_map_count=%lu)",
                                 needed->maps + SY_LIMITS_MAPS, maps,
                                 needed->maps + SY_LIMITS_MAPS);
    if (backlog < needed->backlog)
        snprintf(text + used, sizeof text - used,
                 "; %lu PEs may connect to one at once, %lu do not wait (sysctl -w "
                 "net.core.somaxconn=%lu)",
                 needed->backlog, backlog, needed->backlog);
    if (*text && sy_limits_speaks(host))
        host->log(SY_LOG_WARN, category, "limits are too low for a job of %d PEs%s", host->npes,
                  text);
    return most;
}

#endif
