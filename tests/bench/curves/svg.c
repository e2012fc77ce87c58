/* Pictures of figures by size: a panel for each unit, both axes logarithmic but for percentages, a
 * colour for each row, and for each library a kind of line. */
#include "bench/curves/curves.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 520, HEIGHT = 380, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 50, LEGEND = 16 };

struct svg_panel {
    FILE *out;
    const struct curve_peer *libraries;
    int count;
    enum curve_unit unit;
    bool by_pairs;
    double least_x, most_x, least, most; /* of the axes */
    int at;                              /* the left edge */
};

static bool svg_shows(const struct svg_panel *panel, int row)
{
    return curve_rows[row].unit == panel->unit && curve_rows[row].by_pairs == panel->by_pairs;
}

static double svg_log(double value)
{
    return log10(value > 1e-9 ? value : 1e-9);
}

static double svg_x(const struct svg_panel *panel, double x)
{
    double range = svg_log(panel->most_x) - svg_log(panel->least_x);

    return panel->at + LEFT +
           (WIDTH - LEFT - RIGHT) *
               (range > 0 ? (svg_log(x) - svg_log(panel->least_x)) / range : 0.5);
}

static double svg_y(const struct svg_panel *panel, double y)
{
    double share = panel->unit == CURVE_PERCENT
                       ? y / panel->most
                       : (svg_log(y) - svg_log(panel->least)) /
                             (svg_log(panel->most) - svg_log(panel->least));

    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
}

/* Finds the axes' ends: whole decades for figures. Returns how many lines there are. */
static int svg_measure(struct svg_panel *panel)
{
    int lines = 0;

    panel->least = panel->least_x = 1e300;
    panel->most = panel->most_x = 0;
    for (int k = 0; k < panel->count * curve_row_count; k++) {
        const struct curve_line *line =
            &panel->libraries[k / curve_row_count].line[k % curve_row_count];
        if (!svg_shows(panel, k % curve_row_count) || !line->points)
            continue;
        lines++;
        for (int i = 0; i < line->points; i++) {
            panel->least = fmin(panel->least, fmax(line->figure[i], 1e-6));
            panel->most = fmax(panel->most, line->figure[i]);
            panel->least_x = fmin(panel->least_x, line->x[i]);
            panel->most_x = fmax(panel->most_x, line->x[i]);
        }
    }
    panel->least = pow(10, floor(svg_log(panel->least)));
    panel->most = panel->unit == CURVE_PERCENT ? 100 : pow(10, ceil(svg_log(panel->most) + 1e-9));
    return lines;
}

static void svg_text(const struct svg_panel *panel, double x, double y, const char *anchor,
                     const char *text)
{
    fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++)
        fputc(*text < ' ' || strchr("<>&", *text) ? '?' : *text, panel->out);
    fprintf(panel->out, "</text>\n");
}

static void svg_rule(const struct svg_panel *panel, double x0, double y0, double x1, double y1)
{
    fprintf(panel->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
            x0, y0, x1, y1);
}

static void svg_size_text(double x, char *text, size_t room)
{
    snprintf(text, room,
             x >= 1 << 20   ? "%.0fM"
             : x >= 1 << 10 ? "%.0fk"
                            : "%.0f",
             x >= 1 << 20   ? x / (1 << 20)
             : x >= 1 << 10 ? x / (1 << 10)
                            : x);
}

/* Marks of the figures at decades (or each 20 %), of sizes at powers of 8, of pairs at powers of 2.
 */
