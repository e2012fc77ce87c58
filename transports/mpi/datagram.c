/* Wake-ups that cross a network: UDP datagrams to a port of the PE, each with a word that the PEs
 * of the job alone know. A filter drops all others in the kernel, so a stranger wakes nobody. Who
 * reads the network can repeat one, which costs a look (see wakeup.c). One that is lost costs the
 * rest of an interval, so nobody is told where datagrams do not arrive. */
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "transports/mpi/state.h"
#include "util/file.h"
#include "util/net/bytes.h"
#include "util/net/interfaces.h"
#include "util/siphash.h"

#define PURPOSE UINT64_C(0x6d70692d77616b65) /* apart from other uses of the job's key */
#define HEADER  8                            /* bytes of UDP's, where the filter begins */
#define RECEIVE 4096 /* bytes of the socket's buffer, or the kernel's least */

static uint64_t datagram_word(const struct mpi_state *state, int pe)
{
    const uint64_t words[2] = {PURPOSE, (uint64_t)pe};
    uint64_t key[2];

    memcpy(key, state->host->job_key, sizeof key);
    return sy_siphash(key, words, 2);
}

static int datagram_filter(int fd, uint64_t word)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HEADER + sizeof word, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HEADER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(word >> 32), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, HEADER + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)word, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, HEADER + sizeof word),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ? -errno : 0;
}

/* Binds a socket to an address, behind the filter: the port, or 0. */
static uint16_t datagram_bind(struct mpi_state *state, int fd, const struct sy_ip *ip)
{
    struct sockaddr_storage address;
    const int room = RECEIVE;

    sy_ip_socket(ip, 0, 0, &address);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    bool failed = datagram_filter(fd, datagram_word(state, state->host->pe)) ||
                  sy_socket_bind(fd, &address);
    return failed ? 0 : ntohs(*sy_socket_port(&address));
}

/* The first of the chosen addresses that another host may reach, or that the user has named. */
static int datagram_choose(struct mpi_state *state, struct sy_ip *ip, struct sy_error *err)
{
    const char *wanted = state->settings->interfaces;
    const struct sy_interface **chosen = NULL;
    struct sy_interface *all = NULL;
    size_t count, found = 0;
    int rc = sy_interfaces_list(&all, &count);

    if (!rc)
        rc = sy_interfaces_choose("SHMEM_MPI_INTERFACES", wanted, SY_IP_ANY, all, count, &chosen,
                                  &found, err);
    for (size_t i = 0; i < found && !rc && !ip->family; i++)
        if (strcmp(wanted, "auto") != 0 ||
            !(sy_ip_loopback(&chosen[i]->ip) || sy_ip_link_local(&chosen[i]->ip)))
            *ip = chosen[i]->ip;
    free(chosen);
    free(all);
    return rc == -EINVAL ? rc : 0;
}

int mpi_datagram_open(struct mpi_state *state, struct sy_error *err)
{
    struct mpi_wakeup *wakeup = &state->wakeup;
    struct mpi_socket *own = &wakeup->own;
    bool wanted = strcmp(state->settings->interfaces, "none") != 0;
    int rc = wanted ? datagram_choose(state, &own->ip, err) : 0;

    if (rc || !own->ip.family)
        return rc;
    wakeup->far = socket(own->ip.family == 4 ? AF_INET : AF_INET6,
                         SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    own->port = wakeup->far < 0 ? 0 : datagram_bind(state, wakeup->far, &own->ip);
    if (!own->port)
        mpi_datagram_close(wakeup);
    return 0;
}

void mpi_datagram_close(struct mpi_wakeup *wakeup)
{
    sy_file_close(&wakeup->far);
    wakeup->own.port = 0;
}

bool mpi_datagram_reaches(const struct mpi_wakeup *wakeup, const struct mpi_socket *to)
{
    return wakeup->far >= 0 && to->port && to->ip.family == wakeup->own.ip.family;
}

bool mpi_datagram_send(struct mpi_state *state, int rank)
{
    const struct mpi_socket *to = &state->wakeup.of[rank];
    unsigned char bytes[sizeof(uint64_t)];
    struct sockaddr_storage address;
    socklen_t length = sy_ip_socket(&to->ip, to->port, 0, &address);

    /* As the filter reads it. */
    sy_bytes_put(bytes, datagram_word(state, state->pe_of[rank]), sizeof bytes);
    return sendto(state->wakeup.far, bytes, sizeof bytes, MSG_NOSIGNAL, (struct sockaddr *)&address,
                  length) == sizeof bytes;
}
