/* Runs the suite over one plugin; see suite.h.
 *
 *     suite [-n PES] [-k PES_PER_NODE] [-N] [-s SEED] [-c CASE,...] [-x CASE,...] [-t SECONDS] [-v]
 *           [-j FOLDER] PLUGIN
 *
 * PLUGIN is a name, found as the library finds it, or a file shmem_transport_<name>.so. Its options
 * come from the environment, as in a job. -N: PEs of a node have each other's memory mapped, as
 * when the plugin is used between nodes beside one that maps, and the plugin is tried between nodes
 * only. -j: a launcher has started a process for each PE, which a plugin may need; the processes
 * share an empty folder, and do one job. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/route/route_check.h"
#include "core/start/transport_stubs.h"
#include "tests/transport/suite.h"
#include "util/option.h"
#include "util/plugin.h"

struct job_case {
    const char *name;
    void (*run)(void);
};

#define ROW(NAME) {#NAME, case_##NAME},
static const struct job_case cases[] = {SUITE_CASES(ROW){NULL, NULL}};
static const struct job_case lives[] = {SUITE_LIVES(ROW){NULL, NULL}};
#undef ROW

enum { UNUSABLE = 2 }; /* exit status of a PE that cannot load the plugin, and then of the suite */

static bool unusable;

enum { LOOKS_AT_END = 100 }; /* for processes that are left when the end has begun, one each 2 ms */

static int limit = 120; /* seconds for a case; for hangs, not a measure of speed */

static const char *only = "", *never = "";
static pid_t child[SUITE_PES];
static char *memory[SUITE_PES]; /* the file of each PE, mapped; then what is in no file */
static char *nameless[SUITE_PES];
static int files[SUITE_PES];

int suite_bound;

static const struct {
    size_t offset, length; /* in the file, or in the nameless memory */
} layout[SUITE_WINDOWS] = {
    [SUITE_HEAP] = {3 * SUITE_GUARD, 16 << 20},
    [SUITE_CONTROL] = {SUITE_GUARD, SUITE_GUARD},
    [SUITE_UNMAPPED] = {SUITE_GUARD, 4 * SUITE_GUARD},
};
static const size_t file_length = 4 * SUITE_GUARD + (16 << 20), nameless_length = 6 * SUITE_GUARD;

/* ---- memory ---- */

char *suite_memory(int pe, unsigned window)
{
    return (window == SUITE_UNMAPPED ? nameless[pe] : memory[pe]) + layout[window].offset;
}

static void fill_guards(int pe)
{
    memset(memory[pe], 0xa5, SUITE_GUARD);
    memset(memory[pe] + 2 * SUITE_GUARD, 0xa5, SUITE_GUARD);
    memset(memory[pe] + file_length - SUITE_GUARD, 0xa5, SUITE_GUARD);
    memset(nameless[pe], 0xa5, SUITE_GUARD);
    memset(nameless[pe] + nameless_length - SUITE_GUARD, 0xa5, SUITE_GUARD);
}

static bool is_guard(const char *at)
{
    for (size_t i = 0; i < SUITE_GUARD; i++)
        if ((unsigned char)at[i] != 0xa5)
            return false;
    return true;
}

static bool guards_hold(int pe)
{
    return is_guard(memory[pe]) && is_guard(memory[pe] + 2 * SUITE_GUARD) &&
           is_guard(memory[pe] + file_length - SUITE_GUARD) && is_guard(nameless[pe]) &&
           is_guard(nameless[pe] + nameless_length - SUITE_GUARD);
}

static const char *folder; /* of processes that a launcher has started; NULL: there is none */

/* A file in the folder, which whoever comes first makes. */
static int open_shared(const char *name, int pe, size_t length)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s.%d", folder, name, pe);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)length)) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void *map(int fd, size_t length)
{
    void *at = mmap(NULL, length, PROT_READ | PROT_WRITE,
                    fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

    if (at == MAP_FAILED) {
        perror("suite: mmap");
        exit(1);
    }
    return at;
}

/* Made before the processes, so that each can read all of it. */
static void make_memory(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        files[pe] = memfd_create("suite", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (files[pe] < 0 || ftruncate(files[pe], (off_t)file_length) ||
            fcntl(files[pe], F_ADD_SEALS, F_SEAL_SHRINK)) {
            perror("suite: memfd");
            exit(1);
        }
        memory[pe] = map(files[pe], file_length);
        nameless[pe] = map(-1, nameless_length);
        fill_guards(pe);
    }
}

/* Each PE writes its own guards, before the others look. */
static void share_memory(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        files[pe] = open_shared("memory", pe, file_length);
        memory[pe] = map(files[pe], file_length);
        int fd = open_shared("nameless", pe, nameless_length);
        nameless[pe] = map(fd, nameless_length);
        close(fd);
    }
    fill_guards(suite.pe);
}

