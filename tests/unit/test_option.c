/* Option tables: the sources of values, which source wins, and the messages about wrong values. The
 * system's configuration directory is "etc" in the test's own directory (SY_SYSCONFDIR). */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "scratch.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/log.h"
#include "util/option.h"

struct settings {
    bool check, any;
    long count;
    size_t size;
    double seconds;
    const char *text;
    int color;
    long early;
    const char *list;
};

#define AT(member) offsetof(struct settings, member)

static const struct sy_option rows[] = {
    {"check", SY_OPTION_BOOL, 0, AT(check), "off", NULL, 0, 0, NULL, "a switch"},
    {"any", SY_OPTION_FLAG, 0, AT(any), "off", NULL, 0, 0, "SMA_ANY SHMEM_ANYTHING", "any text"},
    {"count", SY_OPTION_INT, SY_OPTION_JOB, AT(count), "3", NULL, 1, 100, NULL, "a number"},
    {"symmetric_size", SY_OPTION_SIZE, SY_OPTION_JOB, AT(size), "1G", NULL, 0, 0,
     "SMA_SYMMETRIC_SIZE XT_HEAP", "bytes"},
    {"limit.seconds", SY_OPTION_SECONDS, 0, AT(seconds), "2.5", NULL, 0, 0, NULL, "time"},
    {"text", SY_OPTION_STRING, SY_OPTION_JOB, AT(text), "auto", NULL, 0, 0, NULL, "words"},
    {"color", SY_OPTION_CHOICE, 0, AT(color), "red", "red|green|dark-blue", 0, 0, NULL, "a choice"},
    {"early", SY_OPTION_INT, SY_OPTION_EARLY, AT(early), "0", NULL, 0, LONG_MAX, NULL, "soon"},
    {"list", SY_OPTION_LIST, 0, AT(list), "", NULL, 0, 0, NULL, "parts"},
    {"bounce", SY_OPTION_STRING, SY_OPTION_INERT, 0, "", NULL, 0, 0, NULL, "no bounce buffers"},
    {.name = NULL},
};

static struct settings got;
static struct sy_error err;

static struct sy_options *load(void)
{
    struct sy_options *set = sy_options_new();

    ck_assert_ptr_nonnull(set);
    err.text[0] = '\0';
    if (!sy_options_read_files(set, NULL, &err) &&
        !sy_options_add(set, "core", rows, &got, sizeof got, &err))
        return set;
    sy_options_free(set);
    return NULL;
}

static void load_ok(void)
{
    struct sy_options *set = load();

    ck_assert_msg(set, "%s", err.text);
    sy_options_free(set);
}

/* Loading fails, and the text has all these words. */
static void load_fails(const char *const *words)
{
    struct sy_options *set = load();

    ck_assert_ptr_null(set);
    for (; *words; words++)
        ck_assert_msg(strstr(err.text, *words), "\"%s\" is not in: %s", *words, err.text);
}
#define FAILS(...) load_fails((const char *const[]){__VA_ARGS__, NULL})

static void open_world(void)
{
    scratch_open();
    clearenv();
    setenv("HOME", scratch_path, 1);
    ck_assert_int_eq(mkdir("etc", 0777), 0);
    ck_assert_int_eq(mkdir("etc/switchyard", 0777), 0);
    ck_assert_int_eq(mkdir(".config", 0777), 0);
    ck_assert_int_eq(mkdir(".config/switchyard", 0777), 0);
}

static const char system_file[] = "etc/switchyard/shmem.json";
static const char user_file[] = ".config/switchyard/shmem.json";

/* ---- values and their sources ---- */

struct expectation {
    const char *name, *value, *origin;
    bool seen;
};

static void compare(const struct sy_option_shown *option, void *arg)
{
    struct expectation *e = arg;

    ck_assert_str_eq(option->owner, "core");
    if (strcmp(option->row->name, e->name) != 0)
        return;
    ck_assert_str_eq(option->value, e->value);
    ck_assert_msg(strstr(option->origin, e->origin), "%s: from %s, not %s", e->name, option->origin,
                  e->origin);
    e->seen = true;
}

