#include <string.h>
#include <sys/stat.h>

#include "util/bits.h"
#include "util/net/machine.h"
#include "util/proc.h"

uint64_t sy_machine_boot(void)
{
    char text[SY_PROC_TEXT];
    const char *boot = sy_proc_read("/proc/sys/kernel/random/boot_id", text);

    return *boot ? sy_hash(boot, strlen(boot), 0) | 1 : 0;
}

uint64_t sy_machine_network_of(uint64_t machine)
{
    uint64_t where[2];
    struct stat space;

    if (stat("/proc/self/ns/net", &space))
        return 0;
    where[0] = space.st_dev;
    where[1] = space.st_ino;
    return sy_hash(where, sizeof where, machine) | 1;
}

uint64_t sy_machine_network(void)
{
    uint64_t boot = sy_machine_boot();

    return boot ? sy_machine_network_of(boot) : 0;
}
