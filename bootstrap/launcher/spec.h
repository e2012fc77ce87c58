/* What a host must know to run its PEs of a job (daemon.h): the programs, their environment, which
 * PE runs which. It is made where the whole job is known, and travels to an agent as bytes. */
#ifndef SY_LAUNCHER_SPEC_H
#define SY_LAUNCHER_SPEC_H

#include <stdbool.h>
#include <stddef.h>

enum sy_binding {
    SY_BIND_SHARE, /* to a part of the processors for each PE, where PEs fit; else as NONE */
    SY_BIND_NONE,
    SY_BIND_HWTHREAD,
    SY_BIND_CORE,
    SY_BIND_NUMA,
    SY_BIND_SOCKET,
    SY_BINDINGS
};

/* One program of the job. */
struct sy_spec_program {
    char *path;      /* the file, as found where the job was started; NULL: to be looked for */
    char *directory; /* to run in */
    char **argv;     /* ended by NULL */
    char **changes;  /* to the environment, ended by NULL; see environ.h */
    bool bare;       /* nothing of the host's own environment passes to it */
};

struct sy_spec_pe {
    int pe;
    int program; /* index */
    bool input;  /* gets standard input */
};

struct sy_spec {
    char *host;     /* its name, for messages */
    int npes;       /* of the whole job */
    double silence; /* seconds without a word after which the other side is lost */
    int binding;    /* enum sy_binding */
    int cpus;       /* processors that each PE needs; 0: not said */
    bool report_bindings, merge_stderr;
    int count; /* PEs of this host */
    struct sy_spec_pe *pe;
    int programs;
    struct sy_spec_program *program;
};

/* The bytes (allocated) and their number. */
char *sy_spec_pack(const struct sy_spec *spec, size_t *length);

/* The reverse; returns false if the bytes are no spec. */
bool sy_spec_unpack(struct sy_spec *spec, const char *bytes, size_t length);

/* Frees what is in it. */
void sy_spec_free(struct sy_spec *spec);

#endif
