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
    static const char name[] = "/memfd:" DM_WHERE_FILE;
    const struct dirent *entry;
    struct dm_where *file = NULL;
    char path[320];
    char target[64];
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    dir = opendir(path);
    if (dir == NULL)
        return NULL;
    while (file == NULL && (entry = readdir(dir)) != NULL) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        if (n >= (ssize_t)sizeof(name) - 1 && memcmp(target, name, sizeof(name) - 1) == 0)
            file = where_map(path, pid);
    }
    closedir(dir);
    return file;
}

static int where_compare(const void *a, const void *b)
{
    const struct dm_where *x = *(struct dm_where *const *)a, *y = *(struct dm_where *const *)b;
    int order = strncmp(x->job, y->job, sizeof(x->job));

    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
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
        struct dm_where **more;

        if (file == NULL)
            continue;
        more = realloc(list->files, ((size_t)list->n + 1) * sizeof(*more));
        is_good = more != NULL;
        if (!is_good)
            break;
        list->files = more;
        list->files[list->n++] = file;
    }
    closedir(dir);
    if (list->n > 1)
        qsort(list->files, (size_t)list->n, sizeof(*list->files), where_compare);
    return is_good;
}

void dm_where_free(struct dm_where_list *list)
{
    for (int i = 0; i < list->n; i++)
        munmap(list->files[i], sizeof(*list->files[i]));
    free(list->files);
    *list = (struct dm_where_list){NULL, 0};
}

static bool where_is_of(const struct dm_where *file, const char *job)
{
    return job == NULL || strncmp(file->job, job, sizeof(file->job)) == 0;
}

/* One that is stopped, or has no handler, does not answer. */
void dm_where_get_stacks(const struct dm_where_list *list, const char *job)
{
    uint64_t until = dm_clock_ns() + STACK_WAIT_NS;

    for (int i = 0; i < list->n; i++) {
        if (!where_is_of(list->files[i], job))
            continue;
        list->files[i]->stack[0] = '\0';
        atomic_store(&list->files[i]->n_stacks, 0);
        dm_where_ask(list->files[i]);
    }
    for (int i = 0; i < list->n; i++)
        while (where_is_of(list->files[i], job) && atomic_load(&list->files[i]->n_stacks) == 0 &&
               dm_clock_ns() < until)
            usleep(STACK_LOOK_US);
}

/* ---- printing ---- */

/* Stopped by a signal or a debugger? */
static bool where_is_stopped(int pid)
{
    char path[64];
    char text[512] = "";
    const char *at;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    at = strrchr(text, ')');
    return at != NULL && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

enum where_state { STATE_WAITS, STATE_STOPPED, STATE_RUNS };
static const char *const state_names[] = {"waits", "stopped", "runs"};

static enum where_state where_state(const struct dm_where *file, const struct dm_where_wait *wait)
{
    if (where_is_stopped(file->pid))
        return STATE_STOPPED;
    return wait->since_ns != 0 && dm_clock_ns() - wait->seen_ns < DM_WHERE_STALE_NS ? STATE_WAITS
                                                                                    : STATE_RUNS;
}

static void where_print_wait(FILE *out, const struct dm_where_wait *wait)
{
    fprintf(out, "is in %s for %.1f s", wait->call[0] != '\0' ? wait->call : "a call",
            (double)(dm_clock_ns() - wait->since_ns) * 1e-9);
    if (wait->text[0] != '\0')
        fprintf(out, ": waits for %s", wait->text);
    fprintf(out, "; receives posted: %llu, messages unexpected: %llu (%llu bytes)%s%s\n",
            (unsigned long long)wait->n_posted, (unsigned long long)wait->n_unexpected,
            (unsigned long long)wait->unexpected_bytes, wait->unexpected[0] != '\0' ? ": " : "",
            wait->unexpected);
}

int dm_where_print(FILE *out, const struct dm_where_list *list, const char *job, bool has_stacks)
{
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        struct dm_where *file = list->files[i];
        struct dm_where_wait wait = dm_where_read(file);

        if (!where_is_of(file, job))
            continue;
        n++;
        fprintf(out, "rank %d of %d on %.*s (process %d) ", file->rank, file->size,
                (int)sizeof(file->host), file->host, file->pid);
        switch (where_state(file, &wait)) {
        case STATE_WAITS:
            where_print_wait(out, &wait);
            break;
        case STATE_STOPPED:
            fprintf(out, "is stopped\n");
            break;
        default:
            fprintf(out, "runs\n");
        }
        if (has_stacks)
            fprintf(out, "%.*s", (int)sizeof(file->stack),
                    file->stack[0] != '\0' ? file->stack : "    (no stack: it does not answer)\n");
    }
    return n;
}

static void json_rank(FILE *out, struct dm_where *file, bool has_stacks)
{
    struct dm_where_wait wait = dm_where_read(file);
    enum where_state state = where_state(file, &wait);

    fprintf(out, "{\"rank\": %d, \"process\": %d, \"state\": \"%s\"", file->rank, file->pid,
            state_names[state]);
    if (state == STATE_WAITS) {
        fprintf(out, ", \"call\": ");
        dm_out_json(out, wait.call, sizeof(wait.call));
        fprintf(out,
                ", \"seconds\": %.3f, \"for\": ", (double)(dm_clock_ns() - wait.since_ns) * 1e-9);
        dm_out_json(out, wait.text, sizeof(wait.text));
        fprintf(out, ", \"posted\": %llu, \"unexpected\": %llu, \"unexpected_bytes\": %llu",
                (unsigned long long)wait.n_posted, (unsigned long long)wait.n_unexpected,
                (unsigned long long)wait.unexpected_bytes);
        fprintf(out, ", \"unexpected_from\": ");
        dm_out_json(out, wait.unexpected, sizeof(wait.unexpected));
    }
    if (has_stacks) {
        fprintf(out, ", \"stack\": ");
        dm_out_json(out, file->stack, sizeof(file->stack));
    }
    fputc('}', out);
}

void dm_where_print_json(FILE *out, const struct dm_where_list *list, const char *job,
                         bool has_stacks)
{
    const char *separator = "";
    bool is_begun = false;

    for (int i = 0; i < list->n; i++) {
        struct dm_where *file = list->files[i];

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
        json_rank(out, file, has_stacks);
        separator = ", ";
    }
    if (is_begun)
        fputs("]}\n", out);
}
