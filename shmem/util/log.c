/* Log lines: see log.h. A line is made in one buffer on the stack and leaves in one write(), so any
 * thread may log at any time. Must not know where settings come from. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/error.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/printable.h"
#include "util/words.h"

enum {
    LINE_MAX_BYTES = 4096, /* a pipe takes as much at once, unmixed with others' */
    PATIENCE_MS = 1000     /* for the reader of a log file that is a pipe */
};

static struct {
    bool known, guessed; /* sy_log_identity, sy_log_guess was called */
    int pe;
    char host[64], job[40];
    enum sy_log_level level, others; /* of the chosen categories; of the rest */
    char categories[512], pes[512], file[1024];
    bool silent; /* this PE is not among pes */
    int fd;      /* of the file, or -1 */
} sink = {.level = SY_LOG_WARN, .others = SY_LOG_WARN, .fd = -1};

/* ---- where lines go ---- */

/* Fills in a file pattern. Returns 0, -EINVAL for a malformed pattern, -ENAMETOOLONG, or -EAGAIN
 * when it needs the identity and that is not known yet. */
static int util_log_expand(const char *pattern, char *out, size_t room)
{
    size_t used = 0;
    int rc = 0;

    for (; *pattern; pattern++) {
        char letter[2] = {*pattern, '\0'}, number[16];
        const char *piece = letter;
        if (*pattern == '%') {
            switch (*++pattern) {
            case '%':
                break;
            case 'p':
                snprintf(number, sizeof number, "%ld", (long)getpid());
                piece = number;
                break;
            case 'r':
                snprintf(number, sizeof number, "%d", sink.pe);
                piece = number;
                rc = sink.known ? rc : -EAGAIN;
                break;
            case 'h':
            case 'j':
                piece = *pattern == 'h' ? sink.host : sink.job;
                rc = sink.known ? rc : -EAGAIN;
                break;
            default:
                return -EINVAL;
            }
        }
        if (used + strlen(piece) >= room)
            return -ENAMETOOLONG;
        used += (size_t)snprintf(out + used, room - used, "%s", piece);
    }
    out[used] = '\0';
    return rc;
}

/* Opens the file that `pattern` names. *fd is -1 for stderr and while the name is not known. */
static int util_log_open_file(const char *pattern, int *fd, struct sy_error *err)
{
    char path[sizeof sink.file];

    *fd = -1;
    if (!*pattern)
        return 0;
    int rc = util_log_expand(pattern, path, sizeof path);
    if (rc == -EAGAIN)
        return 0;
    if (rc == -EINVAL)
        return sy_fail(
            err, EINVAL,
            "SHMEM_LOG_FILE=%.200s: allowed after %% are h (host), j (job), p (process id), "
            "r (PE) and %%",
            pattern);
    if (rc)
        return sy_fail(err, -rc, "SHMEM_LOG_FILE=%.200s...: the name is too long", pattern);
    /* A pipe without a reader is refused, not waited for. */
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (*fd < 0) {
        rc = errno;
        return sy_fail(err, rc, "the log file %.200s (SHMEM_LOG_FILE) cannot be opened: %s", path,
                       strerror(rc));
    }
    return 0;
}

static void util_log_use_file(int fd)
{
    int old = sink.fd;

    sink.fd = fd;
    if (old >= 0)
        close(old);
}

/* ---- settings ---- */

static int util_log_copy_list(const char *name, const char *list, char *out, size_t room,
                              struct sy_error *err)
{
    if (strlen(list) >= room)
        return sy_fail(err, EINVAL, "%s is longer than %zu characters", name, room - 1);
    strcpy(out, list);
    return 0;
}

static void choose_pe(void)
{
    sink.silent = sink.known && sy_parse_in_ranges(sink.pes, sink.pe) == 0;
}

int sy_log_configure(enum sy_log_level level, const char *categories, const char *pes,
                     const char *file, struct sy_error *err)
{
    char new_categories[sizeof sink.categories], new_pes[sizeof sink.pes],
        new_file[sizeof sink.file];
    int fd;

    categories = categories && strcmp(categories, "all") != 0 ? categories : "";
    int rc = util_log_copy_list("SHMEM_DEBUG", categories, new_categories, sizeof new_categories,
                                err);
    if (!rc)
        rc = util_log_copy_list("SHMEM_LOG_PES", pes ? pes : "", new_pes, sizeof new_pes, err);
    if (!rc)
        rc = util_log_copy_list("SHMEM_LOG_FILE", file ? file : "", new_file, sizeof new_file, err);
    if (!rc && sy_parse_in_ranges(new_pes, 0) < 0)
        rc = sy_fail(err, EINVAL,
                     "SHMEM_LOG_PES=%.200s is not a list of PEs; allowed are numbers and ranges "
                     "divided by commas, such as 0,4-7",
                     new_pes);
    if (!rc)
        rc = util_log_open_file(new_file, &fd, err);
    if (rc)
        return rc;
    strcpy(sink.categories, new_categories);
    strcpy(sink.pes, new_pes);
    strcpy(sink.file, new_file);
    sink.level = level;
    sink.others = *new_categories && level > SY_LOG_WARN ? SY_LOG_WARN : level;
    util_log_use_file(fd);
    choose_pe();
    return 0;
}

void sy_log_guess(int pe, const char *host)
{
    snprintf(sink.host, sizeof sink.host, "%s", host);
    sink.pe = pe;
    sink.guessed = pe >= 0;
}

