/* What an agent finds out about its host: see probe.h. Calls block, each for a limited time: an
 * agent that is asked does nothing else. */
#include "bootstrap/launcher/check/probe.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/check/measure.h"
#include "config.h"
#include "util/net/interfaces.h"

static void check_probe_print_limit(FILE *out, const char *name, __rlimit_resource_t resource,
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

/* Addresses at which other hosts may reach this one. */
static void check_probe_print_addresses(FILE *out)
{
    struct sy_interface *all;
    size_t count;

    if (sy_interfaces_list(&all, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct sy_ip *ip = &all[i].ip;
        char text[INET6_ADDRSTRLEN];

        if (all[i].up && !all[i].loopback && ip->family &&
            !(ip->family == 6 && sy_ip_link_local(ip)))
            fprintf(out, "address %s %s\n", all[i].name,
                    inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, text, sizeof text));
    }
    free(all);
}

/* Names of the plugins that are installed, or that the build tree of this oshrun contains. */
static bool check_probe_print_plugins(FILE *out, const char *directory)
{
    static const char BEGIN[] = "shmem_transport_", END[] = ".so";
    DIR *dir = opendir(directory);
    struct dirent *entry;
    bool any = false;

    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (strncmp(entry->d_name, BEGIN, strlen(BEGIN)) != 0 || length < strlen(END) ||
            strcmp(entry->d_name + length - strlen(END), END) != 0)
            continue;
        fprintf(out, "transport %.*s\n", (int)(length - strlen(BEGIN) - strlen(END)),
                entry->d_name + strlen(BEGIN));
        any = true;
    }
    closedir(dir);
    return any;
}

static void check_probe_find_plugins(FILE *out)
{
    char path[PATH_MAX], *slash;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash) {
        strcpy(slash, "/../shmem/.libs/switchyard");
        if (check_probe_print_plugins(out, path))
            return;
    }
    check_probe_print_plugins(out, SY_PLUGIN_DIR);
}

static char *check_probe_facts(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_check(open_memstream(&text, &length));
    struct utsname name;
    struct sysinfo info;

    fprintf(out, "release %s\n", PACKAGE_VERSION);
    if (uname(&name) == 0)
        fprintf(out, "name %s\nkernel %s\n", name.nodename, name.release);
    fprintf(out, "processors %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    if (sysinfo(&info) == 0)
        fprintf(out, "memory %llu\n",
                (unsigned long long)info.totalram * info.mem_unit / (1024 * 1024));
    check_probe_print_limit(out, "files", RLIMIT_NOFILE, 1);
    check_probe_print_limit(out, "processes", RLIMIT_NPROC, 1);
    check_probe_print_limit(out, "locked", RLIMIT_MEMLOCK, 1024);
    check_probe_print_addresses(out);
    check_probe_find_plugins(out);
    if (fclose(out) != 0)
        sy_memory_check(NULL);
    return text;
}

static char *check_probe_clock_text(void)
{
    struct timespec now;
    char *text;

    clock_gettime(CLOCK_REALTIME, &now);
    text = sy_memory_text("%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return text;
}

static char *check_probe_refuse(const char *why)
{
    return sy_memory_text("! %s", why);
}

char *sy_probe_answer(const char *question)
{
    char *copy = sy_memory_string(question), *save = NULL, *answer;
    const char *word = strtok_r(copy, " ", &save);
    const char *token = strtok_r(NULL, " ", &save);
    const char *number = strtok_r(NULL, " ", &save);

    if (word && strcmp(word, "facts") == 0) {
        answer = check_probe_facts();
    } else if (word && strcmp(word, "clock") == 0) {
        answer = check_probe_clock_text();
    } else if (word && number && strcmp(word, "listen") == 0) {
        const char *high = strtok_r(NULL, " ", &save);

        answer = sy_measure_listen(token, atoi(number), atoi(high ? high : "0"));
    } else if (word && number && strcmp(word, "measure") == 0) {
        answer = sy_measure_connect(token, number, save ? save : "");
    } else {
        answer = check_probe_refuse("the question is not understood");
    }
    free(copy);
    return answer;
}
