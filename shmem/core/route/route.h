/* Which transport reaches which PE: docs/architecture.md (Routes) says how one is chosen for each
 * pair. All PEs compute this from the same exchanged data, so both sides agree.
 *
 * route.c         loads, opens and closes the transports
 * route_job.c     gathers those of all PEs, and connects this one's (route_job.h)
 * route_agree.c   agrees with the other PEs on who reaches whom
 * route_choose.c  chooses for each pair
 * route_check.c   what a plugin may get wrong (route_check.h)
 * route_window.c  the windows of other PEs: what is mapped, keys of the rest
 * route_region.c  the same for a window that comes after the start
 * route_rule.c    the rules of SHMEM_ROUTES
 * route_show.c    prints the choice
 * route_count.c   prints what the transports count */
#ifndef SY_CORE_ROUTE_H
#define SY_CORE_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <switchyard/host.h>
#include <switchyard/transport.h>

#include "core/memory/windows.h"
#include "util/bits.h"
#include "util/plugin.h"

#define SY_TRANSPORTS_MAX   8
#define SY_TRANSPORT_NONE   0xff
#define SY_ADDRESS_MAX      128
#define SY_ROUTE_NAME       64  /* bytes of a transport's name */
#define SY_TRANSPORT_RECORD 256 /* most bytes of one transport in sy_routes_pack */

struct sy_route_transport {
    struct sy_plugin plugin;          /* its name is the instance's: "tcp", or "tcp@a" */
    const struct sy_transport *table; /* the plugin's, or the engine's over it (engine/message.h) */
    void *self;                       /* the instance, once it is open */
    void *settings;                   /* its options' values */
    char key[SY_WINDOWS_START][SY_REGION_KEY]; /* of this PE's windows */
    uint8_t key_bytes;                         /* of the longest of them */
    struct sy_transport_ctx *ctx;              /* of the default context */
    int32_t rank;         /* lower ones are tried first; from SHMEM_TRANSPORTS or the priorities */
    bool required;        /* by name: the job stops where it cannot be used */
    bool named;           /* by name, if only as one that may be missing */
    bool ruled;           /* a rule prefers or requires it, and SHMEM_TRANSPORTS names none */
    bool connected;       /* its connect has returned 0 */
    bool faulted;         /* its reach has given an answer of no use */
    _Atomic bool carries; /* some PE's data goes through its data calls, not only by mapping */
    int wait_fd;          /* its table's answer */
    _Atomic bool polled;  /* something may arrive through it */
    bool lone;            /* data calls of its own cannot be told of a second thread */
    uint8_t place;        /* its number among the kinds, the same on all PEs */
} __attribute__((aligned(512))); /* a power of 2: found by a shift, for each operation */

struct sy_routes {
    struct sy_route_transport transport[SY_TRANSPORTS_MAX];
    unsigned loaded;  /* transports, in the order in which they are opened */
    unsigned count;   /* the first of them, which are open */
    unsigned kinds;   /* transports that some PE of the job has opened */
    bool maps;        /* some other PE stores into this PE's heap by itself */
    bool shown;       /* on PE 0: all PEs see to its tables */
    char remark[160]; /* whom a connected transport does not reach, and why; "" */
    bool in_child;    /* this is a child process of the PE, which fork has made */
    uint8_t *of;      /* npes indices into transport, or SY_TRANSPORT_NONE */
    uint8_t *other;   /* npes flags: 1: it runs another executable, with other data windows */
};

extern struct sy_routes sy_routes SY_HIDDEN;

/* A transport that this PE has left out. */
struct sy_route_drop {
    char name[SY_ROUTE_NAME], why[256];
    int code;   /* what it failed with */
    bool named; /* as above */
};

struct sy_options;

/* Loads the transports of `wanted` ("auto", "shm,tcp", with "ofi?" for one that may be missing, or
 * "^ofi"). A name may be that of an instance, "tcp@a", which has options of its own (option.h). One
 * that was named and fails is an error; others are left out, with the reason in the log. The rules
 * of SHMEM_ROUTES must have been read. */
int sy_routes_load(const char *wanted, struct sy_options *options, struct sy_error *err);

/* Opens those that are not open yet and makes the windows known to them, in order. Not `beyond`:
 * up to the first one that spans the node, and none that reaches others. Failures as above; what
 * the user has set wrongly (-EINVAL) is one only if no other PE has opened the transport, which
 * sy_routes_connect finds. */
int sy_routes_open(const struct sy_host *host, bool beyond, struct sy_error *err);

/* Whether the last one opened is for PEs of the same node, and there are no rules. Where this holds
 * on all PEs of a job on one node, the others are not needed. */
bool sy_routes_span_node(void);

/* The most that sy_routes_pack can write when all loaded transports are open. */
size_t sy_routes_pack_room(void);

/* Writes names and addresses of the opened transports, for other PEs; returns the length. */
size_t sy_routes_pack(char *buffer, size_t room);

