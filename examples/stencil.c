/* Waves on a plate that fade, computed by OpenCL devices. Each PE has a strip of rows in memory of
 * its device. In each step the first and the last row of a strip go to the neighbours: once behind
 * the kernel, and once beside it, while it computes the rows between.
 *
 *     oshcc stencil.c -O2 -o stencil -lOpenCL -lm
 *     oshrun -n 2 ./stencil --timeline timeline.svg
 */
#define _POSIX_C_SOURCE          200809L /* clock_gettime */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <getopt.h>
#include <math.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    WAVE = 16,  /* rows of a wave */
    LINE = 256, /* cells that a device's processor computes together */
    PIECE = 16, /* rows of a kernel */
    SHOWN = 4   /* steps in the picture */
};

/* Rows first, first + apart, ...: each cell becomes the mean of its neighbours. The plate has no
 * left and right end; row 0 and the row behind the last are the neighbours' edges. */
static const char *const text =
    "__kernel void relax(__global const float *a, ulong from, __global float *b, ulong to,"
    "                   ulong first, ulong apart) {"
    "    size_t x = get_global_id(0), w = get_global_size(0);"
    "    size_t row = (first + get_global_id(1) * apart) * w;"
    "    size_t left = row + (x ? x - 1 : w - 1), right = row + (x + 1 < w ? x + 1 : 0);"
    "    a += from; b += to;"
    "    b[row + x] = 0.25f * (a[left] + a[right] + a[row - w + x] + a[row + w + x]);"
    "}";

struct options {
    size_t width, rows, steps;
    const char *timeline;
};

struct span {
    double begin, end;
};

/* Of a step: those of the inner rows, or of all rows. */
struct kernels {
    cl_event edges, first, last;
};

/* What the picture shows of one way. */
struct way {
    const char *name;
    double seconds; /* a step */
    struct span kernel[SHOWN], edges[SHOWN], halo[SHOWN];
};

static int me, npes;
static uint64_t arrived[2]; /* signals: the step whose row is here, from above and from below */
static uint64_t steps_made;
static shmemx_space_t space;
static cl_kernel kernel;
static cl_command_queue queue, beside;
static shmemx_stream_t stream; /* takes turns with `queue` */

static void check(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "stencil: PE %d: %s\n", me, what);
    shmem_global_exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The queues, the kernel, and a stream: on the device that the space is on. */
