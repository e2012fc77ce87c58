/* Which MPI a process has, or should have, and the plugin's part that is built for it. What calls
 * MPI is built once for each family of MPIs that configure finds, as a file of its own,
 * <module>_<family>.so beside the plugin; the plugin itself has no MPI linked, so that one whose
 * MPI is not installed still loads, and programs without MPI never load one. Shared by the
 * bootstrap and the transport; holds no state. Functions return 0 or -errno and fill err. */
#ifndef MPI_LIBRARY_H
#define MPI_LIBRARY_H

#include <stdbool.h>

#include <switchyard/host.h>
#include <switchyard/option.h>

/* The option of which family is meant, which the bootstrap and the transport both have. */
#define SY_MPI_FAMILY_OPTION(settings, member)                                                     \
    {                                                                                              \
        "mpi.family", SY_OPTION_CHOICE, 0, offsetof(settings, member), "auto",                     \
            "auto|mpich|openmpi|abi", 0, 0, NULL,                                                  \
            "Which MPI is called where a program has none linked, or by which of its interfaces: " \
            "that of MPICH, of Open MPI, or the standard one of MPI 5 (abi); auto: the one that "  \
            "is loaded in the process, else that of the launcher"                                  \
    }

struct mpi_library {
    char family[16];     /* "mpich" (also Intel MPI, MVAPICH, Cray), "openmpi" or "abi" */
    bool in_process;     /* an MPI is loaded already; else the family was chosen by the launcher */
    bool initialized;    /* MPI_Init has been called */
    bool finalized;      /* MPI_Finalize has been called */
    const char *because; /* what the choice was made by, for messages */
};

/* The MPI of this process: the one that is loaded; else the one that `wanted` names, the option's
 * value, or 0; else the one that goes with the launcher; else, where only one family is built for
 * `module`, that. -ENODEV: there is none, or nothing says which; another error: two MPIs are
 * loaded, or one that is not `wanted`. */
int sy_mpi_find(const char *module, int wanted, struct mpi_library *library, struct sy_error *err);

/* Loads <module>_<family>.so from the directory of the plugin that calls, and finds `symbol` in it.
 * *handle is for dlclose; but MPI does not survive being unloaded, so this must not be done after
 * it was initialised. */
int sy_mpi_load(const struct mpi_library *library, const char *module, const char *symbol,
                void **handle, void **found, struct sy_error *err);

/* How many processes the launcher says that it has started, and where it says so; 0: it does not
 * say. */
long sy_mpi_launcher_size(const char **name);

/* An MPI's name and number, of what MPI_Get_library_version says. */
void sy_mpi_name(const char *version, char *name, size_t room);

/* Refuses an MPI that knows of another number of processes than the launcher: N processes that an
 * MPI of another launcher makes N jobs of one. `version`: of MPI_Get_library_version. */
int sy_mpi_check_size(const char *version, int size, struct sy_error *err);

/* Whether this process has, or will have by `transports` (SHMEM_TRANSPORTS), an Open MPI 5 that is
 * not initialised: where another has called PMIx_Init before, its MPI_Init does not learn which
 * process this is, and fails (seen with 5.0.7). */
bool sy_mpi_needs_pmix(const char *transports);

/* What every bootstrap that joins an MPI's launcher asks at the end, with the PEs that it has
 * found: where MPI is initialised, this process has to be one of as many in it (-EPROTO), and none
 * that MPI_Comm_spawn has started (-ECHILD). 0 also where nothing can be known. */
int sy_mpi_check_job(int npes, struct sy_error *err);

#endif
