/* Finds and opens plugins: files shmem_<kind>_<name>.so that export shmem_<kind>_<abi>. Builtin
 * plugins of the static library are found and opened by the same functions. */
#ifndef SY_UTIL_PLUGIN_H
#define SY_UTIL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <switchyard/error.h>

struct sy_plugin {
    char *name;        /* "shm" */
    char *path;        /* the file, or "builtin" */
    const void *table; /* what the symbol points at, with NULL members replaced (see below); NULL
                          until opened */
    void *handle;      /* of dlopen; NULL for a builtin */
};

/* A plugin linked into the library. A NULL kind ends the list; the shared library's is empty. */
struct sy_builtin {
    const char *kind, *name;
    const void *table;
};
extern const struct sy_builtin sy_builtins[];

/* The names of all plugins of a kind ("transport", "bootstrap") that exist, each once, in the order
 * of the search: the directories of SHMEM_PLUGIN_PATH (divided by colons), builtins, the directory
 * switchyard/ beside libsma.so, the directory configured at build time. In a static executable,
 * which cannot load files, builtins alone. Nothing is opened. The list and its strings are freed
 * with sy_plugins_free. */
struct sy_plugin *sy_plugins_find(const char *kind, size_t *count);
void sy_plugins_free(struct sy_plugin *list, size_t count);

/* The places that are searched, in order and divided by colons, for the user; "builtin" stands for
 * the plugins that are linked in. The caller frees the text; NULL without memory. */
char *sy_plugins_places(void);

/* Opens plugin `name` of a kind: the first one that the search finds, and no other if that one
 * fails. `abi` is the number in the symbol; `size` the size of the core's table; `stubs` a complete
 * table of that size, whose members replace those that the plugin leaves NULL or is too old to
 * have. The merged copy is in out->table; close frees it. The error texts distinguish a file that
 * is missing (and list those present), one that cannot be loaded (the loader's words), and one of
 * another ABI ("is built for transport ABI 2, this library offers 1"). A table begins with its size
 * and its name, which must be that of the file; a table without a name is given it. On failure *out
 * holds nothing. */
int sy_plugin_open(const char *kind, const char *name, unsigned abi, size_t size, const void *stubs,
                   struct sy_plugin *out, struct sy_error *err);

/* Opens a plugin that sy_plugins_find has found; otherwise as sy_plugin_open. */
int sy_plugin_open_found(const char *kind, const struct sy_plugin *found, unsigned abi, size_t size,
                         const void *stubs, struct sy_plugin *out, struct sy_error *err);

/* Writes for the user which plugins of a kind there are, and where they are looked for. */
void sy_plugins_tell(const struct sy_plugin *found, size_t count, char *text, size_t room);

/* Gives an open plugin and its table another name. False: no memory for it. */
bool sy_plugin_rename(struct sy_plugin *plugin, const char *name);

void sy_plugin_close(struct sy_plugin *plugin);

/* The first directory of plugins that is there but cannot be read, and why: "/a/b: Permission
 * denied"; or "". */
void sy_plugins_unread(char *text, size_t room);

/* Calls `say` for each directory of SHMEM_PLUGIN_PATH that cannot be read or has no plugin. */
void sy_plugins_check_path(void (*say)(const char *directory, const char *why));

#endif
