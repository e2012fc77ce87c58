/* Finds the MPI of a process: see library.h. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/mpi/library.h"
#include "bootstrap/mpi/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/parse.h"
#include "util/secure.h"

static const char *const families[] = {"mpich", "openmpi", "abi"}; /* in the option's order */

/* ---- the MPI that is loaded ---- */

/* Files that an MPI's calls are in, by the beginning of their names. A family is what shares a
 * binary interface. */
static const struct {
    const char *file, *family;
} files[] = {{"libmpich.so.", "mpich"}, /* Debian's name */
             {"libmpi.so.12", "mpich"}, /* MPICH, Intel MPI, MVAPICH */
             {"libmpi_cray.so.", "mpich"}, {"libmpi_gnu", "mpich"},
             {"libmpi_abi.so.", "abi"},    {"libmpi.so.", "openmpi"}}; /* or an MPICH's own build */

/* A function of the MPI in a file that is loaded; of any, where the path is empty. */
static void *library_function(const char *path, const char *name)
{
    void *handle = *path ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;
    void *function = dlsym(handle ? handle : RTLD_DEFAULT, name);

    if (handle)
        dlclose(handle);
    return function;
}

/* The text of MPI_Get_library_version of the MPI in a file; false: none is there. */
enum { LONGEST_VERSION = 8192 }; /* the largest MPI_MAX_LIBRARY_VERSION_STRING there is */
static bool library_version(const char *path, char text[LONGEST_VERSION])
{
    int (*get_version)(char *text, int *length) = NULL, length = 0;

    *(void **)&get_version = library_function(path, "MPI_Get_library_version");
    text[0] = '\0';
    return get_version && get_version(text, &length) == 0;
}

/* The family that an MPI says itself: one in a static program, or in a file whose name does not
 * tell. */
static const char *library_by_version(const char *path)
{
    char text[LONGEST_VERSION];

    if (!library_version(path, text))
        return NULL;
    return strstr(text, "Open MPI") ? "openmpi" : "mpich";
}

/* The standard interface may be a file over an MPI that has one of its own, so it is no other. */
struct loaded {
    const char *family, *other;    /* the first that was found, and one that differs from it */
    char path[400], standard[400]; /* of the family, and of the standard interface; or empty */
};

static int library_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    struct loaded *loaded = arg;

    (void)size;
    for (size_t i = 0; i < SY_COUNT(files); i++) {
        if (strncmp(name, files[i].file, strlen(files[i].file)) != 0)
            continue;
        if (!strcmp(files[i].family, "abi")) {
            snprintf(loaded->standard, sizeof loaded->standard, "%s", info->dlpi_name);
        } else if (!loaded->family) {
            loaded->family = files[i].family;
            snprintf(loaded->path, sizeof loaded->path, "%s", info->dlpi_name);
        } else if (strcmp(loaded->family, files[i].family) != 0) {
            loaded->other = files[i].family;
        }
        break;
    }
    return 0;
}

static bool library_says(const char *path, const char *function)
{
    int (*call)(int *flag) = NULL, flag = 0;

    *(void **)&call = library_function(path, function);
    return call && call(&flag) == 0 && flag;
}

/* ---- the one that goes with the launcher ---- */

static const char *library_by_launcher(const char **because)
{
    static const struct {
        const char *name, *family;
    } signs[] = {{"OMPI_COMM_WORLD_SIZE", "openmpi"},
                 {"PMI_FD", "mpich"},
                 {"PMI_PORT", "mpich"},
                 {"PMIX_NAMESPACE", "openmpi"}};

    for (size_t i = 0; i < SY_COUNT(signs); i++)
        if (secure_getenv(signs[i].name)) {
            *because = signs[i].name;
            return signs[i].family;
        }
    return NULL;
}

/* ---- files ---- */

static void library_path(const char *module, const char *family, char *path, size_t room)
{
    Dl_info info = {.dli_fname = NULL};
    const char *slash = dladdr(families, &info) && info.dli_fname ? strrchr(info.dli_fname, '/')
                                                                  : NULL;

    snprintf(path, room, "%.*s%s_%s.so", slash ? (int)(slash - info.dli_fname) + 1 : 0,
             slash ? info.dli_fname : "", module, family);
}

