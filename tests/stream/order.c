/* What streams wait for and what they do not, and how little they take while they wait. With an
 * argument: one mistake, which ends the job or is refused. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <shmemx.h>

#include "tests/conformance/check.h"

#ifdef __SANITIZE_THREAD__ /* each load that a wait makes takes many times as long */
#define SLOWED 1
#else
#define SLOWED 0
#endif

enum { STREAMS = 2000, TURNS = 50, THREADS = 4, MANY = 5000 };

static int me, npes, next;

static shmemx_stream_t make(size_t depth)
{
    const shmemx_stream_config_t config = {.depth = depth};
    shmemx_stream_t stream;

    CHECK(!shmemx_stream_create(SHMEM_TEAM_WORLD, &config, &stream));
    return stream;
}

static void doze(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

/* ---- events ---- */

static void events(void)
{
    static int gate, data, got;
    shmemx_stream_t first = make(0), second = make(0);
    shmemx_event_t event;

    check_case = "events";
    CHECK(!shmemx_event_create(&event));
    CHECK(shmemx_event_query(event) == 1);
    shmem_barrier_all();
    shmemx_int_wait_until_on_stream(&gate, SHMEM_CMP_EQ, 1, first);
    shmemx_int_p_on_stream(&data, me + 1, next, first);
    CHECK(!shmemx_event_record(event, first));
    CHECK(!shmemx_stream_wait_event(second, event));
    shmemx_int_g_on_stream(&got, &data, next, second);
    doze(0.02);
    CHECK(shmemx_event_query(event) == 0);
    CHECK(data == 0 && got == 0); /* before a lock that the proxy takes too: for ThreadSanitizer */
    CHECK(shmemx_stream_query(first) == 0 && shmemx_stream_query(second) == 0);
    shmem_barrier_all();
    shmem_int_p(&gate, 1, next);
    CHECK(!shmemx_event_synchronize(event));
    CHECK(!shmemx_stream_synchronize(second));
    CHECK(got == me + 1);
    /* What it stood for before no longer counts. */
    CHECK(!shmemx_event_record(event, second));
    CHECK(!shmemx_event_synchronize(event) && shmemx_event_query(event) == 1);
    shmemx_event_destroy(event);
    shmemx_stream_destroy(second);
    shmemx_stream_destroy(first);
}

/* ---- gets, and what comes behind them ---- */

/* A put sends what a get before it has brought, and what a get reads is not what a put behind it
 * writes. */
static void behind_gets(void)
{
    enum { WORDS = 100000 };
    static long far[WORDS], copy[WORDS], near[WORDS], mark[WORDS];
    shmemx_stream_t stream = make(0);
    int wrong = 0;

    check_case = "behind gets";
    for (int turn = 0; turn < TURNS / 5; turn++) {
        for (int i = 0; i < WORDS; i++) {
            far[i] = me * 1000 + i + turn;
            mark[i] = -1;
        }
        shmem_barrier_all();
        shmemx_long_get_on_stream(near, far, WORDS, next, stream);
        shmemx_long_put_on_stream(copy, near, WORDS, next, stream);
        shmemx_long_get_on_stream(near, far, WORDS, next, stream);
        shmemx_long_put_on_stream(far, mark, WORDS, next, stream);
        CHECK(!shmemx_stream_synchronize(stream));
        shmem_barrier_all();
        for (int i = 0; i < WORDS; i++) {
            wrong += near[i] != next * 1000 + i + turn;
            wrong += copy[i] != me * 1000 + i + turn || far[i] != -1;
        }
    }
    CHECK(!wrong);
    shmemx_stream_destroy(stream);
}

/* ---- memory spaces that come and go while streams wait ---- */

static void spaces(void)
{
    enum { SPACES = 3, BYTES = 1 << 16 };
    static int gate;
    shmemx_stream_t waits = make(0), stream = make(0);
    shmemx_space_t space[SPACES];
    shmem_team_t team[SPACES];
    char *own = aligned_alloc(4096, (size_t)SPACES * BYTES);
    long *at[SPACES];

    check_case = "spaces";
    memset(own, 0, (size_t)SPACES * BYTES);
    shmemx_int_wait_until_on_stream(&gate, SHMEM_CMP_EQ, 1, waits);
    for (int i = 0; i < SPACES; i++) {
        const shmemx_space_config_t config = {
            .device_type = SHMEMX_DEVICE_USER, .size = BYTES, .base = own + (size_t)i * BYTES};
        CHECK(!shmemx_space_create(&config, &space[i], &team[i]));
        at[i] = shmemx_space_calloc(space[i], 2, sizeof *at[i]);
        shmem_long_p(at[i], i + 1, next); /* served while the next one is made */
        shmemx_long_p_on_stream(at[i] + 1, i + 1, next, stream);
    }
    CHECK(!shmemx_stream_synchronize(stream));
    shmem_barrier_all();
    for (int i = 0; i < SPACES; i++) {
        CHECK(at[i][0] == i + 1 && at[i][1] == i + 1);
        shmem_team_destroy(team[i]);
        CHECK(!shmemx_space_destroy(space[i]));
    }
    shmem_int_p(&gate, 1, next);
    CHECK(!shmemx_stream_synchronize(waits));
    shmemx_stream_destroy(waits);
    shmemx_stream_destroy(stream);
    free(own);
}

/* ---- functions of the program ---- */

static shmemx_stream_t calls_on;
static int calls_seen[TURNS], calls_made;

static void note_call(void *arg)
{
    calls_seen[calls_made++] = *(int *)arg;
    shmemx_int_p_on_stream(&calls_seen[0], 7, me, calls_on); /* behind all that is there */
}

static void calls(void)
{
    static int number[TURNS];

    check_case = "calls";
    calls_on = make(4);
    for (int i = 0; i < TURNS; i++) {
        number[i] = i;
        CHECK(!shmemx_stream_call(calls_on, note_call, &number[i]));
    }
    CHECK(!shmemx_stream_synchronize(calls_on));
    CHECK(!shmemx_stream_synchronize(calls_on));
    CHECK(calls_made == TURNS && calls_seen[0] == 7);
    for (int i = 1; i < TURNS; i++)
        CHECK(calls_seen[i] == i);
    shmemx_stream_destroy(calls_on);
}

/* A function waits for an event whose stream has another function behind it. */
static _Atomic int awaiting, awaited; /* CHECK counts for the main thread alone */

static void call_awaits(void *event)
{
    awaiting = 1;
    awaited = shmemx_event_synchronize((shmemx_event_t)event) ? -1 : 1;
}

static void call_nothing(void *arg)
{
    (void)arg;
}

static void calls_behind(void)
{
    static int gate;
    shmemx_stream_t marked = make(0), waits = make(0);
    shmemx_event_t event;

    check_case = "calls behind an event";
    CHECK(!shmemx_event_create(&event));
    CHECK(
        !shmemx_stream_call(marked, call_nothing, NULL)); /* before it: complete when that waits */
    CHECK(!shmemx_stream_synchronize(marked));
    shmemx_int_wait_until_on_stream(&gate, SHMEM_CMP_EQ, 1, marked);
    CHECK(!shmemx_event_record(event, marked));
    CHECK(!shmemx_stream_call(marked, call_nothing, NULL));
    CHECK(!shmemx_stream_call(waits, call_awaits, event));
    while (!awaiting)
        doze(0.001);
    doze(0.02);
    CHECK(shmemx_event_query(event) == 0 && !awaited);
    shmem_barrier_all();
    shmem_int_p(&gate, 1, next);
    CHECK(!shmemx_stream_synchronize(waits) && !shmemx_stream_synchronize(marked));
    CHECK(awaited == 1);
    shmemx_event_destroy(event);
    shmemx_stream_destroy(waits);
    shmemx_stream_destroy(marked);
}

/* ---- teams in different orders ---- */

static void orders(void)
{
    static long mine[2], sum[2];
    shmemx_stream_t stream[2] = {make(0), make(0)};
    shmem_team_t team[2];

    check_case = "orders";
    for (int k = 0; k < 2; k++)
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team[k]));
    for (int turn = 0; turn < TURNS; turn++) {
        shmem_barrier_all();
        for (int i = 0; i < 2; i++) {
            int k = (i + me) % 2;
            mine[k] = me + k + turn;
            CHECK(!shmemx_long_sum_reduce_on_stream(team[k], &sum[k], &mine[k], 1, stream[k]));
            CHECK(!shmemx_team_sync_on_stream(team[k], stream[k]));
        }
        for (int k = 0; k < 2; k++) {
            CHECK(!shmemx_stream_synchronize(stream[k]));
            CHECK(sum[k] == (long)npes * (npes - 1) / 2 + (long)npes * (k + turn));
        }
    }
    for (int k = 0; k < 2; k++) {
        shmemx_stream_destroy(stream[k]);
        shmem_team_destroy(team[k]);
    }
}