void sy_log_identity(int pe, const char *host, const char *job)
{
    struct sy_error err = {""};
    int fd;

    snprintf(sink.host, sizeof sink.host, "%s", host);
    snprintf(sink.job, sizeof sink.job, "%s", job);
    sink.pe = pe;
    sink.known = true;
    choose_pe();
    if (util_log_open_file(sink.file, &fd, &err)) {
        util_log_use_file(-1);
        sy_log(SY_LOG_WARN, "", "%s; lines go to stderr", err.text);
        return;
    }
    util_log_use_file(fd);
}

/* ---- lines ---- */

static bool util_log_is_listed(const char *category)
{
    size_t length = strlen(category), plugin = strcspn(category, "@"); /* of an instance */

    return sy_words_have(sink.categories, ',', category, length) ||
           sy_words_have(sink.categories, ',', category, plugin);
}

bool sy_log_enabled(enum sy_log_level level, const char *category)
{
    if (level == SY_LOG_ERROR)
        return true;
    if (level > sink.level || sink.silent)
        return false;
    return level <= sink.others || util_log_is_listed(category);
}

/* Retries after signals, and waits where the reader of a non-blocking pipe is slow. That of a log
 * file may be stopped: lines wait no more until it reads again. False: the log cannot be written,
 * which is no reason to fail. */
static bool util_log_write_pieces(int fd, const char *text, size_t length)
{
    static _Atomic int patience = PATIENCE_MS;

    while (length) {
        ssize_t n = write(fd, text, length);
        if (n >= 0) {
            text += n;
            length -= (size_t)n;
            if (fd == sink.fd)
                patience = PATIENCE_MS;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            int ready = poll(&wait, 1, fd == sink.fd ? patience : -1);
            if (!ready) {
                patience = 0;
                errno = EAGAIN;
            }
            if (!ready || (ready < 0 && errno != EINTR))
                return false;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* A pipe that nobody reads, or the limit of file sizes, does not end the program. */
static bool util_log_write_all(int fd, const char *text, size_t length)
{
    sigset_t before, raised, pending;

    sigemptyset(&raised);
    sigpending(&pending);
    if (!sigismember(&pending, SIGPIPE))
        sigaddset(&raised, SIGPIPE);
    if (!sigismember(&pending, SIGXFSZ))
        sigaddset(&raised, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &raised, &before);
    int error = util_log_write_pieces(fd, text, length) ? 0 : errno;
    if (error == EPIPE || error == EFBIG)
        sigtimedwait(&raised, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return !error;
}

/* The beginning of a line: [time] who: level: category: */
static size_t util_log_write_head(char *line, size_t room, enum sy_log_level level,
                                  const char *category)
{
    static const char *const names[] = {"error", "warning", "info", "debug", "trace"};
    char stamp[32] = "", who[96];

    if (level >= SY_LOG_DEBUG) {
        struct timespec now;
        struct tm at;
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &at);
        snprintf(stamp, sizeof stamp, "%02d:%02d:%02d.%06ld ", at.tm_hour, at.tm_min, at.tm_sec,
                 now.tv_nsec / 1000);
    }
    if (sink.known || sink.guessed)
        snprintf(who, sizeof who, "PE %d@%s", sink.pe, sink.host);
    else
        snprintf(who, sizeof who, "process %ld", (long)getpid());
    int n = snprintf(line, room, "%s%s: %s: %.64s%s", stamp, who, names[level], category,
                     *category ? ": " : "");
    return (size_t)n;
}

/* Ends a line, and returns its length. Lines quote the environment, files and other hosts'
 * messages: a control character in them must neither reach a terminal nor begin another line. */
static size_t util_log_end_line(char *line, size_t length)
{
    sy_printable(line, length, 0);
    line[length] = '\n';
    return length + 1;
}

/* Reports, once, that the file cannot be written, as on a full disk. */
static void util_log_tell_of_file(int code)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char line[400];

    if (atomic_flag_test_and_set(&told))
        return;
    size_t used = util_log_write_head(line, sizeof line, SY_LOG_WARN, "");
    int n = snprintf(
        line + used, sizeof line - used,
        "the log file %.200s (SHMEM_LOG_FILE) cannot be written: %s; lines that it does "
        "not take go to stderr",
        sink.file, code == EAGAIN ? "its reader does not read" : strerror(code));
    used = used + (size_t)n < sizeof line ? used + (size_t)n : sizeof line - 1;
    util_log_write_all(STDERR_FILENO, line, util_log_end_line(line, used));
}

void sy_log(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    static const char cut[] = " [...]";
    char line[LINE_MAX_BYTES];
    const size_t room = sizeof line - (sizeof cut - 1); /* with a NUL, where the line ends later */
    int saved = errno;
    va_list args;

    if (!sy_log_enabled(level, category))
        return;
    size_t used = util_log_write_head(line, room, level, category);
    errno = saved; /* for %m */
    va_start(args, fmt);
    int n = vsnprintf(line + used, room - used, fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n >= room - used) {
        memcpy(line + room - 1, cut, sizeof cut - 1);
        used = room - 1 + sizeof cut - 1;
    } else if (n > 0) {
        used += (size_t)n;
    }
    used = util_log_end_line(line, used);
    bool lost = sink.fd >= 0 && !util_log_write_all(sink.fd, line, used);
    if (lost)
        util_log_tell_of_file(errno);
    if (sink.fd < 0 || lost || level == SY_LOG_ERROR)
        util_log_write_all(STDERR_FILENO, line, used);
    errno = saved;
}
