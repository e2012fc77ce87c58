/* Finds and opens plugins: see plugin.h. Must not know any plugin's name, nor what is in a table
 * behind its size and name. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/plugin.h"
#include "util/secure.h"
#include "util/symbol.h"

#ifndef SY_PLUGIN_DIR
#error "the build must define SY_PLUGIN_DIR, the directory where plugins are installed"
#endif

static const char builtin[] = "builtin";

/* What every table begins with. */
struct head {
    size_t size;
    const char *name;
};

/* dlopen, or NULL in a static executable. It is looked up because to name it makes the linker warn
 * in every program that is linked statically, whether it ever loads a file or not. */
typedef void *loader(const char *file, int mode);

static loader *find_loader(void)
{
    return (loader *)dlsym(RTLD_DEFAULT, "dlopen");
}

/* ---- where plugins are ---- */

/* The file that the library is in. The exported name finds it also for a tool that has this code
 * linked in and uses the library besides; the address of our own is right where that name is not
 * visible. Where the library is part of the program its file's name is whatever the program was
 * called by, as dladdr knows it (which looks through all symbols, so its answer is kept): not to be
 * believed in a setuid program. */
static const char *plugin_own_file(void)
{
    static const char *file;

    if (file)
        return file;
    const void *exported = dlsym(RTLD_DEFAULT, "pshmem_init"), *own = exported ? exported : builtin;
    const char *found = sy_symbol_file(own);
    Dl_info info;
    if (found && !*found)
        found = sy_secure() || !dladdr(own, &info) ? NULL : info.dli_fname;
    return file = found;
}

char *sy_plugins_places(void)
{
    const char *first = secure_getenv("SHMEM_PLUGIN_PATH"), *file = plugin_own_file();
    const char *slash = file ? strrchr(file, '/') : NULL;
    const char *linked_in = sy_builtins[0].kind ? builtin : "";
    char *beside = NULL, *places = NULL;

    if (!find_loader())
        return strdup(linked_in);
    if (asprintf(&beside, "%.*s%s", slash ? (int)(slash - file) + 1 : 0, slash ? file : "",
                 slash ? "switchyard" : "") < 0)
        return NULL;
    if (!strcmp(beside, SY_PLUGIN_DIR)) /* the library is where it was installed */
        *beside = '\0';
    if (!first)
        first = "";
    if (asprintf(&places, "%s%s%s%s%s%s%s", first, *first ? ":" : "", linked_in,
                 *linked_in ? ":" : "", beside, *beside ? ":" : "", SY_PLUGIN_DIR) < 0)
        places = NULL;
    free(beside);
    return places;
}

/* Steps through places, some of which may be empty: the next one's length, or 0 at the end. */
static size_t next_place(const char **at)
{
    *at += strspn(*at, ":");
    return strcspn(*at, ":");
}

static bool is_builtin(const char *place, size_t length)
{
    return length == sizeof builtin - 1 && !memcmp(place, builtin, length);
}

/* ---- what there is ---- */

struct list {
    struct sy_plugin *entry;
    size_t count, room;
};

static void plugin_add(struct list *list, const char *name, size_t length, char *path)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strncmp(list->entry[i].name, name, length) && !list->entry[i].name[length]) {
            free(path);
            return;
        }
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 8;
        struct sy_plugin *entry = realloc(list->entry, room * sizeof *entry);
        if (!entry) {
            free(path);
            return;
        }
        list->entry = entry;
        list->room = room;
    }
    struct sy_plugin plugin = {.name = strndup(name, length), .path = path};
    if (plugin.name && plugin.path) {
        list->entry[list->count++] = plugin;
    } else {
        free(plugin.name);
        free(plugin.path);
    }
}

static void plugin_add_builtins(struct list *list, const char *kind)
{
    for (const struct sy_builtin *b = sy_builtins; b->kind; b++)
        if (!strcmp(b->kind, kind))
            plugin_add(list, b->name, strlen(b->name), strdup(builtin));
}

/* The name inside shmem_<kind>_<name>.so; its length is 0 for any other file. */
static const char *plugin_name(const char *file, const char *kind, size_t *length)
{
    size_t all = strlen(file), head = strlen("shmem_") + strlen(kind) + 1;

    *length = 0;
    if (all > head + 3 && !strncmp(file, "shmem_", 6) && !strncmp(file + 6, kind, strlen(kind)) &&
        file[head - 1] == '_' && !strcmp(file + all - 3, ".so"))
        *length = all - head - 3;
    return file + (*length ? head : 0);
}

static void plugin_add_directory(struct list *list, const char *kind, const char *directory)
{
    struct dirent **files;
    int count = scandir(directory, &files, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        size_t length;
        char *path;
        const char *name = plugin_name(files[i]->d_name, kind, &length);
        if (length && asprintf(&path, "%s/%s", directory, files[i]->d_name) >= 0)
            plugin_add(list, name, length, path);
        free(files[i]);
    }
    if (count >= 0)
        free(files);
}

