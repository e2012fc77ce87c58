/* A process that oshrun starts in the tests: executes the steps named by its arguments, in order.
 * It talks to oshrun through the bootstrap plugin's functions, without the rest of the library.
 * "2:STEP" is for PE 2 only, "!2:STEP" for all others. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <switchyard/bootstrap.h>

#include "bootstrap/control/protocol.h"
#include "util/frame.h"
#include "tests/host.h"

extern const struct sy_bootstrap shmem_bootstrap_2_oshrun, shmem_bootstrap_2_single;

static const struct sy_bootstrap *boot = &shmem_bootstrap_2_oshrun;
static struct sy_job job = {.size = sizeof job};
static void *self;
static int me;
static char **rest; /* the words after the current step */

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
    va_list args;

    fprintf(stderr, "pe %d: ", me);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(70);
}

static const struct sy_host host = {.size = sizeof host, .fail = host_fail};

static void step_probe(char *arg)
{
    struct sy_error err = {""};
    int rc = boot->probe(&err);

    (void)arg;
    printf("probe %s: %s\n", rc == 0 ? "yes" : rc == -ENODEV ? "no" : "error", err.text);
}

static void step_single(char *arg)
{
    (void)arg;
    boot = &shmem_bootstrap_2_single;
}

static void step_open(char *arg)
{
    struct sy_error err = {""};

    (void)arg;
    if (boot->probe(&err) != 0 || boot->open(&host, NULL, &self, &job, &err) != 0)
        die("open: %s", err.text);
    me = job.pe;
}

static unsigned char pattern(int pe, size_t i)
{
    return (unsigned char)((size_t)pe * 131 + i * 7 + (i >> 8));
}

/* gather=LENGTH[,SECONDS[,PHASE]]: checks every byte of the answer. */
static void step_gather(char *arg)
{
    struct sy_error err = {""};
    char *at = arg, *phase;
    size_t length = strtoul(at, &at, 10);
    double seconds = *at ? strtod(at + 1, &at) : 20;
    unsigned char *mine = malloc(length + 1), *all = malloc(length * (size_t)job.npes + 1);

    phase = *at ? at + 1 : at;
    for (size_t i = 0; i < length; i++)
        mine[i] = pattern(me, i);
    if (boot->allgather(self, *phase ? phase : "test", mine, all, length, seconds, &err) != 0)
        die("gather: %s", err.text);
    for (int pe = 0; pe < job.npes; pe++) {
        for (size_t i = 0; i < length; i++) {
            if (all[(size_t)pe * length + i] != pattern(pe, i))
                die("byte %zu of PE %d is wrong", i, pe);
        }
    }
    free(mine);
    free(all);
}

static void step_init(char *arg)
{
    (void)arg;
    if (boot->mark)
        boot->mark(self, SY_MARK_INITIALIZED);
}

static void step_final(char *arg)
{
    (void)arg;
    if (boot->mark)
        boot->mark(self, SY_MARK_FINALIZED);
}

/* abort=STATUS[,WHY] */
static void step_abort(char *arg)
{
    char *comma = strchr(arg, ',');

    if (self)
        boot->abort(self, atoi(arg), comma ? comma + 1 : NULL);
}

static void step_job(char *arg)
{
    unsigned sum = 0;

    (void)arg;
    for (size_t i = 0; i < sizeof job.key; i++)
        sum = sum * 31 + job.key[i];
    printf("pe %d of %d job %s key %u\n", job.pe, job.npes, job.id, sum);
}