/* ---- many that wait ---- */

static int threads_now(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[200];
    int threads = 0;

    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (status)
        fclose(status);
    return threads;
}

static double cpu_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void many(void)
{
    static shmemx_stream_t stream[STREAMS];
    static int gate, passed[STREAMS];

    check_case = "many";
    int before = threads_now();
    CHECK(before > 0);
    for (int i = 0; i < STREAMS; i++) {
        stream[i] = make(0);
        shmemx_int_wait_until_on_stream(&gate, SHMEM_CMP_EQ, 1, stream[i]);
        shmemx_int_p_on_stream(&passed[i], 1, me, stream[i]);
    }
    CHECK(threads_now() <= before + 1);
    doze(0.3);
    double began = cpu_seconds();
    doze(0.5);
    CHECK(SLOWED || cpu_seconds() - began < 0.3);
    shmem_barrier_all();
    shmem_int_p(&gate, 1, next);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(!shmemx_stream_synchronize(stream[i]));
        CHECK(passed[i] == 1);
        shmemx_stream_destroy(stream[i]);
    }
}

/* ---- a full stream, and the end of one with work left ---- */

static void full(void)
{
    static int word;
    shmemx_stream_t stream = make(16);

    check_case = "full";
    for (int i = 1; i <= MANY; i++)
        shmemx_int_atomic_add_on_stream(&word, 1, next, stream);
    shmemx_stream_destroy(stream); /* waits for all */
    shmem_barrier_all();
    CHECK(word == MANY);
}

