/* Which machine this is, and which of its network namespaces. Host names are no identity, since
 * cloned machines share them; the boot id is the kernel's own. */
#ifndef SY_UTIL_NET_MACHINE_H
#define SY_UTIL_NET_MACHINE_H

#include <stdint.h>

/* Equal on processes that run on one kernel; 0: not known. */
uint64_t sy_machine_boot(void);

/* Equal on processes that share the loopback interface; 0: not known. The second is for a machine
 * that the caller knows by another number than the first function's. */
uint64_t sy_machine_network(void);
uint64_t sy_machine_network_of(uint64_t machine);

#endif
