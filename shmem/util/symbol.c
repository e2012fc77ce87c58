/* See symbol.h. The dynamic linker knows the names that a file exports; the other names of an
 * executable are in the symbol table of its file, unless that was stripped. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/symbol.h"

struct image {
    const char *bytes;
    size_t length;
};

/* `length` bytes of the file at `offset`, or NULL. */
static const void *symbol_image_at(const struct image *image, uint64_t offset, uint64_t length)
{
    if (offset > image->length || length > image->length - offset)
        return NULL;
    return image->bytes + offset;
}

static bool symbol_image_open(const char *path, struct image *image)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    *image = (struct image){.bytes = bytes, .length = (size_t)st.st_size};
    return true;
}

/* The function of one symbol table that has the address, by its name from the table's strings, or
 * NULL. fits: which of several names; NULL: any. */
static const char *symbol_image_find_in(const struct image *image, const ElfW(Shdr) * table,
                                        const ElfW(Shdr) * strings, ElfW(Addr) address,
                                        bool (*fits)(const char *name))
{
    const ElfW(Sym) *symbol = symbol_image_at(image, table->sh_offset, table->sh_size);
    const char *names = symbol_image_at(image, strings->sh_offset, strings->sh_size);

    if (!symbol || !names || !strings->sh_size || names[strings->sh_size - 1])
        return NULL;
    for (size_t i = 0; i < table->sh_size / sizeof *symbol; i++) {
        if (ELF64_ST_TYPE(symbol[i].st_info) == STT_FUNC && address >= symbol[i].st_value &&
            address - symbol[i].st_value < symbol[i].st_size &&
            symbol[i].st_name < strings->sh_size && (!fits || fits(names + symbol[i].st_name)))
            return names + symbol[i].st_name;
    }
    return NULL;
}

static const char *symbol_image_find(const struct image *image, ElfW(Addr) address,
                                     bool (*fits)(const char *name))
{
    const ElfW(Ehdr) *head = symbol_image_at(image, 0, sizeof *head);

    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    const ElfW(Shdr) *section = symbol_image_at(image, head->e_shoff,
                                                (uint64_t)head->e_shnum * sizeof *section);
    for (unsigned i = 0; section && i < head->e_shnum; i++)
        if (section[i].sh_type == SHT_SYMTAB && section[i].sh_link < head->e_shnum)
            return symbol_image_find_in(image, &section[i], &section[section[i].sh_link], address,
                                        fits);
    return NULL;
}

/* ---- the process ---- */

/* Which loaded file has an address; dladdr does not know in a static program. */
struct home {
    uintptr_t address;
    ElfW(Addr) base;
    const char *file; /* "": the executable */
};

static int symbol_home_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct home *home = arg;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD ||
            home->address - (info->dlpi_addr + part->p_vaddr) >= part->p_memsz)
            continue;
        home->base = info->dlpi_addr;
        home->file = info->dlpi_name;
        return 1;
    }
    return 0;
}

static bool symbol_find_home(const void *address, struct home *home)
{
    *home = (struct home){.address = (uintptr_t)address};
    return dl_iterate_phdr(symbol_home_look, home) == 1;
}

#define EXECUTABLE "/proc/self/exe"

static struct image executable;

static void symbol_open_executable(void)
{
    symbol_image_open(EXECUTABLE, &executable);
}

const char *sy_symbol_file(const void *address)
{
    struct home home;

    return symbol_find_home(address, &home) ? home.file : NULL;
}

bool sy_symbol_in_program(const void *address)
{
    const char *file = sy_symbol_file(address);

    return file && !*file;
}

const char *sy_symbol_own(const void *address, bool (*fits)(const char *name))
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct home home;

    if (!symbol_find_home(address, &home) || *home.file)
        return NULL;
    pthread_once(&once, symbol_open_executable);
    return symbol_image_find(&executable, home.address - home.base, fits);
}

bool sy_symbol_text(const void *address, bool returns, char *text, size_t room)
{
    const char *at = (const char *)address - returns, *found = NULL;
    struct image image;
    struct home home;
    char name[200] = "";
    Dl_info info;

    if (!symbol_find_home(at, &home))
        return false;
    ElfW(Addr) offset = home.address - home.base;
    if (symbol_image_open(*home.file ? home.file : EXECUTABLE, &image)) {
        found = symbol_image_find(&image, offset, NULL);
        snprintf(name, sizeof name, "%s", found ? found : "");
        munmap((void *)image.bytes, image.length);
    }
    if (!*name && dladdr(at, &info) && info.dli_sname)
        snprintf(name, sizeof name, "%s", info.dli_sname);
    name[strcspn(name, ".")] = '\0'; /* the compiler's word for a part or an alias of a function */
    found = name + !strncmp(name, "pshmem", 6); /* each routine is defined as p and its name */
    const char *file = *home.file ? home.file : program_invocation_name;
    const char *slash = strrchr(file, '/');
    snprintf(text, room, "%s%s(%s+%#lx)", found, *name ? " " : "", slash ? slash + 1 : file,
             (unsigned long)offset);
    return true;
}
