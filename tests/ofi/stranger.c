/* Somebody who is no PE of the job, at a port of libfabric's that a PE listens on.
 *
 *   stranger keys PROVIDER HOST PORT               reads and writes memory under keys that can be
 *                                                  guessed
 *   stranger messages PROVIDER HOST PORT COUNT     messages as PEs send them, by all appearances,
 *                                                  and others
 *   stranger wakeups - HOST PORT COUNT             datagrams, as PEs send them and others
 *   stranger connections - HOST PORT COUNT         so many connections at once, with and without a
 *                                                  word
 *
 * Prints what it did. Ends with status 1 where memory could be read or written, and 2 where it
 * could not do what it was asked for. */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 0.5 /* seconds for an operation */

static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fi_context2 context;
static fi_addr_t target;
static uint64_t dice = 88172645463325252u;

static uint64_t any(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    return dice ^= dice << 17;
}

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "stranger: %s: %s\n", what, why);
    exit(2);
}

static void must(int rc, const char *what)
{
    if (rc)
        give_up(what, fi_strerror(-rc));
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sockaddr_in address_of(const char *host, const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

    if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
        give_up(host, "not an IPv4 address");
    return address;
}

/* ---- by libfabric ---- */

static void join(const char *provider, const char *host, const char *port)
{
    struct fi_info *hints = fi_allocinfo(), *info;
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG};
    struct sockaddr_in address = address_of(host, port);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;

    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    must(fi_getinfo(FI_VERSION(1, 14), host, NULL, FI_SOURCE, hints, &info), "fi_getinfo");
    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
    must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
    must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
    must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
    must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
    must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep), "fi_enable");
    if (fi_av_insert(av, &address, 1, &target, 0, NULL) != 1)
        give_up("fi_av_insert", "no");
}

/* Whether the operation in flight has succeeded. */
static bool finished(void)
{
    double end = now() + PATIENCE;
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry error = {0};

    while (now() < end) {
        ssize_t rc = fi_cq_read(cq, &entry, 1);
        if (rc == 1)
            return true;
        if (rc != -FI_EAGAIN) {
            fi_cq_readerr(cq, &error, 0);
            return false;
        }
    }
    return false;
}

/* Repeats until the provider accepts the operation; it may still be connecting. */
#define TRY(rc, call)                                                                              \
    do {                                                                                           \
        struct fi_cq_msg_entry entry_;                                                             \
        double end_ = now() + PATIENCE;                                                            \
        while (((rc) = (call)) == -FI_EAGAIN && now() < end_)                                      \
            if (fi_cq_read(cq, &entry_, 0) == -FI_EAVAIL)                                          \
                fi_cq_readerr(cq, &(struct fi_cq_err_entry){0}, 0);                                \
    } while (0)

static int try_key(uint64_t key)
{
    static char bytes[64];
    ssize_t rc;

    TRY(rc, fi_read(ep, bytes, 8, NULL, target, 0, key, &context));
    bool read = !rc && finished();
    memset(bytes, 'X', sizeof bytes);
    TRY(rc, fi_write(ep, bytes, sizeof bytes, NULL, target, 0, key, &context));
    bool written = !rc && finished();
    if (read || written)
        printf("memory is %s%s under key %#lx\n", read ? "read " : "", written ? "written" : "",
               (unsigned long)key);
    return read || written;
}

static int keys(void)
{
    int open = 0, tried = 0;

    for (uint64_t key = 0; key < 5; key++, tried++)
        open += try_key(key);
    for (uint64_t key = 1; key < 4; key++, tried += 2) {
        open += try_key(UINT64_C(1) << 31 | key);
        open += try_key(any());
    }
    printf("%d keys, memory open under %d\n", tried, open);
    return open > 0;
}

/* A message with requests in the PEs' format: a put of 8 bytes to the beginning of a window. */
struct message {
    uint64_t mac;
    uint32_t source;
    uint16_t length, flags;
    uint32_t sequence, ack;
    uint8_t kind, op;
    uint16_t window;
    uint32_t bytes;
    uint64_t offset;
    char data[8];
};

static size_t write_message(char *buffer, unsigned manner)
{
    struct message m = {.mac = manner & 1 ? any() : 0,
                        .source = (uint32_t)any() % 4,
                        .length = sizeof m,
                        .flags = manner & 2 ? 5 : (uint16_t)(any() % 16),
                        .sequence = (uint32_t)any() % 64,
                        .ack = (uint32_t)any() % 64,
                        .window = (uint16_t)any() % 4,
                        .bytes = 8,
                        .data = "XXXXXXX"};

    if (manner % 8 < 6) {
        memcpy(buffer, &m, sizeof m);
        return manner & 4 ? sizeof m : any() % sizeof m;
    }
    size_t length = any() % (manner % 8 == 6 ? 8192 : manner % 64 == 63 ? 40000 : 12000);
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = any();
        memcpy(buffer + i, &word, 8);
    }
    return length;
}

static int messages(int count)
{
    static char buffer[40008];
    int sent = 0;

    for (int i = 0; i < count; i++) {
        size_t length = write_message(buffer, (unsigned)i);
        ssize_t rc;
        TRY(rc, fi_send(ep, buffer, length, NULL, target, &context));
        sent += !rc && finished();
    }
    printf("%d of %d messages sent\n", sent, count);
    return 0;
}

/* ---- without ---- */

static int wakeups(const char *host, const char *port, int count)
{
    struct sockaddr_in to = address_of(host, port);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), sent = 0;
    uint64_t words[180] = {0};

    for (int i = 0; i < count; i++) {
        static const size_t lengths[] = {0, 4, 16, 23, 24, 24, 25, 1400};
        words[0] = any();
        words[1] = any() % 4 | UINT64_C(24) << 32 | UINT64_C(17) << 48; /* PE, length, flags */
        words[2] = any();
        sent += sendto(fd, words, lengths[i % 8], 0, (struct sockaddr *)&to, sizeof to) >= 0;
    }
    close(fd);
    printf("%d datagrams\n", sent);
    return sent ? 0 : 2;
}

static int connections(const char *host, const char *port, int count)
{
    struct sockaddr_in to = address_of(host, port);
    int *fd = calloc((size_t)count, sizeof *fd), made = 0;

    for (int i = 0; fd && i < count; i++) {
        char garbage[4096];
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fd[i] < 0 || connect(fd[i], (struct sockaddr *)&to, sizeof to))
            continue;
        made++;
        for (size_t k = 0; k < sizeof garbage; k++)
            garbage[k] = (char)any();
        if (i % 2 && send(fd[i], garbage, sizeof garbage, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            made--;
    }
    sleep(1);
    printf("%d connections\n", made);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        give_up("arguments", "see the source");
    int count = argc > 5 ? atoi(argv[5]) : 1;

    if (!strcmp(argv[1], "wakeups"))
        return wakeups(argv[3], argv[4], count);
    if (!strcmp(argv[1], "connections"))
        return connections(argv[3], argv[4], count);
    join(argv[2], argv[3], argv[4]);
    return !strcmp(argv[1], "keys") ? keys() : messages(count);
}