/* ---- several threads ---- */

static int counted;

static void *add_from_thread(void *arg)
{
    shmemx_stream_t stream = *(shmemx_stream_t *)arg;

    for (int i = 0; i < MANY; i++)
        shmemx_int_atomic_inc_on_stream(&counted, next, stream);
    return shmemx_stream_synchronize(stream) ? arg : NULL;
}

static void several(void)
{
    shmemx_stream_t stream[THREADS];
    pthread_t thread[THREADS];

    check_case = "several threads";
    for (int i = 0; i < THREADS; i++)
        stream[i] = make(i % 2 ? 64 : 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, add_from_thread, &stream[i / 2 * 2]));
    for (int i = 0; i < THREADS; i++) {
        void *failed;

        pthread_join(thread[i], &failed);
        CHECK(!failed);
    }
    for (int i = 0; i < THREADS; i++)
        shmemx_stream_destroy(stream[i]);
    shmem_barrier_all();
    CHECK(counted == THREADS * MANY);
}

/* ---- mistakes ---- */

static void wait_for_itself(void *arg)
{
    shmemx_stream_synchronize((shmemx_stream_t)arg);
}

static shmemx_stream_t other;
static shmemx_event_t reached;

/* Waits for what can begin only when this has ended. */
static void wait_for_other(void *arg)
{
    (void)arg;
    shmemx_stream_call(other, call_nothing, NULL);
    shmemx_stream_synchronize(other);
}

