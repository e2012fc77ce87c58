/* One row describes one setting: parsing, the JSON key, the environment name, oshinfo's listing and
 * docs/options.md all come from it. The core has a table of rows and so may every plugin; the core
 * fills a plugin's settings before it calls the plugin's open(), so a plugin never reads
 * settings from the environment. */
#ifndef SWITCHYARD_OPTION_H
#define SWITCHYARD_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum sy_option_type {
    SY_OPTION_BOOL,    /* bool: 0 1 no yes off on false true, any case */
    SY_OPTION_FLAG,    /* bool: as BOOL, but any other text means on (the specification's "Any") */
    SY_OPTION_INT,     /* long, min..max */
    SY_OPTION_SIZE,    /* size_t, bytes; "64m", ".5G", as SHMEM_SYMMETRIC_SIZE is written */
    SY_OPTION_SECONDS, /* double, >= 0 */
    SY_OPTION_STRING,  /* const char *, never NULL; owned by the option table */
    SY_OPTION_CHOICE,  /* int: the index of the word in `choices` */
    SY_OPTION_LIST     /* as STRING: parts divided by semicolons, of words divided by blanks; in
                          JSON also an array of parts, or of objects of words key=value */
};

enum {
    SY_OPTION_JOB = 1,   /* must have the same value on every PE of a job */
    SY_OPTION_EARLY = 2, /* read from the environment before main(), so JSON files come too late */
    SY_OPTION_INERT = 4  /* a name known from elsewhere that has no effect here; `help` says why */
};

struct sy_option {
    const char *name; /* "tcp.streams": the JSON path, and SHMEM_TCP_STREAMS in the environment */
    enum sy_option_type type;
    unsigned flags;
    size_t offset;       /* of the value in the settings structure; unused for INERT rows */
    const char *def;     /* default, in the form a user would write */
    const char *choices; /* CHOICE: words divided by '|'; otherwise NULL */
    long min, max;       /* INT: the allowed range */
    const char *aliases; /* other environment names, divided by spaces, first match wins; or NULL */
    const char *help;    /* one sentence, without a full stop */
};

#endif