struct sy_plugin *sy_plugins_find(const char *kind, size_t *count)
{
    struct list list = {NULL, 0, 0};
    char *places = sy_plugins_places();
    const char *at = places ? places : "";

    for (size_t length; (length = next_place(&at)) > 0; at += length) {
        char *directory = strndup(at, length);
        if (is_builtin(at, length))
            plugin_add_builtins(&list, kind);
        else if (directory)
            plugin_add_directory(&list, kind, directory);
        free(directory);
    }
    free(places);
    *count = list.count;
    return list.entry;
}

/* 0, or the errno value that opening or reading a directory gives. */
static int plugin_try_directory(const char *path)
{
    DIR *folder = opendir(path);
    int code = folder ? 0 : errno;

    errno = 0;
    if (folder && !readdir(folder))
        code = errno;
    if (folder)
        closedir(folder);
    return code;
}

void sy_plugins_unread(char *text, size_t room)
{
    char *places = sy_plugins_places();
    const char *at = places ? places : "";

    *text = '\0';
    for (size_t length; !*text && (length = next_place(&at)) > 0; at += length) {
        char *directory = is_builtin(at, length) ? NULL : strndup(at, length);
        int code = directory ? plugin_try_directory(directory) : ENOENT;
        if (code && code != ENOENT)
            snprintf(text, room, "%s: %s", directory, strerror(code));
        free(directory);
    }
    free(places);
}

static int plugin_is_file(const struct dirent *file)
{
    size_t length = strlen(file->d_name);

    return length > 9 && !strncmp(file->d_name, "shmem_", 6) &&
           !strcmp(file->d_name + length - 3, ".so");
}

void sy_plugins_check_path(void (*say)(const char *directory, const char *why))
{
    const char *at = secure_getenv("SHMEM_PLUGIN_PATH");

    for (size_t length; at && (length = next_place(&at)) > 0; at += length) {
        char *directory = strndup(at, length);
        struct dirent **files;
        int count = directory ? scandir(directory, &files, plugin_is_file, NULL) : 1;
        if (count <= 0)
            say(directory, count < 0 ? strerror(errno) : "it has no plugin in it");
        for (int i = 0; directory && i < count; i++)
            free(files[i]);
        if (directory && count >= 0)
            free(files);
        free(directory);
    }
}

void sy_plugins_free(struct sy_plugin *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].path);
    }
    free(list);
}

/* ---- opening ---- */

void sy_plugins_tell(const struct sy_plugin *found, size_t count, char *text, size_t room)
{
    char names[200] = "";
    size_t used = 0;
    char *places = sy_plugins_places();

    for (size_t i = 0; i < count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 found[i].name);
    snprintf(text, room, "there is %s. Searched: %s%s", count ? names : "none at all",
             places ? places : "(no memory)",
             find_loader() ? "" : " (a static executable cannot load files)");
    free(places);
}

/* The table at the symbol of this ABI; else an error that tells another ABI from a foreign file. */
static int plugin_find_table(const char *kind, unsigned abi, struct sy_plugin *plugin,
                             struct sy_error *err)
{
    char symbol[80];

    snprintf(symbol, sizeof symbol, "shmem_%s_%u", kind, abi);
    plugin->table = dlsym(plugin->handle, symbol);
    if (plugin->table)
        return 0;
    for (unsigned other = 0; other < 100; other++) {
        char another[80];
        snprintf(another, sizeof another, "shmem_%s_%u", kind, other);
        if (dlsym(plugin->handle, another))
            return sy_fail(err, EPROTO,
                           "%s is built for %s ABI %u, this library offers %u; install the plugin "
                           "that belongs to this library",
                           plugin->path, kind, other, abi);
    }
    return sy_fail(err, ENOEXEC, "%s is not a %s plugin: it does not export %s", plugin->path, kind,
                   symbol);
}

/* What is wrong with a file that dlopen should not see, or NULL. Of a FIFO dlopen waits for a
 * writer. A file of the right format that ends before its segments do is mapped nevertheless, and
 * the process is killed (SIGBUS) when it reads what is missing. */
static const char *plugin_fault_of_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    struct stat info;
    const char *fault = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) || !S_ISREG(info.st_mode))
        fault = "no regular file";
    if (fault || pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof segment)
        head.e_phnum = 0;
    for (int i = 0; i < head.e_phnum && !fault; i++) {
        off_t at = (off_t)(head.e_phoff + (size_t)i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != sizeof segment ||
            (segment.p_type == PT_LOAD &&
             (segment.p_filesz > (uint64_t)info.st_size ||
              segment.p_offset > (uint64_t)info.st_size - segment.p_filesz)))
            fault = "only a part of a file";
    }
    close(fd);
    return fault;
}