static void free_memory(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        munmap(memory[pe], file_length);
        munmap(nameless[pe], nameless_length);
        close(files[pe]);
    }
}

/* ---- a PE ---- */

static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
            return true;
    return false;
}

static bool wanted(const char *name)
{
    return (!*only || listed(only, name)) && !listed(never, name);
}

/* PE 0 reports what is wrong; it is the same on all. */
static void load(void)
{
    static struct sy_plugin plugin;
    struct sy_options *options = sy_options_new();
    struct sy_error err = {""};
    int rc = sy_plugin_open("transport", suite.plugin, SY_TRANSPORT_ABI, sizeof sy_transport_stubs,
                            &sy_transport_stubs, &plugin, &err);

    if (!rc) {
        struct sy_error why = {""};
        rc = sy_route_check_table(plugin.table, &why);
        if (rc)
            snprintf(err.text, sizeof err.text, "transport plugin %s: %s", suite.plugin, why.text);
    }
    if (!rc) {
        suite.loaded = suite_watch_messages(plugin.table);
        suite.settings = calloc(1, suite.loaded->settings_size + 1);
        if (suite.loaded->options)
            rc = sy_options_add(options, suite.plugin, suite.loaded->options, suite.settings,
                                suite.loaded->settings_size, &err);
    }
    if (!rc)
        return;
    if (!suite.pe)
        fprintf(stderr, "suite: %s\n", err.text);
    _exit(UNUSABLE);
}

static void clear_windows(void)
{
    for (unsigned w = 0; w < SUITE_WINDOWS; w++)
        memset(suite.window[w].base, 0, suite.window[w].length);
}

static void run_case(const struct job_case *job)
{
    clear_windows();
    suite_random_begin((uint64_t)suite.pe * 1000 + (uint64_t)(job - cases));
    suite_doing(job->name);
    suite_barrier();
    if (!suite.pe)
        atomic_fetch_add(&suite.shared->beat, 1);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    job->run();
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    suite_doing(job->name);
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK(guards_hold(suite.pe), "memory outside the windows has been written");
    if (suite.verbose && !suite.pe)
        printf("%-12s %.1f s\n", job->name,
               (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    suite_barrier();
}

/* Some cases where only threads that wait call progress(). */
void case_unattended(void)
{
    suite_unattended();
    suite_up();
    for (const struct job_case *job = cases; job->name; job++)
        if (listed("reach,amo_exact,fence,signal,flood,many_to_one,random,threads", job->name))
            run_case(job);
    suite_down();
}

static void be_pe(int pe, const struct job_case *life)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    suite.pe = pe;
    for (unsigned w = 0; w < SUITE_WINDOWS; w++)
        suite.window[w] = (struct sy_region){.base = suite_memory(pe, w),
                                             .length = layout[w].length,
                                             .fd = w == SUITE_UNMAPPED ? -1 : files[pe],
                                             .fd_offset = layout[w].offset};
    suite_doing("start");
    load();
    if (life) {
        suite_doing(life->name);
        life->run();
        return;
    }
    suite_up();
    atomic_fetch_add(&suite.shared->started, 1);
    for (const struct job_case *job = cases; job->name; job++)
        if (wanted(job->name))
            run_case(job);
    suite_doing("end");
    suite_down();
}

/* ---- a job ---- */

static void kill_all(void)
{
    for (int pe = 0; pe < suite.npes; pe++)
        if (child[pe] > 0)
            kill(child[pe], SIGKILL);
}

/* One PE after the other, since each may send something to the next. One whose progress thread does
 * not come is passed over. */
static void ask_for_looks(void)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        if (child[pe] <= 0)
            continue;
        atomic_store(&suite.shared->asked, pe + 1);
        for (int k = 0; k < 100 && atomic_load(&suite.shared->asked); k++)
            usleep(10000);
    }
}

static void say_hang(void)
{
    fprintf(stderr, "suite: no end after %d s:\n", limit);
    for (int pe = 0; pe < suite.npes; pe++)
        if (child[pe] > 0)
            fprintf(stderr, "  PE %d is at %s\n", pe, suite.shared->doing[pe]);
    suite_say_messages();
    ask_for_looks();
}

