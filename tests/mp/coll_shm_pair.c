/* test: np=2,3 timeout=100 cfg=COLL_SHM=yes */
/*
 * Long blocks between two ranks, who divide the copy of one: every rooted collective and reduction, with both
 * roots, in place and not, from lengths of one piece to many. Each buffer is written over as soon as the
 * call has returned, while the other rank may be late: nobody may read it, or write it, any more.
 */
#include "mp_test.h"

#define LONGEST ((2 << 20) + 5)
#define TURNS   4

static const int lengths[] = {32767,  65535,  65536,   131071, 131072,
                              196613, 262143, 1 << 20, LONGEST};
static unsigned char *give, *take;
static int rank, n, turn;

static unsigned char byte(int of, int i)
{
    return (unsigned char)((unsigned int)i * 7 + (unsigned int)i / 4096 +
                           (unsigned int)(of * 31 + turn * 3));
}

static void fill(unsigned char *buf, int len, int of)
{
    for (int i = 0; i < len; i++)
        buf[i] = byte(of, i);
}

static int is_filled(const unsigned char *buf, int len, int of)
{
    for (int i = 0; i < len; i++)
        if (buf[i] != byte(of, i))
            return 0;
    return 1;
}

/* The exclusive or of what the ranks below `end` have. */
static int is_folded(const unsigned char *buf, int len, int end)
{
    for (int i = 0; i < len; i++) {
        unsigned char all = 0;

        for (int of = 0; of < end; of++)
            all ^= byte(of, i);
        if (buf[i] != all)
            return 0;
    }
    return 1;
}

static void spoil(unsigned char *buf, int len)
{
    memset(buf, 0xa5 + rank, (size_t)len);
}

/* The ranks come one after another, in changing order. */
static void be_late(void)
{
    volatile int work = 0;

    for (int i = (rank + turn) % n * 20000; i > 0; i--)
        work++;
}

static void moves(int len, int root)
{
    unsigned char *mine;

    be_late();
    fill(give, len, root);
    if (rank != root)
        spoil(give, len);
    MUST(MPI_Bcast(give, len, MPI_BYTE, root, MPI_COMM_WORLD));
    CHECK(is_filled(give, len, root));
    spoil(give, len);

    for (int i = 0; i < n && rank == root; i++)
        fill(give + (size_t)i * (size_t)len, len, i);
    spoil(take, len);
    MUST(MPI_Scatter(give, len, MPI_BYTE, rank == root && turn % 2 ? MPI_IN_PLACE : take, len,
                     MPI_BYTE, root, MPI_COMM_WORLD));
    if (rank != root || turn % 2 == 0)
        CHECK(is_filled(take, len, rank));
    spoil(give, len * n);

    mine = turn % 2 && rank == root ? take + (size_t)root * (size_t)len : give;
    fill(mine, len, rank);
    MUST(MPI_Gather(mine == give ? give : MPI_IN_PLACE, len, MPI_BYTE, take, len, MPI_BYTE, root,
                    MPI_COMM_WORLD));
    spoil(give, len);
    for (int i = 0; i < n && rank == root; i++)
        CHECK(is_filled(take + (size_t)i * (size_t)len, len, i));
}

static void folds(int len, int root)
{
    int in_place = turn % 2;

    be_late();
    fill(in_place && rank == root ? take : give, len, rank);
    MUST(MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : give, take, len, MPI_BYTE, MPI_BXOR,
                    root, MPI_COMM_WORLD));
    spoil(give, len);
    if (rank == root)
        CHECK(is_folded(take, len, n));

    fill(in_place ? take : give, len, rank);
    MUST(MPI_Scan(in_place ? MPI_IN_PLACE : give, take, len, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD));
    spoil(give, len);
    CHECK(is_folded(take, len, rank + 1));

    fill(in_place ? take : give, len, rank);
    MUST(MPI_Exscan(in_place ? MPI_IN_PLACE : give, take, len, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD));
    spoil(give, len);
    if (rank > 0)
        CHECK(is_folded(take, len, rank));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    rank = mp_rank;
    n = mp_size;
    give = malloc((size_t)n * LONGEST);
    take = malloc((size_t)n * LONGEST);
    CHECK(give != NULL && take != NULL);
    for (turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
            for (int root = 0; root < n; root++) {
                moves(lengths[i], root);
                folds(lengths[i], root);
            }
    free(give);
    free(take);
    return mp_finish();
}
