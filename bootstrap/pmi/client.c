/* The conversation with a PMI server: see client.h. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/pmi/client.h"
#include "bootstrap/control/tree/tree.h"
#include "util/net/interfaces.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/net/io.h"
#include "util/net/lookup.h"
#include "util/parse.h"
#include "util/says.h"

static const double PARTING = 1; /* seconds for a farewell */

/* ---- where ---- */

enum sy_pmi_mpi sy_pmi_mpi(void)
{
    int initialized = sy_says("MPI_Initialized");

    if (sy_says("shmem_mpi_in_session") > 0) /* the mpi transport's */
        return SY_PMI_MPI_ACTIVE;
    if (initialized < 0)
        return SY_PMI_MPI_ABSENT;
    if (sy_says("MPI_Finalized") > 0)
        return SY_PMI_MPI_OVER;
    return initialized ? SY_PMI_MPI_ACTIVE : SY_PMI_MPI_LINKED;
}

static bool in_slurm(void)
{
    return secure_getenv("SLURM_STEP_ID") != NULL;
}

int sy_pmi_find(struct sy_error *err)
{
    const char *fd = secure_getenv("PMI_FD"), *port = secure_getenv("PMI_PORT"),
               *id = secure_getenv("PMI_ID");
    enum sy_pmi_mpi mpi = sy_pmi_mpi();
    struct stat st;

    if (!fd && !(port && id))
        return sy_fail(err, ENODEV, "neither PMI_FD nor PMI_PORT with PMI_ID is set");
    /* Slurm's server accepts one init of a process: MPI's or this one. */
    if (in_slurm() && (mpi == SY_PMI_MPI_LINKED || mpi == SY_PMI_MPI_OVER))
        return sy_fail(err, ENODEV, "PMI is left to MPI, with which Slurm's server speaks once");
    if (mpi == SY_PMI_MPI_OVER)
        return sy_fail(
            err, ECONNRESET,
            "MPI_Finalize has closed the connection to the launcher; call shmem_init before "
            "MPI_Finalize, or start the program with oshrun or a launcher that speaks PMIx");
    if (fd && (fstat((int)sy_parse_variable("PMI_FD"), &st) || !S_ISSOCK(st.st_mode)))
        return sy_fail(
            err, EBADF,
            "PMI_FD=%s is no open socket: a wrapper between the launcher and the program has "
            "closed it, or this process was started by one that had it; unset PMI_FD, or set "
            "SHMEM_BOOTSTRAP=single, to run a job of one PE",
            fd);
    return 0;
}

/* A connection to one address: the descriptor, or -errno. */
static int client_pmi_call(const struct sockaddr_storage *address, double deadline)
{
    int fd = sy_net_connect(address), rc = fd < 0 ? fd : sy_net_wait(fd, POLLOUT, &deadline);

    if (rc == 0)
        rc = sy_net_connected(fd);
    if (rc != 0 && fd >= 0)
        close(fd);
    return rc ? rc : fd;
}

static int client_connect_to(struct pmi_client *client, const char *place, struct sy_error *err)
{
    struct sockaddr_storage address[8];
    struct sy_error why = {""};
    uint16_t port = 0;
    char name[256];

    if (sy_place_split(place, name, sizeof name, &port) != 0)
        return client->host->fail(err, EINVAL, "PMI_PORT=%.300s is not HOST:PORT", place);
    int count = sy_lookup(name, port, address, 8, &why), rc = -ECONNREFUSED;
    if (count < 0)
        return client->host->fail(err, -count, "PMI_PORT=%.300s: %s", place, why.text);
    for (int i = 0; i < count && client->fd < 0; i++) {
        /* An address that does not answer leaves time for the others. */
        double now = sy_clock(), part = (client->deadline - now) / (count - i);
        rc = client_pmi_call(&address[i], now + part);
        client->fd = rc < 0 ? -1 : rc;
    }
    client->connected = client->fd >= 0;
    return client->fd >= 0
               ? 0
               : client->host->fail(err, -rc, "PMI_PORT=%.300s: %s", place, strerror(-rc));
}

/* ---- messages ---- */

static int client_lost(struct pmi_client *client, int rc, const char *what, struct sy_error *err)
{
    if (rc == -ETIMEDOUT)
        return client->host->fail(err, ETIMEDOUT, "%s: no answer from the launcher's PMI server",
                                  what);
    if (rc == -ECONNRESET || rc == -EPIPE)
        return client->host->fail(
            err, ECONNRESET,
            "%s: the launcher has closed PMI's connection; it does so when it ends the job, and "
            "after MPI_Finalize: shmem_init has to be called before that",
            what);
    return client->host->fail(err, -rc, "%s: %s", what, strerror(-rc));
}

