/* A file space that is kept. Whatever ends a job, the next one finds on all PEs the same
 * generation, exactly with its contents: half of the words are stores of their PE, half are puts of
 * another.
 *
 *   keep go SYNCS        goes on from what is there and makes so many generations
 *   keep kill VICTIM US  goes on without an end; after so many microseconds PE VICTIM (-1: every
 *                        PE) kills itself
 *   keep refused CODE    shmemx_space_create returns CODE on all PEs
 *   keep little NAME     of a space of 200 MB one byte is stored, and the generation in the
 * directory NAME has few blocks; the same behind going on from it keep anew            without
 * SHMEMX_SPACE_FLAG_RESTART: zeros, and one generation keep full BALLAST    the disk has no room
 * for a generation until the file BALLAST is removed keep hold NAME       has the space until there
 * is a file NAME keep lost HOW        PE 1's working file is shortened: before a sync, which fails
 * on all PEs, and before HOW, which ends the job: PE 0 puts there, or PE 1 loads keep fork HOW a
 * child of fork() does not keep the space from being made again keep fail VICTIM     PE VICTIM
 * alone fails in each step of a generation, one after another
 *
 * KEEP_BYTES is the size of the space. The file "progress" has the last generation that PE 0 knows
 * to be kept. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <shmem.h>
#include <shmemx.h>

static int me, npes, progress;
static size_t words;
static uint64_t *block, *staged;
static shmemx_space_t space;

#define NEED(condition, ...)                                                                       \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("PE %d, line %d: %s: ", me, __LINE__, #condition);                              \
            printf(__VA_ARGS__);                                                                   \
            putchar('\n');                                                                         \
            fflush(stdout);                                                                        \
            shmem_global_exit(1);                                                                  \
        }                                                                                          \
    } while (0)

static uint64_t word_of(uint64_t generation, int pe, size_t i)
{
    uint64_t x = (generation << 40) + ((uint64_t)pe << 32) + i;

    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return generation ? x ^ x >> 29 : 0;
}

/* All PEs are given the same generation, and its words are there (0: zeros), none else. Nobody goes
 * on, to put others there, before all have looked. */
static void verify(uint64_t generation)
{
    static uint64_t mine, least, most;

    mine = generation;
    shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, &least, &mine, 1);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    NEED(least == most, "generations %" PRIu64 " to %" PRIu64, least, most);
    for (size_t i = 0; i < words; i++)
        NEED(block[i] == word_of(generation, me, i), "word %zu is not of generation %" PRIu64, i,
             generation);
    shmem_barrier_all();
}

static void fill(uint64_t generation)
{
    int next = (me + 1) % npes;

    for (size_t i = 0; i < words / 2; i++)
        block[i] = word_of(generation, me, i);
    for (size_t i = words / 2; i < words; i++)
        staged[i] = word_of(generation, next, i);
    shmem_uint64_put(block + words / 2, staged + words / 2, words - words / 2, next);
}

static void make(uint64_t generation)
{
    uint64_t kept = 0;

    fill(generation);
    NEED(!shmemx_space_sync(space, &kept), "generation %" PRIu64, generation);
    NEED(kept == generation, "%" PRIu64 " and not %" PRIu64, kept, generation);
    if (!me)
        NEED(pwrite(progress, &kept, sizeof kept, 0) == sizeof kept, "progress");
}

static shmem_team_t kept_team;

static uint64_t open_space(int flags)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_FILE,
                                          .size = (words + 512) * sizeof *block,
                                          .flags = flags,
                                          .name = "kept"};
    uint64_t generation = UINT64_MAX;
    shmemx_space_cap_t caps = 0;

    NEED(!shmemx_space_create(&config, &space, &kept_team), "shmemx_space_create");
    NEED(!shmemx_space_get_caps(space, &caps) && caps & SHMEMX_SPACE_CAP_DURABLE, "%x",
         (unsigned)caps);
    NEED(!shmemx_space_generation(space, &generation), "shmemx_space_generation");
    block = shmemx_space_malloc(space, words * sizeof *block);
    NEED(block, "shmemx_space_malloc");
    return generation;
}

/* Goes on from what is there, which is not less than what PE 0 knew, and at most one more. */
static uint64_t go_on(void)
{
    uint64_t generation = open_space(SHMEMX_SPACE_FLAG_RESTART), known = 0;

    verify(generation);
    if (!me && pread(progress, &known, sizeof known, 0) == sizeof known)
        NEED(generation == known || generation == known + 1,
             "generation %" PRIu64 ", but %" PRIu64 " was kept", generation, known);
    return generation;
}

