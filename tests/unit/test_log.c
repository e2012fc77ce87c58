/* Log lines: their form, which of them are written, and where they go. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "scratch.h"
#include "util/error.h"
#include "util/log.h"

static struct sy_error err;
static char text[1 << 20];

static void open_log(void)
{
    scratch_open();
    int fd = open("stderr", O_RDWR | O_CREAT | O_APPEND, 0666);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    close(fd);
}

/* What has been written to a file; empties it for the next check. */
static const char *written(const char *path)
{
    int fd = open(path, O_RDWR);

    if (fd < 0)
        return "(no file)";
    ssize_t length = read(fd, text, sizeof text - 1);
    ck_assert_int_ge(length, 0);
    text[length] = '\0';
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    close(fd);
    return text;
}

static void expect(const char *path, const char *pattern)
{
    const char *found = written(path);
    regex_t regex;

    ck_assert_int_eq(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    ck_assert_msg(!regexec(&regex, found, 0, NULL, 0), "not %s: %s", pattern, found);
    regfree(&regex);
}

static void configure(enum sy_log_level level, const char *categories, const char *pes,
                      const char *file)
{
    ck_assert_msg(!sy_log_configure(level, categories, pes, file, &err), "%s", err.text);
}

START_TEST(test_lines)
{
    char process[64];

    snprintf(process, sizeof process, "^process %ld: warning: boot: early 1\n$", (long)getpid());
    errno = ENOENT;
    sy_log(SY_LOG_WARN, "boot", "early %d", 1);
    ck_assert_int_eq(errno, ENOENT);
    expect("stderr", process);
    sy_log_guess(2, "vm0");
    sy_log(SY_LOG_WARN, "boot", "not joined");
    expect("stderr", "^PE 2@vm0: warning: boot: not joined\n$");
    sy_log_identity(3, "vm1", "job");
    configure(SY_LOG_DEBUG, NULL, NULL, NULL);
    sy_log(SY_LOG_WARN, "", "'%s'", "\033[31m\a\r\n\302\233\177 \t\303\274");
    expect("stderr", "^PE 3@vm1: warning: '\\?\\[31m\\?{6} \t\303\274'\n$");
    errno = ENOENT;
    sy_log(SY_LOG_DEBUG, "routes", "%m");
    expect("stderr", "PE 3@vm1: debug: routes: No such file or directory\n$");
    sy_log(SY_LOG_WARN, "routes", "a text");
    expect("stderr", "^PE 3@vm1: warning: routes: a text\n$");
    sy_log(SY_LOG_ERROR, "", "no category");
    expect("stderr", "^PE 3@vm1: error: no category\n$");
    configure(SY_LOG_TRACE, NULL, NULL, NULL);
    sy_log(SY_LOG_INFO, "a", "b");
    expect("stderr", "^PE 3@vm1: info: a: b\n$");
    sy_log(SY_LOG_DEBUG, "a", "b");
    expect("stderr", "^[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} PE 3@vm1: debug: a: b\n$");
    sy_log(SY_LOG_TRACE, "a", "b");
    expect("stderr", "^[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} PE 3@vm1: trace: a: b\n$");
}
END_TEST

START_TEST(test_long_line)
{
    char longer[8000], shorter[3000];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    sy_log(SY_LOG_WARN, "boot", "%s", longer);
    const char *line = written("stderr");
    ck_assert_uint_eq(strlen(line), 4096);
    ck_assert_str_eq(line + 4096 - 8, "x [...]\n");
    /* Every length up to there is whole. */
    memset(shorter, 'y', sizeof shorter - 1);
    shorter[sizeof shorter - 1] = '\0';
    sy_log(SY_LOG_WARN, "boot", "%s", shorter);
    line = written("stderr");
    ck_assert_ptr_nonnull(strstr(line, shorter));
    ck_assert_ptr_null(strstr(line, "[...]"));
}
END_TEST

START_TEST(test_levels)
{
    for (int level = SY_LOG_ERROR; level <= SY_LOG_TRACE; level++) {
        configure((enum sy_log_level)level, "", "", "");
        for (int line = SY_LOG_ERROR; line <= SY_LOG_TRACE; line++) {
            ck_assert_int_eq(sy_log_enabled((enum sy_log_level)line, "boot"), line <= level);
            sy_log((enum sy_log_level)line, "boot", "x");
            ck_assert_int_eq(*written("stderr") != '\0', line <= level);
        }
    }
}
END_TEST

START_TEST(test_categories)
{
    configure(SY_LOG_DEBUG, "boot,routes", NULL, NULL);
    ck_assert(sy_log_enabled(SY_LOG_DEBUG, "boot"));
    ck_assert(sy_log_enabled(SY_LOG_DEBUG, "routes"));
    ck_assert(!sy_log_enabled(SY_LOG_TRACE, "routes"));
    ck_assert(!sy_log_enabled(SY_LOG_DEBUG, "memory"));
    ck_assert(!sy_log_enabled(SY_LOG_INFO, "memory"));
    ck_assert(sy_log_enabled(SY_LOG_WARN, "memory"));
    ck_assert(!sy_log_enabled(SY_LOG_DEBUG, "route"));
    ck_assert(!sy_log_enabled(SY_LOG_DEBUG, "boot,routes"));
    ck_assert(!sy_log_enabled(SY_LOG_DEBUG, ""));
    configure(SY_LOG_DEBUG, "all", NULL, NULL);
    ck_assert(sy_log_enabled(SY_LOG_DEBUG, "memory"));
    configure(SY_LOG_ERROR, "boot", NULL, NULL); /* names categories, but asks for less */
    ck_assert(!sy_log_enabled(SY_LOG_WARN, "boot"));
    ck_assert(!sy_log_enabled(SY_LOG_WARN, "memory"));
}
END_TEST

START_TEST(test_pes)
{
    configure(SY_LOG_WARN, NULL, "0,4-7", NULL);
    sy_log(SY_LOG_WARN, "boot", "before anybody knows who this is");
    expect("stderr", "before anybody");
    sy_log_identity(3, "h", "j");
    sy_log(SY_LOG_WARN, "boot", "x");
    ck_assert_str_eq(written("stderr"), "");
    sy_log(SY_LOG_ERROR, "boot", "x");
    expect("stderr", "PE 3@h: error: boot: x");
    sy_log_identity(5, "h", "j");
    sy_log(SY_LOG_WARN, "boot", "x");
    expect("stderr", "PE 5@h: warning: boot: x");
    configure(SY_LOG_WARN, NULL, "4", NULL);
    sy_log(SY_LOG_WARN, "boot", "x");
    ck_assert_str_eq(written("stderr"), "");
}
END_TEST

START_TEST(test_file)
{
    char name[64];

    scratch_write("log", "kept\n");
    configure(SY_LOG_WARN, NULL, NULL, "log");
    sy_log(SY_LOG_WARN, "boot", "one");
    sy_log(SY_LOG_ERROR, "boot", "two");
    expect("log", "^kept\nprocess [0-9]+: warning: boot: one\nprocess [0-9]+: error: boot: two\n$");
    expect("stderr", "^process [0-9]+: error: boot: two\n$");
    ck_assert_int_eq(mkfifo("pipe", 0600), 0); /* that nobody reads */
    ck_assert_int_eq(sy_log_configure(SY_LOG_WARN, NULL, NULL, "pipe", &err), -ENXIO);
    configure(SY_LOG_WARN, NULL, NULL, NULL);
    sy_log(SY_LOG_WARN, "boot", "three");
    expect("stderr", "three");
    snprintf(name, sizeof name, "%ld-100%%", (long)getpid());
    configure(SY_LOG_WARN, NULL, NULL, "%p-100%%"); /* needs no identity */
    sy_log(SY_LOG_WARN, "boot", "four");
    expect(name, "four");
    ck_assert_int_eq(symlink("/dev/full", "full\033"), 0);
    configure(SY_LOG_WARN, NULL, NULL, "full\033");
    sy_log(SY_LOG_WARN, "boot", "five");
    expect("stderr",
           "^process [0-9]+: warning: the log file full\\? .*go to stderr\nprocess .*five\n$");
}
END_TEST

/* A write that the system refuses by a signal, and one that waits for a reader, do not stop the
 * program. */
START_TEST(test_file_that_takes_no_more)
{
    struct rlimit before, limit;
    sigset_t pending;

    configure(SY_LOG_WARN, NULL, NULL, "limited");
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit); /* of what Check writes, too */
    for (int i = 0; i < 10; i++)
        sy_log(SY_LOG_WARN, "boot", "%d", i); /* stderr is a file too */
    sigpending(&pending);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(sigismember(&pending, SIGXFSZ), 0);
    expect("limited", "boot: 0\n.*boot: 1\n");
    expect("stderr", "^process [0-9]+: warning: the log file limited \\(SHMEM_LOG_FILE\\) cannot");
    ck_assert_int_eq(mkfifo("fifo", 0600), 0);
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    configure(SY_LOG_WARN, NULL, NULL, "fifo");
    alarm(20);
    for (int i = 0; i < 2000; i++)
        sy_log(SY_LOG_WARN, "boot", "%d: %0100d", i, i);
    sy_log(SY_LOG_ERROR, "boot", "last");
    alarm(0);
    close(reader);
}
END_TEST

