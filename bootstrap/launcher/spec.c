/* The description of a host's part of a job as bytes: see spec.h. Numbers are decimal and every
 * element ends with a NUL, so there is one kind of element and no alignment. */
#include "bootstrap/launcher/spec.h"

#include <limits.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/control/protocol.h"
#include "util/parse.h"

static void put_text(FILE *out, const char *text)
{
    fputs(text, out);
    fputc('\0', out);
}

static void spec_put_number(FILE *out, long number)
{
    fprintf(out, "%ld", number);
    fputc('\0', out);
}

static void spec_put_list(FILE *out, char *const *list)
{
    long count = 0;

    while (list[count])
        count++;
    spec_put_number(out, count);
    for (long i = 0; i < count; i++)
        put_text(out, list[i]);
}

char *sy_spec_pack(const struct sy_spec *spec, size_t *length)
{
    char *bytes = NULL;
    FILE *out = sy_memory_stream(&bytes, length);

    put_text(out, spec->host);
    spec_put_number(out, spec->npes);
    spec_put_number(out, spec->silence < INT_MAX / 1000 ? (long)(spec->silence * 1000) : INT_MAX);
    spec_put_number(out, spec->binding);
    spec_put_number(out, spec->cpus);
    spec_put_number(out, spec->report_bindings);
    spec_put_number(out, spec->merge_stderr);
    spec_put_number(out, spec->count);
    for (int i = 0; i < spec->count; i++) {
        spec_put_number(out, spec->pe[i].pe);
        spec_put_number(out, spec->pe[i].program);
        spec_put_number(out, spec->pe[i].input);
    }
    spec_put_number(out, spec->programs);
    for (int i = 0; i < spec->programs; i++) {
        const struct sy_spec_program *program = &spec->program[i];

        put_text(out, program->path ? program->path : "");
        put_text(out, program->directory);
        spec_put_list(out, program->argv);
        spec_put_list(out, program->changes);
        spec_put_number(out, program->bare);
    }
    sy_memory_stream_end(out);
    return bytes;
}

struct reader {
    const char *at, *end;
    bool bad;
};

static const char *spec_get_text(struct reader *reader)
{
    const char *text = reader->at;
    const char *end = reader->bad ? NULL : memchr(text, '\0', (size_t)(reader->end - text));

    if (!end) {
        reader->bad = true;
        return "";
    }
    reader->at = end + 1;
    return text;
}

static int spec_get_number(struct reader *reader, long most)
{
    long number;

    if (sy_parse_int(spec_get_text(reader), 0, most, &number) == 0)
        return (int)number;
    reader->bad = true;
    return 0;
}

/* Reads a count. Each element takes at least its NUL, so a count that is larger than the rest is
 * wrong. */
static int spec_get_count(struct reader *reader)
{
    int count = spec_get_number(reader, INT_MAX);

    if (count > reader->end - reader->at)
        reader->bad = true;
    return reader->bad ? 0 : count;
}

static char **spec_get_list(struct reader *reader)
{
    int count = spec_get_count(reader);
    char **list = sy_memory_zeroed((size_t)count + 1, sizeof *list);

    for (int i = 0; i < count; i++)
        list[i] = sy_memory_string(spec_get_text(reader));
    return list;
}

static void spec_get_program(struct reader *reader, struct sy_spec_program *program)
{
    const char *path = spec_get_text(reader);

    program->path = *path ? sy_memory_string(path) : NULL;
    program->directory = sy_memory_string(spec_get_text(reader));
    program->argv = spec_get_list(reader);
    program->changes = spec_get_list(reader);
    program->bare = spec_get_number(reader, 1);
    if (!program->argv[0])
        reader->bad = true;
    /* As in environ.h. */
    for (char **change = program->changes; *change; change++)
        reader->bad = reader->bad || !**change || !strchr("=-^", **change);
}

bool sy_spec_unpack(struct sy_spec *spec, const char *bytes, size_t length)
{
    struct reader reader = {.at = bytes, .end = bytes + length};

    memset(spec, 0, sizeof *spec);
    spec->host = sy_memory_string(spec_get_text(&reader));
    spec->npes = spec_get_number(&reader, SY_LAUNCH_PES_MAX);
    spec->silence = spec_get_number(&reader, INT_MAX) / 1000.;
    spec->binding = spec_get_number(&reader, SY_BINDINGS - 1);
    spec->cpus = spec_get_number(&reader, INT_MAX);
    spec->report_bindings = spec_get_number(&reader, 1);
    spec->merge_stderr = spec_get_number(&reader, 1);
    spec->count = spec_get_count(&reader);
    spec->pe = sy_memory_zeroed((size_t)spec->count, sizeof *spec->pe);
    for (int i = 0; i < spec->count; i++) {
        spec->pe[i].pe = spec_get_number(&reader, spec->npes - 1L);
        spec->pe[i].program = spec_get_number(&reader, INT_MAX);
        spec->pe[i].input = spec_get_number(&reader, 1);
    }
    spec->programs = spec_get_count(&reader);
    spec->program = sy_memory_zeroed((size_t)spec->programs, sizeof *spec->program);
    for (int i = 0; i < spec->programs; i++)
        spec_get_program(&reader, &spec->program[i]);
    for (int i = 0; i < spec->count; i++)
        reader.bad = reader.bad || spec->pe[i].program >= spec->programs;
    if (!reader.bad)
        return true;
    sy_spec_free(spec);
    return false;
}

void sy_spec_free(struct sy_spec *spec)
{
    for (int i = 0; i < spec->programs; i++) {
        free(spec->program[i].path);
        free(spec->program[i].directory);
        sy_memory_free_list(spec->program[i].argv);
        sy_memory_free_list(spec->program[i].changes);
    }
    free(spec->program);
    free(spec->pe);
    free(spec->host);
    memset(spec, 0, sizeof *spec);
}