static void take_end(pid_t pid, int status)
{
    for (int pe = 0; pe < suite.npes; pe++) {
        if (child[pe] != pid)
            continue;
        child[pe] = 0;
        if (status && !unusable)
            fprintf(stderr, "suite: PE %d ended with %s %d at %s\n", pe,
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
                    suite.shared->doing[pe]);
    }
}

/* Waits for the processes. After a PE has failed or been lost, the others get a moment to leave
 * too. */
static bool wait_all(void)
{
    uint64_t beat = 0;
    time_t begin = time(NULL);
    int left = suite.npes, ending = 0; /* looks since the end has begun */
    bool good = true, killed = false;

    while (left) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid > 0) {
            left--;
            unusable |= WIFEXITED(status) && WEXITSTATUS(status) == UNUSABLE;
            take_end(pid, killed || (ending && WIFEXITED(status)) ? 0 : status);
            if (status && !killed) {
                good = false;
                atomic_store(&suite.shared->stop, 1);
            }
            continue;
        }
        time_t now = time(NULL);
        if (ending || atomic_load(&suite.shared->stop) || atomic_load(&suite.shared->lost))
            ending++;
        killed = ending > LOOKS_AT_END;
        if (killed)
            kill_all();
        if (beat != atomic_load(&suite.shared->beat)) {
            beat = atomic_load(&suite.shared->beat);
            begin = now;
        }
        if (!ending && now > begin + limit) {
            say_hang();
            good = false;
            ending = LOOKS_AT_END;
        }
        usleep(2000);
    }
    return good;
}

static bool
    begun; /* in the last job of cases the plugin has been opened and connected by all PEs */

/* One job: all cases, or with `life` that one. */
static bool run_job(const struct job_case *life)
{
    suite.shared = map(-1, sizeof *suite.shared);
    make_memory();
    for (int pe = 0; pe < suite.npes; pe++) {
        fflush(NULL);
        child[pe] = fork();
        if (child[pe] < 0) {
            perror("suite: fork");
            exit(1);
        }
        if (!child[pe]) {
            be_pe(pe, life);
            exit(0);
        }
    }
    bool good = wait_all();
    if (unusable) /* PE 0 has said why */
        exit(UNUSABLE);
    for (int pe = 0; pe < suite.npes; pe++)
        if (!guards_hold(pe)) {
            fprintf(stderr, "suite: memory outside the windows of PE %d has been written\n", pe);
            good = false;
        }
    if (atomic_load(&suite.shared->failed))
        good = false;
    char which[32] = "";
    if (life && life->run == case_bounds)
        snprintf(which, sizeof which, " %d of %d", suite_bound + 1, SUITE_BOUNDS);
    printf("suite: %s %s%s: %s: %llu checks, %llu failed, %llu data calls, %llu answered -EAGAIN\n",
           suite.plugin, life ? life->name : "cases", which, good ? "passed" : "FAILED",
           (unsigned long long)suite.shared->checks, (unsigned long long)suite.shared->failed,
           (unsigned long long)suite.shared->calls, (unsigned long long)suite.shared->agains);
    begun = atomic_load(&suite.shared->started) == (uint32_t)suite.npes;
    munmap(suite.shared, sizeof *suite.shared);
    free_memory();
    return good;
}

/* The job that a launcher has started: the cases, or the one life that is named. */
static bool run_launched(void)
{
    const char *rank = getenv("PMI_RANK");
    const struct job_case *life = lives;

    if (!rank)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank || atoi(rank) >= suite.npes) {
        fprintf(stderr, "suite: -j: the launcher does not say which of %d PEs this is\n",
                suite.npes);
        return false;
    }
    suite.pe = atoi(rank);
    int fd = open_shared("shared", 0, sizeof *suite.shared);
    suite.shared = map(fd, sizeof *suite.shared);
    close(fd);
    share_memory();
    while (life->name && !(*only && wanted(life->name)))
        life++;
    be_pe(suite.pe, life->name ? life : NULL);
    suite_barrier_asleep();
    if (!suite.pe)
        printf("suite: %s %s: %llu checks, %llu failed\n", suite.plugin,
               life->name ? life->name : "cases", (unsigned long long)suite.shared->checks,
               (unsigned long long)suite.shared->failed);
    return !atomic_load(&suite.shared->failed);
}

