/* The check: tries the hosts before a job needs them, and the ways between them. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <stdbool.h>

#include "bootstrap/launcher/options/flags.h"

/* Prints tables. Returns the exit status: 0 if a job could run on all of them. */
int sy_check_hosts(const struct sy_flags *flags, bool slurm);

#endif
