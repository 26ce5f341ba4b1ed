/* test: np=1,3,4 timeout=60 */
/*
 * Many communicators: made and freed thousands of times no id is lost; when ids run out
 * that is an error, and freed ones can be used again; traffic in overlapping
 * communicators does not mix.
 */
#include "mp_test.h"

#define N_STORM 5000
#define N_ALIVE 64

static void dup_and_free(void)
{
    for (int i = 0; i < N_STORM; i++) {
        MPI_Comm comm;

        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MUST(MPI_Comm_free(&comm));
    }
}

/* Kinds of creation in turn, some alive for a while, each checked when it goes. */
static void mixed(void)
{
    MPI_Comm alive[N_ALIVE];
    MPI_Group world;

    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < N_ALIVE; i++)
        alive[i] = MPI_COMM_NULL;
    for (int i = 0; i < N_STORM / 5; i++) {
        MPI_Comm *slot = &alive[i * 7 % N_ALIVE];
        MPI_Group group;
        int range[1][3] = {{i % mp_size, mp_size - 1, 1}};

        if (*slot != MPI_COMM_NULL) {
            int one = 1, n, size;

            MUST(MPI_Allreduce(&one, &n, 1, MPI_INT, MPI_SUM, *slot));
            MUST(MPI_Comm_size(*slot, &size));
            CHECK_EQ(n, size);
            MUST(MPI_Comm_free(slot));
        }
        switch (i % 4) {
        case 0:
            MUST(MPI_Comm_dup(MPI_COMM_WORLD, slot));
            break;
        case 1:
            MUST(MPI_Comm_split(MPI_COMM_WORLD, (mp_rank + i) % 3 == 0 ? MPI_UNDEFINED : 1, i,
                                slot));
            break;
        default:
            MUST(MPI_Group_range_incl(world, 1, range, &group));
            if (i % 4 == 2)
                MUST(MPI_Comm_create(MPI_COMM_WORLD, group, slot));
            else if (mp_rank >= i % mp_size)
                MUST(MPI_Comm_create_group(MPI_COMM_WORLD, group, i, slot));
            MUST(MPI_Group_free(&group));
        }
    }
    for (int i = 0; i < N_ALIVE; i++)
        if (alive[i] != MPI_COMM_NULL)
            MUST(MPI_Comm_free(&alive[i]));
    MUST(MPI_Group_free(&world));
}

/*
 * As many as there can be, twice: the second time as many as the first. Communicators of one
 * process need no context that others must agree to.
 */
static void exhaust(void)
{
    enum { MOST = 100000 };
    MPI_Comm *comms = malloc(MOST * sizeof(*comms));
    int n[2];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        n[round] = 0;
        while (n[round] < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &comms[n[round]]) == MPI_SUCCESS)
            n[round]++;
        CHECK(n[round] > 1000);
        CHECK(n[round] < MOST || mp_size == 1);
        for (int i = 0; i < n[round]; i++)
            MUST(MPI_Comm_free(&comms[i]));
    }
    CHECK_EQ(n[0], n[1]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(comms);
}

/* Ranks in rows and columns: nonblocking messages of all three at once, same tags. */
static void overlapping(void)
{
    MPI_Comm comms[3];
    int width = mp_size > 2 ? 2 : 1;

    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank / width, 0, &comms[1]));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank % width, -mp_rank, &comms[2]));
    for (int i = 0; i < 200; i++) {
        int out[3], in[3], want[3];
        MPI_Request reqs[6];

        for (int c = 0; c < 3; c++) {
            int rank, size;

            MUST(MPI_Comm_rank(comms[c], &rank));
            MUST(MPI_Comm_size(comms[c], &size));
            out[c] = 1000 * i + 100 * c + rank;
            want[c] = 1000 * i + 100 * c + (rank + size - 1) % size;
            MUST(MPI_Isend(&out[c], 1, MPI_INT, (rank + 1) % size, 3, comms[c], &reqs[c]));
        }
        for (int c = 2; c >= 0; c--)
            MUST(MPI_Irecv(&in[c], 1, MPI_INT, MPI_ANY_SOURCE, 3, comms[c], &reqs[3 + c]));
        for (int c = 0; c < 3; c++) {
            int sum, mine = c + 1, size;

            MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[(c + i) % 3]));
            MUST(MPI_Comm_size(comms[(c + i) % 3], &size));
            CHECK_EQ(sum, mine * size);
        }
        MUST(MPI_Waitall(6, reqs, MPI_STATUSES_IGNORE));
        for (int c = 0; c < 3; c++)
            CHECK_EQ(in[c], want[c]);
    }
    for (int c = 0; c < 3; c++)
        MUST(MPI_Comm_free(&comms[c]));
}

/* Freed with a receive under way: the receive still ends, then the id comes back. */
static void freed_early(void)
{
    int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size;

    for (int i = 0; i < 3000; i++) {
        MPI_Comm comm;
        MPI_Request reqs[2];
        int in = -1;

        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        MUST(MPI_Irecv(&in, 1, MPI_INT, prev, 0, comm, &reqs[0]));
        MUST(MPI_Isend(&i, 1, MPI_INT, next, 0, comm, &reqs[1]));
        MUST(MPI_Comm_free(&comm));
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        CHECK_EQ(in, i);
    }
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    dup_and_free();
    mixed();
    exhaust();
    overlapping();
    freed_early();
    return mp_finish();
}
