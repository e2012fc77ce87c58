/* The command line of oshrun. */
#ifndef SY_LAUNCHER_FLAGS_H
#define SY_LAUNCHER_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "bootstrap/launcher/options/hostlist.h"

/* A change to the environment that was asked for. */
struct sy_export {
    enum { SY_EXPORT_SET, SY_EXPORT_TAKE, SY_EXPORT_UNSET, SY_EXPORT_PREPEND } kind;
    char *name;        /* for TAKE and UNSET also a pattern such as OMP_* */
    const char *value; /* SET, PREPEND */
    bool setting;      /* by an option of oshrun that stands for a variable */
};

struct sy_exports {
    struct sy_export *item;
    size_t count;
};

/* One program of the job; several are divided by ':' on the command line. */
struct sy_app {
    int npes; /* 0: not given */
    const char *directory;
    struct sy_exports exports;
    char **program; /* name and arguments, ended by NULL */
};

/* What a remote PE gets of oshrun's own environment, and a local one. */
enum sy_inherit {
    SY_INHERIT_DEFAULT, /* settings of libraries to other hosts, all to this one */
    SY_INHERIT_ALL,
    SY_INHERIT_NONE
};

enum { SY_STDIN_NONE = -2, SY_STDIN_ALL = -1 }; /* or the number of a PE */

#define SY_FLAGS_OVERDUE   124 /* the status after --timeout */
#define SY_FLAGS_UNWRITTEN 125 /* the status where output cannot be written */

struct sy_flags {
    struct sy_app *app;
    int apps;
    struct sy_exports exports; /* for all programs */
    enum sy_inherit inherit;

    struct sy_hostlist hosts;
    int per_host, most_per_host;
    bool cyclic, oversubscribe, skip_own_host;
    int binding; /* enum sy_binding */
    int cpus;    /* for each PE; 0: not given */
    bool report_bindings;
    bool overload; /* PEs may share what they are bound to */

    bool label, timestamp, merge_stderr, all_messages;
    const char *label_pattern;       /* %r PE, %h host, %% */
    const char *out_file, *err_file; /* the same patterns; NULL: oshrun's own output */
    int input;

    double timeout; /* seconds; 0: none */
    double grace;   /* seconds between the request to end and SIGKILL; < 0: not given */
    double spawn_timeout, silence;
    bool no_traces, tolerant, quiet, verbose, all_statuses;
    bool dry_run, display_map, check;

    const char *launcher; /* "ssh", ...; NULL: as it fits */
    const char *launcher_exec, *launcher_args;
    char *config; /* absolute: PEs may run in another directory */
};

/* The command whose line is read, for messages: oshrun, unless its main says another. */
extern const char *sy_flags_tool, *sy_flags_synopsis;

/* Reads the command line. Returns -1 to go on, else the exit status: what was asked for (--help) or
 * what is wrong with it has been printed. */
int sy_flags_parse(struct sy_flags *flags, int argc, char **argv);

/* Prints what is wrong with the job that was asked for, frees the text, and returns the exit
 * status. */
int sy_flags_complain(char *why);

/* Completes the hosts: those of the command line, else those of the batch job, else this one.
 * *slurm: they are those of a Slurm job. Returns -1 to go on, or the exit status. */
int sy_flags_find_hosts(struct sy_flags *flags, bool *slurm);

void sy_flags_free(struct sy_flags *flags);

#endif
