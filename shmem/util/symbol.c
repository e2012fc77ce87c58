/* See symbol.h. The dynamic linker knows the names that a file exports; those of the rest of an
 * executable are in the symbol table of its file, if nobody has stripped it. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
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
static const void *image_at(const struct image *image, uint64_t offset, uint64_t length)
{
    if (offset > image->length || length > image->length - offset)
        return NULL;
    return image->bytes + offset;
}

static bool image_open(const char *path, struct image *image)
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

/* The function of one symbol table that has the address, with its name from the table's strings. */
static bool image_find_in(const struct image *image, const ElfW(Shdr) * table,
                          const ElfW(Shdr) * strings, ElfW(Addr) address, char *name, size_t room)
{
    const ElfW(Sym) *symbol = image_at(image, table->sh_offset, table->sh_size);
    const char *names = image_at(image, strings->sh_offset, strings->sh_size);

    if (!symbol || !names || !strings->sh_size || names[strings->sh_size - 1])
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof *symbol; i++) {
        if (ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC || address < symbol[i].st_value ||
            address - symbol[i].st_value >= symbol[i].st_size ||
            symbol[i].st_name >= strings->sh_size)
            continue;
        snprintf(name, room, "%s", names + symbol[i].st_name);
        return true;
    }
    return false;
}

static bool image_find(const struct image *image, ElfW(Addr) address, char *name, size_t room)
{
    const ElfW(Ehdr) *head = image_at(image, 0, sizeof *head);

    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    const ElfW(Shdr) *section = image_at(image, head->e_shoff,
                                         (uint64_t)head->e_shnum * sizeof *section);
    for (unsigned i = 0; section && i < head->e_shnum; i++)
        if (section[i].sh_type == SHT_SYMTAB && section[i].sh_link < head->e_shnum)
            return image_find_in(image, &section[i], &section[section[i].sh_link], address, name,
                                 room);
    return false;
}

bool sy_symbol_text(const void *address, bool returns, char *text, size_t room)
{
    const char *at = (const char *)address - returns;
    struct link_map *map = NULL;
    struct image image;
    char name[200] = "";
    Dl_info info;

    if (!dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname || !map)
        return false;
    ElfW(Addr) offset = (ElfW(Addr))at - map->l_addr;
    if (image_open(*map->l_name ? info.dli_fname : "/proc/self/exe", &image)) {
        image_find(&image, offset, name, sizeof name);
        munmap((void *)image.bytes, image.length);
    }
    if (!*name && info.dli_sname)
        snprintf(name, sizeof name, "%s", info.dli_sname);
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(text, room, "%s%s(%s+%#lx)", name, *name ? " " : "",
             slash ? slash + 1 : info.dli_fname, (unsigned long)offset);
    return true;
}
