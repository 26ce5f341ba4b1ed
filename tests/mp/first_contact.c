/* test: np=20 prov=datum-shm cfg=CONNECT=demand timeout=60 */
/*
 * First messages of everybody to everybody inside a host: neither descriptors nor mappings of memory files
 * grow with the peers, where the ranks have an arena, whoever started them; and nobody becomes connected
 * for it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../self.h"
#include "counter.h"
#include "mp_test.h"

enum { N = 20, GUARDED = 8 };

static void exchange(void)
{
    MPI_Request request[2 * N];
    int in[N];

    for (int i = 0; i < mp_size; i++) {
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &request[i]);
    }
    for (int i = 0; i < mp_size; i++)
        MPI_Isend(&mp_rank, 1, MPI_INT, (mp_rank + i) % mp_size, 1, MPI_COMM_WORLD,
                  &request[mp_size + i]);
    MPI_Waitall(2 * mp_size, request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < mp_size; i++)
        CHECK_EQ(in[i], i);
}

int main(int argc, char **argv)
{
    const char *arena;
    int n_before, level;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    mp_start(&argc, &argv);
    arena = getenv("DATUM_ARENA");
    n_before = self_count_files();
    exchange();
    MPI_Barrier(MPI_COMM_WORLD);
    if (arena != NULL && strcmp(arena, "no") != 0) {
        CHECK_EQ(counter("peers connected"), 0);
        CHECK(self_count_files() - n_before <= GUARDED); /* it watches so many processes */
        CHECK_EQ(self_count_maps("memfd:datum-shm"), 0); /* segments */
        CHECK_EQ(self_count_maps("memfd:datum-ring"), 0);
        CHECK(self_count_maps("memfd:datum-arena") > 0);
    }
    MUST(MPI_T_finalize());
    return mp_finish();
}
