/* Figures by size as a table for each row, or as JSON. */
#include "bench/curves/curves.h"

#include <string.h>
#include <unistd.h>

static bool any_line; /* JSON: a comma comes before the next one */

const char *curve_unit_name(enum curve_unit unit)
{
    static const char *const names[] = {
        [CURVE_US] = "us", [CURVE_MBPS] = "MB/s", [CURVE_MOPS] = "M/s", [CURVE_PERCENT] = "%"};

    return names[unit];
}

bool curve_unit_is_rate(enum curve_unit unit)
{
    return unit != CURVE_US;
}

double curve_at(const struct curve_line *line, double x)
{
    for (int i = 0; i < line->points; i++)
        if (line->x[i] >= x && line->x[i] <= x)
            return line->figure[i];
    return -1.0;
}

/* Names of hosts and libraries, without what JSON would have to quote. */
static void print_text(const char *text)
{
    for (; *text; text++)
        putchar(*text < ' ' || *text == '"' || *text == '\\' ? '?' : *text);
}

void curve_print_begin(const struct curves *curves, const char *library)
{
    char host[256] = "?";

    any_line = false;
    gethostname(host, sizeof host - 1);
    printf(curves->json ? "{\n\"library\": \"" : "");
    print_text(library);
    if (curves->json) {
        printf("\", \"host\": \"");
        print_text(host);
        printf("\", \"pes\": %d, \"cpus\": %d, \"trials\": %d, \"seconds_per_point\": "
               "%g,\n\"lines\": [",
               curves->npes, curves->cpus, curves->trials, curves->seconds);
    } else {
        printf(": %d PEs on %d CPUs of %s; medians of %d trials\n", curves->npes, curves->cpus,
               host, curves->trials);
    }
}

static void print_json(const struct curve_line *line)
{
    printf(
        "%s\n{\"name\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"by\": \"%s\", \"points\": [",
        any_line ? "," : "", line->curve->name, line->curve->what,
        curve_unit_name(line->curve->unit), line->curve->by_pairs ? "pairs" : "bytes");
    for (int i = 0; i < line->points; i++)
        printf("%s[%.0f, %.6g]", i ? ", " : "", line->x[i], line->figure[i]);
    printf("]}");
    any_line = true;
}

/* Another library's figure, and how many times better this one's is. */
static void print_beside(const struct curve_line *line, double x, double figure,
                         const struct curve_peer *peer)
{
    double other = curve_at(&peer->line[line->curve - curve_rows], x);

    if (other <= 0.0 || figure <= 0.0)
        printf(" %20s %6s", "-", "-");
    else
        printf(" %20.*f %6.2f", other < 10 ? 3 : 1, other,
               curve_unit_is_rate(line->curve->unit) ? figure / other : other / figure);
}

void curve_print_line(const struct curves *curves, const struct curve_line *line,
                      const struct curve_peer *peers, int count)
{
    if (curves->json) {
        print_json(line);
        return;
    }
    printf("\n%s: %s, %s\n%10s %12s", line->curve->name, line->curve->what,
           curve_unit_name(line->curve->unit), line->curve->by_pairs ? "pairs" : "bytes", "figure");
    for (int k = 0; k < count; k++)
        printf(" %20.20s %6s", peers[k].library, "ratio");
    for (int i = 0; i < line->points; i++) {
        printf("\n%10.0f %12.*f", line->x[i], line->figure[i] < 10 ? 3 : 1, line->figure[i]);
        for (int k = 0; k < count; k++)
            print_beside(line, line->x[i], line->figure[i], &peers[k]);
    }
    printf("\n");
    fflush(stdout);
}

void curve_print_end(const struct curves *curves)
{
    if (curves->json)
        printf("\n]}\n");
}
