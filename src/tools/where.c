/*
 * Finding the files, and printing what they say. A process that ends meanwhile has left its file mapped here.
 */
#include "tools/where.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/out.h"
#include "util/clock.h"

#define STACK_WAIT_NS UINT64_C(1000000000)
#define STACK_LOOK_US 2000

/* ---- finding ---- */

/* The file behind a descriptor of a process; NULL: it is none of these. */
static struct dm_where *where_map(const char *path, int pid)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct dm_where *file = MAP_FAILED;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*file))
        file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return NULL;
    /* A child has its parent's. */
    if (file->magic == DM_WHERE_MAGIC && file->version == DM_WHERE_VERSION && file->pid == pid)
        return file;
    munmap(file, sizeof(*file));
    return NULL;
}

static struct dm_where *where_of(int pid)
{
    const struct dirent *entry;
    struct dm_where *file = NULL;
    char path[320];
    char target[256];
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (dir == NULL)
        return NULL;
    while (file == NULL && (entry = readdir(dir)) != NULL) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strstr(target, DM_WHERE_FILE) != NULL)
            file = where_map(path, pid);
    }
    closedir(dir);
    return file;
}

static int where_compare(const void *a, const void *b)
{
    const struct dm_where *x = ((const struct dm_where_rank *)a)->file;
    const struct dm_where *y = ((const struct dm_where_rank *)b)->file;
    int order = strncmp(x->job, y->job, sizeof(x->job));

    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The beginning of a file of a process; "" when it cannot be read. */
static void where_read_proc(int pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    f = fopen(path, "re");
    if (f != NULL) {
        n = fread(text, 1, size - 1, f);
        fclose(f);
    }
    text[n] = '\0';
}

/* Would a signal with a handler end the sleep? Those that the kernel begins again are left out; unknown ones are not. */
static bool where_can_be_cut_short(int pid)
{
    static const long calls[] = {SYS_futex,   SYS_read,     SYS_write,    SYS_wait4,  SYS_waitid,
                                 SYS_accept,  SYS_recvfrom, SYS_recvmsg,  SYS_sendto, SYS_sendmsg,
                                 SYS_connect, SYS_pread64,  SYS_pwrite64, SYS_fsync,  SYS_flock};
    char text[256];
    char *end;
    long call;

    where_read_proc(pid, "syscall", text, sizeof(text));
    call = strtol(text, &end, 10);
    if (end == text)
        return true;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (call == calls[i])
            return false;
    return true;
}

/* Stopped by a signal or a debugger, asleep, running. */
static enum dm_where_state where_state(const struct dm_where_rank *rank)
{
    bool is_waiting =
        rank->wait.since_ns != 0 && rank->seen_ns - rank->wait.seen_ns < DM_WHERE_STALE_NS;
    char text[512];
    const char *at;

    where_read_proc(rank->file->pid, "stat", text, sizeof(text));
    at = strrchr(text, ')');
    if (at != NULL && at[1] == ' ' && (at[2] == 'T' || at[2] == 't'))
        return DM_WHERE_STOPPED;
    if (is_waiting)
        return DM_WHERE_WAITS;
    return at != NULL && at[1] == ' ' && at[2] == 'S' && where_can_be_cut_short(rank->file->pid)
               ? DM_WHERE_SLEEPS
               : DM_WHERE_RUNS;
}

static bool where_add(struct dm_where_list *list, struct dm_where *file)
{
    struct dm_where_rank *more = realloc(list->ranks, ((size_t)list->n + 1) * sizeof(*more));
    struct dm_where_rank *rank;

    if (more == NULL)
        return false;
    list->ranks = more;
    rank = &more[list->n++];
    *rank =
        (struct dm_where_rank){.file = file, .wait = dm_where_read(file), .seen_ns = dm_clock_ns()};
    rank->state = where_state(rank);
    return true;
}

bool dm_where_find(struct dm_where_list *list)
{
    const struct dirent *entry;
    bool is_good = true;
    DIR *dir = opendir("/proc");

    *list = (struct dm_where_list){NULL, 0};
    if (dir == NULL)
        return false;
    while (is_good && (entry = readdir(dir)) != NULL) {
        int pid = (int)strtol(entry->d_name, NULL, 10);
        struct dm_where *file = pid > 0 ? where_of(pid) : NULL;

        if (file != NULL)
            is_good = where_add(list, file);
    }
    closedir(dir);
    if (list->n > 1)
        qsort(list->ranks, (size_t)list->n, sizeof(*list->ranks), where_compare);
    return is_good;
}

void dm_where_free(struct dm_where_list *list)
{
    for (int i = 0; i < list->n; i++)
        munmap(list->ranks[i].file, sizeof(*list->ranks[i].file));
    free(list->ranks);
    *list = (struct dm_where_list){NULL, 0};
}

static bool where_is_of(const struct dm_where *file, const char *job)
{
    return job == NULL || strncmp(file->job, job, sizeof(file->job)) == 0;
}

/* One that is stopped, or has no handler, does not answer. */
void dm_where_get_stacks(const struct dm_where_list *list, const char *job, bool is_last)
{
    uint64_t until = dm_clock_ns() + STACK_WAIT_NS;

    for (int i = 0; i < list->n; i++) {
        struct dm_where_rank *rank = &list->ranks[i];

        if (!where_is_of(rank->file, job) || (rank->state == DM_WHERE_SLEEPS && !is_last))
            continue;
        rank->is_asked = true;
        rank->file->stack[0] = '\0';
        atomic_store(&rank->file->n_stacks, 0);
        dm_where_ask(rank->file);
    }
    for (int i = 0; i < list->n; i++)
        while (list->ranks[i].is_asked && atomic_load(&list->ranks[i].file->n_stacks) == 0 &&
               dm_clock_ns() < until)
            usleep(STACK_LOOK_US);
}

/* ---- printing ---- */

static const char *const state_names[] = {"waits", "stopped", "sleeps", "runs"};

static void where_print_wait(FILE *out, const struct dm_where_rank *rank)
{
    const struct dm_where_wait *wait = &rank->wait;

    fprintf(out, "is in %s for %.1f s", wait->call[0] != '\0' ? wait->call : "a call",
            (double)(rank->seen_ns - wait->since_ns) * 1e-9);
    if (wait->text[0] != '\0')
        fprintf(out, ": waits for %s", wait->text);
    fprintf(out, "; receives posted: %llu, messages unexpected: %llu (%llu bytes)%s%s\n",
            (unsigned long long)wait->n_posted, (unsigned long long)wait->n_unexpected,
            (unsigned long long)wait->unexpected_bytes, wait->unexpected[0] != '\0' ? ": " : "",
            wait->unexpected);
}

static void where_print_stack(FILE *out, const struct dm_where_rank *rank)
{
    const struct dm_where *file = rank->file;

    if (!rank->is_asked)
        fputs("    (no stack: asking for it would end its sleep)\n", out);
    else
        fprintf(out, "%.*s", (int)sizeof(file->stack),
                file->stack[0] != '\0' ? file->stack : "    (no stack: it does not answer)\n");
}

int dm_where_print(FILE *out, const struct dm_where_list *list, const char *job, bool has_stacks)
{
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        const struct dm_where_rank *rank = &list->ranks[i];
        const struct dm_where *file = rank->file;

        if (!where_is_of(file, job))
            continue;
        n++;
        fprintf(out, "rank %d of %d on %.*s (process %d) ", file->rank, file->size,
                (int)sizeof(file->host), file->host, file->pid);
        switch (rank->state) {
        case DM_WHERE_WAITS:
            where_print_wait(out, rank);
            break;
        case DM_WHERE_STOPPED:
            fprintf(out, "is stopped\n");
            break;
        default:
            fprintf(out, "%s\n", state_names[rank->state]);
        }
        if (has_stacks)
            where_print_stack(out, rank);
    }
    return n;
}

