/* test: np=1,2,3,4,5,8 cfg=RMA=auto|emulated timeout=60 */
/*
 * Fences in a row, with transfers by all, some or none, over windows of all kinds: what the
 * last epoch put is there, nothing of the next one is. Processes come late in turn.
 */
#include "mp_test.h"

#define ROUNDS 60

static void late(int turn)
{
    double until = MPI_Wtime() + 0.0005;

    while (turn % mp_size == mp_rank && MPI_Wtime() < until)
        ;
}

/* Each puts to the next and gets from the one before; in some epochs only one process does. */
static void rounds(MPI_Win win, long *mem, int is_combined)
{
    int next = (mp_rank + 1) % mp_size, before = (mp_rank + mp_size - 1) % mp_size;

    for (int i = 0; i < 4; i++)
        mem[i] = -1;
    MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int i = 1; i <= ROUNDS; i++) {
        int is_mine = i % 3 != 0 || mp_rank == i % mp_size;
        int is_next = i % 3 != 0 || before == i % mp_size;
        long v = 1000 * mp_rank + i, got = -7;

        late(i);
        if (is_mine && is_combined)
            MUST(MPI_Accumulate(&v, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_REPLACE, win));
        else if (is_mine)
            MUST(MPI_Put(&v, 1, MPI_LONG, next, 0, 1, MPI_LONG, win));
        late(i + 1);
        MUST(MPI_Win_fence(0, win));
        if (is_next)
            CHECK_EQ(mem[0], 1000 * before + i);
        mem[1] = 2000 * mp_rank + i;
        MUST(MPI_Win_fence(MPI_MODE_NOPUT, win));
        MUST(MPI_Get(&got, 1, MPI_LONG, before, 1, 1, MPI_LONG, win));
        MUST(MPI_Win_fence(0, win));
        CHECK_EQ(got, 2000 * before + i);
    }
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

int main(int argc, char **argv)
{
    long mem[4], *allocated, *shared;
    MPI_Win a, b, c;
    MPI_Comm node;
    int n_node;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &a));
    MUST(MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated,
                          &b));
    rounds(a, mem, 0);
    rounds(b, allocated, 0);
    rounds(a, mem, 1);
    rounds(b, allocated, 1);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm_size(node, &n_node);
    if (n_node == mp_size) {
        MUST(MPI_Win_allocate_shared(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, node, &shared,
                                     &c));
        rounds(c, shared, 0);
        rounds(c, shared, 1);
        MUST(MPI_Win_free(&c));
    }
    MPI_Comm_free(&node);
    MUST(MPI_Win_free(&a));
    MUST(MPI_Win_free(&b));
    return mp_finish();
}
