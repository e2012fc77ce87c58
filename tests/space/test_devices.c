/* The device plugins by their tables: what pools they make, and how they refuse. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <switchyard/device.h>

#include "host.h"
#include "unit/scratch.h"
#include "util/memfd.h"

#define MB ((size_t)1 << 20)

static const struct sy_host host = {
    .size = sizeof host, .npes = 1, .log = host_no_log, .fail = host_fail};

static struct sy_error err;
static const struct sy_device *device;
static void *self, *pool;
static struct sy_pool_info info;
static void *settings;

/* Loads a plugin of the build and opens an instance of it. */
static void open_device(const char *name)
{
    char path[1024];

    snprintf(path, sizeof path, SY_TEST_DEVICES "/%s/.libs/shmem_device_%s.so", name, name);
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(file, "%s", dlerror());
    device = dlsym(file, "shmem_device_2");
    ck_assert_msg(device, "%s", dlerror());
    ck_assert_str_eq(device->name, name);
    settings = calloc(1, device->settings_size + 1);
    self = (void *)&host; /* of a device without an open */
    ck_assert_msg(!device->open || !device->open(&host, settings, &self, &err), "%s", err.text);
}

static int make(const struct sy_pool_config *config)
{
    info = (struct sy_pool_info){.size = sizeof info};
    err.text[0] = '\0';
    return device->pool_create(self, config, &pool, &info, &err);
}

static bool all_zero(const char *at, size_t length)
{
    return !length || (!at[0] && !memcmp(at, at + 1, length - 1));
}

START_TEST(host_pool_is_a_sealed_file_that_reads_as_zero)
{
    open_device("host");
    ck_assert_int_eq(device->type, SY_DEVICE_CPU);
    const struct sy_pool_config config = {.size = sizeof config, .length = 3 * MB + 1, .name = ""};
    ck_assert_msg(!make(&config), "%s", err.text);
    ck_assert_uint_ge(info.region.length, config.length);
    ck_assert_int_eq(info.region.kind, SY_REGION_CPU);
    ck_assert(all_zero(info.region.base, info.region.length));
    ck_assert(sy_memfd_is_safe(info.region.fd, info.region.length));

    char *other = mmap(NULL, info.region.length, PROT_READ | PROT_WRITE, MAP_SHARED, info.region.fd,
                       (off_t)info.region.fd_offset);
    ck_assert_ptr_ne(other, MAP_FAILED);
    info.region.base[3 * MB] = 7;
    ck_assert_int_eq(other[3 * MB], 7);
    munmap(other, info.region.length);
    int fd = info.region.fd;
    device->pool_destroy(self, pool);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(host_pool_of_no_or_too_many_bytes_is_refused)
{
    open_device("host");
    struct sy_pool_config config = {.size = sizeof config, .name = ""};
    ck_assert_int_eq(make(&config), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "0 bytes"));
    config.length = SIZE_MAX;
    ck_assert_int_eq(make(&config), -ENOMEM);
    config.length = (size_t)1 << 60;
    ck_assert_int_eq(make(&config), -ENOMEM);
    ck_assert_ptr_nonnull(strstr(err.text, "this machine has"));
}
END_TEST

/* Whether the words say so. */
static bool got_huge(void)
{
    return !strncmp(info.got, "2 MiB pages", 11) || !strncmp(info.got, "1 GiB pages", 11) ||
           strstr(info.got, "; 2 MiB pages");
}

/* The policy of the memory, as the kernel has it. */
static int policy_of(char *address)
{
    int policy;

    ck_assert_int_eq(syscall(SYS_get_mempolicy, &policy, NULL, 0, address, MPOL_F_ADDR), 0);
    return policy;
}