static int plugin_load_file(const char *kind, unsigned abi, struct sy_plugin *plugin,
                            struct sy_error *err)
{
    loader *load = find_loader(); /* not NULL: without one no file is found */
    const char *fault = plugin_fault_of_file(plugin->path);

    if (fault)
        return sy_fail(err, ENOEXEC,
                       "%s plugin \"%s\" cannot be loaded: %s is %s; copy or install it again",
                       kind, plugin->name, plugin->path, fault);
    plugin->handle = load(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->handle)
        return sy_fail(err, ENOEXEC, "%s plugin \"%s\" cannot be loaded: %s", kind, plugin->name,
                       dlerror());
    return plugin_find_table(kind, abi, plugin, err);
}

static int plugin_load_builtin(const char *kind, struct sy_plugin *plugin)
{
    for (const struct sy_builtin *b = sy_builtins; b->kind; b++)
        if (!strcmp(b->kind, kind) && !strcmp(b->name, plugin->name)) {
            plugin->table = b->table;
            return 0;
        }
    return -ENOENT; /* not reached: the name comes from the same list */
}

/* Replaces plugin->table, the plugin's own, by a copy with the stubs where it has nothing. Tables
 * are made of members as large as a pointer, and a member that is all zeros is one left out. */
static int plugin_merge(const char *kind, size_t size, const void *stubs, struct sy_plugin *plugin,
                        struct sy_error *err)
{
    const struct head *own = plugin->table;
    const uintptr_t *members = plugin->table;

    plugin->table = NULL;
    if (own->size < sizeof *own || own->size % sizeof *members || own->size > 1 << 16)
        return sy_fail(err, EPROTO, "%s plugin \"%s\" (%s): its table cannot be %zu bytes long",
                       kind, plugin->name, plugin->path, own->size);
    if (own->name && strcmp(own->name, plugin->name) != 0)
        return sy_fail(err, EPROTO,
                       "%s: the plugin calls itself \"%.60s\", which must be its file's name",
                       plugin->path, own->name);
    uintptr_t *merged = malloc(size);
    if (!merged)
        return sy_fail(err, ENOMEM, "no memory for the table of %s plugin \"%s\"", kind,
                       plugin->name);
    memcpy(merged, stubs, size);
    for (size_t i = 1; i < (own->size < size ? own->size : size) / sizeof *members; i++)
        if (members[i])
            merged[i] = members[i];
    ((struct head *)merged)->size = size;
    ((struct head *)merged)->name = plugin->name;
    plugin->table = merged;
    return 0;
}

int sy_plugin_open_found(const char *kind, const struct sy_plugin *found, unsigned abi, size_t size,
                         const void *stubs, struct sy_plugin *out, struct sy_error *err)
{
    int rc;

    *out = (struct sy_plugin){.name = strdup(found->name), .path = strdup(found->path)};
    if (!out->name || !out->path)
        rc = sy_fail(err, ENOMEM, "no memory for %s plugin \"%s\"", kind, found->name);
    else if (!strcmp(out->path, builtin))
        rc = plugin_load_builtin(kind, out);
    else
        rc = plugin_load_file(kind, abi, out, err);
    if (!rc)
        rc = plugin_merge(kind, size, stubs, out, err);
    if (rc) {
        out->table = NULL; /* the plugin's own, not ours to free */
        sy_plugin_close(out);
    }
    return rc;
}

int sy_plugin_open(const char *kind, const char *name, unsigned abi, size_t size, const void *stubs,
                   struct sy_plugin *out, struct sy_error *err)
{
    size_t count, i = 0;
    struct sy_plugin *found = sy_plugins_find(kind, &count);

    *out = (struct sy_plugin){0};
    while (i < count && strcmp(found[i].name, name) != 0)
        i++;
    int rc;
    if (i < count) {
        rc = sy_plugin_open_found(kind, &found[i], abi, size, stubs, out, err);
    } else {
        char there[sizeof err->text];
        sy_plugins_tell(found, count, there, sizeof there);
        rc = sy_fail(err, ENOENT, "there is no %s plugin \"%.60s\"; %s", kind, name, there);
    }
    sy_plugins_free(found, count);
    return rc;
}

bool sy_plugin_rename(struct sy_plugin *plugin, const char *name)
{
    char *copy = strdup(name);

    if (!copy)
        return false;
    ((struct head *)plugin->table)->name = copy;
    free(plugin->name);
    plugin->name = copy;
    return true;
}

void sy_plugin_close(struct sy_plugin *plugin)
{
    free((void *)plugin->table);
    free(plugin->name);
    free(plugin->path);
    if (plugin->handle)
        dlclose(plugin->handle);
    *plugin = (struct sy_plugin){0};
}
