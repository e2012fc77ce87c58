/* Finds the program to run: see program.h. */
#include "bootstrap/launcher/options/program.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

int sy_program_status(int error)
{
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

/* 0, or why this file cannot be executed. */
static int program_fault_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static char *program_join(const char *directory, size_t length, const char *name)
{
    if (length == 0)
        return sy_memory_string(name); /* an empty entry of PATH is the working directory */
    return sy_memory_text("%.*s/%s", (int)length, directory, name);
}

/* Searches PATH. *error: that of a file which exists but cannot be run, else ENOENT. */
static char *program_search(const char *name, const char *list, int *error)
{
    *error = ENOENT;
    for (;;) {
        size_t length = strcspn(list, ":");
        char *path = program_join(list, length, name);
        int fault = program_fault_of(path);

        if (!fault)
            return path;
        free(path);
        if (fault == EACCES)
            *error = fault;
        if (!list[length])
            return NULL;
        list += length + 1;
    }
}

static char *program_explain(const char *name, const char *list, int error)
{
    char *here, *text;
    const char *hint = "";

    if (!list)
        return sy_memory_string(strerror(error));
    here = sy_memory_text("./%s", name);
    if (program_fault_of(here) == 0)
        hint = "; there is one in this directory, write it as ./";
    text = sy_memory_text("%s (searched PATH: %s%s%s)", strerror(error), list, hint,
                          *hint ? name : "");
    free(here);
    return text;
}

char *sy_program_find(const char *name, int *status, char **why)
{
    const char *list = NULL;
    char *found = NULL;
    int error;

    if (!*name) {
        error = ENOENT;
    } else if (strchr(name, '/')) {
        error = program_fault_of(name);
        if (!error)
            return sy_memory_string(name);
    } else {
        list = getenv("PATH");
        if (!list)
            list = "/bin:/usr/bin";
        found = program_search(name, list, &error);
        if (found)
            return found;
    }
    if (status)
        *status = sy_program_status(error);
    if (why)
        *why = program_explain(name, list, error);
    return NULL;
}
