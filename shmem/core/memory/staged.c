#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/fatal.h"
#include "core/memory/bounce.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"

_Atomic unsigned sy_staged_windows;

/* The pools of staged windows. device NULL: the window is not staged; removing one writes this
 * member first, adding one writes it last. */
static struct {
    const struct sy_device *_Atomic device;
    void *self, *pool;
    unsigned capabilities;
    pthread_mutex_t lock; /* for one that copies for one thread at a time */
} staged[SY_REGIONS];

void sy_staged_add(unsigned window, const struct sy_device *device, void *self, void *pool,
                   unsigned capabilities)
{
    staged[window].self = self;
    staged[window].pool = pool;
    staged[window].capabilities = capabilities;
    pthread_mutex_init(&staged[window].lock, NULL);
    atomic_store(&staged[window].device, device);
    atomic_fetch_add(&sy_staged_windows, 1);
    sy_windows_slow(true);
}

void sy_staged_remove(unsigned window)
{
    if (!sy_staged_is(window))
        return;
    sy_bounce_end(window);
    atomic_store(&staged[window].device, NULL);
    pthread_mutex_destroy(&staged[window].lock);
    if (atomic_fetch_sub(&sy_staged_windows, 1) == 1)
        sy_windows_slow(false);
}

bool sy_staged_is(unsigned window)
{
    return window < SY_REGIONS && atomic_load(&staged[window].device);
}

bool sy_staged_has_amo(unsigned window)
{
    return staged[window].capabilities & SY_POOL_AMO;
}

bool sy_staged_find(const void *address, unsigned *window, uint64_t *offset)
{
    return !sy_windows_find(address, window, offset) && sy_staged_is(*window);
}

bool sy_staged_has_room(unsigned window, uint64_t offset, size_t length)
{
    if (!sy_staged_is(window))
        return false;
    uint64_t all = sy_windows.entry[window].own.length;
    return offset <= all && length <= all - offset;
}

/* Begins a call of the window's device, which it returns. */
static const struct sy_device *staged_begin(unsigned window)
{
    if (!(staged[window].capabilities & SY_POOL_COPY))
        pthread_mutex_lock(&staged[window].lock);
    return staged[window].device;
}

static void staged_end(unsigned window)
{
    if (!(staged[window].capabilities & SY_POOL_COPY))
        pthread_mutex_unlock(&staged[window].lock);
}

static SY_COLD void staged_fail(unsigned window, const char *what, const struct sy_error *err,
                                int rc)
{
    const char *name = atomic_load(&staged[window].device)->name;

    if (rc > 0)
        sy_fatal("%s memory of device %s: the plugin answers %d, which is neither 0 nor -errno",
                 what, name, rc);
    sy_fatal("%s memory of device %s: %s", what, name, *err->text ? err->text : strerror(-rc));
}

/* Ends the call; where that has failed, the job ends. */
static void staged_done(unsigned window, const char *what, const struct sy_error *err, int rc)
{
    staged_end(window);
    if (rc)
        staged_fail(window, what, err, rc);
}

static const char *staged_copying(bool in)
{
    return in ? "copying to" : "copying from";
}

int sy_staged_copy(unsigned window, bool in, uint64_t offset, void *local, size_t length)
{
    struct sy_error err = {""};

    if (!sy_staged_has_room(window, offset, length))
        return !sy_staged_is(window) ? -EFAULT
               : in                  ? sy_bounce_command(window, offset, local, length)
                                     : sy_bounce_answer(window, offset, local, length);
    const struct sy_device *device = staged_begin(window);
    int rc = device->copy(staged[window].self, staged[window].pool,
                          in ? SY_DEVICE_IN : SY_DEVICE_OUT, offset, local, length, &err);
    staged_done(window, staged_copying(in), &err, rc);
    return 0;
}

/* ---- copies that go on by themselves ---- */

bool sy_staged_is_ahead(unsigned window)
{
    const struct sy_device *device = staged[window].device;

    return staged[window].capabilities & SY_POOL_AHEAD && device->copy_begin && device->copy_end;
}

int sy_staged_begin(unsigned window, bool in, uint64_t offset, void *local, size_t length,
                    struct sy_device_copying *copying)
{
    struct sy_error err = {""};

    *copying = (struct sy_device_copying){.window = window, .in = in};
    if (!sy_staged_has_room(window, offset, length) || !sy_staged_is_ahead(window))
        return sy_staged_copy(window, in, offset, local, length);
    const struct sy_device *device = staged_begin(window);
    int rc = device->copy_begin(staged[window].self, staged[window].pool,
                                in ? SY_DEVICE_IN : SY_DEVICE_OUT, offset, local, length,
                                &copying->ticket, &err);
    staged_done(window, staged_copying(in), &err, rc);
    return 0;
}

bool sy_staged_ended(struct sy_device_copying *copying, bool wait)
{
    unsigned window = copying->window;
    struct sy_error err = {""};

    if (!copying->ticket)
        return true;
    const struct sy_device *device = staged_begin(window);
    int rc = device->copy_end(staged[window].self, staged[window].pool, copying->ticket, wait,
                              &err);
    staged_end(window);
    if (rc == -EAGAIN && !wait)
        return false;
    copying->ticket = NULL;
    if (rc)
        staged_fail(window, staged_copying(copying->in), &err, rc);
    return true;
}

/* ---- mapping for a while ---- */

bool sy_staged_maps(unsigned window)
{
    return staged[window].capabilities & SY_POOL_MAP;
}

void *sy_staged_map(unsigned window, bool in, uint64_t offset, size_t length)
{
    struct sy_error err = {""};
    void *address = NULL;

    if (!sy_staged_has_room(window, offset, length) || !sy_staged_maps(window))
        return NULL;
    const struct sy_device *device = staged_begin(window);
    int rc = device->map(staged[window].self, staged[window].pool,
                         in ? SY_DEVICE_IN : SY_DEVICE_OUT, offset, length, &address, &err);
    staged_end(window);
    return rc ? NULL : address;
}

void sy_staged_unmap(unsigned window, void *address)
{
    const struct sy_device *device = staged_begin(window);
    struct sy_error err = {""};

    int rc = device->unmap(staged[window].self, staged[window].pool, address, &err);
    staged_done(window, "unmapping", &err, rc);
}

/* ---- atomic operations ---- */

int sy_staged_amo(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                  uint64_t operand, uint64_t compare, uint64_t *result)
{
    struct sy_error err = {""};
    uint64_t old;

    if (!sy_staged_has_room(window, offset, width))
        return -EFAULT;
    if (!sy_staged_has_amo(window))
        return -EOPNOTSUPP;
    const struct sy_device *device = staged_begin(window);
    int rc = device->amo(staged[window].self, staged[window].pool, op, offset, width, operand,
                         compare, result ? result : &old, &err);
    staged_done(window, "an atomic operation in", &err, rc);
    return 0;
}