/* What the words of `got` say is so: huge pages by their size, locks by what the kernel counts. */
START_TEST(host_wishes_are_fulfilled_or_answered)
{
    static const int wishes[] = {SY_WISH_HUGE_2M,         SY_WISH_HUGE_1G,    SY_WISH_NUMA_BIND,
                                 SY_WISH_NUMA_INTERLEAVE, SY_WISH_NUMA_LOCAL, SY_WISH_LOCKED};
    open_device("host");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        struct sy_pool_config config = {.size = sizeof config,
                                        .length = 3 * MB,
                                        .flags = wishes[i],
                                        .numa = wishes[i] == SY_WISH_NUMA_BIND,
                                        .name = ""};
        size_t unit = wishes[i] == SY_WISH_HUGE_1G ? 1024 * MB : 2 * MB;
        struct statfs where;
        ck_assert_msg(!make(&config), "%s", err.text);
        printf("flags %2d: %s\n", wishes[i], info.got);
        ck_assert_str_ne(info.got, "");
        ck_assert(sy_memfd_is_safe(info.region.fd, info.region.length));
        ck_assert(all_zero(info.region.base, config.length));
        if (wishes[i] <= SY_WISH_HUGE_1G) {
            ck_assert_uint_eq(info.region.length % unit, 0);
            ck_assert_uint_eq((uintptr_t)info.region.base % (2 * MB), 0);
        }
        ck_assert_int_eq(fstatfs(info.region.fd, &where), 0);
        ck_assert_int_eq(where.f_bsize == 2 << 20 || where.f_bsize == 1 << 30, got_huge());
        if (strstr(info.got, "bound to"))
            ck_assert_int_eq(policy_of(info.region.base), MPOL_BIND);
        if (strstr(info.got, "interleaved over"))
            ck_assert_int_eq(policy_of(info.region.base), MPOL_INTERLEAVE);
        if (strstr(info.got, "preferably on"))
            ck_assert_int_eq(policy_of(info.region.base), MPOL_PREFERRED);
        info.region.base[config.length - 1] = 1;
        device->pool_destroy(self, pool);
    }
}
END_TEST

START_TEST(host_wishes_that_no_machine_has_are_refused)
{
    open_device("host");
    struct sy_pool_config config = {.size = sizeof config, .length = MB, .name = ""};
    config.flags = SY_WISH_NUMA_BIND;
    ck_assert_int_eq(make(&config), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "none is named"));
    config.numa = 1ul << 63;
    ck_assert_int_eq(make(&config), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "63, which is not there"));
    config.flags |= SY_WISH_NUMA_LOCAL;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.flags = 0;
    config.numa = 1;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.numa = 0;
    config.flags = SY_WISH_RESTART;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.flags = 0;
    config.name = "kept";
    ck_assert_int_eq(make(&config), -EINVAL);
    config.name = "";
    config.index = 1;
    ck_assert_int_eq(make(&config), -ENODEV);
}
END_TEST

/* ---- user ---- */

START_TEST(user_pool_is_the_memory_of_the_program)
{
    open_device("user");
    char *mine = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sy_pool_config config = {
        .size = sizeof config, .length = MB - 64, .base = mine + 64, .index = -1, .name = ""};
    mine[100] = 5;
    ck_assert_msg(!make(&config), "%s", err.text);
    ck_assert_ptr_eq(info.region.base, mine + 64);
    ck_assert_uint_eq(info.region.length, MB - 64);
    ck_assert_int_eq(info.region.fd, -1);
    ck_assert_int_eq(mine[100], 5);
}
END_TEST

START_TEST(user_pool_of_memory_that_is_not_there_is_refused)
{
    open_device("user");
    char *mine = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sy_pool_config config = {.size = sizeof config, .length = MB, .name = ""};
    ck_assert_int_eq(make(&config), -EINVAL);
    config.base = mine + 8;
    ck_assert_int_eq(make(&config), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "aligned"));
    config.base = mine;
    config.flags = SY_WISH_HUGE_2M;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.flags = 0;
    config.length = SIZE_MAX;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.length = MB;
    munmap(mine + MB / 2, 4096);
    ck_assert_int_eq(make(&config), -EFAULT);
    ck_assert_ptr_nonnull(strstr(err.text, "not all mapped"));
    config.length = 8192;
    ck_assert_msg(!make(&config), "%s", err.text);
    mprotect(mine, 4096, PROT_READ);
    ck_assert_int_eq(make(&config), -EFAULT);
    ck_assert_ptr_nonnull(strstr(err.text, "read and written"));
    mprotect(mine, 4096, PROT_READ | PROT_WRITE);
    config.length = MB / 2; /* with one page in it that cannot be written */
    ck_assert_msg(!make(&config), "%s", err.text);
    mprotect(mine + MB / 4, 4096, PROT_READ);
    ck_assert_int_eq(make(&config), -EFAULT);
    ck_assert_ptr_nonnull(strstr(err.text, "read and written"));
}
END_TEST

/* ---- file ---- */

static struct sy_pool_config kept = {
    .size = sizeof kept, .length = 3 * MB, .name = "mesh", .pe = 2, .npes = 4};

static void open_file(void)
{
    scratch_open();
    open_device("file");
    *(const char **)settings = ".";
    kept.flags = 0;
}