static void kill_self(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void die_later(int victim, long microseconds)
{
    const struct itimerval at = {.it_value = {microseconds / 1000000, microseconds % 1000000}};

    signal(SIGALRM, kill_self);
    if (victim < 0 || victim == me)
        setitimer(ITIMER_REAL, &at, NULL);
}

static void refused(int code)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_FILE,
                                          .size = (words + 512) * sizeof *block,
                                          .flags = SHMEMX_SPACE_FLAG_RESTART,
                                          .name = "kept"};
    shmem_team_t team;
    int rc = shmemx_space_create(&config, &space, &team);

    NEED(rc == code, "%d and not %d", rc, code);
    NEED(space == SHMEMX_SPACE_INVALID && team == SHMEM_TEAM_INVALID, "a space all the same");
}

static void little(const char *name)
{
    shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_FILE, .size = (size_t)200 << 20, .name = "little"};
    char generation[300];
    struct stat file;
    uint64_t kept;

    for (int round = 0; round < 2; round++) {
        NEED(!shmemx_space_create(&config, &space, &kept_team), "shmemx_space_create");
        char *byte = shmemx_space_malloc(space, config.size / 2);
        NEED(byte && byte[config.size / 4] == round, "%d", round);
        byte[config.size / 4] = 1;
        NEED(!shmemx_space_sync(space, &kept) && kept == 1 + (uint64_t)round, "%" PRIu64, kept);
        snprintf(generation, sizeof generation, "%s/%d", name, round + 1);
        NEED(!stat(generation, &file), "%s", generation);
        printf("%ld blocks\n", (long)file.st_blocks);
        NEED(file.st_blocks < (64 << 20) / 512, "%ld blocks", (long)file.st_blocks);
        shmemx_space_free(space, byte);
        shmem_team_destroy(kept_team);
        NEED(!shmemx_space_destroy(space), "shmemx_space_destroy");
        config.flags = SHMEMX_SPACE_FLAG_RESTART;
    }
}

/* A generation that cannot be written leaves the last one and the space as they are. */
static void full(const char *ballast)
{
    uint64_t generation = go_on(), now;

    fill(generation + 1);
    NEED(shmemx_space_sync(space, &now), "there is room");
    NEED(!shmemx_space_generation(space, &now) && now == generation, "%" PRIu64, now);
    verify(generation + 1);
    if (!me)
        NEED(!unlink(ballast), "%s", ballast);
    shmem_barrier_all();
    make(generation + 1);
}

/* ---- one PE that fails ---- */

static char directory[256]; /* of this PE's generations */

static const char *path(uint64_t generation, const char *what)
{
    static char text[512];

    snprintf(text, sizeof text, "%s/%" PRIu64 "%s", directory, generation, what);
    return text;
}

/* Makes the next generation fail here, or (mend) makes it possible again. */
static int break_limit(uint64_t generation, int mend)
{
    struct rlimit limit;

    (void)generation;
    signal(SIGXFSZ, SIG_IGN);
    return getrlimit(RLIMIT_FSIZE, &limit) ||
           (limit.rlim_cur = mend ? limit.rlim_max : 4096, setrlimit(RLIMIT_FSIZE, &limit));
}

static int break_right(uint64_t generation, int mend)
{
    static uid_t before;

    (void)generation;
    if (mend)
        return (before == 0 && seteuid(0)) || chmod(directory, 0700);
    before = geteuid();
    return chmod(directory, 0500) || (before == 0 && seteuid(65534));
}

static int break_directory(const char *name, int mend)
{
    return mend ? rmdir(name) : mkdir(name, 0700);
}

static int break_file(uint64_t generation, int mend)
{
    char name[300];

    (void)generation;
    snprintf(name, sizeof name, "%s/writing", directory);
    return break_directory(name, mend);
}

static int break_prepared(uint64_t generation, int mend)
{
    return break_directory(path(generation, ".prepared"), mend);
}

static int break_name(uint64_t generation, int mend)
{
    return break_directory(path(generation, ""), mend);
}

/* The directory is gone for good, with all that was kept. */
static int break_all(uint64_t generation, int mend)
{
    char command[600];

    (void)generation;
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return mend ? 0 : system(command);
}

/* What every PE is to be told, and whether the generation is the last one all the same. */
static const struct {
    int (*act)(uint64_t generation, int mend);
    int code, whole;
} failures[] = {{break_limit, -EFBIG, 0}, {break_right, -EACCES, 0},    {break_file, -EEXIST, 0},
                {break_name, -EISDIR, 1}, {break_prepared, -EISDIR, 0}, {break_all, -ENOENT, 0}};

