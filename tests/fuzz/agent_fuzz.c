/* libFuzzer target: what an agent reads from oshrun. The agent is the real one, except that it
 * starts no processes; its stdin is the input, and ends with it. */
#define _GNU_SOURCE 1
#include "tests/fuzz/clock.h"
#include "tests/fuzz/processes.h"

#include "bootstrap/launcher/daemon/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sy_child_plan plan = {.boot_fd = 3};
    int said[2], null = open("/dev/null", O_WRONLY);

    if (size > 60000 || null < 0 || pipe(said) != 0) {
        close(null);
        return 0;
    }
    started_pids = 0;
    if (write(said[1], data, size) != (ssize_t)size)
        abort();
    close(said[1]);
    dup2(said[0], STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(said[0]);
    close(null);
    let_time_fly(true);
    sy_agent_run(&plan);
    let_time_fly(false);
    return 0;
}
