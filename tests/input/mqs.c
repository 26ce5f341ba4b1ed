/*
 * Plays a debugger: loads the library that a process names, and prints its communicators and their
 * operations. It needs no debugging information: symbols are those of the dynamic table, as the dynamic
 * linker places them.
 *     mqs PID
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mqs/mqs.h"

struct mqs_image_ {
    char file[PATH_MAX];
    mqs_taddr_t base;
    mqs_image_info *info;
};
struct mqs_process_ {
    int pid;
    struct mqs_image_ *image;
    mqs_process_info *info;
};

static int die(const char *what)
{
    fprintf(stderr, "mqs: %s\n", what);
    exit(1);
}

/* ---- what the library calls ---- */

static void on_dprints(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static char *on_errorstring(int code)
{
    static char text[32];

    snprintf(text, sizeof(text), "error %d", code);
    return text;
}

static void on_put_image(mqs_image *image, mqs_image_info *info)
{
    image->info = info;
}

static mqs_image_info *on_get_image_info(mqs_image *image)
{
    return image->info;
}

static void on_put_process(mqs_process *process, mqs_process_info *info)
{
    process->info = info;
}

static mqs_process_info *on_get_process_info(mqs_process *process)
{
    return process->info;
}

static void on_type_sizes(mqs_process *process, mqs_target_type_sizes *sizes)
{
    (void)process;
    *sizes = (mqs_target_type_sizes){sizeof(short), sizeof(int), sizeof(long), sizeof(long long),
                                     sizeof(void *)};
}

/* Look through the dynamic symbols of the file. */
static int on_find_symbol(mqs_image *image, char *name, mqs_taddr_t *at)
{
    int fd = open(image->file, O_RDONLY), found = mqs_no_information;
    struct stat st;
    const char *map;
    const ElfW(Ehdr) * head;
    const ElfW(Shdr) * sections;

    if (fd < 0 || fstat(fd, &st) != 0)
        die("the library cannot be read");
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        die("the library cannot be mapped");
    head = (const void *)map;
    sections = (const void *)(map + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        const ElfW(Sym) *syms = (const void *)(map + sections[i].sh_offset);
        const char *names = map + sections[sections[i].sh_link].sh_offset;

        if (sections[i].sh_type != SHT_DYNSYM)
            continue;
        for (size_t k = 0; k < sections[i].sh_size / sizeof(*syms); k++)
            if (strcmp(names + syms[k].st_name, name) == 0 && syms[k].st_shndx != SHN_UNDEF) {
                *at = image->base + syms[k].st_value;
                found = mqs_ok;
            }
    }
    munmap((void *)(uintptr_t)map, (size_t)st.st_size);
    return found;
}

static mqs_image *on_get_image(mqs_process *process)
{
    return process->image;
}

static int on_fetch(mqs_process *process, mqs_taddr_t at, int len, void *to)
{
    struct iovec mine = {to, (size_t)len}, its = {(void *)at, (size_t)len};

    return process_vm_readv(process->pid, &mine, 1, &its, 1, 0) == len ? mqs_ok
                                                                       : mqs_no_information;
}

static void on_to_host(mqs_process *process, const void *from, void *to, int len)
{
    (void)process;
    memcpy(to, from, (size_t)len);
}

static const mqs_basic_callbacks basic = {malloc,         free,
                                          on_dprints,     on_errorstring,
                                          on_put_image,   on_get_image_info,
                                          on_put_process, on_get_process_info};
static const mqs_image_callbacks image_callbacks = {.mqs_get_type_sizes_fp = on_type_sizes,
                                                    .mqs_find_symbol_fp = on_find_symbol};
static const mqs_process_callbacks process_callbacks = {.mqs_get_image_fp = on_get_image,
                                                        .mqs_fetch_data_fp = on_fetch,
                                                        .mqs_target_to_host_fp = on_to_host};

/* ---- what it calls of the library ---- */

static struct {
    void (*setup_basic)(const mqs_basic_callbacks *);
    int (*compatibility)(void);
    int (*width)(void);
    int (*setup_image)(mqs_image *, const mqs_image_callbacks *);
    int (*image_has_queues)(mqs_image *, char **);
    int (*setup_process)(mqs_process *, const mqs_process_callbacks *);
    int (*process_has_queues)(mqs_process *, char **);
    int (*update_comms)(mqs_process *);
    int (*setup_comms)(mqs_process *);
    int (*get_comm)(mqs_process *, mqs_communicator *);
    int (*get_group)(mqs_process *, int *);
    int (*next_comm)(mqs_process *);
    int (*setup_ops)(mqs_process *, int);
    int (*next_op)(mqs_process *, mqs_pending_operation *);
    void (*destroy_image)(mqs_image_info *);
    void (*destroy_process)(mqs_process_info *);
} dll;

static void load(const char *name)
{
    static const char *const names[] = {"mqs_setup_basic_callbacks",
                                        "mqs_version_compatibility",
                                        "mqs_dll_taddr_width",
                                        "mqs_setup_image",
                                        "mqs_image_has_queues",
                                        "mqs_setup_process",
                                        "mqs_process_has_queues",
                                        "mqs_update_communicator_list",
                                        "mqs_setup_communicator_iterator",
                                        "mqs_get_communicator",
                                        "mqs_get_comm_group",
                                        "mqs_next_communicator",
                                        "mqs_setup_operation_iterator",
                                        "mqs_next_operation",
                                        "mqs_destroy_image_info",
                                        "mqs_destroy_process_info"};
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    void **fns = (void **)&dll;

    if (lib == NULL)
        die(dlerror());
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if ((fns[i] = dlsym(lib, names[i])) == NULL)
            die(dlerror());
}

/* Where the process has libmpi. */
static void find_image(int pid, struct mqs_image_ *image)
{
    char name[64], line[PATH_MAX + 100];
    FILE *maps;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    maps = fopen(name, "r");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        char *path = strchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        if (path == NULL || strstr(path, "/libmpi.so.12") == NULL)
            continue;
        image->base = strtoul(line, NULL, 16); /* the first part has the file's start */
        snprintf(image->file, sizeof(image->file), "%s", path);
        fclose(maps);
        return;
    }
    die("the process has no libmpi.so.12");
}

