/* Where the output of PEs goes: see output.h. */
#include "bootstrap/launcher/stdio/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

struct sy_file {
    struct sy_file *next;
    char *name;
    int fd;
    dev_t device; /* these two are the file, whatever its name */
    ino_t inode;
    struct sy_out_file out_file;
};

static void output_open_out_file(struct sy_outputs *outputs, struct sy_out_file *out_file, int fd)
{
    out_file->broken = outputs->broken;
    out_file->emptied = outputs->emptied;
    out_file->owner = outputs->owner;
    sy_out_file_open(out_file, outputs->loop, fd);
}

static bool output_leads_to(int fd, const struct stat *to)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == to->st_dev && st.st_ino == to->st_ino;
}

void sy_outputs_open(struct sy_outputs *outputs)
{
    struct stat out;

    output_open_out_file(outputs, &outputs->out, STDOUT_FILENO);
    output_open_out_file(outputs, &outputs->err, STDERR_FILENO);
    /* With 2>&1 the lines of both go through one output, or they would mix in the file. */
    outputs->err_out_file = &outputs->err;
    if (fstat(STDOUT_FILENO, &out) == 0 && output_leads_to(STDERR_FILENO, &out))
        outputs->err_out_file = &outputs->out;
}

/* The output that leads to a file already, or NULL. A second one would empty the file, and would
 * write over what the first one has written. */
static struct sy_out_file *output_find(struct sy_outputs *outputs, const char *name)
{
    struct stat st;
    bool there = stat(name, &st) == 0;

    if (there && output_leads_to(STDOUT_FILENO, &st))
        return &outputs->out;
    if (there && output_leads_to(STDERR_FILENO, &st))
        return &outputs->err;
    for (struct sy_file *file = outputs->files; file; file = file->next) {
        if (strcmp(file->name, name) == 0 ||
            (there && file->device == st.st_dev && file->inode == st.st_ino))
            return &file->out_file;
    }
    return NULL;
}

struct sy_out_file *sy_outputs_file(struct sy_outputs *outputs, const char *name)
{
    struct sy_out_file *found = output_find(outputs, name);
    struct sy_file *file;
    struct stat st;

    if (found)
        return found;
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (fd < 0)
        return NULL;
    file = sy_memory_zeroed(1, sizeof *file);
    file->name = sy_memory_string(name);
    file->fd = fd;
    if (fstat(fd, &st) == 0) {
        file->device = st.st_dev;
        file->inode = st.st_ino;
    }
    file->next = outputs->files;
    outputs->files = file;
    output_open_out_file(outputs, &file->out_file, fd);
    return &file->out_file;
}

const char *sy_outputs_name(const struct sy_outputs *outputs, const struct sy_out_file *out_file)
{
    for (const struct sy_file *file = outputs->files; file; file = file->next) {
        if (&file->out_file == out_file)
            return file->name;
    }
    return out_file == &outputs->out ? "stdout" : "stderr";
}

bool sy_outputs_empty(const struct sy_outputs *outputs)
{
    for (const struct sy_file *file = outputs->files; file; file = file->next) {
        if (!sy_out_file_empty(&file->out_file))
            return false;
    }
    return sy_out_file_empty(&outputs->out) && sy_out_file_empty(&outputs->err);
}

void sy_outputs_close(struct sy_outputs *outputs)
{
    sy_out_file_close(&outputs->out);
    sy_out_file_close(&outputs->err);
    while (outputs->files) {
        struct sy_file *file = outputs->files;

        outputs->files = file->next;
        sy_out_file_close(&file->out_file);
        close(file->fd);
        free(file->name);
        free(file);
    }
}

char *sy_outputs_expand(const char *pattern, int pe, const char *host)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_stream(&text, &length);

    for (; *pattern; pattern++) {
        if (*pattern != '%' || !strchr("rh%", pattern[1]) || !pattern[1]) {
            fputc(*pattern, out);
            continue;
        }
        pattern++;
        if (*pattern == 'r')
            fprintf(out, "%d", pe);
        else if (*pattern == 'h')
            fputs(host, out);
        else
            fputc('%', out);
    }
    sy_memory_stream_end(out);
    return text;
}
