/* Reads figures by size that --json, or another library's build of the program (alone.c), has
 * written. */
#include "bench/curves/curves.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/printable.h"

static const double PEERS_MOST = 1e300; /* figures; above are decades without an end */

static bool peers_read_points(struct curve_line *line, const json_t *points)
{
    size_t i;
    json_t *point;

    json_array_foreach(points, i, point)
    {
        const json_t *x = json_array_get(point, 0), *figure = json_array_get(point, 1);

        if (line->points == CURVE_POINTS || !json_is_number(x) || !json_is_number(figure) ||
            !(json_number_value(x) > 0 && fabs(json_number_value(figure)) < PEERS_MOST))
            return false;
        line->x[line->points] = json_number_value(x);
        line->figure[line->points++] = json_number_value(figure);
    }
    return true;
}

/* Rows that are not known here are left out, as a later release may have more. */
static bool peers_read_lines(struct curve_peer *peer, const json_t *lines)
{
    bool good = json_is_array(lines);
    size_t i;
    json_t *line;

    json_array_foreach(lines, i, line)
    {
        const char *name = json_string_value(json_object_get(line, "name"));

        for (int row = 0; name && row < curve_row_count; row++)
            if (!strcmp(curve_rows[row].name, name) && !peer->line[row].points)
                good = good && peers_read_points(&peer->line[row], json_object_get(line, "points"));
    }
    return good;
}

const char *curve_peer_read(struct curve_peer *peer, const char *file)
{
    static char wrong[JSON_ERROR_TEXT_LENGTH + 40];
    json_error_t error;
    json_t *document = json_load_file(file, 0, &error);
    const char *library = json_string_value(json_object_get(document, "library"));

    peer->line = calloc((size_t)curve_row_count, sizeof *peer->line);
    peer->library = library ? strdup(library) : NULL;
    if (peer->library)
        sy_printable(peer->library, strlen(library), 0);
    for (int row = 0; peer->line && row < curve_row_count; row++)
        peer->line[row].curve = &curve_rows[row];
    bool good = peer->line && peer->library &&
                peers_read_lines(peer, json_object_get(document, "lines"));
    if (!document)
        snprintf(wrong, sizeof wrong, "line %d: %s", error.line, error.text);
    else if (peer->library && json_is_array(json_object_get(document, "lines")))
        snprintf(wrong, sizeof wrong,
                 "the points of a line are not %d at most, each a size above 0 and a figure",
                 CURVE_POINTS);
    else
        snprintf(wrong, sizeof wrong, "there are no figures by size in it");
    json_decref(document);
    return good ? NULL : wrong;
}