static void prepare(void)
{
    const cl_queue_properties timed[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    void *context, *device;
    cl_int status;

    check(!shmemx_space_opencl_context(space, &context, &device), "no context");
    queue = clCreateCommandQueueWithProperties(context, device, timed, &status);
    beside = clCreateCommandQueueWithProperties(context, device, timed, &status);
    cl_program program = clCreateProgramWithSource(context, 1, (const char **)&text, NULL, &status);
    check(!clBuildProgram(program, 0, NULL, NULL, NULL, NULL), "the kernel does not build");
    kernel = clCreateKernel(program, "relax", &status);
    check(queue && beside && kernel, "no queue, or no kernel");
    check(!shmemx_stream_from_opencl(queue, &stream), "no stream");
}

/* A grid as two arguments: what a kernel knows it by, and where it begins in that. */
static void set_grid(cl_uint at, const float *grid)
{
    size_t offset;
    cl_ulong begin = 0;
    void *buffer;

    check(!shmemx_space_opencl_buffer(space, grid, &buffer, &offset), "no place for a kernel");
    if (buffer)
        begin = offset / sizeof *grid;
    check(!(buffer ? clSetKernelArg(kernel, at, sizeof buffer, &buffer)
                   : clSetKernelArgSVMPointer(kernel, at, grid)) &&
              !clSetKernelArg(kernel, at + 1, sizeof begin, &begin),
          "a grid is refused");
}

/* Adds the kernel for `count` rows to a queue, behind another one's event. */
static cl_event compute(cl_command_queue on, const struct options *o, size_t first, size_t apart,
                        size_t count, cl_event after)
{
    const cl_ulong rows[2] = {first, apart};
    const size_t size[2] = {o->width, count}, together[2] = {LINE, 1};
    cl_event done = NULL;

    check(!clSetKernelArg(kernel, 4, sizeof rows[0], &rows[0]) &&
              !clSetKernelArg(kernel, 5, sizeof rows[1], &rows[1]) &&
              !clEnqueueNDRangeKernel(on, kernel, 2, NULL, size, together, after ? 1 : 0,
                                      after ? &after : NULL, &done) &&
              !clFlush(on),
          "a kernel is refused");
    return done;
}

/* The rows between the edges, in pieces, so that what the exchange has the device do finds a gap.
 */
static void compute_inside(const struct options *o, cl_event after, struct kernels *step)
{
    for (size_t row = 2, rows; row < o->rows; row += rows) {
        rows = o->rows - row < PIECE ? o->rows - row : PIECE;
        if (step->last && step->last != step->first)
            clReleaseEvent(step->last);
        step->last = compute(beside, o, row, 1, rows, row == 2 ? after : NULL);
        if (row == 2)
            step->first = step->last;
    }
}

static void stamp(void *when)
{
    *(double *)when = seconds();
}

/* Adds to the stream: my edges go to the neighbours, and theirs come. */
static void exchange(const struct options *o, float *grid, struct span *span)
{
    const int above = (me + npes - 1) % npes, below = (me + 1) % npes;
    float *first = grid + o->width, *last = grid + o->rows * o->width;

    steps_made++;
    shmemx_stream_call(stream, stamp, &span->begin);
    shmemx_float_put_signal_on_stream(last + o->width, first, o->width, &arrived[1], steps_made,
                                      SHMEM_SIGNAL_SET, above, stream);
    shmemx_float_put_signal_on_stream(grid, last, o->width, &arrived[0], steps_made,
                                      SHMEM_SIGNAL_SET, below, stream);
    shmemx_uint64_wait_until_all_on_stream(arrived, 2, NULL, SHMEM_CMP_GE, steps_made, stream);
    shmemx_stream_call(stream, stamp, &span->end);
}

/* When a kernel ran, in seconds of this program: `shift` is between its clock and the device's. */
static struct span ran(cl_event event, double shift)
{
    cl_ulong begin = 0, end = 0;

    clWaitForEvents(1, &event);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    return (struct span){shift + 1e-9 * (double)begin, shift + 1e-9 * (double)end};
}

static double clock_shift(void)
{
    cl_event event;

    check(!clEnqueueMarkerWithWaitList(queue, 0, NULL, &event) && !clFinish(queue), "no marker");
    double now = seconds(), shift = now - ran(event, 0).end;
    clReleaseEvent(event);
    return shift;
}

/* Of the last steps. */
static void note_times(struct way *way, const struct kernels *step, const struct span *halo)
{
    const double shift = clock_shift();

    for (int i = 0; i < SHOWN; i++) {
        way->kernel[i] = (struct span){ran(step[i].first, shift).begin,
                                       ran(step[i].last, shift).end};
        way->edges[i] = step[i].edges ? ran(step[i].edges, shift) : way->kernel[i];
        way->halo[i] = halo[i];
    }
}

static void release(const struct kernels *step)
{
    if (step->edges)
        clReleaseEvent(step->edges);
    if (step->last != step->first)
        clReleaseEvent(step->last);
    clReleaseEvent(step->first);
}

/* All steps, from grid[0] to grid[steps % 2]. Nothing here waits, but for the end: the queues do.
 *
 * In one queue: a kernel for all rows, then the exchange, and so on.
 *
 * With two: `queue` has the edges and their exchange, `beside` the rows between. Each wants what
 * the other has made in the step before. */
static void run(const struct options *o, float *const grid[2], bool overlap, struct way *way)
{
    struct kernels *step = calloc(o->steps, sizeof *step);
    struct span *halo = calloc(o->steps, sizeof *halo);

    check(step && halo, "no memory");
    exchange(o, grid[0], &halo[0]);
    check(!shmemx_stream_synchronize(stream), "the first exchange");
    shmem_barrier_all();
    double begin = seconds();
    for (size_t k = 0; k < o->steps; k++) {
        set_grid(0, grid[k % 2]);
        set_grid(2, grid[(k + 1) % 2]);
        if (overlap) {
            step[k].edges = compute(queue, o, 1, o->rows - 1, 2, k ? step[k - 1].last : NULL);
            compute_inside(o, k ? step[k - 1].edges : NULL, &step[k]);
        } else {
            step[k].first = step[k].last = compute(queue, o, 1, 1, o->rows, NULL);
        }
        exchange(o, grid[(k + 1) % 2], &halo[k]);
    }
    check(!shmemx_stream_synchronize(stream) && !clFinish(queue) && !clFinish(beside), "the end");
    shmem_barrier_all();
    way->seconds = (seconds() - begin) / (double)o->steps;
    note_times(way, step + o->steps - SHOWN, halo + o->steps - SHOWN);
    for (size_t k = 0; k < o->steps; k++)
        release(&step[k]);
    free(step);
    free(halo);
}

/* The plate: one wave across, and one every WAVE rows. Each step makes it smaller by one factor. */
static float wave(const struct options *o, size_t x, size_t row, double height)
{
    const double turn = 2 * acos(-1);

    return (float)(height * cos(turn * (double)x / (double)o->width) *
                   cos(turn * (double)row / WAVE));
}

static void fill(const struct options *o, float *grid, float *host)
{
    for (size_t row = 0; row < o->rows; row++)
        for (size_t x = 0; x < o->width; x++)
            host[row * o->width + x] = wave(o, x, row, 1);
    shmem_float_put(grid + o->width, host, o->rows * o->width, me);
    shmem_barrier_all();
}

static void verify(const struct options *o, const float *grid, float *host)
{
    const double turn = 2 * acos(-1),
                 factor = (cos(turn / (double)o->width) + cos(turn / WAVE)) / 2,
                 height = pow(factor, (double)o->steps);

    shmem_float_get(host, grid + o->width, o->rows * o->width, me);
    for (size_t row = 0; row < o->rows; row++)
        for (size_t x = 0; x < o->width; x++)
            check(fabsf(host[row * o->width + x] - wave(o, x, row, height)) < 2e-5f,
                  "a cell is wrong");
}

static double start_of(const struct way *way)
{
    return fmin(way->kernel[0].begin, way->edges[0].begin);
}

static void draw_spans(FILE *svg, const struct span *spans, int y, const char *colour, double begin,
                       double scale)
{
    for (int i = 0; i < SHOWN; i++)
        fprintf(svg, "<rect x='%.1f' y='%d' width='%.1f' height='22' fill='%s' stroke='white'/>\n",
                110 + (spans[i].begin - begin) * scale, y,
                (spans[i].end - spans[i].begin) * scale + 0.5, colour);
}

/* The last steps of PE 0 in both ways, with the same scale. */
static void draw(const char *name, const struct way *ways)
{
    FILE *svg = fopen(name, "w");
    double longest = 0;

    check(svg, "the timeline cannot be written");
    for (int w = 0; w < 2; w++)
        longest = fmax(longest, fmax(ways[w].halo[SHOWN - 1].end, ways[w].kernel[SHOWN - 1].end) -
                                    start_of(&ways[w]));
    fprintf(svg, "<svg xmlns='http://www.w3.org/2000/svg' width='760' height='220' "
                 "font-family='sans-serif' font-size='13'>\n");
    for (int w = 0; w < 2; w++) {
        const double begin = start_of(&ways[w]), scale = 630 / longest;
        const int y = 10 + 105 * w;

        fprintf(svg,
                "<text x='10' y='%d'>%s: %.2f ms a step</text>\n<text x='10' y='%d'>kernels</text>"
                "<text x='10' y='%d'>halo rows</text>\n",
                y + 12, ways[w].name, 1e3 * ways[w].seconds, y + 38, y + 64);
        draw_spans(svg, ways[w].kernel, y + 22, "steelblue", begin, scale);
        if (w)
            draw_spans(svg, ways[w].edges, y + 22, "navy", begin, scale);
        draw_spans(svg, ways[w].halo, y + 48, "darkorange", begin, scale);
    }
    fprintf(svg, "</svg>\n");
    check(!fclose(svg), "the timeline cannot be written");
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {{"width", 1, NULL, 'w'},
                                          {"rows", 1, NULL, 'r'},
                                          {"steps", 1, NULL, 's'},
                                          {"timeline", 1, NULL, 't'},
                                          {0}};
    int option;

    *o = (struct options){.width = 16384, .rows = 128, .steps = 40};
    while ((option = getopt_long(argc, argv, "w:r:s:t:", names, NULL)) != -1) {
        if (option == 'w')
            o->width = strtoul(optarg, NULL, 10);
        else if (option == 'r')
            o->rows = strtoul(optarg, NULL, 10);
        else if (option == 's')
            o->steps = strtoul(optarg, NULL, 10);
        else if (option == 't')
            o->timeline = optarg;
        else
            return false;
    }
    return optind == argc && o->width > 0 && o->width % LINE == 0 && o->rows > 0 &&
           o->rows % WAVE == 0 && o->steps >= SHOWN;
}

static void compare_ways(const struct options *o)
{
    const size_t cells = (o->rows + 2) * o->width;
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_GPU,
                                          .size = 2 * cells * sizeof(float) + 4096};
    struct way ways[2] = {{.name = "one after another"}, {.name = "side by side"}};
    float *host = malloc(cells * sizeof *host), *grid[2];
    shmem_team_t team;

    check(host && !shmemx_space_create(&config, &space, &team), "no space");
    check(shmemx_team_is_valid(team), "this PE has no device");
    prepare();
    for (int i = 0; i < 2; i++)
        check((grid[i] = shmemx_space_malloc(space, cells * sizeof *host)), "the space is full");
    for (int turn = 0; turn < 4; turn++) { /* in the first two, OpenCL compiles for these sizes */
        const int w = turn % 2;
        fill(o, grid[0], host);
        run(o, grid, w == 1, &ways[w]);
        verify(o, grid[o->steps % 2], host);
    }
    if (me == 0 && o->timeline)
        draw(o->timeline, ways);
    shmemx_stream_destroy(stream);
    free(host);
    shmem_barrier_all(); /* all have verified theirs */
    for (int w = 0; w < 2 && me == 0; w++)
        printf("kernels and halo rows %s: %.3f ms a step\n", ways[w].name, 1e3 * ways[w].seconds);
    if (me == 0)
        printf("stencil: OK: %zu x %zu cells on %d devices, %zu steps, %.2f times as fast side by "
               "side\n",
               o->width, o->rows * (size_t)npes, npes, o->steps, ways[0].seconds / ways[1].seconds);
}

int main(int argc, char **argv)
{
    struct options options;
    int level;

    shmem_init_thread(SHMEM_THREAD_FUNNELED, &level); /* streams want it */
    me = shmem_my_pe();
    npes = shmem_n_pes();
    opterr = me == 0;
    if (!read_options(argc, argv, &options)) {
        if (me == 0)
            fprintf(
                stderr,
                "usage: %s [--width N] [--rows N] [--steps N] [--timeline FILE]\n"
                "  N columns (16384; a multiple of %d), N rows of each PE (128; of %d), N steps "
                "(40; %d or more);\n"
                "  FILE gets a picture (SVG) of when kernels ran and halo rows moved\n",
                argv[0], LINE, WAVE, SHOWN);
        shmem_finalize();
        return 2;
    }
    compare_ways(&options);
    shmem_finalize();
    return 0;
}
