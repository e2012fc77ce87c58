/* oshbench --sizes: figures by the size of the message, or by the number of PEs at work. All but
 * peers.c and svg.c use nothing but OpenSHMEM 1.4 and the C library, and scans where there are some,
 * so that another library's oshcc builds the same program (alone.c):
 *
 *     table.c    the rows, and which are wanted
 *     point.c    rows between pairs of PEs
 *     coll.c     rows of all PEs
 *     measure.c  runs a row at a size
 *     print.c    the table, or JSON
 *     peers.c    reads the JSON of another library's run
 *     svg.c      draws pictures
 *     alone.c    main for other libraries */
#ifndef SY_BENCH_CURVES_H
#define SY_BENCH_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CURVE_POINTS = 40,           /* of a row, at most */
    CURVE_PEERS = 4,             /* other libraries in a picture, at most */
    CURVE_MOST_SIZE = 256 << 20, /* bytes */
};

/* Of rates, more is better. */
enum curve_unit { CURVE_US, CURVE_MBPS, CURVE_MOPS, CURVE_PERCENT };

/* How many transfers are under way at once. */
enum curve_flows { CURVE_ONE, CURVE_BOTH, CURVE_PAIRS };

struct curves {
    int me, npes, cpus;
    double seconds;   /* for each point */
    int trials;       /* whose median is shown */
    const char *rows; /* names, with commas between; NULL = all */
    bool json;
    size_t size[CURVE_POINTS]; /* in ascending order */
    int sizes;

    char *from, *to; /* symmetric, `room` bytes each */
    size_t room;
    long *order;   /* symmetric: from PE 0, how often to run; 0 = the point is done */
    double *times; /* symmetric, on PE 0: what each PE took */
    double *one;   /* symmetric */
};

struct curve {
    const char *name, *what;
    enum curve_unit unit;
    enum curve_flows flows;
    bool by_pairs; /* by the number of pairs that are at work, with 8 bytes each, instead of by size
                    */
    int of_all;    /* blocks of each PE that it needs room for; 0: for one of all */
    /* Runs n times and returns the seconds that took on this PE, 0 where it has nothing to do; or,
     * for CURVE_PERCENT, n times the share that is shown. All PEs call it. */
    double (*run)(const struct curves *curves, size_t x, long n);
};

/* table.c */
extern const struct curve curve_rows[];
extern const int curve_row_count;

/* Whether a list of names, which may end in *, holds this one. NULL: all. */
bool curve_listed(const char *list, const char *name);

/* Reads "8:4m", "8,64,1k" and such. False: it is no list of sizes. */
bool curve_read_sizes(struct curves *curves, const char *text);

/* point.c */
double curve_put(const struct curves *curves, size_t size, long n);
double curve_get(const struct curves *curves, size_t size, long n);
double curve_put_stream(const struct curves *curves, size_t size, long n);
double curve_get_stream(const struct curves *curves, size_t size, long n);
double curve_put_both(const struct curves *curves, size_t size, long n);
double curve_put_pairs(const struct curves *curves, size_t size, long n);
double curve_put_rate(const struct curves *curves, size_t pairs, long n);
double curve_add_rate(const struct curves *curves, size_t pairs, long n);
double curve_put_overlap(const struct curves *curves, size_t size, long n);
double curve_get_overlap(const struct curves *curves, size_t size, long n);

/* Transfers that rates of bandwidth have under way before they wait. */
long curve_window(size_t size);

/* coll.c */
bool curve_coll_open(size_t most); /* bytes of a reduction; false: no memory */
double curve_broadcast(const struct curves *curves, size_t size, long n);
double curve_reduce(const struct curves *curves, size_t size, long n);
double curve_collect(const struct curves *curves, size_t size, long n);
double curve_fcollect(const struct curves *curves, size_t size, long n);
double curve_alltoall(const struct curves *curves, size_t size, long n);
double curve_alltoalls(const struct curves *curves, size_t size, long n);
double curve_inscan(const struct curves *curves, size_t size, long n); /* OpenSHMEM 1.6 */
double curve_exscan(const struct curves *curves, size_t size, long n);

/* measure.c */
struct curve_line {
    const struct curve *curve;
    int points;
    double x[CURVE_POINTS], figure[CURVE_POINTS];
};

double curve_now(void);

/* What the rows need; false: no memory, which has been said. Collective. */
bool curve_open(struct curves *curves);

/* Measures a row. Collective; the line is PE 0's. */
void curve_measure(const struct curves *curves, const struct curve *curve, struct curve_line *line);

struct curve_peer {
    char *library;
    struct curve_line *line; /* one for each row of the table; points 0: it has none */
};

/* print.c. All by PE 0. */
const char *curve_unit_name(enum curve_unit unit);
bool curve_unit_is_rate(enum curve_unit unit);

/* The figure of a line at x, or a negative number. */
double curve_at(const struct curve_line *line, double x);

void curve_print_begin(const struct curves *curves, const char *library);
void curve_print_line(const struct curves *curves, const struct curve_line *line,
                      const struct curve_peer *peers, int count);
void curve_print_end(const struct curves *curves);

/* peers.c: reads what --json has written. Returns NULL, or what is wrong. */
const char *curve_peer_read(struct curve_peer *peer, const char *file);

/* svg.c: a panel for each unit. lines: one for each row of the table. False: the file cannot be
 * written. */
bool curve_draw(const char *file, const struct curve_peer *libraries, int count);

/* measure.c: measures the rows that are wanted and prints them beside those of `peers`. Returns
 * lines, one for each row of the table, or NULL: no memory, which has been said, or the output
 * cannot be written. Collective. */
struct curve_line *curve_run(struct curves *curves, const char *library,
                             const struct curve_peer *peers, int count);

#endif
