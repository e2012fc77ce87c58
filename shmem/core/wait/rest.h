/* Whether this PE rests: see util/rest.h. */
#ifndef SY_CORE_REST_H
#define SY_CORE_REST_H

#include <stdbool.h>
#include <stdint.h>

/* Encloses the start of the library's own threads: all others are the program's. */
void sy_rest_threads_begin(void);
void sy_rest_threads_end(void);

/* Which wait this PE is in, with SY_REST_ flags and for how many seconds; 0: it does not rest: a
 * thread does something else, or a transport has something under way. limit: of
 * SHMEM_DEADLOCK_TIMEOUT. By the progress thread. */
uint64_t sy_rest_look(double limit, unsigned *flags, double *seconds);

#endif