static void wait_for_event(void *arg)
{
    CHECK(!shmemx_event_record(reached, (shmemx_stream_t)arg));
    shmemx_event_synchronize(reached);
}

static void wait_for_event_of_other(void *arg)
{
    (void)arg;
    shmemx_stream_call(other, call_nothing, NULL);
    wait_for_event(other);
}

static void finalize_inside(void *arg)
{
    (void)arg;
    shmem_finalize();
}

static void exit_inside(void *arg)
{
    exit(*(int *)arg);
}

static void end_inside(void *arg)
{
    (void)arg;
    shmem_global_exit(5);
}

/* What a function of a stream must not do, or may. */
static void mistake_inside(const char *what, shmemx_stream_t stream)
{
    static const int status[] = {0, 3};
    void (*fn)(void *) = !strcmp(what, "itself")     ? wait_for_itself
                         : !strcmp(what, "other")    ? wait_for_other
                         : !strcmp(what, "event")    ? wait_for_event
                         : !strcmp(what, "behind")   ? wait_for_event_of_other
                         : !strcmp(what, "finalize") ? finalize_inside
                         : !strcmp(what, "global")   ? end_inside
                                                     : exit_inside;

    other = make(0);
    CHECK(!shmemx_event_create(&reached));
    shmemx_stream_call(stream, fn,
                       fn == exit_inside ? (void *)&status[!strcmp(what, "exit3")] : stream);
    shmemx_stream_synchronize(stream);
}

/* How a program ends while a stream waits for ever. */
static void leave(const char *how)
{
    if (!strcmp(how, "leave exit"))
        exit(4);
    if (!me)
        shmem_global_exit(6);
    for (;;)
        doze(1);
}

/* How often this PE gives a processor away while a stream has waited for a second, and longer. */
static void rest(int *word, shmemx_stream_t stream)
{
    struct rusage before, after;

    shmemx_int_wait_until_on_stream(word, SHMEM_CMP_EQ, 1, stream);
    doze(1);
    getrusage(RUSAGE_SELF, &before);
    doze(1);
    getrusage(RUSAGE_SELF, &after);
    printf("switches: %ld\n", after.ru_nvcsw - before.ru_nvcsw);
    shmem_barrier_all();
    shmem_int_p(word, 1, next);
}

/* Handles that are none. */
static void mistake_handle(const char *what, shmemx_stream_t stream)
{
    shmemx_event_t event;

    CHECK(!shmemx_event_create(&event) && !shmemx_event_record(event, stream));
    if (!strcmp(what, "handle twice")) {
        shmemx_stream_destroy(stream);
        CHECK(shmemx_event_synchronize(event) == 0 && shmemx_event_query(event) == 1);
        shmemx_stream_destroy(stream);
    } else if (!strcmp(what, "handle foreign")) {
        shmemx_quiet_on_stream((shmemx_stream_t)((char *)stream + 64));
    } else if (!strcmp(what, "handle event")) {
        shmemx_event_destroy(event);
        shmemx_event_destroy(event);
    } else {
        shmemx_event_destroy(event);
        shmemx_stream_wait_event(stream, event);
    }
}

/* Adds a put, and then an event, to a stream of a queue of the library lost.c, which is loaded
 * before this program, with memory for so many blocks less one. The queue never waits for ever, nor
 * does who waits for the event. */
