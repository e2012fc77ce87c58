/* The options of oshrun: what they are called, what they take, what they do, and the help. */
#ifndef SY_LAUNCHER_FLAGS_TABLE_H
#define SY_LAUNCHER_FLAGS_TABLE_H

#include <stddef.h>

#include "bootstrap/launcher/options/flags.h"

struct sy_parser {
    struct sy_flags *flags;
    struct sy_app *app; /* whose options are being read */
    bool by_c;          /* and its number was given by -c */
    int files;          /* of --app that are being read, one within the other */
    /* The option that is being read: */
    const struct sy_flag *flag;
    const char *option;   /* as the user has written it */
    char *value, *second; /* second: of PAIR */
};

enum sy_flag_kind {
    SY_FLAG_SWITCH,  /* *(bool *)at = true */
    SY_FLAG_CHOOSE,  /* *(int *)at = number */
    SY_FLAG_TEXT,    /* *(const char **)at = value */
    SY_FLAG_SECONDS, /* *(double *)at = value */
    SY_FLAG_COUNT,   /* *(int *)at = value, above 0 */
    SY_FLAG_SETTING, /* the variable `text` is set to the value, or text is VARIABLE=VALUE */
    SY_FLAG_WORD,    /* take(value) */
    SY_FLAG_PAIR,    /* take(value) and the next word, see below */
    SY_FLAG_ACCEPT   /* nothing: what it asks for is so anyway */
};

struct sy_flag {
    const char *names; /* without dashes, divided by blanks */
    enum sy_flag_kind kind;
    size_t at;  /* offset in struct sy_flags */
    int number; /* what it says depends on the kind, or on `take` */
    const char *text;
    /* Returns -1, or the exit status when something is wrong and has been said. */
    int (*take)(struct sy_parser *parser);
    const char *value; /* its name in the help; NULL: it has none. "[": may be left out */
    const char *shown; /* NULL: the help has no line for it */
    const char *help;
};

/* The rows; a row without names is a heading of the help. */
extern const struct sy_flag sy_flag_rows[];
extern const int sy_flag_count;

/* What to do instead of an option that only other launchers have; NULL: not known. */
const char *sy_flags_refused(const char *name, size_t length);

/* Says what is wrong with the command line. Returns the exit status. */
int sy_flags_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Sets a variable of all programs; `variable` may have its value behind a =. Returns -1. */
int sy_flags_set(struct sy_parser *parser, const char *variable, const char *value);

/* Adds those of `from`, and empties it. */
void sy_flags_move_exports(struct sy_exports *to, struct sy_exports *from);

/* Reads a file whose lines are programs with their options (flags.c). */
int sy_flags_read_file(struct sy_parser *parser);

int sy_flags_print_help(struct sy_parser *parser);

#endif
