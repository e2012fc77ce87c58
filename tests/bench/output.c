/* The results as a table, or as JSON. */
#include "bench/bench.h"

#include <jansson.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/standard.h"

struct bench_output {
    bool json;
    json_t *document, *rows;
};

static void target_text(const struct bench_result *result, char *text, size_t size)
{
    const struct bench_target *target = result->target;
    bool rate = bench_unit_is_rate(result->row->unit);

    if (!target)
        snprintf(text, size, "-");
    else if (target->ratio > 0.0)
        snprintf(text, size, "%s %g x raw", rate ? ">=" : "<=", target->ratio);
    else
        snprintf(text, size, "%s %g %s", rate ? ">=" : "<=", target->figure,
                 bench_unit_name(result->row->unit));
}

struct bench_output *bench_output_begin(const struct bench *bench)
{
    struct bench_output *output = calloc(1, sizeof(*output));
    char host[256] = "?", library[SHMEM_MAX_NAME_LEN];

    if (!output)
        return NULL;
    gethostname(host, sizeof(host) - 1);
    shmem_info_get_name(library);
    output->json = bench->json;
    if (bench->json) {
        output->rows = json_array();
        output->document = json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:o}", "library", library,
                                     "host", host, "pes", bench->npes, "cpus", bench->cpus,
                                     "trials", bench->trials, "seconds_per_row", bench->seconds,
                                     "rows", output->rows);
        if (!output->document) {
            free(output);
            return NULL;
        }
        return output;
    }
    printf("%s: %d PE%s on %d CPU%s of %s; medians of %d trials\n", library, bench->npes,
           bench->npes == 1 ? "" : "s", bench->cpus, bench->cpus == 1 ? "" : "s", host,
           bench->trials);
    printf("%-17s %10s %-5s %10s %8s  %-14s %s\n", "row", "figure", "unit", "raw limit", "ratio",
           "target", "met");
    return output;
}

static void print_row(const struct bench_result *result)
{
    char target[64], raw[32] = "-", ratio[32] = "-";

    if (result->refusal) {
        printf("%-17s %s\n", result->row->name, result->refusal);
        return;
    }
    target_text(result, target, sizeof(target));
    if (result->raw >= 0.0) {
        snprintf(raw, sizeof(raw), "%.2f", result->raw);
        snprintf(ratio, sizeof(ratio), "%.2f", result->ratio);
    }
    printf("%-17s %10.2f %-5s %10s %8s  %-14s %s\n", result->row->name, result->figure,
           bench_unit_name(result->row->unit), raw, ratio, target,
           !result->target ? "-"
           : result->met   ? "yes"
                           : "no");
    fflush(stdout);
}

static json_t *row_json(const struct bench_result *result)
{
    const struct bench_row *row = result->row;
    json_t *object = json_pack("{s:s, s:s}", "name", row->name, "what", row->what);
    char target[64];

    if (result->refusal) {
        json_object_set_new(object, "refused", json_string(result->refusal));
        return object;
    }
    json_object_update_new(object, json_pack("{s:s, s:f, s:f, s:f, s:i}", "unit",
                                             bench_unit_name(row->unit), "figure", result->figure,
                                             "least", result->least, "most", result->most, "trials",
                                             result->trials));
    if (result->raw >= 0.0)
        json_object_update_new(object, json_pack("{s:s, s:f, s:f}", "raw_what", row->raw_what,
                                                 "raw", result->raw, "ratio", result->ratio));
    if (result->target) {
        target_text(result, target, sizeof(target));
        json_object_update_new(object,
                               json_pack("{s:s, s:b}", "target", target, "met", result->met));
    }
    return object;
}

void bench_output_row(struct bench_output *output, const struct bench_result *result)
{
    if (output->json)
        json_array_append_new(output->rows, row_json(result));
    else
        print_row(result);
}

/* Ends and frees the output. False, after words, if it could not be written. */
bool bench_output_end(struct bench_output *output)
{
    bool written = true;

    if (output->json) {
        written = !json_dumpf(output->document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(output->document);
    free(output);
    return sy_standard_end("oshbench", 1) == 0 && written;
}

void bench_output_list(void)
{
    for (int i = 0; i < curve_row_count; i++)
        printf("%-17s %-5s %s (--sizes)\n", curve_rows[i].name, curve_unit_name(curve_rows[i].unit),
               curve_rows[i].what);
    for (int i = 0; i < bench_row_count; i++)
        printf("%-17s %-5s %s\n%-17s %-5s raw limit: %s\n", bench_rows[i].name,
               bench_unit_name(bench_rows[i].unit), bench_rows[i].what, "", "",
               bench_rows[i].raw_what);
}