static void svg_axes(const struct svg_panel *panel)
{
    double step = panel->by_pairs ? 2 : 8;
    char text[32];

    for (double y = panel->unit == CURVE_PERCENT ? 0 : panel->least; y <= panel->most * 1.001;
         y = panel->unit == CURVE_PERCENT ? y + 20 : y * 10) {
        svg_rule(panel, panel->at + LEFT, svg_y(panel, y), panel->at + WIDTH - RIGHT,
                 svg_y(panel, y));
        snprintf(text, sizeof text, "%g", y);
        svg_text(panel, panel->at + LEFT - 6, svg_y(panel, y) + 4, "end", text);
    }
    for (double x = panel->least_x; x <= panel->most_x; x *= step) {
        svg_rule(panel, svg_x(panel, x), TOP, svg_x(panel, x), HEIGHT - BOTTOM);
        svg_size_text(x, text, sizeof text);
        svg_text(panel, svg_x(panel, x), HEIGHT - BOTTOM + 16, "middle", text);
    }
    svg_text(panel, panel->at + (WIDTH + LEFT - RIGHT) / 2., HEIGHT - 14, "middle",
             panel->by_pairs ? "pairs" : "bytes");
    svg_text(panel, panel->at + LEFT, TOP - 12, "middle", curve_unit_name(panel->unit));
}

/* number: of the line in the panel, for its place in the legend. */
static void svg_line(const struct svg_panel *panel, int library, int row, int number)
{
    static const char *const colours[] = {"#1b6ca8", "#d1495b", "#2e933c",
                                          "#8338ec", "#e98a15", "#00798c"};
    static const char *const dashes[CURVE_PEERS + 1] = {"none", "6,3", "2,3", "8,3,2,3", "12,4"};
    const struct curve_line *line = &panel->libraries[library].line[row];
    const char *colour = colours[row % (int)(sizeof colours / sizeof *colours)];
    char text[160];
    double y = HEIGHT + (number + 1) * LEGEND;

    fprintf(panel->out,
            "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" "
            "stroke-dasharray=\"%s\" points=\"",
            colour, dashes[library]);
    if (line->points == 1) /* a dash shows it */
        fprintf(panel->out, "%.1f,%.1f ", svg_x(panel, line->x[0]) + 4,
                svg_y(panel, line->figure[0]));
    for (int i = 0; i < line->points; i++)
        fprintf(panel->out, "%.1f,%.1f ", svg_x(panel, line->x[i]), svg_y(panel, line->figure[i]));
    fprintf(
        panel->out,
        "\"/>\n<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke-width=\"2\" stroke=\"%s\" "
        "stroke-dasharray=\"%s\"/>\n",
        panel->at + LEFT, panel->at + LEFT + 36, y - 4, y - 4, colour, dashes[library]);
    snprintf(text, sizeof text, "%s, %s", curve_rows[row].name, panel->libraries[library].library);
    svg_text(panel, panel->at + LEFT + 44, y, "start", text);
}

static void svg_panel(const struct svg_panel *panel)
{
    int number = 0;

    svg_axes(panel);
    for (int row = 0; row < curve_row_count; row++)
        for (int k = 0; k < panel->count; k++)
            if (svg_shows(panel, row) && panel->libraries[k].line[row].points)
                svg_line(panel, k, row, number++);
}

bool curve_draw(const char *file, const struct curve_peer *libraries, int count)
{
    struct svg_panel panel[] = {{.unit = CURVE_US},
                                {.unit = CURVE_MBPS},
                                {.unit = CURVE_MOPS, .by_pairs = true},
                                {.unit = CURVE_PERCENT}};
    const int panels = sizeof panel / sizeof *panel;
    int width = 0, most = 0;
    FILE *out = fopen(file, "we");

    for (int i = 0; out && i < panels; i++) {
        panel[i].out = out;
        panel[i].libraries = libraries;
        panel[i].count = count;
        panel[i].at = width;
        int lines = svg_measure(&panel[i]);
        most = lines > most ? lines : most;
        width += lines ? WIDTH : 0;
        panel[i].count = lines ? count : 0;
    }
    if (!out)
        return false;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, HEIGHT + (most + 1) * LEGEND);
    for (int i = 0; i < panels; i++)
        if (panel[i].count)
            svg_panel(&panel[i]);
    fprintf(out, "</svg>\n");
    bool written = !ferror(out);
    return fclose(out) == 0 && written;
}