static void nap(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

static void step_sleep(char *arg)
{
    nap(atof(arg));
}

/* serve=SECONDS: serves oshrun as the library does, and leaves when oshrun says so. */
static void step_serve(char *arg)
{
    struct pollfd wait = {.fd = self ? boot->wait_fd(self) : -1, .events = POLLIN};
    int status = 0;

    if (poll(&wait, 1, (int)(atof(arg) * 1000)) <= 0)
        return;
    switch (boot->event(self, &status)) {
    case SY_EVENT_ASK:
        boot->note(self, "serving", 0, 1);
        step_serve(arg);
        return;
    case SY_EVENT_EXIT:
        printf("told to exit %d\n", status);
        exit(status);
    case SY_EVENT_LOST:
        exit(99);
    default:
        die("an event that is none");
    }
}

static void step_exit(char *arg)
{
    exit(atoi(arg));
}

static void step_kill(char *arg)
{
    signal(atoi(arg), SIG_DFL); /* a sanitizer may have taken it */
    kill(getpid(), atoi(arg));
}

static void step_ignore(char *arg)
{
    signal(atoi(arg), SIG_IGN);
}

static void say_signal(int number)
{
    char text[] = "got 00\n";

    text[4] = (char)('0' + number / 10);
    text[5] = (char)('0' + number % 10);
    if (write(1, text, sizeof text - 1) < 0)
        _exit(1);
}

static void step_handle(char *arg)
{
    signal(atoi(arg), say_signal);
}

static void step_close(char *arg)
{
    (void)arg;
    if (boot->leave)
        boot->leave(self);
    if (boot->close)
        boot->close(self);
}

static void step_print(char *arg)
{
    fputs(arg, stdout);
    fflush(stdout);
}

static void step_println(char *arg)
{
    puts(arg);
    fflush(stdout);
}

static void step_error(char *arg)
{
    fprintf(stderr, "%s\n", arg);
}

/* frame=TYPE,LENGTH,ARG: sends this header, past the plugin. */
static void step_frame(char *arg)
{
    struct sy_frame header = {0};
    long long type, length, value;

    if (sscanf(arg, "%lld,%lld,%lld", &type, &length, &value) != 3)
        die("frame needs three numbers");
    header.type = (uint16_t)type;
    header.length = (uint32_t)length;
    header.arg = (int32_t)value;
    if (send(atoi(getenv(SY_LAUNCH_FD_ENV)), &header, sizeof header, 0) < 0)
        die("send: %m");
}

static unsigned hash(const char *text, size_t length)
{
    unsigned value = 2166136261u;

    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * 16777619u;
    return value;
}

/* lines=COUNT,WIDTH: "PE NUMBER HASH TEXT", text of up to WIDTH characters. */
static void step_lines(char *arg)
{
    long count, width;
    unsigned random = 12345u + (unsigned)me * 7919u;
    char *text;

    if (sscanf(arg, "%ld,%ld", &count, &width) != 2)
        die("lines needs two numbers");
    text = malloc((size_t)width + 1);
    for (long i = 0; i < count; i++) {
        size_t length;

        random = random * 1103515245u + 12345u;
        length = (random >> 8) % (unsigned)width;
        memset(text, 'a' + (int)((random >> 4) % 26), length);
        if (length)
            text[length / 2] = (char)('A' + i % 26);
        printf("%d %ld %u ", me, i, hash(text, length));
        fwrite(text, 1, length, stdout);
        putchar('\n');
    }
    fflush(stdout);
    free(text);
}

/* verify=NPES,COUNT: reads what `lines` of so many PEs wrote; labels are allowed. */
static void step_verify(char *arg)
{
    int npes, pe;
    long count, number, *next;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    if (sscanf(arg, "%d,%ld", &npes, &count) != 2)
        die("verify needs two numbers");
    next = calloc((size_t)npes, sizeof *next);
    while ((length = getline(&line, &room, stdin)) > 0) {
        unsigned value;
        int at = 0, label = -1, skip = 0;

        if (line[0] == '[' && sscanf(line, "[%d] %n", &label, &skip) != 1)
            die("bad label: %.60s", line);
        if (sscanf(line + skip, "%d %ld %u%n", &pe, &number, &value, &at) != 3 ||
            line[length - 1] != '\n' || (label >= 0 && label != pe) || pe < 0 || pe >= npes)
            die("bad line: %.60s", line);
        at += skip + 1;
        if (next[pe]++ != number || hash(line + at, (size_t)(length - 1 - at)) != value)
            die("line %ld of PE %d is not what was written", number, pe);
    }
    for (pe = 0; pe < npes; pe++) {
        if (next[pe] != count)
            die("%ld lines of PE %d came, not %ld", next[pe], pe, count);
    }
    puts("verified");
    free(line);
    free(next);
}

/* long=BYTES: one line of so many times the PE's letter. */
static void step_long(char *arg)
{
    size_t length = strtoul(arg, NULL, 10);

    for (size_t i = 0; i < length; i++)
        putchar('A' + me);
    putchar('\n');
    fflush(stdout);
}

/* child=SECONDS: a child that stays; daemon=SECONDS: one in a session of its own. */
static void spawn(double seconds, int session)
{
    fflush(stdout);
    if (fork() != 0)
        return;
    signal(SIGTERM, SIG_IGN);
    if (session && (setsid() < 0 || fork() != 0))
        _exit(0);
    nap(seconds);
    _exit(0);
}

static void step_child(char *arg)
{
    spawn(atof(arg), 0);
}

static void step_daemon(char *arg)
{
    spawn(atof(arg), 1);
}

/* Prints the open descriptors and what they are, save the one that looks. */
static void step_fds(char *arg)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    (void)arg;
    while ((entry = readdir(dir)) != NULL) {
        char target[256];
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);

        if (n < 0 || atoi(entry->d_name) == dirfd(dir))
            continue;
        target[n] = '\0';
        printf("fd %s %.*s\n", entry->d_name, (int)strcspn(target, ":["), target);
    }
    closedir(dir);
}

/* run=COMMAND: what a child process sees. */
static void step_run(char *arg)
{
    fflush(stdout);
    if (system(arg) != 0)
        die("'%s' failed", arg);
}

/* Copies stdin to stdout. */
static void step_copy(char *arg)
{
    char data[5000];
    ssize_t n;

    (void)arg;
    while ((n = read(0, data, sizeof data)) > 0)
        fwrite(data, 1, (size_t)n, stdout);
    if (n < 0)
        die("stdin: %m");
    fflush(stdout);
}

/* exec=PROGRAM: becomes it, with the remaining words as arguments. */
static void step_exec(char *arg)
{
    rest[-1] = arg;
    execv(arg, rest - 1);
    die("exec: %m");
}

