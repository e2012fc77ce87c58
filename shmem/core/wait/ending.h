/* Whether this PE's program is in MPI_Finalize, where it waits for other processes that may be
 * waiting for it in this library. */
#ifndef SY_CORE_ENDING_H
#define SY_CORE_ENDING_H

#include <stdint.h>

/* Since when the main thread has been in MPI_Finalize, as far as has been seen (sy_clock_ns); 0: it
 * is not. By the progress thread. */
uint64_t sy_ending_since(void);

#endif
