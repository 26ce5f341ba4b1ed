/* test: np=1,2,3 timeout=60 */
/*
 * MPI_THREAD_MULTIPLE and files: threads that open, fill and close files of their own together with the same
 * thread of the other ranks, and that access files in common, by all kinds of pointers, at once.
 */
#include "io_test.h"

#include <pthread.h>

#define N_THREADS 3
#define N_ROUNDS  6
#define N_RECORDS 20
#define LEN       500   /* integers */
#define N_ATOMIC  30000 /* long enough that others come while one is under way */

struct thread {
    int number;
    MPI_Comm comm; /* of this thread at all ranks */
    MPI_File common, atomic;
};

static int tag_of(const struct thread *t, int round)
{
    return (round * N_THREADS + t->number) * mp_size + mp_rank;
}

static void fill(int *x, int n, int value)
{
    for (int i = 0; i < n; i++)
        x[i] = value + i;
}

static void compare(const int *x, int n, int value)
{
    for (int i = 0; i < n; i++)
        if (x[i] != value + i) {
            CHECK_EQ(x[i], value + i);
            return;
        }
}

/* Opened, with and without exchanges; ranks' integers in turns; blocking, nonblocking and ordered. */
static void own_file(const struct thread *t, int round)
{
    MPI_Status *status = MPI_STATUS_IGNORE;
    int x[LEN], y[LEN], tag = tag_of(t, round);
    MPI_Datatype turns;
    MPI_Request reqs[2];
    char name[64];
    MPI_Info info;
    MPI_File fh;

    snprintf(name, sizeof(name), "threads.%d.dat", t->number);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", round % 2 == 0 ? "enable" : "disable"));
    MUST(MPI_Info_set(info, "romio_cb_read", round % 3 == 0 ? "enable" : "disable"));
    MUST(MPI_File_open(t->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       info, &fh));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(4 * mp_size), &turns));
    MUST(MPI_Type_commit(&turns));
    MUST(MPI_File_set_view(fh, 4 * mp_rank, MPI_INT, turns, "native", MPI_INFO_NULL));
    fill(x, LEN, tag);
    MUST(MPI_File_iwrite_at_all(fh, 0, x, LEN, MPI_INT, &reqs[0]));
    MUST(MPI_File_iwrite_at(fh, LEN, x, LEN, MPI_INT, &reqs[1]));
    MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
    MUST(MPI_File_write_at_all(fh, 2 * LEN, x, LEN, MPI_INT, status));
    for (int part = 0; part < 3; part++) {
        memset(y, 0, sizeof(y));
        MUST(MPI_File_read_at_all_begin(fh, part * LEN, y, LEN, MPI_INT));
        MUST(MPI_File_read_at_all_end(fh, y, status));
        compare(y, LEN, tag);
    }
    MUST(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_ordered(fh, x, LEN, MPI_INT, status));
    MUST(MPI_File_read_at(fh, LEN * mp_rank, y, LEN, MPI_INT, status));
    compare(y, LEN, tag);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&turns));
}

/* A place for each thread of each rank, and records behind the shared pointer. */
static void common_file(const struct thread *t, int round)
{
    MPI_Status *status = MPI_STATUS_IGNORE;
    int x[LEN], y[LEN], record[8], tag = tag_of(t, round);
    MPI_Offset at = 1000000 + LEN * (MPI_Offset)tag;
    MPI_Request req;

    fill(x, LEN, tag);
    if (round % 2 == 0) {
        MUST(MPI_File_write_at(t->common, at, x, LEN, MPI_INT, status));
    } else {
        MUST(MPI_File_iwrite_at(t->common, at, x, LEN, MPI_INT, &req));
        MUST(MPI_Wait(&req, status));
    }
    MUST(MPI_File_iread_at(t->common, at, y, LEN, MPI_INT, &req));
    MUST(MPI_Wait(&req, status));
    compare(y, LEN, tag);
    for (int k = 0; k < 8; k++)
        record[k] = tag;
    for (int i = 0; i < N_RECORDS; i++)
        MUST(MPI_File_write_shared(t->common, record, 8, MPI_INT, status));
}

/* All write the same place, and no two at once: what is there is of one. */
static void atomic_file(const struct thread *t, int round)
{
    int x[N_ATOMIC], y[N_ATOMIC];

    fill(x, N_ATOMIC, N_ATOMIC * tag_of(t, round));
    MUST(MPI_File_write_at(t->atomic, 0, x, N_ATOMIC, MPI_INT, MPI_STATUS_IGNORE));
    MUST(MPI_File_read_at(t->atomic, 0, y, N_ATOMIC, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(y[0] % N_ATOMIC, 0);
    compare(y, N_ATOMIC, y[0]);
}

static void *work(void *arg)
{
    const struct thread *t = arg;

    for (int round = 0; round < N_ROUNDS; round++) {
        own_file(t, round);
        common_file(t, round);
        atomic_file(t, round);
    }
    return NULL;
}

/* Each record is there as often as it was written, in one piece. */
static void check_records(MPI_File fh)
{
    enum { N_TAGS = 64 };
    int record[8], seen[N_TAGS] = {0}, n = N_ROUNDS * N_THREADS * mp_size;
    MPI_Offset at;

    MUST(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_sync(fh)); /* ranks of other hosts have written, too */
    MUST(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 8 * N_RECORDS * n);
    for (int i = 0; i < n * N_RECORDS; i++) {
        MUST(MPI_File_read_at(fh, 8 * i, record, 8, MPI_INT, MPI_STATUS_IGNORE));
        for (int k = 1; k < 8; k++)
            CHECK_EQ(record[k], record[0]);
        CHECK(record[0] >= 0 && record[0] < n);
        if (record[0] >= 0 && record[0] < N_TAGS)
            seen[record[0]]++;
    }
    for (int i = 0; i < n && i < N_TAGS; i++)
        CHECK_EQ(seen[i], N_RECORDS);
}

int main(int argc, char **argv)
{
    struct thread threads[N_THREADS];
    pthread_t ids[N_THREADS];
    MPI_File common, atomic;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    io_scratch("threads.common.dat", &common);
    io_scratch("threads.atomic.dat", &atomic);
    MUST(MPI_File_set_view(common, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_set_view(atomic, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_set_atomicity(atomic, 1));
    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = (struct thread){.number = i, .common = common, .atomic = atomic};
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm));
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&ids[i], NULL, work, &threads[i]);
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(ids[i], NULL);
        MUST(MPI_Comm_free(&threads[i].comm));
    }
    check_records(common);
    MUST(MPI_File_close(&common));
    MUST(MPI_File_close(&atomic));
    return mp_finish();
}
