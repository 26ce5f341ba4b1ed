/* test: np=1 timeout=1200 tier=full */
/*
 * A process is spawned, talks and parts, 1,000 times, or as often as the argument says: descriptors,
 * mappings, processes and memory do not grow.
 */
#include <unistd.h>

#include "../self.h"
#include "mp_test.h"

enum { MEMORY_MAX = 1024 }; /* KiB that caches may still grow after the first rounds */

struct usage {
    int n_files;
    int n_maps;
    int n_children;
    long memory; /* KiB */
};

static struct usage usage_now(void)
{
    struct usage now = {.n_files = self_count_files(), .n_maps = self_count_maps("")};
    FILE *f = fopen("/proc/self/statm", "r");
    char path[64];
    long total, resident = 0;

    CHECK(f != NULL && fscanf(f, "%ld %ld", &total, &resident) == 2);
    if (f != NULL)
        fclose(f);
    now.memory = resident * (sysconf(_SC_PAGESIZE) / 1024);
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "r");
    while (f != NULL && fscanf(f, "%ld", &total) == 1)
        now.n_children++;
    if (f != NULL)
        fclose(f);
    return now;
}

/* The end of the last connection may still be under way. */
static struct usage usage_after(const struct usage *first)
{
    struct usage now = usage_now();
    int flag;

    for (int i = 0; i < 1000; i++) {
        if (now.n_files <= first->n_files && now.n_maps <= first->n_maps && now.n_children == 0)
            break;
        MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        usleep(10000);
        now = usage_now();
    }
    return now;
}

static void many_talk(MPI_Comm inter)
{
    static int out[20000], in[20000];

    MUST(MPI_Sendrecv(out, 20000, MPI_INT, 0, 1, in, 20000, MPI_INT, 0, 1, inter,
                      MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(inter));
}

int main(int argc, char **argv)
{
    struct usage first = {0}, last;
    MPI_Comm inter;
    char *self;
    int n;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_get_parent(&inter));
    if (inter != MPI_COMM_NULL) {
        many_talk(inter);
        MUST(MPI_Comm_disconnect(&inter));
        return mp_finish();
    }
    n = argc > 1 ? atoi(argv[1]) : 1000;
    self = realpath(argv[0], NULL);
    for (int i = 0; i < n; i++) {
        MUST(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                            MPI_ERRCODES_IGNORE));
        many_talk(inter);
        MUST(MPI_Comm_disconnect(&inter));
        if (i == n / 10)
            first = usage_now();
    }
    last = usage_after(&first);
    free(self);
    CHECK(last.n_files <= first.n_files);
    CHECK(last.n_maps <= first.n_maps);
    CHECK_EQ(last.n_children, 0);
    CHECK(last.memory <= first.memory + MEMORY_MAX);
    return mp_finish();
}
