/* Writes seeds for the fuzz targets of oshrun into the directories named on the command line:
 * head_fuzz, agent_fuzz, daemon_fuzz, pe_fuzz, lists_fuzz. Valid conversations, and texts. */
#define _GNU_SOURCE 1
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/control/frames.h"
#include "bootstrap/launcher/spec.h"

static const char *directory;
static int seeds;
static FILE *out;

static void begin(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/seed%d", directory, seeds++);
    out = fopen(path, "w");
    if (!out) {
        perror(path);
        exit(1);
    }
}

static void begin_as(int manner)
{
    begin();
    fputc(manner, out);
}

static void frame(unsigned type, int pe, int arg, int more, const char *body, size_t length)
{
    const struct sy_frame header = {.type = (uint16_t)type,
                                    .length = (uint32_t)length,
                                    .pe = pe,
                                    .more = (uint16_t)more,
                                    .arg = arg};

    fwrite(&header, sizeof header, 1, out);
    fwrite(body, 1, length, out);
}

static void word(unsigned type, int pe, int arg)
{
    frame(type, pe, arg, 1, "", 0);
}

static void text(unsigned type, int pe, int arg, const char *body)
{
    frame(type, pe, arg, 1, body, strlen(body));
}

static void end(void)
{
    if (fclose(out) != 0)
        exit(1);
}

/* ---- from agents ---- */

static void all_pes_say(unsigned type, int arg, const char *body, size_t length)
{
    for (int pe = 0; pe < 4; pe++)
        frame(type, pe, arg, 1, body, length);
}

static void head_seeds(void)
{
    begin_as(3);
    all_pes_say(SY_CONTROL_HELLO, SY_LAUNCH_VERSION, "", 0);
    all_pes_say(SY_CONTROL_GATHER, 1000, "init\0data", 9);
    all_pes_say(SY_CONTROL_MARK, 1, "", 0);
    all_pes_say(SY_DAEMON_OUTPUT, 0, "some\nlines\033[1m", 14);
    for (int pe = 0; pe < 4; pe++)
        frame(SY_DAEMON_OUTPUT, pe, 0, 2, "PE 0@h: warning: x\n", 19);
    all_pes_say(SY_DAEMON_OUTPUT, 0, "", 0);
    all_pes_say(SY_DAEMON_ENDED, 0, "", 0);
    word(SY_DAEMON_JUDGE, SY_ALL, 0);
    word(SY_DAEMON_FINISHED, SY_ALL, 0);
    end();
    begin_as(3);
    all_pes_say(SY_CONTROL_HELLO, SY_LAUNCH_VERSION, "", 0);
    text(SY_CONTROL_NOTE, 1, 1, "in shmem_barrier_all");
    text(SY_CONTROL_ABORT, 2, 3, "something went wrong");
    word(SY_DAEMON_ENDED, 3, 9);
    word(SY_DAEMON_JUDGE, SY_ALL, 0);
    text(SY_DAEMON_FAULT, 0, 0, "a fault");
    end();
    begin_as(1);
    text(SY_DAEMON_SAY, 0, 0, "PE 0 is bound");
    text(SY_DAEMON_TROUBLE, SY_ALL, 127, "cannot run");
    word(SY_DAEMON_UP, SY_ALL, 0);
    end();
    begin_as(7);
    text(SY_DAEMON_TRACED, 0, 0, "#0 main\n#1 start\n");
    word(SY_DAEMON_TAKEN, 1, 1);
    word(SY_DAEMON_PONG, SY_ALL, 0);
    end();
    begin_as(0);
    fputs("motd\noshrun-agent 1 1 old\n", out);
    end();
}

/* ---- from oshrun ---- */