static void expect(struct sy_options *set, const char *name, const char *value, const char *origin)
{
    struct expectation e = {name, value, origin, false};

    sy_options_visit(set, compare, &e);
    ck_assert(e.seen);
}

START_TEST(test_defaults)
{
    struct sy_options *set = load();

    ck_assert_msg(set, "%s", err.text);
    ck_assert(!got.check && !got.any);
    ck_assert_int_eq(got.count, 3);
    ck_assert_uint_eq(got.size, 1 << 30);
    ck_assert(got.seconds == 2.5);
    ck_assert_str_eq(got.text, "auto");
    ck_assert_int_eq(got.color, 0);
    expect(set, "symmetric_size", "1G", "default");
    sy_options_free(set);
}
END_TEST

/* Each source overrides the ones before. */
START_TEST(test_precedence)
{
    static const struct {
        size_t bytes;
        const char *value, *origin;
    } levels[] = {
        {1 << 30, "1G", "default"},
        {1, "1", "etc/switchyard/shmem.json:2"},
        {2048, "2k", "/.config/switchyard/shmem.json:1"},
        {3072, "3K", "named.json:3"},
        {4096, "4k", "environment SHMEM_SYMMETRIC_SIZE"},
        {4096, "4k", "oshrun"},
    };

    for (size_t level = 0; level < SY_COUNT(levels); level++) {
        if (level == 1)
            scratch_write(system_file, "{\n \"symmetric_size\": 1, \"count\": 50}");
        if (level == 2)
            scratch_write(user_file, "{ \"symmetric_size\": \"2k\", \"color\": \"green\" }");
        if (level == 3) {
            scratch_write("named.json", "{\n\"check\": true,\n\"symmetric_size\": \"3K\"}");
            setenv("SHMEM_CONFIG", "named.json", 1);
        }
        if (level == 4)
            setenv("SHMEM_SYMMETRIC_SIZE", "4k", 1);
        if (level == 5)
            setenv("SHMEM_BOOT_FLAGS", "SHMEM_TEXT,SHMEM_SYMMETRIC_SIZE", 1);
        struct sy_options *set = load();
        ck_assert_msg(set, "%s", err.text);
        ck_assert_uint_eq(got.size, levels[level].bytes);
        expect(set, "symmetric_size", levels[level].value, levels[level].origin);
        /* A key that a higher source does not mention keeps the value of the lower one. */
        ck_assert_int_eq(got.count, level >= 1 ? 50 : 3);
        ck_assert_int_eq(got.color, level >= 2 ? 1 : 0);
        ck_assert_int_eq(got.check, level >= 3);
        sy_options_free(set);
    }
}
END_TEST

START_TEST(test_user_directory)
{
    setenv("XDG_CONFIG_HOME", "xdg", 1);
    scratch_write(user_file, "{\"count\": 7}"); /* in HOME, not looked at then */
    load_ok();
    ck_assert_int_eq(got.count, 3);
    ck_assert_int_eq(mkdir("xdg", 0777), 0);
    ck_assert_int_eq(mkdir("xdg/switchyard", 0777), 0);
    scratch_write("xdg/switchyard/shmem.json", "{\"count\": 8}");
    load_ok();
    ck_assert_int_eq(got.count, 8);
}
END_TEST

START_TEST(test_null_is_default)
{
    scratch_write(system_file, "{\"count\": 50, \"check\": true}");
    scratch_write(user_file, "{\"count\": null}");
    load_ok();
    ck_assert_int_eq(got.count, 3);
    ck_assert(got.check);
}
END_TEST