static void print_ops(mqs_process *process, int op_class)
{
    static const char *const names[] = {"send", "receive", "unexpected"};
    mqs_pending_operation op;

    if (dll.setup_ops(process, op_class) > mqs_end_of_list)
        die("operations cannot be read");
    while (dll.next_op(process, &op) == mqs_ok) {
        printf("  %s status %d", names[op_class], op.status);
        printf(" peer %ld %ld", op.desired_local_rank, op.desired_global_rank);
        if (op.tag_wild)
            printf(" any tag");
        else
            printf(" tag %ld", op.desired_tag);
        printf(" length %ld", op.desired_length);
        if (op.status != mqs_st_pending || op_class == mqs_pending_sends)
            printf(" actual %ld %ld tag %ld length %ld", op.actual_local_rank,
                   op.actual_global_rank, op.actual_tag, op.actual_length);
        printf("%s%s\n", op.system_buffer ? " buffered" : "", op.buffer != 0 ? "" : " nowhere");
    }
}

static void print_comms(mqs_process *process)
{
    mqs_communicator comm;

    if (dll.update_comms(process) != mqs_ok)
        die("communicators cannot be read");
    for (int more = dll.setup_comms(process); more == mqs_ok; more = dll.next_comm(process)) {
        int *ranks;

        if (dll.get_comm(process, &comm) != mqs_ok)
            die("a communicator cannot be read");
        ranks = calloc((size_t)comm.size, sizeof(*ranks));
        if (ranks == NULL || dll.get_group(process, ranks) != mqs_ok)
            die("a group cannot be read");
        printf("%s: rank %ld of %ld:", comm.name, comm.local_rank, comm.size);
        for (int i = 0; i < comm.size; i++)
            printf(" %d", ranks[i]);
        printf("\n");
        free(ranks);
        for (int op_class = mqs_pending_sends; op_class <= mqs_unexpected_messages; op_class++)
            print_ops(process, op_class);
    }
}

int main(int argc, char **argv)
{
    struct mqs_image_ image = {.base = 0};
    struct mqs_process_ process = {.image = &image};
    char symbol[] = "MPIR_dll_name", name[PATH_MAX], *message;
    mqs_taddr_t at;

    if (argc != 2)
        die("usage: mqs PID");
    process.pid = atoi(argv[1]);
    find_image(process.pid, &image);
    if (on_find_symbol(&image, symbol, &at) != mqs_ok ||
        on_fetch(&process, at, sizeof(name), name) != mqs_ok)
        die("the process does not name the library");
    load(name);
    if (dll.compatibility() != MQS_INTERFACE_COMPATIBILITY || dll.width() != sizeof(mqs_taddr_t))
        die("another version of the interface");
    dll.setup_basic(&basic);
    if (dll.setup_image(&image, &image_callbacks) != mqs_ok ||
        dll.image_has_queues(&image, &message) != mqs_ok)
        die("the image has no queues");
    if (dll.setup_process(&process, &process_callbacks) != mqs_ok ||
        dll.process_has_queues(&process, &message) != mqs_ok)
        die(message != NULL ? message : "the process has no queues");
    print_comms(&process);
    dll.destroy_process(process.info);
    dll.destroy_image(image.info);
    return 0;
}
