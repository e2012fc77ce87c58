/* A stream whose transfer waits for a PE that is stopped holds up no other stream. Over tcp, 3 PEs. "iget": blocks from
 * that PE; "device": a put from an OpenCL buffer, with which that PE has to keep up. */
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <shmemx.h>

#include "tests/conformance/check.h"

enum { BLOCKS = 16, LENGTH = 8 << 20, PATIENCE_MS = 20000 };

static long pid, flag, data[2 * BLOCKS], got[BLOCKS];

static void doze_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static shmemx_stream_t make(void)
{
    shmemx_stream_t stream;

    CHECK(!shmemx_stream_create(SHMEM_TEAM_WORLD, NULL, &stream));
    return stream;
}

/* With PE 1 stopped. */
static void run(char *host, const char *device)
{
    shmemx_stream_t waits = make(), other = make();
    int passed = 0;

    if (device)
        shmemx_putmem_on_stream(host, device, LENGTH, 1, waits);
    else
        shmemx_long_iget_on_stream(got, data, 1, 2, BLOCKS, 1, waits);
    doze_ms(100);
    shmemx_long_put_on_stream(&flag, &pid, 1, 2, other);
    while (!shmemx_stream_query(other) && passed++ < PATIENCE_MS)
        doze_ms(1);
    CHECK(shmemx_stream_query(other) == 1);
    CHECK(shmemx_stream_query(waits) == 0);
    CHECK(!kill((pid_t)shmem_long_g(&data[1], 2), SIGCONT));
    CHECK(!shmemx_stream_synchronize(waits) && !shmemx_stream_synchronize(other));
    for (int i = 0; i < BLOCKS && !device; i++)
        CHECK(got[i] == 100 + i);
    shmemx_stream_destroy(waits);
    shmemx_stream_destroy(other);
}

int main(int argc, char **argv)
{
    char *host = NULL, *device = NULL;
    int level, me, status;

    shmem_init_thread(SHMEM_THREAD_FUNNELED, &level);
    me = shmem_my_pe();
    if (argc > 1 && !strcmp(argv[1], "device")) {
        const shmemx_space_config_t config = {
            .device_type = SHMEMX_DEVICE_GPU, .size = LENGTH + 4096, .flags = SHMEMX_SPACE_FLAG_BUFFER};
        shmemx_space_t space;
        shmem_team_t team;

        CHECK(!shmemx_space_create(&config, &space, &team));
        device = shmemx_space_malloc(space, LENGTH);
        host = shmem_malloc(LENGTH);
        CHECK(device && host);
    }
    pid = getpid();
    for (int i = 0; i < 2 * BLOCKS; i += 2)
        data[i] = 100 + i / 2;
    if (me == 1)
        shmem_long_p(&data[1], pid, 2);
    shmem_barrier_all();
    if (me == 0) {
        long stopped = shmem_long_g(&data[1], 2);

        CHECK(!kill((pid_t)stopped, SIGSTOP));
        doze_ms(100);
        run(host, device);
    }
    shmem_barrier_all();
    CHECK(me != 2 || flag > 0);
    status = check_end("stopped");
    shmem_finalize();
    return status;
}
