/* Devices: the plugins that make pools, opened by the type of a space. */
#ifndef SY_SPACE_DEVICE_H
#define SY_SPACE_DEVICE_H

#include <switchyard/device.h>

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