/* The actions that a shell changes for what it starts in the background. */
static void step_fresh(char *arg)
{
    (void)arg;
    signal(SIGHUP, SIG_DFL); /* nohup make check */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
}

static void step_nonblock(char *arg)
{
    (void)arg;
    if (fcntl(1, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl: %m");
}

/* wide=BYTES: stderr, a pipe, holds so much. */
static void step_wide(char *arg)
{
    if (fcntl(2, F_SETPIPE_SZ, atoi(arg)) < 0)
        die("fcntl: %m");
}

/* A child executes the remaining steps with a socket as its stdout; this process copies what comes
 * out of it. */
static void step_socket(char *arg)
{
    int ends[2], status;
    char data[5000];
    ssize_t n;
    pid_t child;

    (void)arg;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair: %m");
    child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        return;
    }
    close(ends[1]);
    nap(0.2); /* until the socket is full */
    while ((n = read(ends[0], data, sizeof data)) > 0)
        fwrite(data, 1, (size_t)n, stdout);
    if (waitpid(child, &status, 0) != child || status != 0)
        die("the command ended with %#x", (unsigned)status);
    exit(0);
}

/* The leader of a session: runs a command in the background, then brings it to the foreground. */
static void lead_session(const char *command, const char *terminal)
{
    int fd, status;
    pid_t child;

    setsid();
    fd = open(terminal, O_RDWR);
    if (fd < 0 || tcsetpgrp(fd, getpgrp()) != 0)
        die("terminal: %m");
    signal(SIGTTOU, SIG_IGN);
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        for (int i = 0; i <= 2; i++)
            dup2(fd, i);
        signal(SIGTTOU, SIG_DFL);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    setpgid(child, child);
    nap(1);
    if (waitpid(child, &status, WNOHANG | WUNTRACED) != 0)
        die("stopped or ended in the background: %#x", (unsigned)status);
    tcsetpgrp(fd, child);
    if (waitpid(child, &status, WUNTRACED) != child || status != 0)
        die("ended with %#x", (unsigned)status);
    exit(0);
}

/* terminal=COMMAND: types "typed" and the end of file at once; the command is to print "started"
 * before it is in the foreground, and "typed" after it. */
static void step_terminal(char *arg)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), status;
    char text[2000] = "";
    size_t length = 0;
    struct termios mode;
    ssize_t n;
    pid_t leader;

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        die("no pseudo terminal: %m");
    tcgetattr(master, &mode);
    mode.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(master, TCSANOW, &mode);
    alarm(20);
    leader = fork();
    if (leader == 0)
        lead_session(arg, ptsname(master));
    if (write(master, "typed\n\004", 7) != 7)
        die("write: %m");
    while (length < sizeof text - 1 &&
           (n = read(master, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)n;
    if (waitpid(leader, &status, 0) != leader || status != 0)
        die("the command failed, it wrote: %s", text);
    if (!strstr(text, "started") || !strstr(text, "typed"))
        die("the command wrote: %s", text);
}

/* traced=SIGNAL: asks to be traced by oshrun, and sends itself a signal. */
static void step_traced(char *arg)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        die("ptrace: %m");
    raise(atoi(arg));
}

static void step_tag(char *arg)
{
    (void)arg;
}

static const struct {
    const char *name;
    void (*run)(char *arg);
} STEPS[] = {
    // clang-format off
    {"probe", step_probe},   {"single", step_single}, {"open", step_open},
    {"gather", step_gather}, {"init", step_init},     {"final", step_final},
    {"abort", step_abort},   {"job", step_job},       {"sleep", step_sleep},
    {"serve", step_serve},   {"exit", step_exit},     {"kill", step_kill},
    {"ignore", step_ignore}, {"handle", step_handle}, {"close", step_close},
    {"print", step_print},   {"println", step_println}, {"error", step_error},
    {"frame", step_frame},   {"lines", step_lines},   {"verify", step_verify},
    {"long", step_long},     {"child", step_child},   {"daemon", step_daemon},
    {"fds", step_fds},       {"run", step_run},       {"copy", step_copy},
    {"tag", step_tag},       {"exec", step_exec},     {"fresh", step_fresh},
    {"wide", step_wide}, {"nonblock", step_nonblock}, {"terminal", step_terminal}, {"socket", step_socket},
    {"traced", step_traced},
    // clang-format on
};

static void do_step(char *word)
{
    size_t length = strcspn(word, "=");
    char *arg = word + length + (word[length] == '=');

    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        if (strlen(STEPS[i].name) == length && strncmp(STEPS[i].name, word, length) == 0) {
            STEPS[i].run(arg);
            return;
        }
    }
    die("no step '%s'", word);
}

int main(int argc, char **argv)
{
    const char *number = getenv("SHMEM_BOOT_PE");

    me = number ? atoi(number) : 0;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        bool other = word[0] == '!';
        char *colon = strchr(word, ':');
        char *end;
        long pe = strtol(word + other, &end, 10);

        if (colon && end == colon) {
            if ((pe == me) == other)
                continue;
            word = colon + 1;
        }
        rest = argv + i + 1;
        do_step(word);
    }
    return 0;
}