static int go_back(uint64_t generation)
{
    uint64_t origin;

    err.text[0] = '\0';
    return device->restore(self, pool, generation, &origin, &err);
}

/* A pool that goes on from the last generation, which is to be `generation`. */
static void go_on(uint64_t generation)
{
    kept.flags = SY_WISH_RESTART;
    ck_assert_msg(!make(&kept), "%s", err.text);
    ck_assert_uint_eq(info.generation, generation);
    ck_assert_msg(!go_back(generation), "%s", err.text);
}

/* Fills the pool with a letter and keeps it. */
static void keep(char letter, uint64_t generation, bool commit)
{
    memset(info.region.base + MB, letter, MB);
    ck_assert_msg(!device->sync(self, pool, generation, &err), "%s", err.text);
    if (commit)
        ck_assert_msg(!device->commit(self, pool, generation, true, &err), "%s", err.text);
}

static void expect_letter(char letter)
{
    ck_assert(all_zero(info.region.base, MB));
    ck_assert_int_eq(info.region.base[MB], letter);
    ck_assert_int_eq(info.region.base[2 * MB - 1], letter);
    ck_assert(all_zero(info.region.base + 2 * MB, MB));
}

static void leave(void)
{
    device->pool_destroy(self, pool);
}

START_TEST(file_pool_without_a_name_is_not_kept)
{
    open_file();
    struct sy_pool_config config = {.size = sizeof config, .length = MB + 1, .name = ""};
    ck_assert_msg(!make(&config), "%s", err.text);
    ck_assert_int_eq(info.region.kind, SY_REGION_FILE);
    ck_assert_uint_eq(info.capabilities, 0);
    ck_assert(all_zero(info.region.base, info.region.length));
    ck_assert(info.region.fd >= 0 && sy_memfd_is_safe(info.region.fd, info.region.length));
    /* What others might open is not safe: one that can be written by them, or has a name. */
    ck_assert_int_eq(fchmod(info.region.fd, 0660), 0);
    ck_assert(!sy_memfd_is_safe(info.region.fd, info.region.length));
    leave();
    ck_assert_int_eq(rmdir(scratch_path), 0);
}
END_TEST

START_TEST(file_pool_goes_on_from_the_last_generation)
{
    open_file();
    ck_assert_msg(!make(&kept), "%s", err.text);
    ck_assert_uint_eq(info.capabilities, SY_POOL_DURABLE);
    ck_assert_uint_eq(info.generation, 0);
    ck_assert_msg(!go_back(0), "%s", err.text);
    keep('a', 1, true);
    keep('b', 2, true);
    memset(info.region.base + MB, 'x', MB);
    leave();
    go_on(2);
    ck_assert_uint_eq(info.committed, 2);
    expect_letter('b');
    /* One that is not committed is there, and may be gone back from. */
    keep('c', 3, false);
    leave();
    kept.flags = SY_WISH_RESTART;
    ck_assert_msg(!make(&kept), "%s", err.text);
    ck_assert_uint_eq(info.generation, 3);
    ck_assert_uint_eq(info.committed, 2);
    ck_assert_msg(!go_back(2), "%s", err.text);
    expect_letter('b');
    keep('d', 3, true);
    leave();
    go_on(3);
    expect_letter('d');
    /* One that is forgotten. */
    keep('e', 4, false);
    ck_assert_msg(!device->commit(self, pool, 4, false, &err), "%s", err.text);
    leave();
    go_on(3);
    expect_letter('d');
    leave();
    /* A new beginning reads as zero, and what is kept stays until the next commit. */
    kept.flags = 0;
    ck_assert_msg(!make(&kept), "%s", err.text);
    ck_assert_uint_eq(info.generation, 3);
    ck_assert_msg(!go_back(3), "%s", err.text);
    ck_assert(all_zero(info.region.base, info.region.length));
    leave();
    go_on(3);
    expect_letter('d');
    leave();
    scratch_close();
}
END_TEST

