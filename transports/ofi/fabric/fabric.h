/* What libfabric is asked for and gives: a provider, a domain, endpoints, registered memory.
 * Nothing here knows of messages or of who calls.
 *
 * library.c    loads libfabric
 * provider.c   which of its providers is used, and what that was asked for and refused
 * offers.c     which of the provider's addresses
 * endpoint.c   fabric, domain, address vector, endpoints
 * region.c     registered memory, and how that of others is reached
 * keys.c       what is derived from the job's key: keys of memory, of pairs of PEs
 *
 * All of it is written before connect() returns and constant from then on, but for endpoints, which
 * contexts open and close. */
#ifndef SY_TRANSPORTS_OFI_FABRIC_H
#define SY_TRANSPORTS_OFI_FABRIC_H

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <switchyard/transport.h>

struct ofi_peer;

#define OFI_NONCE      6    /* bytes */
#define OFI_OPERATIONS 512  /* native transfers under way on an endpoint */
#define OFI_ENDPOINTS  16   /* one for messages, others for contexts */
#define OFI_SMALL      4096 /* bytes of a put that is a message where CPUs do the work anyway */

/* What the chosen provider was found to do. */
struct ofi_traits {
    bool rma; /* native put and get, with completion that means delivery, by one of two ways: */
    bool delivery;     /* FI_DELIVERY_COMPLETE */
    bool flushed;      /* a message behind the writes, which the provider keeps in order */
    bool waw;          /* writes arrive in the order in which they were issued */
    bool saw;          /* a message arrives after the writes issued before it */
    bool software;     /* the CPUs do the work */
    bool own_contexts; /* contexts may have endpoints of their own */
    bool local_mr;     /* buffers of this process must be registered */
    bool virt_addr;    /* remote memory is named by address, not by offset */
    bool prov_key;     /* the provider chooses keys */
    bool enable_mr;    /* registered memory is bound to the endpoint */
    bool deaf;         /* the queue's descriptor does not tell of all that has come (sockets) */
    bool silent;       /* puts of others arrive in polls that report nothing (progress.c) */
    bool ticks;        /* must be polled from time to time while something is under way */
    bool tcp;          /* goes over TCP connections, and addresses are those of their ports */
    bool lone;         /* small transfers that have a PE for themselves are native too */
    bool wakeup;       /* this PE takes wake-ups, and its main queue wakes nobody */
    uint32_t window;   /* unacknowledged messages of requests to one PE */
    uint32_t at_once;  /* so many of them leave at once; beyond that small requests gather */
    size_t inject, max_write;
    size_t small; /* puts up to this length travel as messages */
};

struct ofi_settings {
    const char *provider, *fabric, *domain;
    int contexts;        /* index into "auto|shared|own" */
    const char *without; /* abilities of the provider */
    double contact_timeout;
};

enum { OFI_CONTEXTS_AUTO, OFI_CONTEXTS_SHARED, OFI_CONTEXTS_OWN };

/* What a completion belongs to: the first member of what was given to libfabric as context. */
enum ofi_kind { OFI_OPERATION, OFI_SENT, OFI_RECEIVED };

struct ofi_slot {
    struct fi_context2 context; /* the provider's while the operation is under way */
    enum ofi_kind kind;
};

union ofi_ip {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* Interfaces in the order of preference, and offers that could not be opened; see offers.c. */
struct ofi_offers {
    struct sy_interface *all;
    const struct sy_interface **preferred;
    size_t count;
    struct fi_info *tried;
};

/* How a region of another PE is reached natively. */
struct ofi_remote {
    uint64_t key, base;
    bool native;
};

/* A region that is attached (region.c). */
struct ofi_region {
    struct sy_region own; /* length 0: nothing to be found here */
    struct fid_mr *mr;
    struct ofi_remote *remote; /* npes of them; NULL: no PE's is reached natively */
};

/* A native transfer. Lock of its endpoint. */
struct ofi_operation {
    struct ofi_slot slot;
    struct ofi_operation *next;
    struct sy_transport_ctx *ctx;
    _Atomic int *left; /* the blocked caller's count, or NULL */
    struct fid_mr *mr; /* registration of the caller's buffer, or NULL */
    int pe;            /* -1: free */
    bool get;
    size_t delivering; /* the bytes of this transfer in the peer's `delivering` */
};

/* An endpoint with its completion queue. The first one, the main endpoint, carries messages and the
 * transfers of contexts that share it. */
struct ofi_endpoint {
    struct ofi_state *ofi;
    pthread_mutex_t lock;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct ofi_operation *operations, *free; /* `lock` */
    unsigned users;                          /* `contexts` of ofi_state */
};

/* The functions of libfabric that its headers do not define inline. */
struct ofi_library {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
    __typeof__(fi_version) *version;
};

extern struct ofi_library sy_ofi_library;

static inline void sy_ofi_lock(struct ofi_endpoint *endpoint)
{
    pthread_mutex_lock(&endpoint->lock);
}

static inline void sy_ofi_unlock(struct ofi_endpoint *endpoint)
{
    pthread_mutex_unlock(&endpoint->lock);
}

/* library.c */
int sy_ofi_load(struct ofi_state *ofi, struct sy_error *err);

/* provider.c */
int sy_ofi_choose(struct ofi_state *ofi, struct sy_error *err);
int sy_ofi_choose_next(struct ofi_state *ofi);
int sy_ofi_fail(struct ofi_state *ofi, struct sy_error *err, ssize_t code, const char *what);

/* offers.c */
void sy_ofi_offers_open(struct ofi_state *ofi);
void sy_ofi_offers_close(struct ofi_state *ofi);
unsigned sy_ofi_offer_rank(struct ofi_state *ofi, const struct fi_info *info);
bool sy_ofi_offer_is_tried(struct ofi_state *ofi, const struct fi_info *info);
bool sy_ofi_offer_failed(struct ofi_state *ofi, const struct fi_info *info);

/* endpoint.c */
int sy_ofi_domain_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_endpoints_close(struct ofi_state *ofi);
void sy_ofi_domain_close(struct ofi_state *ofi);
int sy_ofi_endpoint_open(struct ofi_endpoint *endpoint, struct sy_error *err);

/* region.c */
int sy_ofi_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err);
bool sy_ofi_region_registered(void *self, int pe, unsigned index);
int sy_ofi_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err);
void sy_ofi_region_detach(void *self, unsigned index);
void sy_ofi_regions_close(struct ofi_state *ofi);
unsigned sy_ofi_key_parts(const struct ofi_state *ofi);
void *sy_ofi_descriptor(struct ofi_state *ofi, const void *address, size_t length);

/* keys.c */
int sy_ofi_keys_open(struct ofi_state *ofi, struct sy_error *err);
uint64_t sy_ofi_local_key(struct ofi_state *ofi);
uint64_t sy_ofi_region_key(struct ofi_state *ofi, int pe, const unsigned char nonce[OFI_NONCE],
                           unsigned index);
void sy_ofi_pair_key(struct ofi_peer *peer, const unsigned char nonce[OFI_NONCE]);

#endif
