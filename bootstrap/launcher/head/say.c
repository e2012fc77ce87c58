/* oshrun's own messages to users: see run.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/launcher/head/run.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"

/* Lines of PEs and hosts often hold the cause of oshrun's own line, so they come first, even where
 * they wait to be merged with others. That is a quarter of a second at most for each. */
static void say_in_turn(struct sy_run *run, const char *line, size_t length)
{
    if (!sy_repeats_wait(&run->repeats) && !sy_repeats_wait(&run->host_repeats)) {
        sy_out_file_say(run->outputs.err_out_file, line, length);
        return;
    }
    run->later = sy_memory_resize(run->later, run->later_length + length);
    memcpy(run->later + run->later_length, line, length);
    run->later_length += length;
    run->later_since = ev_now(run->loop);
}

void sy_run_say_later(struct sy_run *run)
{
    if (run->later_length)
        sy_out_file_say(run->outputs.err_out_file, run->later, run->later_length);
    run->later_length = 0;
}

void sy_run_say(struct sy_run *run, enum sy_say kind, const char *fmt, ...)
{
    char text[1024] = "oshrun: ", line[SY_PLAIN_ROOM(sizeof text)];
    size_t length = strlen(text);
    va_list args;

    if ((kind == SY_SAY_ENDING && run->flags->quiet) ||
        (kind == SY_SAY_MORE && !run->flags->verbose))
        return;
    va_start(args, fmt);
    int n = vsnprintf(text + length, sizeof text - length - 1, fmt, args);
    va_end(args);
    length += n < 0 ? 0 : (size_t)n;
    if (length > sizeof text - 2)
        length = sizeof text - 2;
    for (char *at = text; at < text + length; at++) {
        if (*at == '\n')
            *at = ' ';
    }
    length = sy_plain(line, text, length);
    line[length++] = '\n';
    say_in_turn(run, line, length);
}
