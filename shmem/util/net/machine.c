/* See machine.h. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/bits.h"
#include "util/net/machine.h"

uint64_t sy_machine_boot(void)
{
    char boot[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, boot, sizeof boot);

    if (fd >= 0)
        close(fd);
    return got > 0 ? sy_hash(boot, (uint64_t)got, 0) | 1 : 0;
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
