/* test: np=1,2 timeout=60 */
/*
 * Nonblocking transfers of several parts, which a thread of the library begins and who waits for them ends:
 * waits at once and late, in any order, for one and for all; views and memory with gaps; the end of the
 * file in a later part.
 */
#include "io_test.h"

#define LEN   (3 << 20) /* bytes of a transfer: several parts of it */
#define BLOCK 4096      /* of views and memory with gaps */
#define N     4
#define TRIES 200

static unsigned char *data, *back; /* N transfers, twice the space for memory with gaps */
static MPI_Datatype gaps;          /* LEN bytes, every second BLOCK */

static void fill(int round)
{
    for (size_t i = 0; i < (size_t)2 * N * LEN; i++)
        data[i] = (unsigned char)(i * 7 + i / 4093 + (size_t)(round * 31 + mp_rank * 3));
    memset(back, 0, (size_t)2 * N * LEN);
}

/* Each rank has blocks by turns, or all of a range of its own. */
static void view_set(MPI_File fh, int by_turns)
{
    MPI_Datatype block, part;

    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * (mp_size + 1), &part);
    MPI_Type_commit(&part);
    MUST(MPI_File_set_view(fh,
                           by_turns ? (MPI_Offset)BLOCK * mp_rank : (MPI_Offset)N * LEN * mp_rank,
                           MPI_BYTE, by_turns ? part : MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Type_free(&part);
    MPI_Type_free(&block);
}

/* Complete them: 0 all at once, 1 the last one first, 2 any, 3 by tests for a while and then all. */
static void complete(MPI_Request reqs[N], int how)
{
    MPI_Status statuses[N];
    int is_done = 0, at;

    for (int i = 0; i < 30 && how == 3 && !is_done; i++)
        MUST(MPI_Test(&reqs[0], &is_done, &statuses[0]));
    if (how == 0 || how == 3)
        MUST(MPI_Waitall(N - is_done, reqs + is_done, statuses + is_done));
    for (int i = N; how == 1 && i-- > 0;)
        MUST(MPI_Wait(&reqs[i], &statuses[i]));
    for (int i = 0; how == 2 && i < N; i++) {
        MPI_Status status;

        MUST(MPI_Waitany(N, reqs, &at, &status));
        statuses[at] = status;
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(io_count(&statuses[i], MPI_BYTE), LEN);
}

static void compare(int has_gaps)
{
    for (int k = 0; k < N; k++) {
        const unsigned char *want = data + (size_t)2 * k * LEN, *got = back + (size_t)2 * k * LEN;
        int n_wrong = 0;

        for (size_t at = 0; at < LEN; at += BLOCK) {
            size_t place = has_gaps ? 2 * at : at;

            n_wrong += memcmp(want + place, got + place, BLOCK) != 0;
        }
        CHECK_EQ(n_wrong, 0);
    }
}

static void move_all(MPI_File fh, int is_write, int has_gaps, int how)
{
    MPI_Datatype type = has_gaps ? gaps : MPI_BYTE;
    int count = has_gaps ? 1 : LEN;
    MPI_Request reqs[N];

    for (int k = 0; k < N; k++) {
        MPI_Offset at = (MPI_Offset)k * LEN;
        unsigned char *buf = (is_write ? data : back) + (size_t)2 * k * LEN;

        if (is_write)
            MUST(MPI_File_iwrite_at(fh, at, buf, count, type, &reqs[k]));
        else
            MUST(MPI_File_iread_at(fh, at, buf, count, type, &reqs[k]));
    }
    complete(reqs, how);
}

static void whole(void)
{
    MPI_File fh;

    io_scratch("parts.dat", &fh);
    for (int round = 0; round < 16; round++) {
        int by_turns = round & 1, has_gaps = round >> 1 & 1;

        view_set(fh, by_turns);
        fill(round);
        move_all(fh, 1, has_gaps, round >> 2);
        MPI_Barrier(MPI_COMM_WORLD);
        move_all(fh, 0, has_gaps, ((round >> 2) + 1) & 3);
        compare(has_gaps);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MUST(MPI_File_close(&fh));
}

/* The file ends in the last part but one. */
static void ends(void)
{
    MPI_Status status;
    MPI_Request req;
    MPI_File fh;

    fill(0);
    io_scratch("parts.dat", &fh);
    for (int has_gaps = 0; has_gaps < 2; has_gaps++) {
        view_set(fh, has_gaps);
        MUST(MPI_File_write_at_all(fh, 0, data, LEN - 700001, MPI_BYTE, MPI_STATUS_IGNORE));
        if (!has_gaps)
            MUST(MPI_File_set_size(fh, (MPI_Offset)N * LEN * (mp_size - 1) + LEN - 700001));
        MUST(MPI_File_iread_at(fh, 0, back, LEN, MPI_BYTE, &req));
        MUST(MPI_Wait(&req, &status));
        if (mp_rank == mp_size - 1)
            CHECK_EQ(io_count(&status, MPI_BYTE), LEN - 700001);
        CHECK_EQ(memcmp(back, data, LEN - 700001), 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_File_set_size(fh, 0));
    }
    MUST(MPI_File_close(&fh));
}

/* Bytes that this thread has written; -1: the system does not say. */
static long long written_here(void)
{
    FILE *f = fopen("/proc/thread-self/io", "r");
    long long n = -1;
    char line[128];

    while (f != NULL && n < 0 && fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "wchar: %lld", &n);
    if (f != NULL)
        fclose(f);
    return n;
}

/* Who waits for the last one of several that have just begun does not leave it to the thread. */
static void who_waits_helps(void)
{
    MPI_Request reqs[N];
    long long n = 0;
    MPI_File fh;

    if (written_here() < 0)
        return;
    io_scratch("parts.dat", &fh);
    view_set(fh, 0);
    for (int i = 0; i < TRIES && n < LEN; i++) {
        for (int k = 0; k < N; k++)
            MUST(MPI_File_iwrite_at(fh, (MPI_Offset)k * LEN, data, LEN, MPI_BYTE, &reqs[k]));
        n = written_here();
        MUST(MPI_Wait(&reqs[N - 1], MPI_STATUS_IGNORE));
        n = written_here() - n;
        MUST(MPI_Waitall(N, reqs, MPI_STATUSES_IGNORE));
    }
    CHECK(n >= LEN);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    data = malloc((size_t)2 * N * LEN);
    back = malloc((size_t)2 * N * LEN);
    MPI_Type_vector(LEN / BLOCK, BLOCK, 2 * BLOCK, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    whole();
    ends();
    who_waits_helps();
    MPI_Type_free(&gaps);
    free(back);
    free(data);
    return mp_finish();
}
