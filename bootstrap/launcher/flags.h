/* The command line of oshrun. */
#ifndef SY_LAUNCHER_FLAGS_H
#define SY_LAUNCHER_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

struct sy_export {
    const char *name;  /* or a pattern such as OMP_* */
    const char *value; /* NULL: the one that oshrun has */
};

struct sy_flags {
    int npes;
    bool label, quiet, verbose;
    double timeout; /* seconds; 0: none */
    double grace;   /* seconds between the request to end and SIGKILL; < 0: not given */
    const char *directory, *heap, *transports;
    char *config; /* absolute: PEs may run in another directory */
    struct sy_export *export;
    size_t exports;
    char **program; /* name and arguments, ended by NULL */
};

/* Reads the command line. Returns -1 to go on, else the exit status: what was asked for (--help) or
 * what is wrong with it has been printed. */
int sy_flags_parse(struct sy_flags *flags, int argc, char **argv);

void sy_flags_free(struct sy_flags *flags);

#endif
