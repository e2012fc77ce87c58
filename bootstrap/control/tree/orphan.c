/* The launcher's process on this host, which started its PEs. Where that is killed, not every
 * launcher ends them; so the PEs find out, and end the job. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/bits.h"
#include "util/file.h"
#include "util/proc.h"

/* What such processes are called: of Hydra, Open MPI, PRRTE and Slurm. Some have the name of their
 * MPI behind it. A user's script may well have a name that begins in this way. */
static const char *const launchers[] = {"hydra_pmi_proxy", "pmi_proxy", "mpiexec", "mpirun",
                                        "orterun",         "orted",     "prte",    "prted",
                                        "prterun",         "slurmstepd"};
static const char *const makers[] = {"", ".hydra", ".mpich", ".openmpi"};

static bool orphan_is_launcher(const char *name)
{
    for (size_t i = 0; i < SY_COUNT(launchers); i++) {
        size_t length = strlen(launchers[i]);
        if (strncmp(name, launchers[i], length) != 0)
            continue;
        for (size_t j = 0; j < SY_COUNT(makers); j++)
            if (!strcmp(name + length, makers[j]))
                return true;
    }
    return false;
}

/* A descriptor of the nearest ancestor that is a launcher's, which is readable once that has ended;
 * -1: there is none, or Linux is older than 5.3. */
static int orphan_open_launcher(void)
{
    char name[SY_PROC_NAME];

    for (pid_t pid = getppid(), parent; pid > 1; pid = parent) {
        parent = sy_proc_parent(pid, name);
        if (orphan_is_launcher(name))
            return (int)syscall(SYS_pidfd_open, pid, 0);
    }
    return -1;
}

void sy_tree_watch_launcher(struct tree *tree)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &tree->launcher};

    tree->launcher = orphan_open_launcher();
    if (tree->launcher >= 0 && epoll_ctl(tree->epoll, EPOLL_CTL_ADD, tree->launcher, &event))
        sy_tree_forget_launcher(tree);
}

void sy_tree_forget_launcher(struct tree *tree)
{
    sy_file_close(&tree->launcher);
}