static void without_memory(int allocation)
{
    static void *queue[4];
    static int word;
    int local = 7, *countdown = dlsym(RTLD_DEFAULT, "lost_allocation");
    _Atomic int *events = dlsym(RTLD_DEFAULT, "lost_events");
    shmemx_stream_t stream;
    shmemx_event_t event;

    check_case = "without memory";
    CHECK(countdown && events && !shmemx_stream_from_opencl(queue, &stream));
    CHECK(!shmemx_event_create(&event));
    *countdown = allocation;
    shmemx_int_put_on_stream(&word, &local, 1, me, stream);
    CHECK(*countdown == 0);
    CHECK(shmemx_stream_synchronize(stream) == -ENOMEM);
    CHECK(*events == 0 && word == (allocation > 3 ? 7 : 0));
    *countdown = allocation + 1; /* the point of the event too */
    shmemx_event_record(event, stream);
    CHECK(*countdown == 0);
    CHECK(!shmemx_event_synchronize(event));
    CHECK(shmemx_stream_synchronize(stream) == -ENOMEM && *events == 0);
    shmemx_int_put_on_stream(&word, &me, 1, me, stream);
    CHECK(!shmemx_stream_synchronize(stream) && word == me && *events == 0);
    shmemx_event_destroy(event);
    shmemx_stream_destroy(stream);
}

/* Who has waited for the queue finds the stream complete. */
static void finished(void)
{
    static void *queue[4]; /* of the library lost.c */
    static int word;
    int local = 7;
    _Atomic int *finish = dlsym(RTLD_DEFAULT, "lost_finish");
    shmemx_stream_t stream;

    check_case = "a queue that is finished";
    CHECK(finish && !shmemx_stream_from_opencl(queue, &stream));
    *finish = 1;
    shmemx_int_put_on_stream(&word, &local, 1, me, stream);
    while (*finish == 1)
        usleep(100);
    CHECK(shmemx_stream_query(stream) == 1 && word == 7);
    CHECK(!shmemx_stream_synchronize(stream));
    shmemx_stream_destroy(stream);
}

/* A team's collective is left on a stream of all PEs while the program ends or splits that team. */
static void mistake_team(const char *what, shmemx_stream_t stream)
{
    static int word;
    shmem_team_t team, part;

    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team));
    shmemx_int_wait_until_on_stream(&word, SHMEM_CMP_EQ, 1, stream);
    shmemx_team_sync_on_stream(team, stream);
    if (!strcmp(what, "destroy"))
        shmem_team_destroy(team);
    else
        shmem_team_split_2d(team, 1, NULL, 0, &part, NULL, 0, &part);
}

/* What a child process asks of streams, and who waits for it. */
static void mistake_child(const char *what, shmemx_stream_t stream)
{
    shmemx_event_t event;

    CHECK(!shmemx_event_create(&event) && !shmemx_event_record(event, stream));
    if (fork()) {
        wait(NULL);
        return;
    }
    alarm(20);
    if (!strcmp(what, "create"))
        make(0);
    else if (!strcmp(what, "event"))
        shmemx_event_synchronize(event);
    else
        shmemx_stream_synchronize(stream);
    _exit(0);
}

/* More elements than there are bytes: what these wrap around to would fit. */
static void mistake_overflow(const char *what, shmemx_stream_t stream)
{
    static int to[4], from[4];
    const size_t count = SIZE_MAX / sizeof *to + 2;

    if (!strcmp(what, "put"))
        shmemx_int_put_on_stream(to, from, count, next, stream);
    else if (!strcmp(what, "ibget"))
        shmemx_int_ibget_on_stream(to, from, 1, 1, count, 3, next, stream);
    else
        shmemx_int_broadcast_on_stream(SHMEM_TEAM_WORLD, to, from, count, 0, stream);
}

