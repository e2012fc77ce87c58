/* The calls of an MPI that the transport makes. calls.c is compiled once for each family of MPIs,
 * into a file of its own, mpi_transport_<family>.so, which exports this table; the plugin has no
 * MPI linked. What an MPI calls a handle, an int or a pointer, is a word here.
 *
 * Functions return 0 or -errno; what the MPI says is then `text`. All may be called by any thread
 * once start() has succeeded. */
#ifndef MPI_CALLS_H
#define MPI_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

#define MPI_CALLS_SYMBOL  "shmem_mpi_calls_1"
#define MPI_CALLS_SOME    32
#define MPI_CALLS_TAGS    32768 /* every MPI has tags below */
#define MPI_CALLS_VERSION 256   /* bytes of a library's version */

typedef uintptr_t mpi_comm, mpi_request, mpi_window;

/* This process in MPI's world, and its MPI. */
struct mpi_self {
    int rank, size;
    bool session;     /* of our own, so that the program may finalise MPI before us */
    bool by_messages; /* its dynamic windows are made of messages, so they save nothing */
    bool ends_deaf;   /* see below */
    char version[MPI_CALLS_VERSION];
};

/* MPICH 4.0 and 4.1 over UCX end MPI in two steps. A process waits until all to whom it has sent
 * something answer that they have it; and then for all processes, without listening to them any
 * more. So one that is answered by another which has not begun its end leaves that one without an
 * answer for ever; and so does one that has sent nothing to another which has sent to it. */

struct mpi_calls {
    size_t size; /* sizeof(struct mpi_calls) */

    /* Begins MPI, by a session where there are sessions, unless the program has; once for all
     * instances, and until the process ends. err says why it cannot be used: MPI is over, or does
     * not let several threads call it. */
    int (*start)(struct mpi_self *self, struct sy_error *err);

    /* Calls `over(arg)` when the program finalises an MPI that the instance depends on, before MPI
     * is gone; until unwatch(arg). */
    int (*watch)(void (*over)(void *arg), void *arg);
    void (*unwatch)(void *arg);

    /* A communicator of `count` processes, by their ranks in the world; rank i is ranks[i].
     * Collective over these. */
    int (*comm_open)(const int *ranks, int count, const char *name, mpi_comm *comm,
                     struct sy_error *err);
    void (*comm_close)(mpi_comm comm);

    /* Complete when every process of it has called this. */
    int (*barrier)(mpi_comm comm, mpi_request *request);

    /* Messages; from: a rank, or -1 for any. test: 1 when it is complete, and the request is gone,
     * 0 when not; `from` and `length` may be NULL, and are of a receive. test_some: how many of at
     * most MPI_CALLS_SOME are complete, and which. cancel: of a receive; waits for its end. */
    int (*send)(mpi_comm comm, const void *bytes, size_t length, int to, int tag,
                mpi_request *request);
    int (*receive)(mpi_comm comm, void *bytes, size_t room, int from, int tag,
                   mpi_request *request);
    int (*test)(mpi_request *request, int *from, size_t *length);
    int (*test_some)(mpi_request *request, int count, int *which);
    void (*cancel)(mpi_request *request);

    /* A dynamic window, locked for all; collective, as is its end. -EOPNOTSUPP: this MPI keeps
     * public and private copies of a window. */
    int (*window_open)(mpi_comm comm, mpi_window *window, struct sy_error *err);
    void (*window_close)(mpi_window window);
    int (*attach)(mpi_window window, void *base, size_t length);
    int (*detach)(mpi_window window, void *base);

    /* Transfers of what an int counts, at an address of the target process. A get is complete when
     * its request is. So is a put here, whose request may be NULL; there it is after flush. */
    int (*put)(mpi_window window, int to, const void *from, size_t length, uint64_t address,
               mpi_request *request);
    int (*get)(mpi_window window, int from, void *to, size_t length, uint64_t address,
               mpi_request *request);
    int (*flush)(mpi_window window, int rank);

    /* What MPI has said about the failure last told to this thread. */
    const char *(*text)(void);
};

#endif
