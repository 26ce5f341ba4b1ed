/* test: np=2,3,5 timeout=60 cfg=COLL_SHM=auto|yes */
/*
 * The last rank is a process whose memory others may not read (PR_SET_DUMPABLE), which says nothing about
 * the first one's: long blocks between all of them take another way. The user who may read everything gives
 * that right up first.
 */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <unistd.h>

#include "coll_test.h"

#define LEN    40000 /* ints: more than a slot */
#define NOBODY 65534

static int n, rank;

static void hide(void)
{
    const char *no = getenv("PMI_RANK"), *of = getenv("PMI_SIZE");

    if (no == NULL || of == NULL) {
        fprintf(stderr, "PMI_RANK and PMI_SIZE are not set\n");
        exit(2);
    }
    if (geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)) {
        perror("setresuid");
        exit(2);
    }
    prctl(PR_SET_DUMPABLE, atoi(no) + 1 < atoi(of));
}

static void rooted(int *one, int *many, int root)
{
    const struct layout *l = &layouts[0];

    put_block(one, l, 0, LEN, rank, 1);
    MUST(MPI_Gather(one, LEN, MPI_INT, many, LEN, MPI_INT, root, MPI_COMM_WORLD));
    for (int i = 0; i < n && rank == root; i++)
        check_block(many, l, (size_t)i * LEN, LEN, i, 1);
    for (int i = 0; i < n && rank == root; i++)
        put_block(many, l, (size_t)i * LEN, LEN, root, i);
    MUST(MPI_Scatter(many, LEN, MPI_INT, one, LEN, MPI_INT, root, MPI_COMM_WORLD));
    check_block(one, l, 0, LEN, root, rank);
    if (rank == root)
        put_block(one, l, 0, LEN, root, 5);
    MUST(MPI_Bcast(one, LEN, MPI_INT, root, MPI_COMM_WORLD));
    check_block(one, l, 0, LEN, root, 5);
}

static void all_to_all(int *give, int *take)
{
    const struct layout *l = &layouts[0];

    for (int i = 0; i < n; i++)
        put_block(give, l, (size_t)i * LEN, LEN, rank, i);
    MUST(MPI_Alltoall(give, LEN, MPI_INT, take, LEN, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        check_block(take, l, (size_t)i * LEN, LEN, i, rank);
    MUST(MPI_Allgather(give, LEN, MPI_INT, take, LEN, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        check_block(take, l, (size_t)i * LEN, LEN, i, 0);
    for (int k = 0; k < LEN; k++)
        give[k] = rank + k;
    MUST(MPI_Exscan(give, take, LEN, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int k = 0; k < LEN && rank > 0; k++)
        CHECK_EQ(take[k], rank * k + rank * (rank - 1) / 2);
}

int main(int argc, char **argv)
{
    int *give, *take;

    hide();
    mp_start(&argc, &argv);
    n = mp_size;
    rank = mp_rank;
    make_layouts();
    give = new_buf((size_t)n * LEN);
    take = new_buf((size_t)n * LEN);
    for (int i = 0; i < 2 * n; i++) {
        rooted(give, take, i % n);
        all_to_all(give, take);
    }
    free(give);
    free(take);
    free_layouts();
    return mp_finish();
}
