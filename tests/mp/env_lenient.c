/* test: np=1,3 timeout=30 */
/* What the standard does not promise, and MPICH does for programs that rely on it. */
#include "mp_test.h"

/* Any number but MPI_UNDEFINED is a color. */
static void negative_colors(void)
{
    int color = mp_rank == 0 ? -1 : -7, size;
    MPI_Comm part, inter, half;

    MUST(MPI_Comm_split(MPI_COMM_WORLD, color, 0, &part));
    MUST(MPI_Comm_size(part, &size));
    CHECK_EQ(size, mp_rank == 0 ? 1 : mp_size - 1);
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank == 0 ? MPI_UNDEFINED : -32767, 0, &part));
    CHECK_EQ(part == MPI_COMM_NULL, mp_rank == 0);
    if (part != MPI_COMM_NULL)
        MUST(MPI_Comm_free(&part));
    if (mp_size == 1)
        return;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, mp_rank > 0, 0, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, mp_rank > 0 ? 0 : 1, 3, &inter));
    MUST(MPI_Comm_split(inter, -1, 0, &part));
    MUST(MPI_Comm_remote_size(part, &size));
    CHECK_EQ(size, mp_rank == 0 ? mp_size - 1 : 1);
    MUST(MPI_Comm_free(&part));
    MUST(MPI_Comm_free(&inter));
    MUST(MPI_Comm_free(&half));
}

/* The error fields of MPI_Waitall's statuses are success when it succeeds; those of MPI_Wait stay. */
static void error_fields(void)
{
    enum { N = 3, JUNK = 4711 };
    int out = 1, in = 0;
    MPI_Request reqs[N];
    MPI_Status statuses[N];

    for (int i = 0; i < N; i++)
        statuses[i].MPI_ERROR = JUNK;
    MUST(MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &reqs[0]));
    MUST(MPI_Isend(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &reqs[1]));
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &reqs[2]));
    MUST(MPI_Waitall(N, reqs, statuses));
    for (int i = 0; i < N; i++)
        CHECK_EQ(statuses[i].MPI_ERROR, MPI_SUCCESS);
    MUST(MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &reqs[0]));
    MUST(MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF));
    statuses[0].MPI_ERROR = JUNK;
    MUST(MPI_Wait(&reqs[0], &statuses[0]));
    CHECK_EQ(statuses[0].MPI_ERROR, JUNK);
}

/* Accesses to files take NULL for MPI_STATUS_IGNORE, and do what they are for. */
static void null_statuses(void)
{
    const char *name = "null_statuses.tmp";
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    int out = 100 + mp_rank, in = -1;
    MPI_Offset at = (MPI_Offset)sizeof(out) * mp_rank;
    MPI_File fh;

    MUST(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &fh));
    MUST(MPI_File_write_at(fh, at, &out, 1, MPI_INT, NULL));
    MUST(MPI_File_read_at(fh, at, &in, 1, MPI_INT, NULL));
    CHECK_EQ(in, out);
    out += 100;
    MUST(MPI_File_write_at_all(fh, at, &out, 1, MPI_INT, NULL));
    MUST(MPI_File_read_at_all(fh, at, &in, 1, MPI_INT, NULL));
    CHECK_EQ(in, out);
    out += 100;
    MUST(MPI_File_seek(fh, at, MPI_SEEK_SET));
    MUST(MPI_File_write(fh, &out, 1, MPI_INT, NULL));
    MUST(MPI_File_seek(fh, at, MPI_SEEK_SET));
    MUST(MPI_File_read_all(fh, &in, 1, MPI_INT, NULL));
    CHECK_EQ(in, out);
    out += 100;
    MUST(MPI_File_write_ordered(fh, &out, 1, MPI_INT, NULL));
    MUST(MPI_File_read_at(fh, at, &in, 1, MPI_INT, NULL));
    CHECK_EQ(in, out);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    negative_colors();
    error_fields();
    null_statuses();
    return mp_finish();
}