START_TEST(test_file_of_a_pe)
{
    configure(SY_LOG_WARN, NULL, NULL, "%j.%h.%r.log");
    sy_log(SY_LOG_WARN, "boot", "early");
    expect("stderr", "early");
    sy_log_identity(12, "vm1", "job7");
    sy_log(SY_LOG_WARN, "boot", "late");
    expect("job7.vm1.12.log", "^PE 12@vm1: warning: boot: late\n$");
    ck_assert_str_eq(written("stderr"), "");
    configure(SY_LOG_WARN, NULL, NULL, "%r"); /* known by now: opened at once */
    sy_log(SY_LOG_WARN, "boot", "later");
    expect("12", "later");
}
END_TEST

static void fails(const char *pes, const char *file, const char *word)
{
    ck_assert_int_lt(sy_log_configure(SY_LOG_TRACE, NULL, pes, file, &err), 0);
    ck_assert_msg(strstr(err.text, word), "%s", err.text);
    ck_assert(!sy_log_enabled(SY_LOG_INFO, "boot")); /* nothing has changed */
}

START_TEST(test_errors)
{
    char longer[2000];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    fails("0-", "", "SHMEM_LOG_PES=0-");
    fails("", "log.%d", "SHMEM_LOG_FILE=log.%d");
    fails("", "log%", "SHMEM_LOG_FILE=log%");
    fails("", "no/such/log", "no/such/log");
    fails("", longer, "SHMEM_LOG_FILE");
    fails(longer, "", "SHMEM_LOG_PES");
    ck_assert_int_eq(sy_log_configure(SY_LOG_TRACE, NULL, NULL, "no/such/log", &err), -ENOENT);
    /* A name that is complete only later: a warning, and lines continue on stderr. */
    configure(SY_LOG_WARN, NULL, NULL, "no/such/log.%r");
    sy_log_identity(1, "h", "j");
    expect("stderr", "^PE 1@h: warning: .*no/such/log\\.1.*stderr\n$");
    sy_log(SY_LOG_WARN, "boot", "x");
    expect("stderr", "^PE 1@h: warning: boot: x\n$");
}
END_TEST

