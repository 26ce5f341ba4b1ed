/* test: np=2,3,7,8 cfg=COLL_SHM=yes|no timeout=90 */
/*
 * Communicators that are made, used and freed again and again, of several groups, more at a time than segments are
 * kept: each goes on where the segment's communicator before it ended, also when ranks leave at different times.
 */
#include "../self.h"
#include "mp_test.h"

#define AT_ONCE    12
#define ROUNDS     24
#define KEPT_MOST  8     /* of src/mpi/node/kept.c */
#define LONG       20000 /* ints */
#define MOST_TRIES 10000
#define NAME       "memfd:datum-coll"

static MPI_Comm make(int how)
{
    MPI_Comm comm;

    if (how == 0)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    else if (how == 1)
        MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -mp_rank, &comm));
    else
        MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank % 2, mp_rank, &comm));
    return comm;
}

/* Roots run ahead, or last ranks do; the last collective differs. */
static void use(MPI_Comm comm, int n, int seed)
{
    static int data[LONG];
    int rank, size, sum, value;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < n; i++) {
        int root = (seed + i) % size, count = i % 3 == 2 ? LONG : 1 + seed % 40;

        switch ((seed + i) % 4) {
        case 0:
            value = seed + rank;
            MUST(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
            CHECK_EQ(sum, size * seed + size * (size - 1) / 2);
            break;
        case 1:
            for (int k = 0; k < count; k++)
                data[k] = rank == root ? seed + i + k : -1;
            MUST(MPI_Bcast(data, count, MPI_INT, root, comm));
            for (int k = 0; k < count; k++)
                CHECK_EQ(data[k], seed + i + k);
            break;
        case 2:
            value = rank * 3 + i;
            MUST(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_MAX, root, comm));
            if (rank == root)
                CHECK_EQ(sum, (size - 1) * 3 + i);
            break;
        default:
            MUST(MPI_Barrier(comm));
        }
    }
}

/* Segments of this process, of communicators and kept. */
static int count_segments(void)
{
    return self_count_maps(NAME);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[AT_ONCE];
    int n_before, n_world, has_segments = 0, is_again = 0;

    mp_start(&argc, &argv);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    n_world = count_segments();
    for (int round = 0; round < ROUNDS; round++) {
        int n = round % 4 == 0 ? AT_ONCE : 1 + round % 3;

        for (int i = 0; i < n; i++)
            comms[i] = make((round / 2 + i) % 3);
        for (int i = 0; i < n; i++)
            use(comms[i], (round + i) % 9, round + i);
        has_segments = has_segments || count_segments() > n_world;
        for (int i = 0; i < n; i++)
            MUST(MPI_Comm_free(&comms[round % 2 ? i : n - 1 - i]));
        CHECK(count_segments() - n_world <= KEPT_MOST);
    }
    /* who is alone on a host has none */
    MUST(MPI_Allreduce(MPI_IN_PLACE, &has_segments, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    /* a new communicator takes a segment that is kept, unless somebody is late in leaving it */
    for (int i = 0; has_segments && !is_again; i++) {
        CHECK(i < MOST_TRIES);
        n_before = count_segments();
        comms[0] = make(0);
        use(comms[0], 8, i);
        is_again = count_segments() == n_before || i >= MOST_TRIES;
        MUST(MPI_Allreduce(MPI_IN_PLACE, &is_again, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        MUST(MPI_Comm_free(&comms[0]));
    }
    return mp_finish();
}
