/* test: np=8 prov=datum-shm cfg=CONNECT=demand */
/*
 * What a process costs inside a host: one thread beside its own, which answers connection requests
 * while the program computes, too; and a descriptor for each peer, beside those of a few files with rings.
 */
#include <pthread.h>

#include "../self.h"
#include "mp_test.h"

enum { FILES = 6 };

static void *end_at_once(void *arg)
{
    return arg;
}

/* Threads before MPI. A sanitizer may have one of its own, at the latest when the first other one begins. */
static int count_tasks(void)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return self_count_entries("/proc/self/task");
}

int main(int argc, char **argv)
{
    int n_tasks = count_tasks();
    int n_fds;
    int mine;
    int theirs = -1;

    mp_start(&argc, &argv);
    n_fds = self_count_files();
    for (int d = 1; d < mp_size; d++) {
        mine = mp_rank;
        MUST(MPI_Sendrecv(&mine, 1, MPI_INT, (mp_rank + d) % mp_size, 0, &theirs, 1, MPI_INT,
                          (mp_rank + mp_size - d) % mp_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(theirs, (mp_rank + mp_size - d) % mp_size);
    }
    CHECK(self_count_files() <= n_fds + mp_size - 1 + FILES);
    CHECK(self_count_entries("/proc/self/task") <= n_tasks + 1);
    return mp_finish();
}
