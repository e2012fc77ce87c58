/* libFuzzer target: texts and bytes that oshrun and its agent parse: lists and files of hosts, a
 * batch system's list of hosts, the description of a host's part of a job. The first byte chooses
 * which. */
#define _GNU_SOURCE 1
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bootstrap/launcher/options/hostlist.h"
#include "bootstrap/launcher/options/placement.h"
#include "bootstrap/launcher/stdio/plain.h"
#include "bootstrap/control/protocol.h"
#include "bootstrap/launcher/spec.h"

enum { LIST, FILE_OF_HOSTS, SLURM, LSF, SPEC, PLAIN, KINDS };

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_list(struct sy_hostlist *list, char *fault)
{
    struct sy_placement_wish wish = {.npes = 0};
    struct sy_placement placement;

    require(list->count >= 0 && list->count <= SY_HOSTS_MAX);
    for (int i = 0; i < list->count; i++) {
        require(strlen(list->host[i].name) <= SY_HOST_NAME_MAX && *list->host[i].name);
        require(list->host[i].slots >= 0 && list->host[i].slots <= SY_HOST_SLOTS_MAX);
    }
    if (!fault && list->count) {
        fault = sy_placement_make(&placement, list, &wish);
        if (!fault) {
            require(placement.npes > 0 && placement.npes <= SY_LAUNCH_PES_MAX);
            sy_placement_free(&placement);
        }
    }
    free(fault);
    sy_hostlist_free(list);
}

static void read_hosts(const char *text, size_t length)
{
    struct sy_hostlist list = {0};
    char path[64];
    int fd = memfd_create("hosts", 0);

    require(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    check_list(&list, sy_hostlist_read(&list, path));
    close(fd);
}

static void read_allocation(const char *text, bool slurm)
{
    struct sy_hostlist list = {0};
    const char *bar = strchr(text, '|'), *source;
    char *names = strndup(text, bar ? (size_t)(bar - text) : strlen(text));

    setenv(slurm ? "SLURM_JOB_ID" : "LSB_MCPU_HOSTS", slurm ? "1" : text, 1);
    setenv("SLURM_JOB_NODELIST", names, 1);
    setenv("SLURM_TASKS_PER_NODE", bar ? bar + 1 : "", 1);
    check_list(&list, sy_hostlist_of_allocation(&list, &source));
    unsetenv("SLURM_JOB_ID");
    unsetenv("LSB_MCPU_HOSTS");
    free(names);
}

static void read_spec(const char *bytes, size_t length)
{
    struct sy_spec spec, again;
    size_t packed, repacked;
    char *first, *second;

    if (!sy_spec_unpack(&spec, bytes, length))
        return;
    require(spec.npes > 0 || spec.count == 0);
    for (int i = 0; i < spec.count; i++)
        require(spec.pe[i].pe >= 0 && spec.pe[i].pe < spec.npes && spec.pe[i].program >= 0 &&
                spec.pe[i].program < spec.programs);
    first = sy_spec_pack(&spec, &packed);
    require(sy_spec_unpack(&again, first, packed));
    second = sy_spec_pack(&again, &repacked);
    require(packed == repacked && memcmp(first, second, packed) == 0);
    free(first);
    free(second);
    sy_spec_free(&spec);
    sy_spec_free(&again);
}

/* The quoted text is printable on a terminal, and quoting it again changes nothing. */
static void show_plain(const char *text, size_t length)
{
    char *once = malloc(SY_PLAIN_ROOM(length)), *twice;
    size_t n = sy_plain(once, text, length), m;

    require(n <= 4 * length && strlen(once) == n);
    for (size_t i = 0; i < n; i++)
        require((unsigned char)once[i] >= ' ' || once[i] == '\n' || once[i] == '\t');
    twice = malloc(SY_PLAIN_ROOM(n));
    m = sy_plain(twice, once, n);
    require(m == n && memcmp(once, twice, n) == 0);
    free(once);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sy_hostlist list = {0};
    size_t length = size ? size - 1 : 0;
    char *text = malloc(length + 1);

    if (size) {
        memcpy(text, data + 1, length);
        text[length] = '\0';
        switch (*data % KINDS) {
        case LIST:
            check_list(&list, sy_hostlist_add(&list, text));
            break;
        case FILE_OF_HOSTS:
            read_hosts(text, length);
            break;
        case SLURM:
        case LSF:
            read_allocation(text, *data % KINDS == SLURM);
            break;
        case SPEC:
            read_spec(text, length);
            break;
        default:
            show_plain(text, length);
        }
    }
    free(text);
    return 0;
}
