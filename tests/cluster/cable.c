/* An Ethernet switch in user space that treats frames as long and bad lines do; it needs nothing of
 * the kernel but packet sockets: cable [delay=MS] [loss=PERCENT] [mtu=BYTES] [rate=KBIT] [seed=N]
 * INTERFACE INTERFACE... Every frame that comes in at one interface leaves at the one where its
 * destination was last seen, or at all others, after the delay. All frames share one line of so
 * many kbit/s; what would wait there for longer than two seconds is lost. Frames that are longer
 * than mtu disappear without a word, as in a network whose routers may not answer. Prints "ready"
 * and runs until it is killed. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PORTS = 16, FRAME = 70000, QUEUE = 4096 };

#define QUEUEING UINT64_C(2000000000) /* nanoseconds that frames wait for a slow line, at most */

struct port {
    int fd;
    unsigned char mac[ETH_ALEN]; /* the last source that was seen here */
};

/* A frame on its way, with the header in which the kernel says what is left to be done to it: a
 * checksum, division into segments. */
struct frame {
    struct frame *next;
    uint64_t due; /* nanoseconds */
    int port;     /* where it came in */
    size_t length;
    char bytes[];
};

static struct port ports[PORTS];
static int port_count;
static struct frame *first, **last = &first;
static size_t queued;
static long delay, loss, mtu, rate, seed = 1;
static uint64_t line_free; /* when the line has carried what it was given */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void open_port(const char *name)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int one = 1, room = 16 << 20;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (port_count == PORTS)
        errno = E2BIG;
    address.sll_ifindex = (int)if_nametoindex(name);
    if (port_count == PORTS || fd < 0 || !address.sll_ifindex ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) ||
        bind(fd, (struct sockaddr *)&address, sizeof address))
        fail(name);
    ports[port_count++].fd = fd;
}

/* The longest frame, in bytes, that this one counts for on the line. */
static size_t longest(const char *bytes, size_t length)
{
    struct virtio_net_hdr header;

    memcpy(&header, bytes, sizeof header);
    if (header.gso_type == VIRTIO_NET_HDR_GSO_NONE)
        return length - sizeof header - ETH_HLEN;
    return (size_t)header.hdr_len + header.gso_size - ETH_HLEN;
}

/* When the line will have carried a frame that is enqueued now; 0: the queue is full. */
static uint64_t carried(size_t length)
{
    uint64_t time = now();

    if (line_free < time)
        line_free = time;
    if (rate && line_free - time > QUEUEING)
        return 0;
    if (rate)
        line_free += length * 8 * 1000000u / (uint64_t)rate;
    return line_free;
}

/* Takes one frame from a port; false when there is none. */
static bool take(int port)
{
    static char bytes[FRAME];
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    struct frame *frame;
    uint64_t end;
    ssize_t length = recvfrom(ports[port].fd, bytes, sizeof bytes, MSG_DONTWAIT,
                              (struct sockaddr *)&from, &size);

    if (length < (ssize_t)sizeof(struct virtio_net_hdr) + ETH_HLEN)
        return length >= 0;
    if (from.sll_pkttype == PACKET_OUTGOING)
        return true;
    memcpy(ports[port].mac, bytes + sizeof(struct virtio_net_hdr) + ETH_ALEN, ETH_ALEN);
    if (rand() % 10000 < loss * 100 || (mtu && longest(bytes, (size_t)length) > (size_t)mtu) ||
        queued == QUEUE || !(end = carried((size_t)length)) ||
        !(frame = malloc(sizeof *frame + (size_t)length)))
        return true;
    *frame = (struct frame){
        .due = end + (uint64_t)delay * 1000000u, .port = port, .length = (size_t)length};
    memcpy(frame->bytes, bytes, frame->length);
    *last = frame;
    last = &frame->next;
    queued++;
    return true;
}

static void deliver(const struct frame *frame)
{
    const char *to = frame->bytes + sizeof(struct virtio_net_hdr);
    int only = -1;

    for (int i = 0; i < port_count; i++)
        if (memcmp(to, ports[i].mac, ETH_ALEN) == 0)
            only = i;
    /* What an interface refuses is lost, as on any cable. */
    for (int i = 0; i < port_count; i++)
        if (i != frame->port && (only < 0 || i == only))
            send(ports[i].fd, frame->bytes, frame->length, 0);
}

/* Delivers what is due; returns milliseconds until the next is, or -1. */
static int deliver_all(void)
{
    while (first) {
        struct frame *frame = first;
        uint64_t time = now();
        if (frame->due > time)
            return (int)((frame->due - time) / 1000000u) + 1;
        deliver(frame);
        first = frame->next;
        if (!first)
            last = &first;
        queued--;
        free(frame);
    }
    return -1;
}

static bool set(const char *word, const char *name, long *value)
{
    size_t length = strlen(name);

    if (strncmp(word, name, length) != 0 || word[length] != '=')
        return false;
    *value = strtol(word + length + 1, NULL, 10);
    return true;
}

int main(int argc, char **argv)
{
    struct pollfd fds[PORTS];

    for (int i = 1; i < argc; i++)
        if (!set(argv[i], "delay", &delay) && !set(argv[i], "loss", &loss) &&
            !set(argv[i], "mtu", &mtu) && !set(argv[i], "rate", &rate) &&
            !set(argv[i], "seed", &seed))
            open_port(argv[i]);
    srand((unsigned)seed);
    for (int i = 0; i < port_count; i++)
        fds[i] = (struct pollfd){ports[i].fd, POLLIN, 0};
    puts("ready");
    fflush(stdout);
    for (;;) {
        if (poll(fds, (nfds_t)port_count, deliver_all()) < 0 && errno != EINTR)
            fail("poll");
        for (int i = 0; i < port_count; i++)
            for (int n = 0; n < 64 && take(i); n++)
                ;
    }
}
