/*
 * What libraries an ELF program needs: its dynamic section, and the strings that this points into.
 */
#include "tools/mpiexec/foreign.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A mapped file. */
struct image {
    const char *at;
    size_t len;
};

static const void *image_part(const struct image *image, uint64_t at, uint64_t len)
{
    return at <= image->len && len <= image->len - at ? image->at + at : NULL;
}

/* Where in the file an address of the program is; 0: nowhere. */
static uint64_t file_offset(const struct image *image, const ElfW(Ehdr) * head, uint64_t addr)
{
    for (int i = 0; i < head->e_phnum; i++) {
        const ElfW(Phdr) *part =
            image_part(image, head->e_phoff + (uint64_t)i * sizeof(*part), sizeof(*part));

        if (part != NULL && part->p_type == PT_LOAD && addr >= part->p_vaddr &&
            addr - part->p_vaddr < part->p_filesz)
            return addr - part->p_vaddr + part->p_offset;
    }
    return 0;
}

static const ElfW(Dyn) *
    find_dynamic(const struct image *image, const ElfW(Ehdr) * head, size_t *n_p)
{
    for (int i = 0; i < head->e_phnum; i++) {
        const ElfW(Phdr) *part =
            image_part(image, head->e_phoff + (uint64_t)i * sizeof(*part), sizeof(*part));

        if (part == NULL || part->p_type != PT_DYNAMIC)
            continue;
        *n_p = part->p_filesz / sizeof(ElfW(Dyn));
        return image_part(image, part->p_offset, part->p_filesz);
    }
    return NULL;
}

/* Of another ABI than MPICH's, which is ours? */
static bool is_foreign_library(const char *name)
{
    return strncmp(name, "libmpi", 6) == 0 && strncmp(name, "libmpi.so.12", 12) != 0 &&
           strncmp(name, "libmpich", 8) != 0 && strncmp(name, "libmpifort", 10) != 0;
}

static bool scan_image(const struct image *image, char *name, size_t len)
{
    const ElfW(Ehdr) *head = image_part(image, 0, sizeof(*head));
    const ElfW(Dyn) * dyn;
    uint64_t strings = 0;
    size_t n = 0;

    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_phentsize != sizeof(ElfW(Phdr)))
        return false;
    dyn = find_dynamic(image, head, &n);
    for (size_t i = 0; dyn != NULL && i < n; i++)
        if (dyn[i].d_tag == DT_STRTAB)
            strings = file_offset(image, head, dyn[i].d_un.d_ptr);
    for (size_t i = 0; strings != 0 && i < n; i++) {
        uint64_t at = strings + dyn[i].d_un.d_val;

        if (dyn[i].d_tag != DT_NEEDED || at >= image->len ||
            memchr(image->at + at, '\0', image->len - at) == NULL)
            continue;
        if (is_foreign_library(image->at + at)) {
            snprintf(name, len, "%s", image->at + at);
            return true;
        }
    }
    return false;
}

bool dm_launch_foreign_library(const char *program, char *name, size_t len)
{
    struct image image = {0};
    struct stat st;
    bool is_foreign = false;
    int fd = strchr(program, '/') != NULL ? open(program, O_RDONLY | O_CLOEXEC) : -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        image.len = (size_t)st.st_size;
        image.at = mmap(NULL, image.len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image.at != MAP_FAILED) {
            is_foreign = scan_image(&image, name, len);
            munmap((void *)image.at, image.len);
        }
    }
    if (fd >= 0)
        close(fd);
    return is_foreign;
}
