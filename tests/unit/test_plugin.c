/* Finding and opening plugins: the order of the search, the defaults merged into tables, and the
 * messages about unusable files. The build puts two plugins into SY_TEST_PLUGINS; each test copies
 * them to where it wants them. The directory of the build is "installed" in the test's own
 * (SY_PLUGIN_DIR). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "plugin.h"
#include "scratch.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/plugin.h"

static int stub(void)
{
    return -1;
}

static int inside(void)
{
    return 33;
}

static const struct test_table stubs = {
    .size = sizeof stubs, .first = stub, .second = stub, .third = stub};

static const struct test_table linked_in = {
    .size = sizeof linked_in, .name = "inside", .third = inside};

const struct sy_builtin sy_builtins[] = {
    {"test", "inside", &linked_in}, {"other", "stranger", &linked_in}, {NULL, NULL, NULL}};

static struct sy_error err;
static struct sy_plugin plugin;
static const struct test_table *table;

/* Copies a plugin of the build, as shmem_test_<name>.so of a directory. */
static void put(const char *from, const char *directory, const char *name)
{
    char source[1024], target[256];
    static char bytes[1 << 20];

    snprintf(source, sizeof source, "%s/shmem_test_%s.so", SY_TEST_PLUGINS, from);
    snprintf(target, sizeof target, "%s/shmem_test_%s.so", directory, name);
    mkdir(directory, 0777);
    FILE *in = fopen(source, "r"), *out = fopen(target, "w");
    ck_assert_msg(in, "%s", source);
    ck_assert_ptr_nonnull(out);
    size_t length = fread(bytes, 1, sizeof bytes, in);
    ck_assert_uint_lt(length, sizeof bytes);
    ck_assert_uint_eq(fwrite(bytes, 1, length, out), length);
    fclose(in);
    fclose(out);
}

static void open_world(void)
{
    scratch_open();
    unsetenv("SHMEM_PLUGIN_PATH");
}

static int open_test(const char *name)
{
    err.text[0] = '\0';
    int rc = sy_plugin_open("test", name, 1, sizeof stubs, &stubs, &plugin, &err);
    table = plugin.table;
    return rc;
}

static void opens(const char *name, const char *path)
{
    ck_assert_msg(!open_test(name), "%s", err.text);
    ck_assert_str_eq(plugin.name, name);
    ck_assert_str_eq(plugin.path, path);
    ck_assert_str_eq(table->name, name);
    ck_assert_uint_eq(table->size, sizeof *table);
}

/* Opening fails with this code and leaves nothing open, and the text has all these words. */
static void refuses(const char *kind, const char *name, unsigned abi, int code,
                    const char *const *words)
{
    int rc = sy_plugin_open(kind, name, abi, sizeof stubs, &stubs, &plugin, &err);

    ck_assert_int_eq(rc, -code);
    ck_assert(!plugin.name && !plugin.path && !plugin.table && !plugin.handle);
    for (; *words; words++)
        ck_assert_msg(strstr(err.text, *words), "\"%s\" is not in: %s", *words, err.text);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_find)
{
    static const struct {
        const char *name, *path;
    } expected[] = {{"aa", "one/shmem_test_aa.so"},
                    {"bb", "one/shmem_test_bb.so"},
                    {"cc", "two/shmem_test_cc.so"},
                    {"inside", "builtin"},
                    {"dd", "installed/shmem_test_dd.so"}};
    size_t count;

    put("nameless", "one", "bb");
    put("nameless", "one", "aa");
    put("nameless", "two", "aa");
    put("nameless", "two", "cc");
    put("nameless", "installed", "cc");
    put("nameless", "installed", "dd");
    put("nameless", "installed", "inside");
    scratch_write("one/shmem_test_.so", "");
    scratch_write("one/shmem_test_x.la", "");
    scratch_write("one/shmem_test_x.so.1", "");
    scratch_write("one/shmem_tester_x.so", "");
    scratch_write("one/libshmem_test_x.so", "");
    setenv("SHMEM_PLUGIN_PATH", ":one::nowhere:two:", 1);
    struct sy_plugin *found = sy_plugins_find("test", &count);
    ck_assert_uint_eq(count, SY_COUNT(expected));
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(found[i].name, expected[i].name);
        ck_assert_str_eq(found[i].path, expected[i].path);
        ck_assert_ptr_null(found[i].table);
    }
    sy_plugins_free(found, count);
    found = sy_plugins_find("nothing", &count);
    ck_assert_uint_eq(count, 0);
    sy_plugins_free(found, count);
}
END_TEST

START_TEST(test_places)
{
    setenv("SHMEM_PLUGIN_PATH", "one:two", 1);
    char *places = sy_plugins_places();
    ck_assert_msg(!strncmp(places, "one:two:builtin:", 16), "%s", places);
    ck_assert_msg(strstr(places, "/switchyard:installed"), "%s", places); /* beside this program */
    free(places);
    unsetenv("SHMEM_PLUGIN_PATH");
    places = sy_plugins_places();
    ck_assert_msg(!strncmp(places, "builtin:", 8), "%s", places);
    free(places);
}
END_TEST