static int mistake(const char *what)
{
    static int word;
    int local = 0;
    shmemx_stream_t stream;

    if (shmemx_stream_create(SHMEM_TEAM_WORLD, NULL, &stream)) {
        static void *queue[4]; /* of the library lost.c */
        if (!strcmp(what, "single queue"))
            CHECK(shmemx_stream_from_opencl(queue, &stream) != 0);
        printf("refused: %d\n", stream == SHMEMX_STREAM_INVALID);
        return 0;
    }
    if (!strcmp(what, "address"))
        shmemx_int_p_on_stream(&local, 1, next, stream);
    else if (!strcmp(what, "source"))
        shmemx_int_put_on_stream(&word, (const int *)16, 1, next, stream);
    else if (!strcmp(what, "lost")) {
        static void *queue[4]; /* of the library lost.c */
        CHECK(!shmemx_stream_from_opencl(queue, &stream));
        shmemx_int_put_on_stream(&word, &local, 1, next, stream);
    } else if (!strncmp(what, "memory ", 7))
        without_memory(atoi(what + 7));
    else if (!strcmp(what, "finished"))
        finished();
    else if (!strcmp(what, "pe"))
        shmemx_int_p_on_stream(&word, 1, npes, stream);
    else if (!strncmp(what, "in ", 3))
        mistake_inside(what + 3, stream);
    else if (!strncmp(what, "handle ", 7))
        mistake_handle(what, stream);
    else if (!strcmp(what, "call"))
        shmemx_stream_call(stream, NULL, NULL);
    else if (!strncmp(what, "leave ", 6)) {
        shmemx_int_wait_until_on_stream(&word, SHMEM_CMP_EQ, 1, stream);
        leave(what);
    } else if (!strcmp(what, "invalid"))
        shmemx_quiet_on_stream(SHMEMX_STREAM_INVALID);
    else if (!strcmp(what, "team") &&
             shmemx_team_sync_on_stream(SHMEM_TEAM_INVALID, stream) == -1) {
        shmemx_stream_t none = stream;
        CHECK(shmemx_stream_create(SHMEM_TEAM_INVALID, NULL, &none) && !none);
        printf("synchronize: %d\n", shmemx_stream_synchronize(stream));
    } else if (!strcmp(what, "quiet"))
        shmemx_pe_quiet_on_stream(&npes, 1, stream);
    else if (!strcmp(what, "beside")) {
        doze(0.3 * me);
        shmemx_team_sync_on_stream(SHMEM_TEAM_WORLD, stream);
        shmem_barrier_all();
    } else if (!strcmp(what, "vote")) {
        doze(0.3 * me);
        shmemx_int_sum_reduce_on_stream(SHMEM_TEAM_WORLD, &word, &word, 1, stream);
        shmem_malloc(8);
    } else if (!strncmp(what, "team ", 5))
        mistake_team(what + 5, stream);
    else if (!strncmp(what, "child ", 6))
        mistake_child(what + 6, stream);
    else if (!strncmp(what, "overflow ", 9))
        mistake_overflow(what + 9, stream);
    else if (!strcmp(what, "mixed") && me)
        shmemx_barrier_all_on_stream(stream);
    else if (!strcmp(what, "mixed"))
        shmem_barrier_all();
    else if (!strcmp(what, "cmp"))
        shmemx_int_wait_until_on_stream(&word, 99, 1, stream);
    if (!strcmp(what, "rest"))
        rest(&word, stream);
    if (!strcmp(what, "forever") || !strcmp(what, "alive waits"))
        shmemx_int_wait_until_on_stream(&word, SHMEM_CMP_EQ, 1, stream);
    if (strncmp(what, "alive", 5))
        shmemx_stream_destroy(stream);
    return check_failed > 0;
}

int main(int argc, char **argv)
{
    int level = argc > 1 && !strncmp(argv[1], "single", 6) ? SHMEM_THREAD_SINGLE
                : argc > 1                                 ? SHMEM_THREAD_FUNNELED
                                                           : SHMEM_THREAD_MULTIPLE,
        status;

    shmem_init_thread(level, &status);
    me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    if (argc > 1) {
        status = mistake(argv[1]);
    } else {
        events();
        behind_gets();
        spaces();
        calls();
        calls_behind();
        orders();
        many();
        full();
        several();
        check_case = "";
        status = check_end("streams");
    }
    shmem_finalize();
    return status;
}
