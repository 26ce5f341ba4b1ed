/* test: np=2,3,4 timeout=40 */
/*
 * Shared pointers and atomic mode while one rank computes: the others of its host go on without any call
 * of that rank, whichever it is. Ranks of other hosts wait, if at all, until it has done computing.
 *
 *     mpiexec -n 4 tests/mp/io_computing all     # all go on: a provider's atomic operations
 */
#include "io_test.h"

#define NAME  "computing.dat"
#define N     40
#define WORDS 4 /* of a record */

static int is_all; /* ranks of other hosts, too; they say by files that they have finished */
static MPI_Comm host;
static MPI_Win win;
static int *n_done; /* ranks of this host that have finished */

static void counter_make(void)
{
    MPI_Aint size;
    int unit, first;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mp_rank, MPI_INFO_NULL, &host));
    MUST(MPI_Comm_rank(host, &first));
    MUST(MPI_Win_allocate_shared(first == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, host,
                                 &n_done, &win));
    MUST(MPI_Win_shared_query(win, 0, &size, &unit, &n_done));
}

static void name_of(char name[64], int rank, int turn)
{
    snprintf(name, 64, "computing.%d.%d", rank, turn);
}

/* No call of MPI. */
static MP_LOOKS void compute(int n, int turn)
{
    char name[64];

    while (__atomic_load_n(n_done, __ATOMIC_ACQUIRE) < n)
        ;
    for (int r = 0; r < mp_size && is_all; r++) {
        name_of(name, r, turn);
        while (r != mp_rank && access(name, F_OK) != 0)
            ;
    }
}

static void finish(int turn)
{
    char name[64];
    int fd;

    __atomic_fetch_add(n_done, 1, __ATOMIC_RELEASE);
    if (!is_all)
        return;
    name_of(name, mp_rank, turn);
    fd = open(name, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static void work(MPI_File fh)
{
    int rec[WORDS], got[WORDS];
    MPI_Request req;
    MPI_Offset pos;
    MPI_Status status;

    for (int i = 0; i < N; i++) {
        for (int k = 0; k < WORDS; k++)
            rec[k] = mp_rank * N + i;
        if (i % 2 == 0) {
            MUST(MPI_File_write_shared(fh, rec, WORDS, MPI_INT, &status));
        } else {
            MUST(MPI_File_iwrite_shared(fh, rec, WORDS, MPI_INT, &req));
            MUST(MPI_Wait(&req, &status));
        }
        CHECK_EQ(io_count(&status, MPI_INT), WORDS);
        MUST(MPI_File_get_position_shared(fh, &pos));
        CHECK(pos >= (MPI_Offset)(i + 1) * WORDS && pos % WORDS == 0);
        MUST(MPI_File_read_at(fh, 0, got, WORDS, MPI_INT, &status));
    }
}

/* Each takes some of the records. */
static void take(MPI_File fh, int seen[])
{
    int rec[WORDS];
    MPI_Request req;
    MPI_Status status;

    for (int i = 0;; i++) {
        if (i % 2 == 0) {
            MUST(MPI_File_read_shared(fh, rec, WORDS, MPI_INT, &status));
        } else {
            MUST(MPI_File_iread_shared(fh, rec, WORDS, MPI_INT, &req));
            MUST(MPI_Wait(&req, &status));
        }
        if (io_count(&status, MPI_INT) == 0)
            break;
        CHECK_EQ(io_count(&status, MPI_INT), WORDS);
        for (int k = 1; k < WORDS; k++)
            CHECK_EQ(rec[k], rec[0]);
        if (rec[0] >= 0 && rec[0] < N * mp_size)
            seen[rec[0]]++;
    }
}

static void with(int turn, int computes, int is_atomic)
{
    int *seen = calloc((size_t)(N * mp_size), sizeof(int)), n_host;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_set_atomicity(fh, is_atomic));
    MUST(MPI_Comm_size(host, &n_host));
    *n_done = 0;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int step = 0; step < 2; step++) {
        if (mp_rank == computes)
            compute((step + 1) * (n_host - 1), 2 * turn + step);
        if (step == 0)
            work(fh);
        else
            take(fh, seen);
        if (mp_rank != computes)
            finish(2 * turn + step);
        MUST(MPI_File_sync(fh));
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        MUST(MPI_File_sync(fh)); /* ranks of other hosts have written, too */
        if (step == 0)
            MUST(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    }
    MUST(MPI_Allreduce(MPI_IN_PLACE, seen, N * mp_size, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < N * mp_size; i++)
        CHECK_EQ(seen[i], 1);
    MUST(MPI_File_close(&fh));
    free(seen);
}

int main(int argc, char **argv)
{
    char name[64];

    mp_start(&argc, &argv);
    is_all = argc > 1;
    counter_make();
    for (int k = 0; k < 4; k++)
        with(k, k % 2 == 0 ? 0 : mp_size - 1, k / 2);
    for (int turn = 0; turn < 8 && is_all; turn++) {
        name_of(name, mp_rank, turn);
        unlink(name);
    }
    MUST(MPI_Win_free(&win));
    MUST(MPI_Comm_free(&host));
    return mp_finish();
}