static void put_start(void)
{
    char one[] = "/bin/true", two[] = "x", name[] = "h", here[] = "/", change[] = "=A=B";
    char *argv[] = {one, two, NULL}, *changes[] = {change, NULL};
    struct sy_spec_pe pe[] = {{0, 0, true}, {1, 0, false}};
    struct sy_spec_program program = {.directory = here, .argv = argv, .changes = changes};
    struct sy_spec spec = {.host = name,
                           .npes = 4,
                           .silence = 7,
                           .count = 2,
                           .pe = pe,
                           .programs = 1,
                           .program = &program};
    size_t length;
    char *bytes = sy_spec_pack(&spec, &length);

    frame(SY_DAEMON_START, SY_ALL, 0, 0, bytes, length);
    free(bytes);
}

static void agent_seeds(void)
{
    struct sy_launch_welcome welcome = {.pe = 0, .npes = 4, .id = "seed"};

    begin();
    put_start();
    frame(SY_CONTROL_WELCOME, 0, SY_LAUNCH_VERSION, 0, (char *)&welcome, sizeof welcome);
    text(SY_CONTROL_GATHERED, SY_ALL, 0, "12345678");
    text(SY_DAEMON_INPUT, 0, 0, "input");
    word(SY_DAEMON_INPUT, 0, 0);
    word(SY_DAEMON_CREDIT, 1, 100);
    word(SY_DAEMON_PING, SY_ALL, 0);
    word(SY_CONTROL_ASK, 1, 0);
    word(SY_DAEMON_TRACE, 1, 0);
    word(SY_CONTROL_EXIT, 0, 3);
    word(SY_DAEMON_SIGNAL, SY_ALL, 15);
    word(SY_DAEMON_FINISH, SY_ALL, 1);
    end();
    begin();
    word(SY_DAEMON_PAUSE, SY_ALL, 0);
    end();
}

static void pe_seeds(void)
{
    struct sy_launch_welcome welcome = {.pe = 2, .npes = 3, .id = "seed"};

    begin_as(7);
    word(SY_CONTROL_ASK, 0, 0);
    text(SY_CONTROL_GATHERED, 0, 0, "123456781234567812345678");
    word(SY_CONTROL_ASK, 0, 0);
    word(SY_CONTROL_EXIT, 0, 3);
    end();
    begin_as(6);
    frame(SY_CONTROL_WELCOME, 0, SY_LAUNCH_VERSION, 0, (char *)&welcome, sizeof welcome);
    word(SY_CONTROL_EXIT, 0, 3);
    end();
}

static void daemon_seeds(void)
{
    begin_as(1);
    frame(SY_CONTROL_GATHER, 0, 1000, 0, "init\0data", 9);
    word(SY_CONTROL_MARK, 0, 1);
    text(SY_CONTROL_NOTE, 0, 1, "in shmem_quiet");
    word(SY_CONTROL_MARK, 0, 2);
    end();
    begin_as(1);
    text(SY_CONTROL_ABORT, 0, 3, "why");
    end();
}

static void list_seeds(void)
{
    static const char *const TEXTS[] = {"a,b:4,n[01-08]",
                                        "user@x[1-3,5][7-9]y:2 fe80::1",
                                        "a slots=4\nb[1-2] # no\n",
                                        "n[1-3]|2(x2),1",
                                        "h 4 i 8",
                                        "n[1-99999][1-99999]",
                                        "\033[31m \302\233 \342\200\256 \377 gr\303\274n"};

    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        for (int kind = 0; kind < 6; kind++) {
            begin_as(kind);
            fputs(TEXTS[i], out);
            end();
        }
    }
    begin_as(4);
    fwrite("h\0"
           "4\0"
           "7000\0"
           "0\0"
           "0\0"
           "0\0"
           "1\0"
           "2\0"
           "0\0"
           "1\0"
           "1\0"
           "\0"
           "/\0"
           "1\0"
           "x\0"
           "0\0"
           "0",
           1, 40, out);
    end();
}

int main(int argc, char **argv)
{
    static void (*const MAKE[])(void) = {head_seeds, agent_seeds, daemon_seeds, pe_seeds,
                                         list_seeds};

    for (int i = 1; i < argc && i <= 5; i++) {
        directory = argv[i];
        seeds = 0;
        MAKE[i - 1]();
    }
    return 0;
}
