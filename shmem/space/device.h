/* Devices: the plugins that make pools, opened by the type of a space. */
#ifndef SY_SPACE_DEVICE_H
#define SY_SPACE_DEVICE_H

#include <stdio.h>

#include <switchyard/device.h>

#include "util/bits.h"

/* A type as programs call it, or by its number; within text where that is written. Inline, so that
 * oshinfo has it too. */
static inline const char *sy_device_type_text(int type, char *text, size_t room)
{
    static const char *const types[] = {[SY_DEVICE_CPU] = "SHMEMX_DEVICE_CPU",
                                        [SY_DEVICE_FILE] = "SHMEMX_DEVICE_FILE",
                                        [SY_DEVICE_GPU] = "SHMEMX_DEVICE_GPU",
                                        [SY_DEVICE_USER] = "SHMEMX_DEVICE_USER"};

    if ((unsigned)type < SY_COUNT(types))
        return types[type];
    snprintf(text, room, "device type %d", type);
    return text;
}

/* A device that is open. */
struct sy_device_instance {
    const struct sy_device *table; /* complete */
    void *self;
};

/* The device of a type (enum sy_device_type): the first plugin of the search that has this type and
 * opens. It stays open until sy_devices_close. NULL: this PE has none, and err says why. Local
 * work; any thread. */
const struct sy_device_instance *sy_device_open(int type, struct sy_error *err);

/* What a call of a plugin has answered, 0 or -errno; err has words where the plugin gave none. */
int sy_device_answer(const struct sy_device *table, int rc, struct sy_error *err);

/* Closes all; their pools are gone. */
void sy_devices_close(void);

#endif
