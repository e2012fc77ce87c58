/* Runs a command that starts an agent, with pipes for its three standard descriptors. */
#ifndef SY_LAUNCHER_CALL_H
#define SY_LAUNCHER_CALL_H

#include <sys/resource.h>
#include <sys/types.h>

struct sy_call_ends {
    pid_t pid; /* leads a session of its own, so that Ctrl-C in the terminal does not reach it */
    int in, out, err; /* our ends: non-blocking, closed on exec */
};

/* Returns 0 or -errno. */
int sy_call_start(char *const *command, const struct rlimit *nofile, struct sy_call_ends *ends);

#endif