static bool library_is_built(const char *module, const char *family)
{
    char path[600];

    library_path(module, family, path, sizeof path);
    return access(path, R_OK) == 0;
}

static const char *library_only_one(const char *module)
{
    const char *only = NULL;

    for (size_t i = 0; i < SY_COUNT(families); i++) {
        if (!library_is_built(module, families[i]))
            continue;
        if (only)
            return NULL;
        only = families[i];
    }
    return only;
}

/* ---- calls ---- */

/* Chooses a file that speaks to the MPI that is loaded. Either interface of an MPI will do; the
 * program's own comes first. False: none is of the family that is wanted, where one is. */
static bool library_choose_interface(const char *module, const char *wanted, struct loaded *loaded)
{
    bool standard = wanted ? !strcmp(wanted, "abi")
                           : !loaded->family || library_is_built(module, "abi");

    if (standard && *loaded->standard) {
        loaded->family = "abi";
        memcpy(loaded->path, loaded->standard, sizeof loaded->path);
    }
    return !wanted || !strcmp(loaded->family ? loaded->family : "", wanted);
}

static int library_take_loaded(const char *module, const char *wanted, struct loaded *loaded,
                               struct mpi_library *library, struct sy_error *err)
{
    if (!library_choose_interface(module, wanted, loaded)) {
        const char *path = *loaded->path ? loaded->path : loaded->standard;
        return sy_fail(err, ELIBBAD,
                       "SHMEM_MPI_FAMILY is %s, but %.230s is loaded in this process, and a second "
                       "MPI would know nothing of it; leave the option out, or build the program "
                       "for that MPI",
                       wanted, *path ? path : "another one");
    }
    library->in_process = true;
    library->because = "it is loaded in this process";
    library->initialized = library_says(loaded->path, "MPI_Initialized");
    library->finalized = library_says(loaded->path, "MPI_Finalized");
    return 0;
}

/* The family of an MPI that is still to be loaded; NULL: nothing says which. */
static const char *library_choose(const char *module, const char *wanted, const char **because)
{
    if (wanted) {
        *because = "SHMEM_MPI_FAMILY names it";
        return wanted;
    }
    const char *family = library_by_launcher(because);
    if (family && library_is_built(module, family))
        return family;
    return library_is_built(module, "abi") ? "abi" : library_only_one(module);
}

int sy_mpi_find(const char *module, int wanted, struct mpi_library *library, struct sy_error *err)
{
    struct loaded loaded = {.family = NULL};
    const char *name = wanted ? families[wanted - 1] : NULL;
    int rc = 0;

    *library = (struct mpi_library){.because = "it is the only one that this library is built for"};
    dl_iterate_phdr(library_look, &loaded);
    if (loaded.other)
        return sy_fail(
            err, ELIBBAD,
            "two MPIs are loaded in this process, %.200s among them: calls of one would end in the "
            "other; remove the LD_PRELOAD or the library that brings the second",
            loaded.path);
    if (loaded.family ? !strcmp(loaded.family, "openmpi") : !*loaded.standard)
        loaded.family = library_by_version(loaded.path);
    if (loaded.family || *loaded.standard)
        rc = library_take_loaded(module, name, &loaded, library, err);
    else
        loaded.family = library_choose(module, name, &library->because);
    if (!rc && !loaded.family)
        return sy_fail(err, ENODEV,
                       "no MPI is loaded, and no launcher of one has started this process: start "
                       "it with the mpiexec of the MPI that is meant");
    if (!rc)
        snprintf(library->family, sizeof library->family, "%s", loaded.family);
    return rc;
}

int sy_mpi_load(const struct mpi_library *library, const char *module, const char *symbol,
                void **handle, void **found, struct sy_error *err)
{
    char path[600];

    if (sy_secure() && !library->in_process)
        return sy_fail(err, EPERM,
                       "%s is not for a program with other rights than its user's (setuid): an "
                       "MPI loads code that the environment names",
                       module);
    library_path(module, library->family, path, sizeof path);
    if (access(path, R_OK) != 0)
        return sy_fail(err, ENOENT,
                       "%.200s is not there: this library was built without that MPI; install its "
                       "compiler (mpicc) and build again (configure's summary lists the MPIs)",
                       path);
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle)
        return sy_fail(err, ENOENT, "the MPI cannot be loaded: %.300s", dlerror());
    *found = dlsym(*handle, symbol);
    return *found ? 0 : sy_fail(err, ENOEXEC, "%.300s is of another version", path);
}