START_TEST(test_names)
{
    char buffer[64];

    ck_assert_str_eq(sy_option_env_name("tcp.streams", buffer, sizeof buffer), "SHMEM_TCP_STREAMS");
    ck_assert_str_eq(sy_option_env_name("a-b_c", buffer, sizeof buffer), "SHMEM_A_B_C");
    /* SHMEM_ wins over SMA_, and that over other aliases. */
    setenv("XT_HEAP", "1k", 1);
    load_ok();
    ck_assert_uint_eq(got.size, 1024);
    setenv("SMA_SYMMETRIC_SIZE", "2k", 1);
    struct sy_options *set = load();
    ck_assert_uint_eq(got.size, 2048);
    expect(set, "symmetric_size", "2k", "environment SMA_SYMMETRIC_SIZE");
    sy_options_free(set);
    setenv("SHMEM_SYMMETRIC_SIZE", "3k", 1);
    load_ok();
    ck_assert_uint_eq(got.size, 3072);
}
END_TEST

START_TEST(test_flags)
{
    static const struct {
        const char *text;
        bool on;
    } texts[] = {{"1", true},    {"anything", true}, {"2", true}, {"0", false},
                 {"off", false}, {"False", false},   {"", false}, {"no", false}};

    for (size_t i = 0; i < SY_COUNT(texts); i++) {
        setenv("SHMEM_ANY", texts[i].text, 1);
        load_ok();
        ck_assert_msg(got.any == texts[i].on, "SHMEM_ANY=%s", texts[i].text);
    }
    setenv("SHMEM_ANY", "1", 1);
    setenv("SMA_ANY", "0", 1); /* both are set: SHMEM_ controls */
    load_ok();
    ck_assert(got.any);
}
END_TEST

START_TEST(test_types_in_files)
{
    struct sy_options *set;

    setenv("SHMEM_CONFIG", "c.json", 1);
    scratch_write("c.json", "{\"check\": \"yes\", \"any\": true, \"count\": \"12\", \"text\": 5,\n"
                            " \"symmetric_size\": 1.5, \"limit\": {\"seconds\": 0.25}, "
                            "\"color\": \"DARK-BLUE\"}");
    set = load();
    ck_assert_msg(set, "%s", err.text);
    ck_assert(got.check && got.any);
    ck_assert_int_eq(got.count, 12);
    ck_assert_uint_eq(got.size, 2);
    ck_assert(got.seconds == .25);
    ck_assert_str_eq(got.text, "5");
    ck_assert_int_eq(got.color, 2);
    sy_options_free(set);
    scratch_write("c.json", "{\"check\": 1, \"any\": 0, \"count\": 13, \"text\": \"\",\n"
                            " \"symmetric_size\": 10, \"limit.seconds\": 4}");
    set = load();
    ck_assert_msg(set, "%s", err.text);
    ck_assert(got.check && !got.any);
    ck_assert_int_eq(got.count, 13);
    ck_assert_str_eq(got.text, "auto"); /* an empty text is the default */
    ck_assert(got.seconds == 4);
    sy_options_free(set);
}
END_TEST

/* ---- errors ---- */

START_TEST(test_bad_variables)
{
    static const struct {
        const char *variable, *value, *allowed;
    } bad[] = {
        {"SHMEM_CHECK", "maybe", "yes"},
        {"SHMEM_COUNT", "0", "from 1 to 100"},
        {"SHMEM_COUNT", "101", "from 1 to 100"},
        {"SHMEM_COUNT", "abc", "from 1 to 100"},
        {"SHMEM_SYMMETRIC_SIZE", "20x", "bytes"},
        {"SMA_SYMMETRIC_SIZE", "", "bytes"},
        {"XT_HEAP", "-1", "bytes"},
        {"SHMEM_LIMIT_SECONDS", "soon", "seconds"},
        {"SHMEM_COLOR", "blue", "dark-blue"},
        {"SHMEM_COLOR", "", "red, green, dark-blue"},
        {"SHMEM_EARLY", "-1", "from 0"},
    };

    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        setenv(bad[i].variable, bad[i].value, 1);
        FAILS(bad[i].variable, bad[i].value, "allowed", bad[i].allowed);
        ck_assert_ptr_null(strstr(err.text, "oshrun"));
        setenv("SHMEM_BOOT_FLAGS", bad[i].variable, 1);
        FAILS(bad[i].variable, bad[i].value, "allowed", bad[i].allowed, "oshrun");
        unsetenv("SHMEM_BOOT_FLAGS");
        unsetenv(bad[i].variable);
    }
    load_ok();
}
END_TEST

