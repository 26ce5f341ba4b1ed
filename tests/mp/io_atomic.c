/* test: np=1,2,3,4 timeout=60 */
/*
 * Atomic mode with collective and nonblocking accesses, exchanged or not: each is there as a whole or
 * not at all, also beside independent ones, and nobody waits for a rank that comes later.
 */
#include "io_test.h"

#define NAME   "atomic.dat"
#define LEN    3000 /* integers of an access, more than one window */
#define ROUNDS 8

static int data[LEN], back[LEN];

static void fill(int value)
{
    for (int i = 0; i < LEN; i++)
        data[i] = value;
}

/* All of one access; which one. */
static int whole(void)
{
    for (int i = 1; i < LEN; i++)
        if (back[i] != back[0]) {
            CHECK_EQ(back[i], back[0]);
            break;
        }
    return back[0];
}

static void open_with(const char *use, const char *window, const char *rep, MPI_File *fh)
{
    MPI_Info info;

    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", use));
    MUST(MPI_Info_set(info, "romio_cb_read", use));
    MUST(MPI_Info_set(info, "cb_buffer_size", window));
    MUST(MPI_File_open(MPI_COMM_WORLD, NAME,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, fh));
    MUST(MPI_File_set_view(*fh, 0, MPI_INT, MPI_INT, rep, info));
    MUST(MPI_File_set_atomicity(*fh, 1));
    MUST(MPI_Info_free(&info));
}

/* Everybody writes the same place: what is read then is of one. */
static void same_place(MPI_File fh)
{
    MPI_Request reqs[2];
    int got;

    for (int k = 0; k < ROUNDS; k++) {
        fill(1000 * k + mp_rank);
        if (k % 2 == 0)
            MUST(MPI_File_write_at_all(fh, 0, data, LEN, MPI_INT, MPI_STATUS_IGNORE));
        else
            MUST(MPI_File_iwrite_at_all(fh, 0, data, LEN, MPI_INT, &reqs[0]));
        if (k % 2 != 0)
            MUST(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_File_iread_at_all(fh, 0, back, LEN, MPI_INT, &reqs[0]));
        MUST(MPI_Wait(&reqs[0], MPI_STATUS_IGNORE));
        got = whole();
        CHECK(got >= 1000 * k && got < 1000 * k + mp_size);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Independent accesses beside a collective one that is under way. */
static void beside(MPI_File fh)
{
    static int other[LEN];
    MPI_Request reqs[2];

    for (int k = 0; k < ROUNDS; k++) {
        fill(1000 * k + mp_rank);
        for (int i = 0; i < LEN; i++)
            other[i] = 1000 * k + 100 + mp_rank;
        MUST(MPI_File_iwrite_at_all(fh, 0, data, LEN, MPI_INT, &reqs[0]));
        MUST(MPI_File_write_at(fh, 0, other, LEN, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_File_read_at(fh, 0, back, LEN, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(whole() >= 1000 * k);
        MUST(MPI_File_iwrite_at(fh, 0, other, LEN, MPI_INT, &reqs[1]));
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        MUST(MPI_File_read_at_all(fh, 0, back, LEN, MPI_INT, MPI_STATUS_IGNORE));
        whole();
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* The last rank has something to do on its own before it comes, which the others do not hinder. */
static void late(MPI_File fh)
{
    int is_late = mp_rank == mp_size - 1;
    MPI_Request req;

    for (int k = 0; k < ROUNDS; k++) {
        fill(k);
        if (is_late)
            MUST(MPI_File_write_at(fh, LEN, data, LEN, MPI_INT, MPI_STATUS_IGNORE));
        if (k % 2 == 0) {
            MUST(MPI_File_write_at_all(fh, 0, data, LEN, MPI_INT, MPI_STATUS_IGNORE));
        } else {
            MUST(MPI_File_iwrite_at_all(fh, 0, data, LEN, MPI_INT, &req));
            MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        }
    }
    /* rank 0 begins, writes by itself, then lets the last one begin */
    if (mp_size == 1)
        return;
    fill(77);
    if (is_late)
        MUST(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_File_iwrite_at_all(fh, 0, data, LEN, MPI_INT, &req));
    if (mp_rank == 0) {
        MUST(MPI_File_write_at(fh, LEN, data, LEN, MPI_INT, MPI_STATUS_IGNORE));
        MUST(MPI_Send(NULL, 0, MPI_INT, mp_size - 1, 1, MPI_COMM_WORLD));
    }
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

/* Long parts, which are not exchanged where there is a choice; an error of one rank; nothing to do. */
static void odd(MPI_File fh)
{
    enum { LONG = 400000 };
    int *much = malloc(LONG * sizeof(int)), is_wrong = mp_rank == mp_size - 1;
    MPI_Offset at = (MPI_Offset)LONG * mp_rank;
    MPI_Status status;
    MPI_Request req;

    for (int i = 0; i < LONG; i++)
        much[i] = i + mp_rank;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_iwrite_at_all(fh, at, much, LONG, MPI_INT, &req));
    MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_INT), LONG);
    memset(much, 0, LONG * sizeof(int));
    MUST(MPI_File_read_at_all(fh, at, much, LONG, MPI_INT, &status));
    for (int i = 0; i < LONG; i++)
        if (much[i] != i + mp_rank) {
            CHECK_EQ(much[i], i + mp_rank);
            break;
        }
    free(much);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (is_wrong) {
        FAILS(MPI_File_iwrite_at_all(fh, -1, data, LEN, MPI_INT, &req), MPI_ERR_ARG);
    } else {
        MUST(MPI_File_iwrite_at_all(fh, (MPI_Offset)LEN * mp_rank, data, LEN, MPI_INT, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    MUST(MPI_File_iwrite_at_all(fh, 0, NULL, 0, MPI_INT, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    static const char *const uses[] = {"enable", "disable", "automatic"};
    MPI_File fh;

    mp_start(&argc, &argv);
    for (int k = 0; k < 6; k++) {
        open_with(uses[k / 2], k / 2 == 0 ? "4096" : "16777216",
                  k % 2 == 0 ? "native" : "external32", &fh);
        same_place(fh);
        beside(fh);
        late(fh);
        odd(fh);
        MUST(MPI_File_close(&fh));
    }
    return mp_finish();
}
