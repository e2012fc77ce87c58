/* The command that starts an agent on a host. */
#ifndef SY_LAUNCHER_COMMAND_H
#define SY_LAUNCHER_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "bootstrap/launcher/options/flags.h"

/* The words of the command for this host, ended by NULL; they and the array are allocated. slurm:
 * the hosts are those of a Slurm job. tool: which program this is, "oshrun" or "oshcheck". */
char **sy_command_make(const struct sy_flags *flags, const char *host, bool slurm,
                       const char *tool);

/* Whether oshrun is to start an agent for this host although it is the one that it runs on. */
bool sy_command_is_wanted(const struct sy_flags *flags, const char *host);

/* Prints a word in single quotes, in the form in which all shells take such quotes within. */
void sy_command_quote(FILE *out, const char *word);

#endif