static void json_rank(FILE *out, const struct dm_where_rank *rank, bool has_stacks)
{
    const struct dm_where_wait *wait = &rank->wait;

    fprintf(out, "{\"rank\": %d, \"process\": %d, \"state\": \"%s\"", rank->file->rank,
            rank->file->pid, state_names[rank->state]);
    if (rank->state == DM_WHERE_WAITS) {
        fprintf(out, ", \"call\": ");
        dm_out_json(out, wait->call, sizeof(wait->call));
        fprintf(out,
                ", \"seconds\": %.3f, \"for\": ", (double)(rank->seen_ns - wait->since_ns) * 1e-9);
        dm_out_json(out, wait->text, sizeof(wait->text));
        fprintf(out, ", \"posted\": %llu, \"unexpected\": %llu, \"unexpected_bytes\": %llu",
                (unsigned long long)wait->n_posted, (unsigned long long)wait->n_unexpected,
                (unsigned long long)wait->unexpected_bytes);
        fprintf(out, ", \"unexpected_from\": ");
        dm_out_json(out, wait->unexpected, sizeof(wait->unexpected));
    }
    if (has_stacks) {
        fprintf(out, ", \"stack\": ");
        dm_out_json(out, rank->is_asked ? rank->file->stack : "",
                    rank->is_asked ? sizeof(rank->file->stack) : 1);
    }
    fputc('}', out);
}

void dm_where_print_json(FILE *out, const struct dm_where_list *list, const char *job,
                         bool has_stacks)
{
    const char *separator = "";
    bool is_begun = false;

    for (int i = 0; i < list->n; i++) {
        const struct dm_where *file = list->ranks[i].file;

        if (!where_is_of(file, job))
            continue;
        if (!is_begun) {
            fprintf(out, "{\"format\": 1, \"job\": ");
            dm_out_json(out, file->job, sizeof(file->job));
            fprintf(out, ", \"host\": ");
            dm_out_json(out, file->host, sizeof(file->host));
            fprintf(out, ", \"size\": %d, \"ranks\": [", file->size);
        }
        is_begun = true;
        fputs(separator, out);
        json_rank(out, &list->ranks[i], has_stacks);
        separator = ", ";
    }
    if (is_begun)
        fputs("]}\n", out);
}
