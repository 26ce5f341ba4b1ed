/* test: np=20 prov=datum-shm timeout=60 */
/*
 * All processes of a host talk with each other: it costs them a few descriptors altogether, not one or
 * more for each.
 */
#include <time.h>

#include "../self.h"
#include "mp_test.h"

enum { FEW = 12 };

static void talk(void)
{
    for (int d = 1; d < mp_size; d++) {
        int to = (mp_rank + d) % mp_size;
        int from = (mp_rank + mp_size - d) % mp_size;
        int in = -1;

        MUST(MPI_Sendrecv(&mp_rank, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        CHECK_EQ(in, from);
    }
}

int main(int argc, char **argv)
{
    int before;
    int n = 0;

    mp_start(&argc, &argv);
    before = self_count_files();
    talk();
    /* Sockets of handshakes are closed by another thread. */
    for (int i = 0; (n = self_count_files() - before) > FEW && i < 10000; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (n > FEW)
        fprintf(stderr, "%d more descriptors for %d peers\n", n, mp_size - 1);
    CHECK(n <= FEW);
    MPI_Barrier(MPI_COMM_WORLD);
    return mp_finish();
}