/* What a pack says of one transport. */
struct sy_route_entry {
    const char *name, *address;
    size_t length;
    int32_t rank;
    uint8_t key_bytes;
};

/* Whether `room` bytes that another PE has sent are a pack: sy_routes_unpack checks nothing. */
bool sy_routes_check_pack(const char *pack, size_t room);

/* Steps through a pack: fills *entry and returns true, or false at the end. */
bool sy_routes_unpack(const char **pack, struct sy_route_entry *entry);

/* The name under which a pack has the machine's network addresses, where rules need them. */
#define SY_ROUTE_NETS "@nets"

enum { SY_ROUTES_SHORT = 1 };

/* Takes what every PE packed (PE p's is at all + p * stride), connects, agrees with the other PEs
 * on what has connected, and fills in routes and peers' windows. `same_layout(p)`: whether PE p
 * runs the same executable. show: PE 0 prints the table of routes; the same on every PE. Not
 * `beyond`: where something has not connected, or reaches not all, answers SY_ROUTES_SHORT, on all
 * PEs; then the transports that are not open yet are to be opened, and all is to be called again.
 */
int sy_routes_connect(const char *all, size_t stride, bool (*same_layout)(int pe), double seconds,
                      bool beyond, bool show, struct sy_error *err);

/* Closes transport i and forgets it; those behind it move up. code, why: what it failed with. */
void sy_routes_drop(unsigned i, int code, const char *why);

/* The i-th of the transports that this PE has left out, or NULL. */
const struct sy_route_drop *sy_routes_dropped(unsigned i);

void sy_routes_close(void);

/* Writes a line with the transport's counters that are not 0, behind the text `before`. While the
 * transport is open, by any thread. */
void sy_route_tell_counters(const struct sy_route_transport *t, enum sy_log_level level,
                            const char *category, const char *before);

/* Enters PE pe's mapped windows, when its route has been chosen; what is not mapped goes through
 * the transport's data calls. */
void sy_route_enter_windows(int pe);

struct sy_route_job;

/* Hands the keys of all PEs' windows to the transports; after all windows have been entered. */
int sy_route_connect_windows(const struct sy_route_job *job, double seconds, struct sy_error *err);

/* A window that comes when there are routes, in three steps, all of them on each PE. attach: makes
 * this PE's window (length 0 where it has none) known to the transports, and writes SY_ROUTE_KEYS
 * bytes for the others. connect: with those of all PEs, that of PE p at all + p * stride; enters
 * the windows of the PEs that are not absent. detach: also after an attach or a connect that
 * failed; nothing is under way any more. 0, or -errno with err. */
#define SY_ROUTE_KEYS ((size_t)SY_TRANSPORTS_MAX * SY_REGION_KEY)
int sy_route_region_attach(unsigned window, const struct sy_region *region, char *keys,
                           struct sy_error *err);
int sy_route_region_connect(unsigned window, const char *all, size_t stride, struct sy_error *err);
void sy_route_region_detach(unsigned window);

/* ---- why a pair has its route ---- */

enum {
    SY_ROUTE_FIRST,  /* the first in the order */
    SY_ROUTE_COMMON, /* the first that both have */
    SY_ROUTE_REACH,  /* the first that reaches */
    SY_ROUTE_RULE    /* rule 1, and so on */
};

/* How a PE reaches another's memory. */
enum sy_route_how {
    SY_ROUTE_NOT,        /* there is none, or none that is its counterpart */
    SY_ROUTE_MAPPED,     /* by loads and stores */
    SY_ROUTE_REGISTERED, /* the fabric moves it */
    SY_ROUTE_SERVED,     /* its PE stores and loads it, when asked by messages */
    SY_ROUTE_STAGED      /* the same, and copies between a device and memory of the host */
};

/* One cell of the table of routes. */
struct sy_route_cell {
    uint8_t transport; /* index into the job's names, or SY_TRANSPORT_NONE for the PE itself */
    uint8_t why;
    uint8_t how, how_data; /* of the heap, or a space; of the executable's data */
};

/* The largest job that has a table, as somebody has to ask for one on all PEs (sy_routes.shown). */
#define SY_ROUTE_TABLE_PES 512

/* Prints the table of npes * npes cells, PEs with equal rows together: on stdout where
 * SHMEM_SHOW_ROUTES asks for it, else as log lines. The names are kept for the next. */
void sy_routes_show(const struct sy_route_cell *cells, int npes, const char *const *names);

/* Prints the table of one window that came after the start, below the line `title`. */
void sy_routes_show_window(const struct sy_route_cell *cells, const char *title);

/* The cell of this PE's way to a window of PE pe: `why` is not for the user. */
struct sy_route_cell sy_route_cell_of(unsigned window, int pe);

/* The transport to PE pe, for the slow path. */
static inline struct sy_route_transport *sy_route_to(int pe)
{
    uint8_t index = sy_routes.of[pe];
    return index == SY_TRANSPORT_NONE ? NULL : &sy_routes.transport[index];
}

/* As struct sy_host's member. */
bool sy_routes_lead(const void *self, int pe);

#endif
