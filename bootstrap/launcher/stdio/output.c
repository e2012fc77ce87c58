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
    struct sy_out_file out_file;
};

static void output_open_out_file(struct sy_outputs *outputs, struct sy_out_file *out_file, int fd)
{
    out_file->broken = outputs->broken;
    out_file->emptied = outputs->emptied;
    out_file->owner = outputs->owner;
    sy_out_file_open(out_file, outputs->loop, fd);
}

void sy_outputs_open(struct sy_outputs *outputs)
{
    struct stat out, err;

    output_open_out_file(outputs, &outputs->out, STDOUT_FILENO);
    output_open_out_file(outputs, &outputs->err, STDERR_FILENO);
    /* With 2>&1 the lines of both go through one output, or they would mix in the file. */
    outputs->err_out_file = &outputs->err;
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        outputs->err_out_file = &outputs->out;
}

struct sy_out_file *sy_outputs_file(struct sy_outputs *outputs, const char *name)
{
    struct sy_file *file;
    int fd;

    for (file = outputs->files; file; file = file->next) {
        if (strcmp(file->name, name) == 0)
            return &file->out_file;
    }
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return NULL;
    file = sy_memory_zeroed(1, sizeof *file);
    file->name = sy_memory_string(name);
    file->fd = fd;
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