long sy_mpi_launcher_size(const char **name)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE",
                                        "SLURM_STEP_NUM_TASKS"};

    for (size_t i = 0; i < SY_COUNT(sizes); i++) {
        long size = sy_parse_variable(sizes[i]);
        if (size > 0) {
            *name = sizes[i];
            return size;
        }
    }
    return 0;
}

void sy_mpi_name(const char *version, char *name, size_t room)
{
    snprintf(name, room, "%.*s", (int)strcspn(version, ",\n"), version);
    for (char *tab = name; (tab = strchr(tab, '\t'));)
        *tab = ' ';
}

int sy_mpi_check_size(const char *version, int size, struct sy_error *err)
{
    const char *name = NULL;
    long wanted = sy_mpi_launcher_size(&name);
    char mpi[60];

    if (!wanted || wanted == size || size > 1)
        return 0;
    sy_mpi_name(version, mpi, sizeof mpi);
    return sy_fail(
        err, EPROTO,
        "%s=%ld says that this process is one of %ld, but its MPI (%s) is alone in "
        "its job: the launcher belongs to another MPI; start the program with the mpiexec "
        "of this MPI, or with oshrun -n %ld",
        name, wanted, wanted, mpi, wanted);
}

bool sy_mpi_needs_pmix(const char *transports)
{
    static const char sign[] = "Open MPI v";
    const char *version = NULL;
    struct mpi_library library;
    char text[LONGEST_VERSION];

    if (sy_mpi_find(MPI_WORLD_MODULE, 0, &library, NULL) || library.initialized)
        return false;
    if (library.in_process && library_version("", text) && (version = strstr(text, sign)))
        version += strlen(sign);
    if (!library.in_process && *transports != '^' && strstr(transports, "mpi"))
        version = secure_getenv("OMPI_VERSION"); /* mpirun's */
    return version && strtol(version, NULL, 10) >= 5;
}

static int library_check_world(const struct mpi_world_calls *calls, int npes, struct sy_error *err)
{
    int size = calls->world_size();

    if (calls->spawned())
        return sy_fail(err, ECHILD, "%s", MPI_WORLD_SPAWNED);
    int rc = sy_mpi_check_size(calls->version(), size, err);
    if (rc || size == npes || size < 1)
        return rc;
    return sy_fail(err, EPROTO,
                   "MPI's job has size %d, and this is one of %d PEs: MPI and the launcher do not "
                   "belong together; start "
                   "the program with the mpiexec of its MPI",
                   size, npes);
}

/* Of two MPIs that are loaded, the one that the process's calls get to, as do those of a file that
 * is loaded for it. Tools may stand before MPI's names, but not before those with a P. */
static void library_find_first(struct mpi_library *library)
{
    const void *function = dlsym(RTLD_DEFAULT, "PMPI_Initialized");
    struct loaded first = {.family = NULL};
    Dl_info info = {.dli_fname = NULL};

    if (!function || !dladdr(function, &info) || !info.dli_fname)
        return;
    library_look(&(struct dl_phdr_info){.dlpi_name = info.dli_fname}, 0, &first);
    if (first.family && !strcmp(first.family, "openmpi"))
        first.family = library_by_version(first.path);
    if (first.family && !library_take_loaded(MPI_WORLD_MODULE, first.family, &first, library, NULL))
        snprintf(library->family, sizeof library->family, "%s", first.family);
}

int sy_mpi_check_job(int npes, struct sy_error *err)
{
    struct mpi_library library;
    void *handle, *found;

    if (sy_mpi_find(MPI_WORLD_MODULE, 0, &library, NULL) == -ELIBBAD)
        library_find_first(&library);
    if (!library.initialized || library.finalized ||
        sy_mpi_load(&library, MPI_WORLD_MODULE, MPI_WORLD_SYMBOL, &handle, &found, NULL) != 0)
        return 0;
    int rc = library_check_world(found, npes, err);
    dlclose(handle);
    return rc;
}
