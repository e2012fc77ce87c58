/* Loads libev: see libev.h. A static executable has it linked in, and only what it uses of it. */
#define SY_LIBEV_ITSELF
#include "util/libev.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"

#ifdef SY_BUILTIN_PLUGIN
#define DIRECT(name) .name##_function = ev_##name,
struct sy_libev sy_libev = {SY_LIBEV_FUNCTIONS(DIRECT)};
#else
struct sy_libev sy_libev;
#endif

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define FILE_NAME  "libev.so." TEXT(EV_VERSION_MAJOR)

int sy_libev_open(struct sy_error *err)
{
#ifndef SY_BUILTIN_PLUGIN
    void *handle = sy_libev.run_function ? NULL : dlopen(FILE_NAME, RTLD_NOW | RTLD_LOCAL);

    if (sy_libev.run_function)
        return 0;
    if (!handle)
        return sy_fail(err, ENOENT, "%s; install libev (Debian: libev4)", dlerror());
#define LOOK_UP(name)                                                                              \
    sy_libev.name##_function = (__typeof__(ev_##name) *)dlsym(handle, "ev_" #name);                \
    if (!sy_libev.name##_function)                                                                 \
        return sy_fail(err, ENOENT, FILE_NAME " has no ev_" #name);
    SY_LIBEV_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
#endif
    (void)err;
    return 0;
}

/* Tries epoll before libev uses it: libev takes any failure of epoll_ctl for one of the descriptor,
 * and then spins. */
static int libev_try_epoll(int epoll, int event)
{
    struct epoll_event wish = {.events = EPOLLIN};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wish) || epoll_wait(epoll, &wish, 1, 0) < 0)
        return -errno;
    return 0;
}

static void (*libev_die)(const char *what);

/* libev itself would abort. */
static void *libev_resize(void *block, long size)
{
    void *resized = block || size ? realloc(block, (size_t)size) : NULL;

    if (!resized && size)
        libev_die("no memory for the events of the progress thread");
    return resized;
}

struct ev_loop *sy_libev_loop(void (*die)(const char *what), struct sy_error *err)
{
    /* What libev will open: an epoll, and an eventfd or else a pipe. */
    int epoll = epoll_create1(EPOLL_CLOEXEC), no_epoll = epoll < 0 ? errno : 0;
    int event = eventfd(0, EFD_CLOEXEC), pair[2], rc = event < 0 ? errno : 0;
    const uint64_t one = 1;
    struct ev_loop *loop = NULL;
    const char *what = "descriptors for the progress thread to wait on";

    if (!rc && write(event, &one, sizeof one) < 0) {
        /* libev looks at no error of this, and its loop would never be woken. */
        rc = errno;
        what = "the progress thread cannot be woken: write";
    } else if (rc && !pipe(pair)) {
        event = pair[0];
        close(pair[1]);
        rc = 0;
    }
    if (!no_epoll && !rc)
        no_epoll = -libev_try_epoll(epoll, event);
    if (!rc && (no_epoll == EMFILE || no_epoll == ENFILE))
        rc = no_epoll;
    sy_file_close(&epoll);
    sy_file_close(&event);
    if (!rc) {
        libev_die = die;
        sy_libev.set_allocator_function(libev_resize);
        sy_libev.set_syserr_cb_function(die);
        loop = sy_libev.loop_new_function(
            EVFLAG_NOENV | (no_epoll ? (unsigned)EVBACKEND_POLL : (unsigned)EVFLAG_AUTO));
        rc = loop ? 0 : ENOMEM;
    }
    if (rc)
        sy_fail(err, rc, "%s: %s%s%s", what, strerror(rc), rc == EMFILE ? "; raise ulimit -n" : "",
                sy_denied_hint(rc));
    return loop;
}