START_TEST(test_bad_file_values)
{
    static const struct {
        const char *json, *words[4];
    } bad[] = {
        {"{\n\"count\": 0}", {"c.json:2", "count", " 0 ", "from 1 to 100"}},
        {"{\"count\": 1.5}", {"c.json:1", "count", "1.5", "from 1 to 100"}},
        {"{\"count\": true}", {"c.json:1", "count", "boolean", "from 1 to 100"}},
        {"{\"count\": [1]}", {"c.json:1", "count", "array", "from 1 to 100"}},
        {"{\"symmetric_size\": -1}", {"c.json:1", "symmetric_size", "-1", "bytes"}},
        {"{\"symmetric_size\": 1e-3}", {"c.json:1", "symmetric_size", "1e-3", "bytes"}},
        {"{\n\n\"symmetric_size\": \"20x\"}", {"c.json:3:1:", "symmetric_size", "20x", "bytes"}},
        {"{\"limit\":\n {\"seconds\": false}}",
         {"c.json:2", "limit.seconds", "boolean", "seconds"}},
        {"{\"color\": 1}", {"c.json:1", "color", "a number", "dark-blue"}},
        {"{\"color\": \"blue\"}", {"c.json:1", "color", "blue", "dark-blue"}},
        {"{\"list\": [1]}", {"c.json:1:2:", "list", "array", "objects"}},
        {"{\"list\": [{\"a\": []}]}", {"c.json:1:2:", "list", "array", "objects"}},
        {"{\"list\": 5}", {"c.json:1:2:", "list", "a number", "objects"}},
        {"{\"count\": [\"a\"]}", {"c.json:1:2:", "count", "an array", "from 1 to 100"}},
        {"{\"count\": {}}", {"c.json:1:2:", "count", "an object", "from 1 to 100"}},
        {"{\"check\": \"x\"}", {"c.json:1", "check", "x", "yes"}},
        {"{\"check\": 2}", {"c.json:1", "check", "2", "yes"}},
        {"{\"text\": false}", {"c.json:1", "text", "boolean", "a text"}},
        {"{\"early\": 1}", {"c.json:1", "early", "environment", "SHMEM_EARLY"}},
        {"{\"count\": 1,\n\"count\": 2}", {"c.json:2", "duplicate", "count", ""}},
        {"{\"limit\": {\"seconds\": 1},\n\"limit.seconds\": 2}",
         {"c.json:2", "limit.seconds", "already set", "line 1"}},
        {"[1]", {"c.json:1", "object", "", ""}},
        {"", {"c.json:1", "not valid JSON", "", ""}},
        {"{\"count\": 1\n \"text\": 2}", {"c.json:2:", "not valid JSON", "text", ""}},
        {"{\"count\": 1} x", {"c.json:1:", "not valid JSON", "", ""}},
    };

    setenv("SHMEM_CONFIG", "c.json", 1);
    for (size_t i = 0; i < SY_COUNT(bad); i++) {
        scratch_write("c.json", bad[i].json);
        FAILS(bad[i].words[0], bad[i].words[1], bad[i].words[2], bad[i].words[3]);
    }
}
END_TEST

/* A list in a file is the text that it would be in the environment. */
START_TEST(test_list)
{
    static const char *const forms[][2] = {
        {"\"a=1 b; c\"", "a=1 b; c"},
        {"[]", ""},
        {"[\"a=1 b\", {\"from\": \"x\", \"to\": \"y\"}, \"c\"]", "a=1 b; from=x to=y; c"},
    };

    setenv("SHMEM_CONFIG", "c.json", 1);
    for (size_t i = 0; i < SY_COUNT(forms); i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"list\": %s, \"count\": 5}", forms[i][0]);
        scratch_write("c.json", text);
        struct sy_options *set = load();
        ck_assert_msg(set, "%s", err.text);
        ck_assert_str_eq(got.list, forms[i][1]);
        ck_assert_int_eq(got.count, 5);
        sy_options_free(set);
    }
    setenv("SHMEM_LIST", "d", 1);
    load_ok();
}
END_TEST

