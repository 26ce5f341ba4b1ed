/* test: np=1,3 timeout=40 */
/*
 * Reading in external32 beyond the end of the file: the basic elements that are there count, whatever the datatype
 * in memory, and where the program looks.
 */
#include <stddef.h>

#include "io_test.h"

#define NAME "external_end.dat"

enum { BLIND, ALL, LATER, N_WAYS, N = 7, LONG_N = 10 };

struct mixed {
    short a;
    double b;
    int c;
};

static MPI_File fh;

static void read_by(int way, void *buf, int count, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request req;

    switch (way) {
    case BLIND:
        MUST(MPI_File_read_at(fh, 0, buf, count, type, status));
        break;
    case ALL:
        MUST(MPI_File_read_at_all(fh, 0, buf, count, type, status));
        break;
    default:
        MUST(MPI_File_iread_at(fh, 0, buf, count, type, &req));
        MUST(MPI_Wait(&req, status));
    }
}

static void want(const MPI_Status *status, MPI_Datatype type, int n_elements, int count)
{
    int n;

    MUST(MPI_Get_elements(status, type, &n));
    CHECK_EQ(n, n_elements);
    MUST(MPI_Get_count(status, type, &n));
    CHECK_EQ(n, count);
}

/* N long ones, which take half of their length in the file, by a type with gaps. */
static void gaps(int way)
{
    long out[N], in[3 * LONG_N];
    MPI_Datatype type;
    MPI_Status status;

    for (int i = 0; i < N; i++)
        out[i] = -i - 1;
    io_create(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    if (mp_rank == 0)
        MUST(MPI_File_write_at(fh, 0, out, N, MPI_LONG, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Type_vector(LONG_N, 1, 3, MPI_LONG, &type));
    MUST(MPI_Type_commit(&type));
    memset(in, 0, sizeof(in));
    read_by(way, in, 1, type, &status);
    want(&status, type, N, MPI_UNDEFINED);
    for (int i = 0; i < 3 * LONG_N; i++)
        CHECK_EQ(in[i], i % 3 == 0 && i / 3 < N ? out[i / 3] : 0);
    MUST(MPI_Type_free(&type));
    MUST(MPI_File_close(&fh));
}

/* Structures of 14 bytes in the file, which ends within the third, in the middle of its double. */
static void structures(int way)
{
    struct mixed out[3] = {{1, 2.5, 3}, {-1, -2.5, -3}, {7, 0, 0}}, in[4];
    int lens[3] = {1, 1, 1};
    MPI_Aint displs[3] = {offsetof(struct mixed, a), offsetof(struct mixed, b),
                          offsetof(struct mixed, c)};
    MPI_Datatype types[3] = {MPI_SHORT, MPI_DOUBLE, MPI_INT}, bare, type;
    MPI_Status status;

    MUST(MPI_Type_create_struct(3, lens, displs, types, &bare));
    MUST(MPI_Type_create_resized(bare, 0, sizeof(struct mixed), &type));
    MUST(MPI_Type_free(&bare));
    MUST(MPI_Type_commit(&type));
    io_create(NAME, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    if (mp_rank == 0)
        MUST(MPI_File_write_at(fh, 0, out, 3, type, &status));
    MUST(MPI_File_set_size(fh, 2 * 14 + 6));
    memset(in, 0, sizeof(in));
    read_by(way, in, 4, type, &status);
    want(&status, type, 7, MPI_UNDEFINED);
    for (int i = 0; i < 2; i++)
        CHECK(in[i].a == out[i].a && in[i].b == out[i].b && in[i].c == out[i].c);
    CHECK(in[2].a == 7 && in[2].b == 0 && in[2].c == 0);
    memset(in, 0, sizeof(in));
    read_by(way, in, 2, type, &status);
    want(&status, type, 6, 2);
    MUST(MPI_Type_free(&type));
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    for (int way = 0; way < N_WAYS; way++) {
        gaps(way);
        structures(way);
    }
    if (mp_rank == 0)
        unlink(NAME);
    return mp_finish();
}
