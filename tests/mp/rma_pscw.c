/* test: np=2,3,4 cfg=RMA=auto|emulated timeout=60 */
/*
 * Start, complete, post, wait, test: rings, all to one, one to all, epochs that
 * overlap in time, many rounds.
 */
#include "mp_test.h"

#define ROUNDS 300

static MPI_Group group_of(const int *ranks, int n)
{
    MPI_Group world, g;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &g);
    MPI_Group_free(&world);
    return g;
}

/* Each rank is the target of its left neighbour and the origin towards its right one. */
static void ring(MPI_Win win, int *mem)
{
    int left = (mp_rank + mp_size - 1) % mp_size, right = (mp_rank + 1) % mp_size;
    MPI_Group from = group_of(&left, 1), to = group_of(&right, 1);

    for (int i = 0; i < ROUNDS; i++) {
        int v[2] = {mp_rank * ROUNDS + i, -i}, one = 1;

        mem[2] = i;
        MUST(MPI_Win_post(from, 0, win));
        MUST(MPI_Win_start(to, 0, win));
        MUST(MPI_Put(v, 2, MPI_INT, right, 0, 2, MPI_INT, win));
        MUST(MPI_Accumulate(&one, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_SUM, win));
        MUST(MPI_Win_complete(win));
        if (i % 2) {
            MUST(MPI_Win_wait(win));
        } else {
            int flag = 0;

            while (!flag)
                MUST(MPI_Win_test(win, &flag));
        }
        CHECK_EQ(mem[0], left * ROUNDS + i);
        CHECK_EQ(mem[1], -i);
        CHECK_EQ(mem[2], i + 1);
    }
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

/* All others read from rank 0, then write their slot at rank 0. */
static void star(MPI_Win win, int *mem)
{
    int others[64], zero = 0;
    MPI_Group leaves, root;

    for (int i = 1; i < mp_size; i++)
        others[i - 1] = i;
    leaves = group_of(others, mp_size - 1);
    root = group_of(&zero, 1);
    for (int i = 0; i < ROUNDS; i++) {
        if (mp_rank == 0) {
            mem[0] = i;
            MUST(MPI_Win_post(leaves, 0, win));
            MUST(MPI_Win_wait(win));
            for (int r = 1; r < mp_size; r++)
                CHECK_EQ(mem[r], r + i);
        } else {
            int got = -1, v = mp_rank + i;

            MUST(MPI_Win_start(root, 0, win));
            MUST(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
            MUST(MPI_Put(&v, 1, MPI_INT, 0, mp_rank, 1, MPI_INT, win));
            MUST(MPI_Win_complete(win));
            CHECK_EQ(got, i);
        }
    }
    MPI_Group_free(&leaves);
    MPI_Group_free(&root);
}

int main(int argc, char **argv)
{
    int mem[64], *shared;
    MPI_Win created, allocated;
    MPI_Group empty = MPI_GROUP_EMPTY;

    mp_start(&argc, &argv);
    MUST(MPI_Win_create(mem, sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    MUST(MPI_Win_allocate(sizeof(mem), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                          &allocated));
    ring(created, mem);
    ring(allocated, shared);
    star(created, mem);
    star(allocated, shared);
    MUST(MPI_Win_post(empty, 0, created));
    MUST(MPI_Win_start(empty, 0, created));
    MUST(MPI_Win_complete(created));
    MUST(MPI_Win_wait(created));
    MUST(MPI_Win_free(&created));
    MUST(MPI_Win_free(&allocated));
    return mp_finish();
}