enum { THREADS = 4, LINES = 2000 };

static void *write_lines(void *who)
{
    for (int i = 0; i < LINES; i++)
        sy_log(SY_LOG_WARN, "boot", "thread %s line %d.", (const char *)who, i);
    return NULL;
}

/* Threads that write at once, through a non-blocking pipe that is full at times. */
START_TEST(test_threads)
{
    static char names[THREADS][2] = {"a", "b", "c", "d"};
    pthread_t thread[THREADS];
    int ends[2], next[THREADS] = {0};
    char line[256];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&thread[t], NULL, write_lines, names[t]), 0);
    FILE *reader = fdopen(ends[0], "r");
    for (int i = 0; i < THREADS * LINES; i++) {
        char who;
        int number, end = 0;
        ck_assert_ptr_nonnull(fgets(line, sizeof line, reader));
        int n = sscanf(line, "process %*d: warning: boot: thread %c line %d.%n", &who, &number,
                       &end);
        ck_assert_msg(n == 2 && end && !strcmp(line + end, "\n"), "%s", line);
        ck_assert_int_eq(number, next[who - 'a']++);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    fclose(reader);
}
END_TEST

START_TEST(test_fail)
{
    struct sy_error why = {""};

    ck_assert_int_eq(sy_fail(&why, ENOENT, "%s is %d", "x", 1), -ENOENT);
    ck_assert_str_eq(why.text, "x is 1");
    ck_assert_int_eq(sy_fail(NULL, EINVAL, "nobody asks"), -EINVAL);
    ck_assert_int_eq(sy_fail(&why, EINVAL, "%01000d", 0), -EINVAL);
    ck_assert_str_eq(why.text + sizeof why.text - 6, "00...");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, open_log, scratch_close);
    tcase_add_test(all, test_lines);
    tcase_add_test(all, test_long_line);
    tcase_add_test(all, test_levels);
    tcase_add_test(all, test_categories);
    tcase_add_test(all, test_pes);
    tcase_add_test(all, test_file);
    tcase_add_test(all, test_file_that_takes_no_more);
    tcase_add_test(all, test_file_of_a_pe);
    tcase_add_test(all, test_errors);
    tcase_add_test(all, test_threads);
    tcase_add_test(all, test_fail);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
