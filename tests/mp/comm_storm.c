/* test: np=1,3,4 timeout=60 */
/*
 * Many communicators: made and freed thousands of times no id is lost; thousands at a time work, and
 * their traffic does not mix. Where ids end: comm_many.c.
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
 * More at a time than a page of ids has, made by both kinds of agreement; each is one of its own. They
 * are freed in another order, and none is lost: as many again.
 */
static void several_pages(void)
{
    enum { N = 5000, STEP = 97 };
    MPI_Comm *comms = malloc(N * sizeof(*comms));
    MPI_Request req;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            if (i % STEP == 3) {
                MUST(MPI_Comm_idup(comms[i - 1], &comms[i], &req));
                MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
            } else {
                MUST(MPI_Comm_dup(i % STEP == 5 ? comms[i - 2] : MPI_COMM_WORLD, &comms[i]));
            }
        }
        for (int i = 0; i + STEP < N; i += STEP) {
            int next = (mp_rank + 1) % mp_size, prev = (mp_rank + mp_size - 1) % mp_size;
            int out = i, in[2] = {-1, -1};
            MPI_Request reqs[3];

            MUST(MPI_Irecv(&in[0], 1, MPI_INT, prev, 0, comms[i], &reqs[0]));
            MUST(MPI_Irecv(&in[1], 1, MPI_INT, prev, 0, comms[i + STEP - 1], &reqs[1]));
            MUST(MPI_Isend(&i, 1, MPI_INT, next, 0, comms[i + STEP - 1], &reqs[2]));
            MUST(MPI_Send(&out, 1, MPI_INT, next, 0, comms[i]));
            MUST(MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE));
            CHECK_EQ(in[0], i);
            CHECK_EQ(in[1], i);
        }
        for (int i = 0; i < N; i++)
            MUST(MPI_Comm_free(&comms[(int)((long)i * 2503 % N)]));
    }
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
    several_pages();
    overlapping();
    freed_early();
    return mp_finish();
}
