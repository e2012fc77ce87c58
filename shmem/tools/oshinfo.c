/* oshinfo: what this installation is, which plugins it has, and every option with its value. The
 * command line only; the rest is in the info_ files. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shmem.h>

#include "tools/info.h"
#include "util/secure.h"
#include "util/standard.h"
#include "util/printable.h"

enum mode { TEXT, JSON, MARKDOWN, SCHEMA, CHECK, ROUTES, DEVICES, VERSION };

static const char usage[] =
    "usage: oshinfo [--json | --markdown | --schema | --routes | --devices |\n"
    "                --check-config FILE]\n"
    "  (nothing)            version, plugins, and every option with its value and where it is set\n"
    "  --json               the same for programs\n"
    "  --markdown           the options as a page of documentation, without values\n"
    "  --schema             a JSON schema of configuration files, for editors\n"
    "  --routes             which transport each pair of PEs uses and why; run it as a job, as in\n"
    "                       oshrun -n 4 oshinfo --routes\n"
    "  --devices            the devices of memory spaces that this machine has\n"
    "  --check-config FILE  whether a configuration file has only known keys and valid values\n"
    "  --help, --version\n"
    "Exit status: 0; 1 when something is wrong with the configuration; 2 for a wrong command "
    "line.\n";

/* Takes the library's variables out of the environment: a file is judged by itself. */
static void oshinfo_leave_environment(void)
{
    char **keep = environ;

    for (char **at = environ; at && *at; at++) {
        bool option = !strncmp(*at, "SHMEM_", 6) || !strncmp(*at, "SMA_", 4);
        if (!option || !strncmp(*at, "SHMEM_PLUGIN_PATH=", strlen("SHMEM_PLUGIN_PATH=")))
            *keep++ = *at;
    }
    if (keep)
        *keep = NULL;
}

/* Shows the routes: the library prints the table when it starts, on PE 0. */
static int oshinfo_show_routes(void)
{
    setenv("SHMEM_SHOW_ROUTES", "1", 1);
    shmem_init();
    shmem_finalize();
    return sy_standard_end("oshinfo", 1);
}

static int oshinfo_run(enum mode mode, const char *file)
{
    struct info info;
    int status = 0;

    if (mode == ROUTES)
        return oshinfo_show_routes();
    if (mode == CHECK)
        oshinfo_leave_environment();
    info_gather(&info, mode == CHECK ? file : NULL);
    if (mode == TEXT)
        info_print_text(&info);
    if ((mode == JSON && info_print_json(&info)) || (mode == SCHEMA && info_print_schema(&info))) {
        fprintf(stderr, "oshinfo: the listing could not be written\n");
        status = 1;
    }
    if (mode == DEVICES)
        info_print_devices(&info);
    if (mode == MARKDOWN && info.options)
        info_print_markdown(&info);
    if (*info.problem.text) {
        sy_print(stderr, "oshinfo: %s\n", info.problem.text);
        status = 1;
    } else if (mode == CHECK) {
        sy_print(stdout, "%s: no errors\n", file);
    }
    info_free(&info);
    return sy_standard_end("oshinfo", 1) ? 1 : status;
}

static int wrong_usage(const char *what, const char *argument)
{
    sy_print(stderr, "oshinfo: %s%s\n%s", what, argument, usage);
    return 2;
}

static void oshinfo_print_version(void)
{
    int major, minor;

    shmem_info_get_version(&major, &minor);
    printf("oshinfo (%s), OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, major, minor);
}

int main(int argc, char **argv)
{
    static const struct option flags[] = {{"json", no_argument, NULL, JSON},
                                          {"markdown", no_argument, NULL, MARKDOWN},
                                          {"schema", no_argument, NULL, SCHEMA},
                                          {"routes", no_argument, NULL, ROUTES},
                                          {"devices", no_argument, NULL, DEVICES},
                                          {"check-config", required_argument, NULL, CHECK},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, VERSION},
                                          {NULL, 0, NULL, 0}};
    enum mode mode = TEXT;
    const char *file = NULL;
    char letter[] = "-?";

    sy_secure_refuse("oshinfo", "reads what its user names");
    opterr = 0;
    for (int flag; (flag = getopt_long(argc, argv, ":h", flags, NULL)) != -1;) {
        switch (flag) {
        case 'h':
            fputs(usage, stdout);
            return sy_standard_end("oshinfo", 1);
        case VERSION:
            oshinfo_print_version();
            return sy_standard_end("oshinfo", 1);
        case ':':
            return wrong_usage("a file's name is missing after ", argv[optind - 1]);
        case '?':
            letter[1] = (char)optopt; /* of a word of several; a long flag has none, or its own */
            return wrong_usage("unknown flag ",
                               optopt > ' ' && optopt != 'h' ? letter : argv[optind - 1]);
        default:
            if (mode != TEXT)
                return wrong_usage("only one of the flags can be given", "");
            mode = (enum mode)flag;
            file = optarg;
        }
    }
    if (optind < argc)
        return wrong_usage("unexpected argument ", argv[optind]);
    return oshinfo_run(mode, file);
}