/* Reads one line. MPI may share the socket, so no more is taken from it than the answer; and all of
 * it, also where it is too long. */
static int client_read_line(struct pmi_client *client, char line[PMI_LINE])
{
    size_t used = 0;
    bool whole = true;

    for (;;) {
        ssize_t n = sy_net_receive_some(client->fd, line + used, PMI_LINE - 1 - used, MSG_PEEK,
                                        &client->deadline);
        if (n < 0)
            return (int)n;
        char *end = memchr(line + used, '\n', (size_t)n);
        size_t take = end ? (size_t)(end - line) - used + 1 : (size_t)n;
        int rc = sy_net_receive(client->fd, line + used, take, &client->deadline);
        if (rc)
            return rc;
        used += take;
        if (end) {
            line[used - 1] = '\0';
            return whole ? 0 : -EMSGSIZE;
        }
        if (used == PMI_LINE - 1) {
            whole = false;
            used = 0;
        }
    }
}

static int client_read_framed(struct pmi_client *client, char body[PMI_LINE])
{
    char field[6];
    int rc = sy_net_receive(client->fd, field, sizeof field, &client->deadline),
        length = rc ? 0 : sy_pmi_length(field);

    if (rc)
        return rc;
    if (length < 0) {
        memcpy(body, field, sizeof field);
        body[sizeof field] = '\0';
        return -EPROTO;
    }
    bool whole = length < PMI_LINE;
    for (; length >= PMI_LINE && !rc; length -= PMI_LINE - 1)
        rc = sy_net_receive(client->fd, body, PMI_LINE - 1, &client->deadline);
    if (rc)
        return rc;
    body[length] = '\0';
    rc = sy_net_receive(client->fd, body, (size_t)length, &client->deadline);
    return rc ? rc : whole ? 0 : -EMSGSIZE;
}

/* Sends a message of version 1 or 2; `name` is what is waited for then. */
static int client_send(struct pmi_client *client, const char *text, int length, const char *name,
                       struct sy_error *err)
{
    if (length < 0 || length >= 1000) /* Slurm's server reads no more, and says nothing of it */
        return client->host->fail(err, EMSGSIZE, "PMI: a message of %d bytes is too long", length);
    int rc = sy_net_send(client->fd, text, (size_t)length, &client->deadline);
    return rc ? client_lost(client, rc, name, err) : 0;
}

static bool client_is_command(const char *answer, char between, const char *name)
{
    char cmd[64];

    return sy_pmi_word(answer, between, "cmd", cmd, sizeof cmd) && !strcmp(cmd, name);
}

/* Sends a command of version 2, whose body follows its name. */
static int client_say_2(struct pmi_client *client, const char *name, const char *body,
                        struct sy_error *err)
{
    char message[PMI_LINE + 80];
    int length = snprintf(message, sizeof message, "%-6zucmd=%s;%s",
                          strlen(body) + strlen(name) + 5, name, body);

    return client_send(client, message, length, name, err);
}

/* How much of an answer may be quoted: its value may be the job's secret. */
static int client_quotable(const char *answer)
{
    const char *value = strstr(answer, "value=");

    return value && value - answer < 100 ? (int)(value - answer) : 100;
}

/* Waits for an answer: in version 1 the one with this name, in version 2 that to the command with
 * this name, which is NAME-response. */
static int client_hear(struct pmi_client *client, int version, char answer[PMI_LINE],
                       const char *name, struct sy_error *err)
{
    const char between = version == 2 ? ';' : ' ';
    char wanted[64];
    int rc = version == 2 ? client_read_framed(client, answer) : client_read_line(client, answer);
    int status = 0;

    if (rc && rc != -EPROTO)
        return client_lost(client, rc, name, err);
    snprintf(wanted, sizeof wanted, "%s%s", name, version == 2 ? "-response" : "");
    if (version == 2)
        sy_pmi_number(answer, between, "rc", &status);
    if (rc || !client_is_command(answer, between, wanted) || status != 0)
        return client->host->fail(
            err, EPROTO,
            "PMI: the launcher answers '%.*s' where a good %s was expected; SHMEM_PMI_VERSION "
            "chooses the version of PMI, and SHMEM_BOOTSTRAP another bootstrap than pmi",
            client_quotable(answer), answer, wanted);
    return 0;
}

/* Sends a line of version 1, or the body of the command `name` of version 2, and waits for the
 * answer, as client_hear. */
