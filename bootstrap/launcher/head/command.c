/* The command that starts an agent: see command.h. It runs this very file on the other host, if the
 * file exists there under the same name, else the program of that name in that host's PATH; the
 * banner shows whether the two fit. The words contain no secret, because anybody on that host can
 * read them. */
#include "bootstrap/launcher/head/command.h"

#include <limits.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/program.h"

struct words {
    const char *tool; /* whose agent it is */
    char **list;
    size_t count;
};

static void command_add(struct words *words, const char *word)
{
    sy_memory_add(&words->list, &words->count, sy_memory_string(word));
}

/* Adds a text that is several words. */
static void command_add_divided(struct words *words, const char *text)
{
    char *copy, *save = NULL;

    if (!text)
        return;
    copy = sy_memory_string(text);
    for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
        command_add(words, word);
    free(copy);
}

static const char *command_own_file(const struct words *words)
{
    static char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    path[n > 0 ? n : 0] = '\0';
    return n > 0 ? path : words->tool;
}

void sy_command_quote(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

/* Adds the agent's command where the shell of the other host starts it. */
static void command_add_shell(struct words *words)
{
    char *quoted = NULL, *command;
    size_t length = 0;
    FILE *out = sy_memory_stream(&quoted, &length);

    sy_command_quote(out, command_own_file(words));
    sy_memory_stream_end(out);
    command = sy_memory_text("exec /bin/sh -c 'test -x \"$1\" || set -- %s; exec \"$1\" --agent' "
                             "%s %s",
                             words->tool, words->tool, quoted);
    command_add(words, command);
    free(command);
    free(quoted);
}

static bool command_in_path(const char *name)
{
    char *path = sy_program_find(name, NULL, NULL);

    free(path);
    return path != NULL;
}

/* Adds the agent's command where no shell starts it. */
static void add_agent(struct words *words)
{
    command_add(words, command_own_file(words));
    command_add(words, "--agent");
}

static void command_make_ssh(struct words *words, const struct sy_flags *flags, const char *host)
{
    command_add_divided(words, flags->launcher_exec ? flags->launcher_exec : "ssh");
    command_add_divided(words, "-x -a -T -o BatchMode=yes -o ConnectTimeout=10 "
                               "-o ServerAliveInterval=5 -o ServerAliveCountMax=3");
    command_add_divided(words, flags->launcher_args);
    command_add(words, host);
    command_add_shell(words);
}

/* The command for srun, whose own buffering and binding would interfere. */
static void command_make_slurm(struct words *words, const struct sy_flags *flags, const char *host)
{
    command_add_divided(words, flags->launcher_exec ? flags->launcher_exec : "srun");
    command_add_divided(words, "--nodes=1 --ntasks=1 --overlap --unbuffered --mpi=none "
                               "--cpu-bind=none --export=ALL -w");
    command_add(words, host);
    command_add_divided(words, flags->launcher_args);
    add_agent(words);
}

bool sy_command_is_wanted(const struct sy_flags *flags, const char *host)
{
    return flags->launcher || flags->launcher_exec || !sy_hostlist_is_here(host);
}

char **sy_command_make(const struct sy_flags *flags, const char *host, bool slurm, const char *tool)
{
    const char *launcher = flags->launcher;
    struct words words = {.tool = tool};

    if (!sy_command_is_wanted(flags, host)) {
        add_agent(&words);
        return words.list;
    }
    if (!launcher && !flags->launcher_exec)
        launcher = slurm && command_in_path("srun") ? "slurm" : "ssh";
    if (launcher && strcmp(launcher, "ssh") == 0) {
        command_make_ssh(&words, flags, host);
    } else if (launcher && (strcmp(launcher, "slurm") == 0 || strcmp(launcher, "srun") == 0)) {
        command_make_slurm(&words, flags, host);
    } else if (launcher && strcmp(launcher, "fork") == 0) {
        add_agent(&words);
    } else {
        command_add_divided(&words, flags->launcher_exec ? flags->launcher_exec : launcher);
        command_add_divided(&words, flags->launcher_args);
        command_add(&words, host);
        command_add_shell(&words);
    }
    return words.list;
}
