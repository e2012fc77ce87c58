/* Options of other launchers that oshrun does not have, and what to do instead: users of mpiexec,
 * prterun and srun type them out of habit, and "unknown option" helps nobody. Names are without
 * dashes, divided by blanks. */
#include "bootstrap/launcher/options/flags_table.h"

#include "util/words.h"

static const struct {
    const char *names, *advice;
} REFUSED[] = {
    {"mca gmca prtemca pmixmca am tune runtime-options",
     "these are parameters of Open MPI; the library's are variables, set by -x SHMEM_...=VALUE or "
     "in a file by --conf FILE; oshinfo lists them"},
    {"cpus-per-gpu threads-per-core threads",
     "--cpus-per-pe says how many processors each PE needs"},
    {"cpu-set cpu-list pe-list rankfile rf slot-list topo hint mem-bind membind gpu-bind "
     "accel-bind ntasks-per-core ntasks-per-socket ntasks-per-gpu npersocket sockets-per-node "
     "cores-per-socket",
     "see --bind-to, and --map-by or -H for which host a PE is on"},
    {"rank-by order-nodes ppr ranks-per-proc",
     "PEs are numbered as --map-by (slot or node) places them"},
    {"nodes",
     "the hosts are those of -H or --hostfile, or of the batch job; -N is the number of PEs "
     "on each"},
    {"exclude relative r add-host", "name the hosts to use by -H or --hostfile"},
    {"partition p account A time t time-min mem mem-per-cpu mem-per-gpu constraint C exclusive "
     "gres gpus G gpus-per-node gpus-per-task gpus-per-proc reservation qos licenses L begin "
     "dependency jobid contiguous switches",
     "that is said to the batch system, by salloc or sbatch, and oshrun is run in the job; its own "
     "time limit is --timeout"},
    {"wait W deadline", "--grace and --timeout are the limits there are"},
    {"multi-prog", "--app FILE reads programs with their options, one a line: -n 2 ./a"},
    {"signal forward-signals signal-forward", "HUP, USR1, USR2, WINCH, TSTP and CONT are passed on "
                                              "to all PEs without being asked for; INT and "
                                              "TERM end the job"},
    {"preload-binary preload-files s bcast send-libs stage",
     "files are not copied; the program has to be on each host, under the same name"},
    {"prefix launch-agent exec-agent",
     "oshrun is started on other hosts from the place where it is here, or from the PATH there"},
    {"path", "name the program with its directory, or set PATH"},
    {"arch soft", "give the number of PEs by -n and the hosts by -H"},
    {"localhost", "nothing connects to oshrun, so its name does not matter"},
    {"tv debugger debug xterm gtool enable-x x11",
     "start the debugger as the program: oshrun -n 2 xterm -e gdb --args ./program"},
    {"pty", "PEs have no terminal; --stdin N says which one gets the input"},
    {"nameserver ompi-server dvm hnp", "a job stands for itself; there is no server"},
    {"envexclude genvexclude", "--unset-env VAR leaves a variable out"},
};

const char *sy_flags_refused(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++)
        if (sy_words_have(REFUSED[i].names, ' ', name, length))
            return REFUSED[i].advice;
    return NULL;
}