/* The first of the path is opened, then what is linked in, then what is installed. */
START_TEST(test_order)
{
    put("nameless", "installed", "inside");
    opens("inside", "builtin");
    ck_assert_int_eq(table->third(), 33);
    ck_assert_int_eq(table->first(), -1);
    sy_plugin_close(&plugin);
    put("nameless", "two", "inside");
    setenv("SHMEM_PLUGIN_PATH", "one:two", 1);
    opens("inside", "two/shmem_test_inside.so");
    ck_assert_int_eq(table->first(), 11);
    sy_plugin_close(&plugin);
    put("nameless", "one", "inside");
    opens("inside", "one/shmem_test_inside.so");
    sy_plugin_close(&plugin);
    put("nameless", "installed", "last");
    opens("last", "installed/shmem_test_last.so");
    sy_plugin_close(&plugin);
    sy_plugin_close(&plugin); /* holds nothing any more */
}
END_TEST

START_TEST(test_gaps)
{
    put("nameless", "installed", "gaps");
    opens("gaps", "installed/shmem_test_gaps.so");
    ck_assert_int_eq(table->first(), 11);
    ck_assert_int_eq(table->second(), -1);
    ck_assert_int_eq(table->third(), -1);
    ck_assert_int_eq(table->priority, 7);
    sy_plugin_close(&plugin);
}
END_TEST

START_TEST(test_old_table)
{
    put("old", "installed", "old");
    opens("old", "installed/shmem_test_old.so");
    ck_assert_int_eq(table->first(), -1);
    ck_assert_int_eq(table->second(), 22);
    ck_assert_int_eq(table->priority, 0);
    ck_assert_int_eq(table->third(), -1);
    sy_plugin_close(&plugin);
}
END_TEST

/* A newer plugin has a longer table than this library knows. */
START_TEST(test_new_table)
{
    put("nameless", "installed", "new");
    ck_assert_int_eq(sy_plugin_open("test", "new", 1, offsetof(struct test_table, second), &stubs,
                                    &plugin, &err),
                     0);
    table = plugin.table;
    ck_assert_uint_eq(table->size, offsetof(struct test_table, second));
    ck_assert_int_eq(table->first(), 11);
    sy_plugin_close(&plugin);
}
END_TEST

START_TEST(test_missing)
{
    put("nameless", "installed", "one");
    put("nameless", "installed", "two");
    refuses("test", "three", 1, ENOENT,
            WORDS("test plugin \"three\"", "inside, one, two", "installed"));
    refuses("nothing", "x", 1, ENOENT, WORDS("nothing plugin \"x\"", "none at all"));
    refuses("test", "../installed/one", 1, ENOENT, WORDS("../installed/one"));
    refuses("test", "", 1, ENOENT, WORDS("\"\""));
    refuses("test", "stranger", 1, ENOENT, WORDS("stranger")); /* linked in, but of another kind */
}
END_TEST

START_TEST(test_no_plugin)
{
    ck_assert_int_eq(mkdir("installed", 0777), 0);
    scratch_write(
        "installed/shmem_test_words.so",
        "These are words, not a program, and there are enough of them for the loader to look "
        "at what should be the header of one.\n");
    refuses("test", "words", 1, ENOEXEC, WORDS("test plugin \"words\"", "invalid ELF header"));
    put("nameless", "installed", "x");
    ck_assert_int_eq(rename("installed/shmem_test_x.so", "installed/shmem_tool_x.so"), 0);
    refuses("tool", "x", 1, ENOEXEC, WORDS("not a tool plugin", "shmem_tool_1"));
    /* Whoever opens a FIFO to read it waits for a writer. */
    ck_assert_int_eq(mkfifo("installed/shmem_test_fifo.so", 0600), 0);
    ck_assert_int_eq(mkdir("installed/shmem_test_folder.so", 0700), 0);
    refuses("test", "fifo", 1, ENOEXEC, WORDS("installed/shmem_test_fifo.so is no regular file"));
    refuses("test", "folder", 1, ENOEXEC, WORDS("_folder.so is no regular file"));
    /* The first one found is unusable: no other is taken silently. */
    put("nameless", "other", "words");
    setenv("SHMEM_PLUGIN_PATH", "installed:other", 1);
    refuses("test", "words", 1, ENOEXEC, WORDS("installed/shmem_test_words.so"));
}
END_TEST

START_TEST(test_other_abi)
{
    put("nameless", "installed", "x");
    refuses("test", "x", 2, EPROTO, WORDS("shmem_test_x.so", "test ABI 1", "offers 2"));
}
END_TEST

START_TEST(test_wrong_name)
{
    put("old", "installed", "young");
    refuses("test", "young", 1, EPROTO, WORDS("shmem_test_young.so", "\"old\""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, open_world, scratch_close);
    tcase_add_test(all, test_find);
    tcase_add_test(all, test_places);
    tcase_add_test(all, test_order);
    tcase_add_test(all, test_gaps);
    tcase_add_test(all, test_old_table);
    tcase_add_test(all, test_new_table);
    tcase_add_test(all, test_missing);
    tcase_add_test(all, test_no_plugin);
    tcase_add_test(all, test_other_abi);
    tcase_add_test(all, test_wrong_name);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
