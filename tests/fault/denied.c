/* denied CALL ERRNO PROGRAM [ARGUMENT...]: runs a program in which all system calls of one kind
 * fail, as under a container's seccomp profile. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_epoll_wait
#define EPOLL_WAIT SYS_epoll_wait
#else
#define EPOLL_WAIT SYS_epoll_pwait
#endif

#ifdef SYS_poll
#define POLL SYS_poll
#else
#define POLL SYS_ppoll
#endif

#ifdef SYS_dup2
#define DUP2 SYS_dup2
#else
#define DUP2 SYS_dup3
#endif

static const struct {
    const char *name;
    int number;
} CALLS[] = {{"accept4", SYS_accept4},
             {"close_range", SYS_close_range},
             {"connect", SYS_connect},
             {"dup2", DUP2},
             {"epoll_create1", SYS_epoll_create1},
             {"epoll_ctl", SYS_epoll_ctl},
             {"epoll_wait", EPOLL_WAIT},
             {"eventfd2", SYS_eventfd2},
             {"fallocate", SYS_fallocate},
             {"fcntl", SYS_fcntl},
             {"ftruncate", SYS_ftruncate},
             {"getdents64", SYS_getdents64},
             {"getrandom", SYS_getrandom},
             {"getsockopt", SYS_getsockopt},
             {"listen", SYS_listen},
             {"madvise", SYS_madvise},
             {"membarrier", SYS_membarrier},
             {"memfd_create", SYS_memfd_create},
             {"poll", POLL},
             {"prctl", SYS_prctl},
             {"recvfrom", SYS_recvfrom},
             {"recvmsg", SYS_recvmsg},
             {"sched_getaffinity", SYS_sched_getaffinity},
             {"sched_setaffinity", SYS_sched_setaffinity},
             {"sendmsg", SYS_sendmsg},
             {"sendto", SYS_sendto},
             {"rt_sigaction", SYS_rt_sigaction},
             {"setsockopt", SYS_setsockopt},
             {"shutdown", SYS_shutdown},
             {"socket", SYS_socket},
             {"timerfd_create", SYS_timerfd_create},
             {"timerfd_settime", SYS_timerfd_settime},
             {"wait4", SYS_wait4},
             {"write", SYS_write}};

static const struct {
    const char *name;
    unsigned code;
} CODES[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EMFILE", EMFILE}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

int main(int argc, char **argv)
{
    unsigned call = 0, code = 0;

    while (argc > 3 && call < COUNT(CALLS) && strcmp(argv[1], CALLS[call].name))
        call++;
    while (argc > 3 && code < COUNT(CODES) && strcmp(argv[2], CODES[code].name))
        code++;
    if (argc <= 3 || call == COUNT(CALLS) || code == COUNT(CODES)) {
        fputs("usage: denied CALL EPERM|ENOSYS|EMFILE PROGRAM [ARGUMENT...]\n", stderr);
        return 99;
    }

    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)CALLS[call].number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | CODES[code].code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {COUNT(filter), filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("denied: seccomp");
        return 77;
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 99;
}