/* Writes `first`, a part as often as said with its number, commas between, and `last`. */
static void write_parts(const char *first, const char *part, int count, const char *last)
{
    FILE *file = fopen("c.json", "w");

    ck_assert_ptr_nonnull(file);
    fputs(first, file);
    for (int i = 0; i < count; i++)
        fprintf(file, part, i ? "," : "", i);
    fputs(last, file);
    ck_assert_int_eq(fclose(file), 0);
}

static long megabytes_used(void)
{
    struct rusage usage;

    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss >> 10;
}

/* Neither many parts of a list nor many members of one take much memory, and there is a limit. */
START_TEST(lists_have_a_limit)
{
    static const struct {
        const char *first, *part, *last;
        int good, bad;
    } lists[] = {
        {"{\"list\": [", "%s\"abcd\"", "]}", 10923, 10924}, /* of 6 bytes with what is between */
        {"{\n\"list\": [{", "%s\"k%05d\": \"\"", "}]}", 8192, 8193}, /* of 8 */
    };
    long before = megabytes_used();

    setenv("SHMEM_CONFIG", "c.json", 1);
    for (size_t i = 0; i < SY_COUNT(lists); i++) {
        write_parts(lists[i].first, lists[i].part, lists[i].good, lists[i].last);
        load_ok();
        write_parts(lists[i].first, lists[i].part, lists[i].bad, lists[i].last);
        FAILS(i ? "c.json:2:1:" : "c.json:1:2:", "\"list\" has more than 64 KiB");
    }
    ck_assert_int_lt(megabytes_used() - before, 100);
}
END_TEST

START_TEST(files_have_so_many_keys)
{
    setenv("SHMEM_CONFIG", "c.json", 1);
    write_parts("{\"group\": {", "%s\"k%d\": 0", 4095, "}, \"count\": 5}");
    load_ok();
    ck_assert_int_eq(got.count, 5);
    write_parts("{\"group\": {", "%s\"k%d\": 0", 4096, "},\n\"count\": 5}");
    FAILS("c.json:2:1:", "more than 4096 keys");
}
END_TEST

START_TEST(test_missing_files)
{
    setenv("SHMEM_CONFIG", "nowhere.json", 1);
    FAILS("SHMEM_CONFIG", "nowhere.json", strerror(ENOENT));
    setenv("SHMEM_CONFIG", "etc", 1);
    FAILS("SHMEM_CONFIG", "etc", strerror(EISDIR));
    setenv("SHMEM_CONFIG", "", 1);
    load_ok();
    /* A path that exists but is no file is an error everywhere. */
    ck_assert_int_eq(mkdir(system_file, 0777), 0);
    FAILS(system_file, strerror(EISDIR));
}
END_TEST

/* The lines in messages are those of the keys, whatever surrounds them. */
START_TEST(test_lines)
{
    struct sy_options *set;

    scratch_write(user_file, "\n{ \"$schema\": {\"x\": [{\"count\": 0}]},\n"
                             "  \"text\"\n:\n \"a \\\" : \\\\\", \"any\": \"\\\"count\\\": 9\",\n"
                             "\t\"limit\" : { \"seconds\":\r\n 9 },\n \"c\\u006funt\" : 4 }");
    set = load();
    ck_assert_msg(set, "%s", err.text);
    expect(set, "text", "a \" : \\", "shmem.json:3");
    expect(set, "any", "\"count\": 9", "shmem.json:5");
    expect(set, "limit.seconds", "9", "shmem.json:6");
    expect(set, "count", "4", "shmem.json:8");
    sy_options_free(set);
}
END_TEST

