/* See probe.h. Calls block, each for a limited time: while it is asked, an agent has nothing else
 * to do. */
#include "bootstrap/check/probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/control/protocol.h"
#include "bootstrap/check/measure.h"
#include "config.h"
#include "util/clock.h"
#include "util/net/interfaces.h"

static void probe_print_limit(FILE *out, const char *name, __rlimit_resource_t resource,
                              rlim_t unit)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY)
        fprintf(out, "%s unlimited\n", name);
    else
        fprintf(out, "%s %llu\n", name, (unsigned long long)(limit.rlim_max / unit));
}

/* The addresses of interfaces of loopback, or of the others; false: there are none. */
static bool probe_print_some(FILE *out, const struct sy_interface *all, size_t count, bool loopback)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        const struct sy_ip *ip = &all[i].ip;
        char text[INET6_ADDRSTRLEN];

        if (!all[i].up || all[i].loopback != loopback || !ip->family ||
            (ip->family == 6 && sy_ip_link_local(ip)))
            continue;
        fprintf(out, "address %s %s\n", all[i].name,
                inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, text, sizeof text));
        any = true;
    }
    return any;
}

/* Addresses at which other hosts may reach this one. Where there are none, other names of this
 * machine may by loopback; another machine does not know the token. */
static void probe_print_addresses(FILE *out)
{
    struct sy_interface *all = NULL;
    size_t count = 0;

    if (sy_interfaces_list(&all, &count) != 0)
        return;
    if (!probe_print_some(out, all, count, false))
        probe_print_some(out, all, count, true);
    free(all);
}

static const char PLUGIN[] = "shmem_transport_";

static int probe_is_plugin(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return strncmp(entry->d_name, PLUGIN, strlen(PLUGIN)) == 0 && end && strcmp(end, ".so") == 0;
}

/* The names of the plugins in a directory, sorted, as they are compared with those of other hosts;
 * false: there are none. */
static bool probe_print_plugins(FILE *out, const char *directory)
{
    struct dirent **entry;
    int count = scandir(directory, &entry, probe_is_plugin, alphasort);

    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name + strlen(PLUGIN);

        fprintf(out, "transport %.*s\n", (int)(strlen(name) - strlen(".so")), name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    return count > 0;
}

/* Of the build tree of this oshcheck, or of its installation, which may have been moved. */
static void probe_find_plugins(FILE *out)
{
    static const char *const beside[] = {"/../shmem/.libs/switchyard", SY_PLUGIN_BESIDE};
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path / 2);

    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < sizeof beside / sizeof *beside; i++) {
        strcpy(slash, beside[i]);
        if (probe_print_plugins(out, path))
            return;
    }
    probe_print_plugins(out, SY_PLUGIN_DIR);
}

static char *probe_facts(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_stream(&text, &length);
    struct utsname name;
    struct sysinfo info;

    fprintf(out, "release %s\n", PACKAGE_VERSION);
    if (uname(&name) == 0)
        fprintf(out, "name %s\nkernel %s\n", name.nodename, name.release);
    fprintf(out, "processors %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    if (sysinfo(&info) == 0)
        fprintf(out, "memory %llu\n",
                (unsigned long long)info.totalram * info.mem_unit / (1024 * 1024));
    probe_print_limit(out, "files", RLIMIT_NOFILE, 1);
    probe_print_limit(out, "processes", RLIMIT_NPROC, 1);
    probe_print_limit(out, "locked", RLIMIT_MEMLOCK, 1024);
    probe_print_addresses(out);
    probe_find_plugins(out);
    sy_memory_stream_end(out);
    return text;
}

static char *probe_answer(const char *question)
{
    char *copy = sy_memory_string(question), *save = NULL, *answer;
    const char *word = strtok_r(copy, " ", &save);
    const char *token = strtok_r(NULL, " ", &save);
    const char *number = strtok_r(NULL, " ", &save);

    if (word && strcmp(word, "facts") == 0) {
        answer = probe_facts();
    } else if (word && strcmp(word, "clock") == 0) {
        answer = sy_memory_text("%llu", (unsigned long long)sy_clock_of(CLOCK_REALTIME));
    } else if (word && number && strcmp(word, "listen") == 0) {
        const char *high = strtok_r(NULL, " ", &save);

        answer = sy_measure_listen(token, atoi(number), atoi(high ? high : "0"));
    } else if (word && number && strcmp(word, "measure") == 0) {
        answer = sy_measure_connect(token, number, save ? save : "");
    } else {
        answer = sy_memory_string("! the question is not understood");
    }
    free(copy);
    return answer;
}

int sy_probe_run(void)
{
    static char line[PROBE_QUESTION_MAX];
    char *end;

    signal(SIGPIPE, SIG_IGN);
    printf("\n" PROBE_BANNER "%d\n", SY_LAUNCH_VERSION);
    while (fflush(stdout) == 0 && fgets(line, sizeof line, stdin) && (end = strchr(line, '\n'))) {
        *end = '\0';
        char *answer = probe_answer(line);

        printf("%zu\n%s", strlen(answer), answer);
        free(answer);
    }
    sy_measure_end();
    return EXIT_SUCCESS;
}