__attribute__((format(printf, 6, 7))) static int client_ask(struct pmi_client *client, int version,
                                                            char answer[PMI_LINE], const char *name,
                                                            struct sy_error *err, const char *fmt,
                                                            ...)
{
    char text[PMI_LINE];
    va_list args;

    va_start(args, fmt);
    int length = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int rc = version == 2 ? client_say_2(client, name, text, err)
                          : client_send(client, text, length, name, err);
    return rc ? rc : client_hear(client, version, answer, name, err);
}

/* ---- opening ---- */

/* Introduces this process to a server at a port, which sends the rank and the size in further
 * lines. */
static int client_introduce(struct pmi_client *client, struct sy_error *err)
{
    char line[PMI_LINE];
    const char *id = secure_getenv("PMI_ID");
    int rc = client_ask(client, 1, line, "initack", err, "cmd=initack pmiid=%s\n", id ? id : "0");

    client->rank = client->size = -1;
    for (int i = 0; rc == 0 && i < 3; i++) { /* size, rank and debug, in any order */
        rc = client_read_line(client, line);
        if (rc)
            return client_lost(client, rc, "initack", err);
        sy_pmi_number(line, ' ', "size", &client->size);
        sy_pmi_number(line, ' ', "rank", &client->rank);
    }
    return rc;
}

/* Agrees on a version of PMI. -EPROTONOSUPPORT: not this one. */
static int client_say_version(struct pmi_client *client, int version, struct sy_error *err)
{
    char line[PMI_LINE];
    int status = -1, taken = -1;
    int rc = client_ask(client, 1, line, "response_to_init", err,
                        "cmd=init pmi_version=%d pmi_subversion=%d\n", version, version == 1);

    if (rc)
        return rc;
    if (sy_pmi_number(line, ' ', "rc", &status) && status == 0 &&
        (!sy_pmi_number(line, ' ', "pmi_version", &taken) || taken == version))
        return 0;
    return client->host->fail(err, EPROTONOSUPPORT,
                              "the launcher's PMI server refuses version %d: '%.100s'", version,
                              line);
}

static int client_begin_1(struct pmi_client *client, struct sy_error *err)
{
    char line[PMI_LINE];
    int rc = client_ask(client, 1, line, "my_kvsname", err, "cmd=get_my_kvsname\n");

    if (rc)
        return rc;
    if (!client->connected) {
        client->rank = (int)sy_parse_variable("PMI_RANK");
        client->size = (int)sy_parse_variable("PMI_SIZE");
    }
    if (!sy_pmi_word(line, ' ', "kvsname", client->space, sizeof client->space))
        return client->host->fail(err, EPROTO, "PMI: no name for keys in '%.100s'", line);
    return 0;
}

static int client_begin_2(struct pmi_client *client, struct sy_error *err)
{
    char answer[PMI_LINE];
    const char *job = secure_getenv("PMI_JOBID");
    int rank = client->connected ? client->rank : (int)sy_parse_variable("PMI_RANK");
    /* Hydra 4.2 takes no empty value. */
    int rc = client_ask(client, 2, answer, "fullinit", err, "%s%s%spmirank=%d;threaded=FALSE;",
                        job ? "pmijobid=" : "", job ? job : "", job ? ";" : "", rank);

    if (rc)
        return rc;
    if (!sy_pmi_number(answer, ';', "rank", &client->rank) ||
        !sy_pmi_number(answer, ';', "size", &client->size))
        return client->host->fail(err, EPROTO, "PMI: no rank and size in '%.100s'", answer);
    rc = client_ask(client, 2, answer, "job-getid", err, "%s", "");
    if (rc == 0 && !sy_pmi_word(answer, ';', "jobid", client->space, sizeof client->space))
        rc = client->host->fail(err, EPROTO, "PMI: no job's name in '%.100s'", answer);
    return rc;
}

int sy_pmi_open(struct pmi_client *client, int version, struct sy_error *err)
{
    const char *port = secure_getenv("PMI_PORT");
    int rc = 0;

    client->fd = (int)sy_parse_variable("PMI_FD");
    client->connected = false;
    if (client->fd < 0 && port)
        rc = client_connect_to(client, port, err);
    if (rc == 0 && client->connected)
        rc = client_introduce(client, err);
    if (rc)
        return rc;
    client->version = version ? version : 1;
    if (!in_slurm() || sy_pmi_mpi() != SY_PMI_MPI_ACTIVE)
        rc = client_say_version(client, client->version, err);
    if (rc == -EPROTONOSUPPORT && !version)
        rc = client_say_version(client, client->version = 2, err);
    if (rc == 0)
        rc = client->version == 1 ? client_begin_1(client, err) : client_begin_2(client, err);
    if (rc == 0 && (client->size < 1 || client->rank < 0 || client->rank >= client->size))
        rc = client->host->fail(err, EPROTO, "PMI says that this is process %d of %d", client->rank,
                                client->size);
    return rc;
}