/* ---- unknown names ---- */

static void check_keys(const char *json, const char *const *others, const char *const *words)
{
    scratch_write(user_file, json);
    struct sy_options *set = load();

    ck_assert_msg(set, "%s", err.text);
    int rc = sy_options_check_keys(set, others, &err);
    ck_assert_int_eq(rc, words ? -EINVAL : 0);
    for (; words && *words; words++)
        ck_assert_msg(strstr(err.text, *words), "\"%s\" is not in: %s", *words, err.text);
    sy_options_free(set);
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(test_unknown_keys)
{
    check_keys("{\"count\": 1, \"bounce\": 5, \"limit\": {}}", NULL, NULL);
    check_keys("{\n\"cuont\": 1}", NULL, WORDS("shmem.json:2:1:", "\"cuont\"", "\"count\""));
    check_keys("{\"limit\": {\n\"secnods\": 1}}", NULL,
               WORDS("shmem.json:2", "limit.secnods", "limit.seconds"));
    check_keys("{\"symmetric\": {\"size\": 1}}", NULL, WORDS("symmetric.size", "symmetric_size"));
    check_keys("{\"elsewhere\": {}}", NULL, WORDS("shmem.json:1:2:", "\"elsewhere\""));
    check_keys("{\"SHMEM_COUNT\": 1}", NULL, WORDS("SHMEM_COUNT", "\"count\""));
    check_keys("{\"net\": {}, \"net@a\": {}}", WORDS("net"), NULL);
    check_keys("{\"Count\": 1}", NULL, WORDS("Count", "\"count\""));
    check_keys("{\"elsewhere\": 1}", NULL, WORDS("shmem.json:1", "elsewhere"));
    ck_assert_ptr_null(strstr(err.text, "did you mean"));
    /* Keys of plugins that were not loaded cannot be checked. */
    check_keys("{\"net\": {\"port\": 1}}", WORDS("web", "net"), NULL);
    check_keys("{\"net\": {\"port\": 1}}", WORDS("web"), WORDS("net.port"));
    check_keys("{\"net\": 1}", WORDS("net"), WORDS("\"net\""));
    /* A value where a group of options belongs. */
    check_keys("{\n\"limit\": 5}", NULL, WORDS("shmem.json:2:1:", "\"limit\" is 5", "allowed: an object", "options"));
    check_keys("{\"limit\": \"no\"}", NULL, WORDS("shmem.json:1:2:", "\"limit\" is no", "allowed: an object"));
    check_keys("{\"limit\": [1]}", NULL, WORDS("shmem.json:1:2:", "\"limit\" is [...]", "allowed: an object"));
}
END_TEST

/* Keys of a plugin that was loaded can be, also when it is listed among the others. */
START_TEST(test_plugin_keys)
{
    static struct {
        long port;
    } net;
    static const struct sy_option net_rows[] = {
        {"net.port", SY_OPTION_INT, SY_OPTION_JOB, 0, "1", NULL, 1, 65535, NULL, "a port"},
        {.name = NULL}};

    scratch_write(user_file, "{\"net\": {\"port\": 80,\n \"prot\": 81}}");
    setenv("SHMEM_NET_X", "1", 1);
    struct sy_options *set = load();
    ck_assert_msg(set, "%s", err.text);
    ck_assert_int_eq(sy_options_add(set, "net", net_rows, &net, sizeof net, &err), 0);
    ck_assert_int_eq(net.port, 80);
    ck_assert_int_eq(sy_options_check_keys(set, WORDS("net"), &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "shmem.json:2") && strstr(err.text, "net.port"), "%s", err.text);
    setenv("SHMEM_NET_PORT", "65536", 1);
    ck_assert_int_eq(sy_options_add(set, "net", net_rows, &net, sizeof net, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "SHMEM_NET_PORT=65536"), "%s", err.text);
    sy_options_free(set);
}
END_TEST

static char said[1024];

static void say(const char *variable, const char *nearest)
{
    size_t used = strlen(said);

    snprintf(said + used, sizeof said - used, "[%s %s]", variable, nearest);
}

static void expect_said(const char *const *others, const char *text)
{
    struct sy_options *set = load();

    ck_assert_msg(set, "%s", err.text);
    said[0] = '\0';
    sy_options_unknown_env(set, others, say);
    ck_assert_str_eq(said, text);
    sy_options_free(set);
}

START_TEST(test_unknown_variables)
{
    setenv("SHMEM_COUNT", "1", 1);
    setenv("SHMEM_ANYTHING", "1", 1); /* an alias */
    setenv("SHMEM_BOUNCE", "1", 1);
    setenv("SHMEM_BOOT_FD", "3", 1);
    setenv("XT_HEAP", "1", 1);
    setenv("NOT_SHMEM_X", "1", 1);
    expect_said(NULL, "");
    setenv("SHMEM_CUONT", "1", 1);
    expect_said(NULL, "[SHMEM_CUONT SHMEM_COUNT]");
    unsetenv("SHMEM_CUONT");
    setenv("SHMEM_FOO", "1", 1);
    expect_said(NULL, "[SHMEM_FOO ]");
    unsetenv("SHMEM_FOO");
    setenv("SHMEM_NET_PORT", "1", 1);
    expect_said(NULL, "[SHMEM_NET_PORT ]");
    expect_said(WORDS("net"), "");
    unsetenv("SHMEM_NET_PORT");
    setenv("SHMEM_NETWORK", "1", 1); /* does not belong to net */
    expect_said(WORDS("net"), "[SHMEM_NETWORK ]");
}
END_TEST

START_TEST(test_info_lines)
{
    char line[256] = "", all[1024] = "";

    setenv("SHMEM_BOUNCE", "1", 1);
    setenv("XT_HEAP", "1k", 1);
    setenv("SMA_ANY", "1", 1);
    setenv("SHMEM_ANYTHING", "0", 1);
    ck_assert_int_eq(sy_log_configure(SY_LOG_INFO, "", "", "log", &err), 0);
    expect_said(NULL, "");
    FILE *log = fopen("log", "r");
    ck_assert_ptr_nonnull(log);
    while (fgets(line, sizeof line, log))
        strcat(all, line);
    fclose(log);
    ck_assert_msg(strstr(all, "SHMEM_BOUNCE has no effect here: no bounce buffers"), "%s", all);
    ck_assert_msg(strstr(all, "XT_HEAP is taken as SHMEM_SYMMETRIC_SIZE"), "%s", all);
    ck_assert_msg(strstr(all, "SHMEM_ANYTHING is not used"), "%s", all);
    ck_assert_msg(!strstr(all, "SMA_ANY"), "%s", all); /* the specification's own */
}
END_TEST

/* ---- hashes ---- */

/* The index-th of the settings that all PEs must have alike. */
static uint32_t job_hash(struct sy_options *set, unsigned index, const char *expected)
{
    const char *name = NULL;
    uint32_t hash = 0;

    ck_assert(sy_options_job(set, index, &name, &hash));
    ck_assert_str_eq(name, expected);
    return hash;
}

START_TEST(test_hashes)
{
    struct sy_options *set = load();
    uint32_t count = job_hash(set, 0, "count"), size = job_hash(set, 1, "symmetric_size"),
             text = job_hash(set, 2, "text"), hash;
    const char *name;

    ck_assert(!sy_options_job(set, 3, &name, &hash));
    sy_options_free(set);

    setenv("SHMEM_SYMMETRIC_SIZE", "1024m", 1); /* the same value, written in another way */
    setenv("SHMEM_COUNT", "4", 1);
    setenv("SHMEM_TEXT", "automatic", 1);
    setenv("SHMEM_COLOR", "green", 1); /* may differ from PE to PE */
    set = load();
    ck_assert_uint_ne(count, job_hash(set, 0, "count"));
    ck_assert_uint_eq(size, job_hash(set, 1, "symmetric_size"));
    ck_assert_uint_ne(text, job_hash(set, 2, "text"));
    ck_assert(!sy_options_job(set, 3, &name, &hash));
    sy_options_free(set);
}
END_TEST

/* A plugin that is closed takes its rows along; the set must not read them again. */
START_TEST(test_rows_are_copied)
{
    char name[] = "net.port", help[] = "a port", def[] = "1";
    struct sy_option net_rows[] = {
        {name, SY_OPTION_INT, SY_OPTION_JOB, 0, def, NULL, 1, 65535, NULL, help}, {.name = NULL}};
    long port;
    struct sy_options *set = load();

    ck_assert_int_eq(sy_options_add(set, "net", net_rows, &port, sizeof port, &err), 0);
    memset(name, 'x', sizeof name - 1);
    memset(def, 'x', sizeof def - 1);
    memset(net_rows, 0, sizeof net_rows);
    job_hash(set, 3, "net.port");
    sy_options_free(set);
    sy_options_free(NULL);
}
END_TEST

/* A plugin's rows may be anybody's. */
START_TEST(rows_that_cannot_be_used_are_refused)
{
    static const struct {
        struct sy_option row;
        const char *words;
    } wrong[] = {
        {{"port", SY_OPTION_INT, 0, 0, "1", NULL, 0, 9, NULL, ""}, "does not begin with 'net.'"},
        {{"nets.port", SY_OPTION_INT, 0, 0, "1", NULL, 0, 9, NULL, ""},
         "does not begin with 'net.'"},
        {{"net.port", (enum sy_option_type)77, 0, 0, "1", NULL, 0, 9, NULL, ""}, "no type"},
        {{"net.port", SY_OPTION_CHOICE, 0, 0, "a", NULL, 0, 9, NULL, ""}, "has no choices"},
        {{"net.port", SY_OPTION_INT, 0, 1, "1", NULL, 0, 9, NULL, ""}, "settings of 8 bytes"},
        {{"net.port", SY_OPTION_INT, 0, SIZE_MAX, "1", NULL, 0, 9, NULL, ""},
         "settings of 8 bytes"}};
    const struct sy_option inert = {
        "port", SY_OPTION_INT, SY_OPTION_INERT, 99, "", NULL, 0, 0, NULL, ""};
    long port = 7;

    for (size_t i = 0; i <= sizeof wrong / sizeof wrong[0]; i++) {
        const bool good = i == sizeof wrong / sizeof wrong[0];
        const struct sy_option table[] = {good ? inert : wrong[i].row, {.name = NULL}};
        struct sy_options *set = load();
        ck_assert_int_eq(sy_options_add(set, "net@a", table, &port, sizeof port, &err),
                         good ? 0 : -EINVAL);
        ck_assert_msg(good || strstr(err.text, wrong[i].words), "%s", err.text);
        ck_assert_int_eq(port, 7);
        sy_options_free(set);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("option");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, open_world, scratch_close);
    tcase_add_test(all, test_defaults);
    tcase_add_test(all, test_precedence);
    tcase_add_test(all, test_user_directory);
    tcase_add_test(all, test_null_is_default);
    tcase_add_test(all, test_names);
    tcase_add_test(all, test_flags);
    tcase_add_test(all, test_types_in_files);
    tcase_add_test(all, test_bad_variables);
    tcase_add_test(all, test_bad_file_values);
    tcase_add_test(all, test_list);
    tcase_add_test(all, lists_have_a_limit);
    tcase_add_test(all, files_have_so_many_keys);
    tcase_add_test(all, test_missing_files);
    tcase_add_test(all, test_lines);
    tcase_add_test(all, test_unknown_keys);
    tcase_add_test(all, test_plugin_keys);
    tcase_add_test(all, test_unknown_variables);
    tcase_add_test(all, test_info_lines);
    tcase_add_test(all, test_hashes);
    tcase_add_test(all, test_rows_are_copied);
    tcase_add_test(all, rows_that_cannot_be_used_are_refused);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