static bool run_all(void)
{
    bool good = true, some = !*only;

    for (const struct job_case *job = cases; job->name; job++)
        some |= wanted(job->name);
    if (some)
        good = run_job(NULL);
    if (some && !begun) {
        fprintf(stderr, "suite: the plugin does not start; the other cases are left out\n");
        return false;
    }
    for (const struct job_case *life = lives; life->name; life++) {
        int jobs = life->run == case_bounds ? SUITE_BOUNDS : 1;
        for (suite_bound = 0; suite_bound < jobs && wanted(life->name); suite_bound++)
            good &= run_job(life);
    }
    return good;
}

/* ---- command line ---- */

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: suite [-n PES] [-k PES_PER_NODE] [-N] [-s SEED] [-c CASE,...] [-x CASE,...] "
        "[-t SECONDS] [-v] [-j FOLDER] PLUGIN\n"
        "  -n  processes, 2 to %d (4)\n"
        "  -k  of them on a node (all)\n"
        "  -N  the PEs of a node have each other's memory mapped, as beside a plugin that maps\n"
        "  -s  seed of the random cases (1)\n"
        "  -c  these cases only\n"
        "  -x  all but these cases\n"
        "  -t  seconds after which a case that does not end has failed (%d)\n"
        "  -v  what the plugin logs, and how long each case takes\n"
        "  -j  a launcher has started a process for each PE; they share this empty folder\n"
        "  PLUGIN  a name, or a file shmem_transport_NAME.so\n"
        "cases:",
        SUITE_PES, limit);
    for (const struct job_case *job = cases; job->name; job++)
        fprintf(to, " %s", job->name);
    for (const struct job_case *life = lives; life->name; life++)
        fprintf(to, " %s", life->name);
    fputc('\n', to);
    return to == stdout ? 0 : 2;
}

static bool is_case(const char *name, size_t length)
{
    for (const struct job_case *job = cases; job->name; job++)
        if (strlen(job->name) == length && !strncmp(job->name, name, length))
            return true;
    for (const struct job_case *life = lives; life->name; life++)
        if (strlen(life->name) == length && !strncmp(life->name, name, length))
            return true;
    return false;
}

/* Whether all names of a list are some case's. */
static bool know_cases(const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (!is_case(at, length)) {
            fprintf(stderr, "suite: there is no case '%.*s'\n", (int)length, at);
            return false;
        }
    }
    return true;
}

/* Searches a file's folder first; the name is the one that the loader derives from the file's. */
static bool name_plugin(char *argument)
{
    char *path = strdup(argument), *dot = strrchr(argument, '.'), *file = basename(argument);

    suite.plugin = argument;
    if (!strchr(argument, '/') && (!dot || strcmp(dot, ".so") != 0))
        return true;
    if (access(argument, R_OK)) {
        fprintf(stderr, "suite: %s: %s\n", argument, strerror(errno));
        return false;
    }
    if (!dot || dot < file || strncmp(file, "shmem_transport_", 16) != 0) {
        fprintf(stderr, "suite: %s: the file of a plugin is called shmem_transport_NAME.so\n",
                argument);
        return false;
    }
    *dot = '\0';
    suite.plugin = strdup(file + 16);
    setenv("SHMEM_PLUGIN_PATH", dirname(path), 1);
    return true;
}

int main(int argc, char **argv)
{
    suite.npes = 4;
    suite.seed = 1;
    for (int flag; (flag = getopt(argc, argv, "n:k:Ns:c:x:t:vj:h")) != -1;) {
        if (flag == 'n')
            suite.npes = atoi(optarg);
        else if (flag == 'k')
            suite.per_node = atoi(optarg);
        else if (flag == 'N')
            suite.neighbours = true;
        else if (flag == 't')
            limit = atoi(optarg);
        else if (flag == 'v')
            suite.verbose = true;
        else if (flag == 's')
            suite.seed = strtoull(optarg, NULL, 0);
        else if (flag == 'c')
            only = optarg;
        else if (flag == 'x')
            never = optarg;
        else if (flag == 'j')
            folder = optarg;
        else
            return usage(flag == 'h' ? stdout : stderr);
    }
    if (optind != argc - 1 || suite.npes < 2 || suite.npes > SUITE_PES)
        return usage(stderr);
    if (suite.per_node <= 0)
        suite.per_node = suite.npes;
    if (suite.neighbours && suite.npes % suite.per_node)
        return usage(stderr);
    if (!know_cases(only) || !know_cases(never) || !name_plugin(argv[optind]))
        return 2;
    return (folder ? run_launched() : run_all()) ? 0 : 1;
}