/* Has the space until there is a file of this name. */
static void hold(const char *name)
{
    uint64_t generation = go_on();

    make(generation + 1);
    if (!me) {
        puts("held");
        fflush(stdout);
    }
    for (int i = 0; access(name, F_OK) && i < 3000; i++)
        usleep(10000);
    make(generation + 2);
}

static void forked(void)
{
    uint64_t generation = go_on();
    pid_t child = fork();

    if (!child) {
        pause();
        _exit(0);
    }
    NEED(child > 0, "%s", strerror(errno));
    shmem_barrier_all();
    shmemx_space_free(space, block);
    shmem_team_destroy(kept_team);
    NEED(!shmemx_space_destroy(space), "shmemx_space_destroy");
    NEED(open_space(SHMEMX_SPACE_FLAG_RESTART) == generation, "another generation");
    kill(child, SIGKILL);
}

static void fail(int victim)
{
    uint64_t generation = go_on(), now;

    snprintf(directory, sizeof directory, "%s/kept.%d", getenv("SHMEM_FILE_DIRECTORY"), me);
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        fill(generation + 1);
        shmem_barrier_all();
        NEED(me != victim || !failures[i].act(generation + 1, 0), "%zu: %s", i, strerror(errno));
        int rc = shmemx_space_sync(space, NULL);
        NEED(rc == failures[i].code, "%zu: %d and not %d", i, rc, failures[i].code);
        NEED(me != victim || !failures[i].act(generation + 1, 1), "%zu: %s", i, strerror(errno));
        NEED(!shmemx_space_generation(space, &now), "%zu", i);
        NEED(now == generation + (uint64_t)failures[i].whole, "%zu: %" PRIu64, i, now);
        verify(generation + 1);
        generation = now;
        if (failures[i].act != break_all)
            make(++generation);
    }
}

/* Shortens this PE's working file, which has no name: by its descriptor. */
static void shorten(void)
{
    char name[64], there[500];
    int cut = 0;

    for (int fd = 3; fd < 200; fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, there, sizeof there - 1);
        there[length > 0 ? length : 0] = '\0';
        if (!strncmp(there, getenv("SHMEM_FILE_DIRECTORY"),
                     strlen(getenv("SHMEM_FILE_DIRECTORY"))) &&
            strstr(there, " (deleted)"))
            cut += !ftruncate(fd, 4096);
    }
    NEED(cut == 1, "%d files have been shortened", cut);
}

static void lost(const char *how)
{
    uint64_t generation = go_on(), now;

    fill(generation + 1);
    shmem_barrier_all();
    if (me == 1)
        shorten();
    shmem_barrier_all();
    int rc = shmemx_space_sync(space, NULL);
    NEED(rc == -EIO, "%d", rc);
    NEED(!shmemx_space_generation(space, &now) && now == generation, "%" PRIu64, now);
    if (me == 0 && !strcmp(how, "put"))
        shmem_uint64_put(block + words / 2, staged + words / 2, words - words / 2, 1);
    if (me == 1 && !strcmp(how, "load"))
        printf("%" PRIu64 "\n", block[words - 1]);
    shmem_barrier_all();
    NEED(0, "the file is not lost");
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    const char *bytes = getenv("KEEP_BYTES");

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    words = (bytes ? strtoul(bytes, NULL, 10) : 200000) / sizeof *block;
    staged = malloc(words * sizeof *staged);
    progress = open("progress", O_RDWR | O_CREAT, 0600);
    NEED(staged && progress >= 0, "%s", strerror(errno));
    if (!strcmp(what, "go") || !strcmp(what, "kill")) {
        uint64_t generation = go_on(), syncs = UINT64_MAX;
        if (argc > 3)
            die_later(atoi(argument), atol(argv[3]));
        else
            syncs = strtoul(argument, NULL, 10);
        while (syncs--)
            make(++generation);
        if (!me)
            printf("generation %" PRIu64 "\n", generation);
    } else if (!strcmp(what, "refused")) {
        refused(atoi(argument));
    } else if (!strcmp(what, "little")) {
        little(argument);
    } else if (!strcmp(what, "anew")) {
        uint64_t generation = open_space(SHMEMX_SPACE_FLAG_DEFAULT);
        verify(0);
        make(generation + 1);
    } else if (!strcmp(what, "hold")) {
        hold(argument);
    } else if (!strcmp(what, "lost")) {
        lost(argument);
    } else if (!strcmp(what, "fork")) {
        forked();
    } else if (!strcmp(what, "full")) {
        full(argument);
    } else {
        NEED(!strcmp(what, "fail"), "usage");
        fail(atoi(argument));
    }
    shmem_finalize();
    return 0;
}