/* ---- keys ---- */

int sy_pmi_put(struct pmi_client *client, const char *key, const char *value, struct sy_error *err)
{
    char answer[PMI_LINE];
    int status = -1;

    if (client->version == 2)
        return client_ask(client, 2, answer, "kvs-put", err, "key=%s;value=%s;", key, value);
    int rc = client_ask(client, 1, answer, "put_result", err,
                        "cmd=put kvsname=%s key=%s value=%s\n", client->space, key, value);
    if (rc == 0 && (!sy_pmi_number(answer, ' ', "rc", &status) || status != 0))
        rc = client->host->fail(err, EPROTO, "PMI: the launcher does not take a value: '%.*s'",
                                client_quotable(answer), answer);
    return rc;
}

int sy_pmi_barrier_enter(struct pmi_client *client, struct sy_error *err)
{
    static const char line[] = "cmd=barrier_in\n";

    if (client->version == 2)
        return client_say_2(client, "kvs-fence", "", err);
    return client_send(client, line, sizeof line - 1, "barrier_in", err);
}

int sy_pmi_barrier_wait(struct pmi_client *client, struct sy_error *err)
{
    char answer[PMI_LINE];

    return client_hear(client, client->version, answer,
                       client->version == 2 ? "kvs-fence" : "barrier_out", err);
}

static const char other_order[] = "; perhaps PE 0 is in MPI_Init while this PE is in shmem_init: "
                                  "all PEs have to begin the two in the same order";

int sy_pmi_get(struct pmi_client *client, const char *key, char *value, size_t room,
               struct sy_error *err)
{
    char answer[PMI_LINE], between = client->version == 2 ? ';' : ' ';
    int rc, status = 0;

    if (client->version == 2)
        rc = client_ask(client, 2, answer, "kvs-get", err, "jobid=%s;srcid=-1;key=%s;",
                        client->space, key);
    else
        rc = client_ask(client, 1, answer, "get_result", err, "cmd=get kvsname=%s key=%s\n",
                        client->space, key);
    if (!rc && ((sy_pmi_number(answer, between, "rc", &status) && status != 0) ||
                !sy_pmi_word(answer, between, "value", value, room)))
        rc = client->host->fail(err, ENOENT, "PMI: the launcher has no key %s: '%.*s'%s", key,
                                client_quotable(answer), answer,
                                sy_pmi_mpi() == SY_PMI_MPI_ABSENT ? "" : other_order);
    explicit_bzero(answer, sizeof answer);
    return rc;
}

bool sy_pmi_one_node(struct pmi_client *client)
{
    static const char key[] = "PMI_process_mapping";
    char answer[PMI_LINE], value[PMI_LINE];
    int rc;

    if (client->version == 1) {
        rc = sy_pmi_get(client, key, value, sizeof value, NULL);
    } else {
        rc = client_ask(client, 2, answer, "info-getjobattr", NULL, "key=%s;", key);
        if (rc == 0 && !sy_pmi_word(answer, ';', "value", value, sizeof value))
            rc = -ENOENT;
    }
    return rc == 0 && sy_pmi_mapping_is_one_node(value);
}

/* ---- leaving ---- */

void sy_pmi_abort(struct pmi_client *client, int status)
{
    char message[128], body[64];

    if (client->fd < 0)
        return;
    client->deadline = sy_clock() + PARTING;
    if (client->version == 2) {
        snprintf(body, sizeof body, "cmd=abort;isworld=TRUE;exitcode=%d;", status);
        snprintf(message, sizeof message, "%-6zu%s", strlen(body), body);
    } else {
        snprintf(message, sizeof message, "cmd=abort exitcode=%d\n", status);
    }
    sy_net_send(client->fd, message, strlen(message), &client->deadline);
}

void sy_pmi_finalize(struct pmi_client *client)
{
    char answer[PMI_LINE];

    client->deadline = sy_clock() + PARTING;
    if (client->version == 2)
        client_ask(client, 2, answer, "finalize", NULL, "%s", "");
    else
        client_ask(client, 1, answer, "finalize_ack", NULL, "cmd=finalize\n");
}

/* Closes the socket, unless it was inherited: MPI may use that. */
void sy_pmi_drop(struct pmi_client *client)
{
    if (client->connected && client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}