START_TEST(file_that_is_wrong_is_refused_in_words)
{
    open_file();
    ck_assert_msg(!make(&kept), "%s", err.text);
    ck_assert_msg(!go_back(0), "%s", err.text);
    keep('a', 1, true);
    leave();
    struct sy_pool_config other = kept;
    other.flags = SY_WISH_RESTART;
    other.length = 4 * MB;
    ck_assert_int_eq(make(&other), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "same size"));
    other.length = kept.length;
    other.npes = 5;
    ck_assert_int_eq(make(&other), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "PE 2 of 4, this is PE 2 of 5"));
    other.npes = 4;
    ck_assert_msg(!make(&other), "%s", err.text);
    ck_assert_int_eq(go_back(2), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "generation 2"));
    leave();
    ck_assert_int_eq(truncate("mesh.2/1", 5000), 0);
    ck_assert_int_eq(make(&other), -EBADMSG);
    ck_assert_int_eq(unlink("mesh.2/1"), 0);
    ck_assert_int_eq(symlink("/etc/passwd", "mesh.2/1"), 0);
    ck_assert_msg(!make(&other), "%s", err.text);
    ck_assert_int_eq(go_back(1), -ELOOP);
    leave();
    scratch_close();
}
END_TEST

START_TEST(file_space_belongs_to_one_job_and_one_user)
{
    open_file();
    ck_assert_msg(!make(&kept), "%s", err.text);
    void *first = pool;
    ck_assert_msg(!go_back(0), "%s", err.text);
    keep('a', 1, true);
    ck_assert_int_eq(make(&kept), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "in use"));
    pool = first;
    leave();
    ck_assert_int_eq(chmod("mesh.2", 0777), 0);
    ck_assert_int_eq(make(&kept), -EPERM);
    ck_assert_int_eq(chmod("mesh.2", 0700), 0);
    if (!geteuid()) {
        ck_assert_int_eq(chown("mesh.2", 12345, 12345), 0);
        ck_assert_int_eq(make(&kept), -EPERM);
        ck_assert_ptr_nonnull(strstr(err.text, "user 12345"));
        ck_assert_int_eq(chown("mesh.2", 0, 0), 0);
    }
    ck_assert_int_eq(rename("mesh.2", "elsewhere"), 0);
    ck_assert_int_eq(symlink("elsewhere", "mesh.2"), 0);
    ck_assert_int_lt(make(&kept), 0);
    ck_assert_int_eq(unlink("mesh.2"), 0);
    ck_assert_int_eq(rename("elsewhere", "mesh.2"), 0);
    ck_assert_int_eq(unlink("mesh.2/lock"), 0);
    ck_assert_int_eq(symlink("../aim", "mesh.2/lock"), 0);
    ck_assert_int_eq(make(&kept), -ELOOP);
    ck_assert_int_eq(access("aim", F_OK), -1);
    scratch_close();
}
END_TEST

START_TEST(file_wishes_that_make_no_sense_are_refused)
{
    static const char *const names[] = {"../x", "a/b", ".", "a.b", "a b"};
    open_file();
    struct sy_pool_config config = kept;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        config.name = names[i];
        ck_assert_int_eq(make(&config), -EINVAL);
    }
    config.name = "";
    config.flags = SY_WISH_RESTART;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.flags = SY_WISH_LOCKED;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.flags = 0;
    config.length = 0;
    ck_assert_int_eq(make(&config), -EINVAL);
    config.length = (size_t)1 << 60;
    ck_assert_int_lt(make(&config), 0);
    config.length = MB;
    *(const char **)settings = "/nowhere/at/all";
    ck_assert_int_eq(make(&config), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/at/all"));
    *(const char **)settings = "/proc";
    ck_assert_int_lt(make(&config), 0);
    scratch_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("devices");
    TCase *host_case = tcase_create("host"), *user_case = tcase_create("user"),
          *file_case = tcase_create("file");

    tcase_set_timeout(file_case, 60);
    tcase_add_test(host_case, host_pool_is_a_sealed_file_that_reads_as_zero);
    tcase_add_test(host_case, host_pool_of_no_or_too_many_bytes_is_refused);
    tcase_add_test(host_case, host_wishes_are_fulfilled_or_answered);
    tcase_add_test(host_case, host_wishes_that_no_machine_has_are_refused);
    tcase_add_test(user_case, user_pool_is_the_memory_of_the_program);
    tcase_add_test(user_case, user_pool_of_memory_that_is_not_there_is_refused);
    tcase_add_test(file_case, file_pool_without_a_name_is_not_kept);
    tcase_add_test(file_case, file_pool_goes_on_from_the_last_generation);
    tcase_add_test(file_case, file_that_is_wrong_is_refused_in_words);
    tcase_add_test(file_case, file_space_belongs_to_one_job_and_one_user);
    tcase_add_test(file_case, file_wishes_that_make_no_sense_are_refused);
    suite_add_tcase(suite, host_case);
    suite_add_tcase(suite, user_case);
    suite_add_tcase(suite, file_case);
    return suite_run(suite);
}
