/* Devices by their type: which plugin is found, that it is opened once, and what is said where
 * there is none. The core's settings and host are this file's. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/start/config.h"
#include "core/start/world.h"
#include "host.h"
#include "space/device.h"
#include "unit/scratch.h"
#include "util/option.h"
#include "util/plugin.h"

const struct sy_builtin sy_builtins[] = {{NULL, NULL, NULL}};

static const struct sy_host host = {.size = sizeof host, .log = host_no_log, .fail = host_fail};

const struct sy_host *sy_world_host(void)
{
    return &host;
}

struct sy_options *sy_config_options(void)
{
    return NULL;
}

static int tables;

int sy_options_add(struct sy_options *set, const char *owner, const struct sy_option *rows,
                   void *settings, size_t size, struct sy_error *err)
{
    (void)set, (void)settings, (void)size, (void)err;
    tables++;
    ck_assert_int_eq(strncmp(rows->name, owner, strlen(owner)), 0);
    return 0;
}

static struct sy_error err;

START_TEST(devices_are_found_by_type_and_opened_once)
{
    static const char *const names[] = {
        [SY_DEVICE_CPU] = "host", [SY_DEVICE_FILE] = "file", [SY_DEVICE_USER] = "user"};
    for (int i = 0; i < 2; i++)
        for (int type = 0; type <= SY_DEVICE_USER; type++) {
            if (!names[type])
                continue;
            const struct sy_device_instance *device = sy_device_open(type, &err);
            ck_assert_msg(device, "%s", err.text);
            ck_assert_str_eq(device->table->name, names[type]);
            ck_assert_ptr_eq(device, sy_device_open(type, &err));
            ck_assert_int_eq(tables, type >= SY_DEVICE_FILE || i);
        }
    sy_devices_close();
    ck_assert_ptr_nonnull(sy_device_open(SY_DEVICE_FILE, &err));
    ck_assert_int_eq(tables, 2);
    sy_devices_close();
}
END_TEST

/* A call that a plugin does not have fails in words. */
START_TEST(calls_that_a_plugin_lacks_fail_in_words)
{
    struct sy_pool_config config = {.size = sizeof config, .length = 4096, .name = ""};
    struct sy_pool_info info = {.size = sizeof info};
    uint64_t origin;
    void *pool;
    const struct sy_device_instance *device = sy_device_open(SY_DEVICE_CPU, &err);
    ck_assert_msg(device && !device->table->pool_create(device->self, &config, &pool, &info, &err),
                  "%s", err.text);
    ck_assert_int_eq(device->table->sync(device->self, pool, 1, &err), -ENOTSUP);
    ck_assert_int_eq(device->table->commit(device->self, pool, 1, true, &err), -ENOTSUP);
    ck_assert_int_eq(device->table->restore(device->self, pool, 1, &origin, &err), -ENOTSUP);
    ck_assert_int_eq(device->table->copy(device->self, pool, SY_DEVICE_IN, 0, &config, 1, &err),
                     -ENOTSUP);
    ck_assert_int_eq(device->table->amo(device->self, pool, SY_AMO_ADD, 0, 8, 1, 0, &origin, &err),
                     -ENOTSUP);
    ck_assert_int_eq(device->table->handle(device->self, pool, &config, 1), -ENOTSUP);
    ck_assert_str_ne(err.text, "");
    device->table->pool_destroy(device->self, pool);
    sy_devices_close();
}
END_TEST

START_TEST(types_that_nobody_has_are_refused_in_words)
{
    ck_assert_ptr_null(sy_device_open(31, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "no plugin"));
    ck_assert_ptr_null(sy_device_open(-1, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "-1 is not a type"));
    ck_assert_ptr_null(sy_device_open(1000000, &err));
    scratch_open();
    setenv("SHMEM_PLUGIN_PATH", scratch_path, 1);
    scratch_write("shmem_device_host.so", "no plugin");
    ck_assert_ptr_null(sy_device_open(SY_DEVICE_CPU, &err));
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be loaded"));
    scratch_close();
}
END_TEST

/* Without descriptors no directory can be read, which is another reason than a plugin that is not
 * there. */
START_TEST(want_of_descriptors_is_told_from_want_of_a_plugin)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 1024};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_ptr_null(sy_device_open(SY_DEVICE_CPU, &err));
    ck_assert_msg(strstr(err.text, "Too many open files"), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loader");
    TCase *all = tcase_create("loader");

    setenv("SHMEM_PLUGIN_PATH",
           SY_TEST_DEVICES "/host/.libs:" SY_TEST_DEVICES "/file/.libs:" SY_TEST_DEVICES
                           "/user/.libs",
           1);
    tcase_add_test(all, devices_are_found_by_type_and_opened_once);
    tcase_add_test(all, calls_that_a_plugin_lacks_fail_in_words);
    tcase_add_test(all, types_that_nobody_has_are_refused_in_words);
    tcase_add_test(all, want_of_descriptors_is_told_from_want_of_a_plugin);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
