/* test: np=1,2,4 timeout=40 warn=said.once.for.each.function */
/*
 * Views: what is told of them, positions in them, large displacements, what may not be a view.
 */
#include "io_test.h"

#define NAME "view.dat"

static void told(void)
{
    MPI_Datatype vec, etype, filetype;
    MPI_Offset disp;
    char datarep[MPI_MAX_DATAREP_STRING];
    int n_ints, n_addrs, n_types, combiner, size;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && !strcmp(datarep, "native"));
    MUST(MPI_Type_vector(3, 2, 5, MPI_INT, &vec));
    MUST(MPI_Type_commit(&vec));
    MUST(MPI_File_set_view(fh, 17, MPI_INT, vec, "internal", MPI_INFO_NULL));
    MUST(MPI_Type_free(&vec)); /* the view keeps it */
    MUST(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 17 && etype == MPI_INT && !strcmp(datarep, "internal"));
    MUST(MPI_Type_get_envelope(filetype, &n_ints, &n_addrs, &n_types, &combiner));
    CHECK(combiner != MPI_COMBINER_NAMED);
    MUST(MPI_Type_size(filetype, &size));
    CHECK_EQ(size, 24);
    MUST(MPI_Type_free(&filetype));
    /* 2 of 5, three times, is 12 long: then the next one begins */
    MUST(MPI_File_get_byte_offset(fh, 0, &disp));
    CHECK_EQ(disp, 17);
    MUST(MPI_File_get_byte_offset(fh, 3, &disp));
    CHECK_EQ(disp, 17 + 24);
    MUST(MPI_File_get_byte_offset(fh, 6, &disp));
    CHECK_EQ(disp, 17 + 48);
    MUST(MPI_File_get_byte_offset(fh, 6000000002, &disp));
    CHECK_EQ(disp, 17 + 48000000000 + 20);
    FAILS(MPI_File_get_byte_offset(fh, INT64_MAX, &disp), MPI_ERR_ARG);
    MUST(MPI_File_close(&fh));
}

static void wrong(void)
{
    int lens[] = {1, 1}, displs[] = {4, 0}, twice[] = {0, 1}, two[] = {2, 2}, below[] = {-1, 3};
    MPI_Datatype down, over, neg, pair, odd, bare;
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_Type_indexed(2, lens, displs, MPI_INT, &down));
    MUST(MPI_Type_indexed(2, two, twice, MPI_INT, &over));
    MUST(MPI_Type_indexed(2, lens, below, MPI_INT, &neg));
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_contiguous(3, MPI_INT, &odd));
    MUST(MPI_Type_contiguous(3, MPI_INT, &bare));
    MUST(MPI_Type_commit(&down));
    MUST(MPI_Type_commit(&over));
    MUST(MPI_Type_commit(&neg));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Type_commit(&odd));
#define VIEW(disp, etype, filetype, rep)                                                           \
    MPI_File_set_view(fh, disp, etype, filetype, rep, MPI_INFO_NULL)
    FAILS(VIEW(0, MPI_INT, down, "native"), MPI_ERR_IO);
    FAILS(VIEW(0, MPI_INT, over, "native"), MPI_ERR_IO);
    FAILS(VIEW(0, MPI_INT, neg, "native"), MPI_ERR_IO);
    FAILS(VIEW(0, pair, odd, "native"), MPI_ERR_ARG);
    FAILS(VIEW(0, MPI_INT, bare, "native"), MPI_ERR_TYPE);
    FAILS(VIEW(-1, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    FAILS(VIEW(0, MPI_INT, MPI_INT, "no such"), MPI_ERR_UNSUPPORTED_DATAREP);
    FAILS(VIEW(0, MPI_INT, MPI_INT, "Native"), MPI_ERR_UNSUPPORTED_DATAREP);
    MUST(VIEW(0, MPI_INT, MPI_INT, "EXTERNAL32"));
    MUST(VIEW(0, MPI_INT, MPI_INT, "NATIVE"));
    if (mp_size > 1) {
        FAILS(VIEW(0, MPI_INT, MPI_INT, mp_rank == 0 ? "native" : "external32"), MPI_ERR_NOT_SAME);
        FAILS(
            VIEW(0, mp_rank == 0 ? MPI_INT : MPI_CHAR, mp_rank == 0 ? MPI_INT : MPI_CHAR, "native"),
            MPI_ERR_NOT_SAME);
    }
    /* wrong at one rank only: all hear of it */
    FAILS(VIEW(mp_rank == mp_size - 1 ? -5 : 0, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
    MUST(VIEW(0, pair, pair, "native"));
    FAILS(MPI_File_write_at(fh, 0, lens, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
    MUST(MPI_Type_free(&down));
    MUST(MPI_Type_free(&over));
    MUST(MPI_Type_free(&neg));
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&odd));
    MUST(MPI_Type_free(&bare));
    MUST(MPI_File_close(&fh));
}

/* By its extent the next filetype would overlap this one: the view ends with the first. */
static void single(const char *exchange)
{
    int lens[] = {2, 1, 1}, displs[] = {0, 4, 9}, data[8], back[8], len[2] = {1, 0}, n;
    MPI_Datatype three, part, empty;
    MPI_Offset disp;
    MPI_Status status;
    MPI_Info info;
    MPI_File fh;

    MUST(MPI_Type_indexed(3, lens, displs, MPI_INT, &three));
    MUST(MPI_Type_create_resized(three, 0, 4, &part));
    MUST(MPI_Type_commit(&part));
    MUST(MPI_Type_contiguous(0, MPI_INT, &empty));
    MUST(MPI_Type_commit(&empty));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", exchange));
    MUST(MPI_Info_set(info, "romio_cb_read", exchange));
    io_scratch(NAME, &fh);
    for (int k = 0; k < 2; k++) {
        /* the last rank has no data in the second round */
        int is_in = k == 0 || mp_rank < mp_size - 1;

        MUST(MPI_File_set_view(fh, 40 * mp_rank, MPI_INT, part, "native", info));
        for (int i = 0; i < 8; i++)
            data[i] = 100 * k + 10 * mp_rank + i;
        MUST(MPI_File_write_at_all(fh, 0, data, is_in ? 4 : 0, MPI_INT, &status));
        CHECK_EQ(io_count(&status, MPI_INT), is_in ? 4 : 0);
        memset(back, 0, sizeof(back));
        MUST(MPI_File_read_at_all(fh, 1, back, is_in ? 3 : 0, MPI_INT, &status));
        CHECK_EQ(io_count(&status, MPI_INT), is_in ? 3 : 0);
        CHECK(!is_in || memcmp(back, data + 1, 12) == 0);
        n = 0;
        CHECK_EQ(io_peek(NAME, 40 * mp_rank + 36, &n, 4), 4);
        CHECK_EQ(n, is_in ? data[3] : 10 * mp_rank + 3);
    }
    MUST(MPI_File_get_byte_offset(fh, 2, &disp));
    CHECK_EQ(disp, 40 * mp_rank + 16);
    FAILS(MPI_File_get_byte_offset(fh, 4, &disp), MPI_ERR_ARG);
    FAILS(MPI_File_write_at(fh, 1, data, 4, MPI_INT, &status), MPI_ERR_ARG);
    FAILS(MPI_File_read_at(fh, 4, data, 1, MPI_INT, &status), MPI_ERR_ARG);
    MUST(MPI_File_read_at(fh, 4, data, 0, MPI_INT, &status));
    /* nothing may be seen, and nothing can be written then */
    MUST(MPI_File_set_view(fh, 0, MPI_INT, empty, "native", info));
    MUST(MPI_File_write_all(fh, len, 0, MPI_INT, &status));
    FAILS(MPI_File_write_at(fh, 0, len, 1, MPI_INT, &status), MPI_ERR_ARG);
    MUST(MPI_File_close(&fh));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Type_free(&three));
    MUST(MPI_Type_free(&part));
    MUST(MPI_Type_free(&empty));
}

/* A matrix of blocks, each rank one, by subarray and by darray; counts and displacements are large. */
static void blocks(void)
{
    int sizes[2] = {16, 16 * mp_size}, sub[2] = {16, 16}, at[2] = {0, 16 * mp_rank}, *mine, *back;
    int distribs[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, psizes[2] = {1, mp_size};
    MPI_Datatype arrays[2];
    MPI_Offset far = 5000000000, pos, size;
    MPI_Status status;
    MPI_File fh;

    mine = calloc(256, sizeof(int));
    back = calloc(256, sizeof(int));
    MUST(MPI_Type_create_subarray(2, sizes, sub, at, MPI_ORDER_C, MPI_INT, &arrays[0]));
    MUST(MPI_Type_create_darray(mp_size, mp_rank, 2, sizes, distribs, dargs, psizes, MPI_ORDER_C,
                                MPI_INT, &arrays[1]));
    io_scratch(NAME, &fh);
    for (int k = 0; k < 2; k++) {
        MUST(MPI_Type_commit(&arrays[k]));
        MUST(MPI_File_set_view(fh, far * (1 - k), MPI_INT, arrays[k], "native", MPI_INFO_NULL));
        for (int i = 0; i < 256; i++)
            mine[i] = 1000 * mp_rank + i + k;
        MUST(MPI_File_write_all(fh, mine, 256, MPI_INT, &status));
        CHECK_EQ(io_count(&status, MPI_INT), 256);
        MUST(MPI_File_get_position(fh, &pos));
        CHECK_EQ(pos, 256);
        MUST(MPI_File_read_at_all(fh, 0, back, 256, MPI_INT, &status));
        CHECK(memcmp(mine, back, 1024) == 0);
        MUST(MPI_Type_free(&arrays[k]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_get_size(fh, &size));
    CHECK_EQ(size, far + 1024 * mp_size);
    MUST(MPI_File_set_view(fh, far, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MUST(MPI_File_read_at(fh, 16 * mp_rank, back, 16, MPI_INT, &status));
    for (int i = 0; i < 16; i++)
        CHECK_EQ(back[i], 1000 * mp_rank + i);
    MUST(MPI_File_seek(fh, 0, MPI_SEEK_END));
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, 256 * mp_size);
    MUST(MPI_File_close(&fh));
    free(mine);
    free(back);
}

/* The end of the file in a view: what lies in holes does not count; also in the middle of an etype. */
static void end(void)
{
    MPI_Datatype vec;
    MPI_Offset pos;
    MPI_Status status;
    char got[16];
    MPI_File fh;

    io_scratch(NAME, &fh);
    MUST(MPI_File_set_size(fh, 25));
    MUST(MPI_Type_create_resized(MPI_INT, 0, 12, &vec));
    MUST(MPI_Type_commit(&vec));
    MUST(MPI_File_set_view(fh, 0, MPI_INT, vec, "native", MPI_INFO_NULL));
    /* integers at 0, 12, 24: of the last one there is one byte */
    MUST(MPI_File_seek(fh, 0, MPI_SEEK_END));
    MUST(MPI_File_get_position(fh, &pos));
    CHECK_EQ(pos, 3);
    MUST(MPI_File_read_at(fh, 1, got, 3, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), 5);
    MUST(MPI_File_read_at_all(fh, 0, got, 4, MPI_INT, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), 9);
    MUST(MPI_Type_free(&vec));
    MUST(MPI_File_close(&fh));
}

enum { MIB = 1 << 20, LARGE = 2100 };

/* A file of so many MiB; or, where each is a message to a server, of one MiB and a view that has it so often. */
static void large_open(MPI_File *fh)
{
    MPI_Datatype again;
    int is_nfs = io_is_nfs();

    io_create(NAME, fh);
    MUST(MPI_File_set_size(*fh, (MPI_Offset)(is_nfs ? 1 : LARGE) * MIB));
    MUST(MPI_File_close(fh));
    io_open(NAME, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, fh);
    if (!is_nfs)
        return;
    MUST(MPI_Type_create_hvector(LARGE, MIB, 0, MPI_BYTE, &again));
    MUST(MPI_Type_commit(&again));
    MUST(MPI_File_set_view(*fh, 0, MPI_BYTE, again, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&again));
}

/* More bytes than fit an int: elements without extent, all of them the same memory. */
static void large(void)
{
    MPI_Datatype mib, flat;
    MPI_Status status;
    MPI_File fh;
    char *buf = calloc(1, MIB);

    MUST(MPI_Type_contiguous(MIB, MPI_BYTE, &mib));
    MUST(MPI_Type_create_resized(mib, 0, 0, &flat));
    MUST(MPI_Type_commit(&flat));
    large_open(&fh);
    if (mp_rank == 0) {
        MUST(MPI_File_read_at_c(fh, 0, buf, LARGE + 100, flat, &status));
        CHECK_EQ(io_count(&status, MPI_BYTE), (long long)LARGE * MIB);
    }
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_free(&mib));
    MUST(MPI_Type_free(&flat));
    free(buf);
}

/* A file that is only read: blocks may overlap, and bytes are read as often as the filetype has them. */
static void overlapping(void)
{
    int lens[] = {3, 2, 2}, displs[] = {0, 1, 4}, data[16], back[14],
        want[7] = {0, 1, 2, 1, 2, 4, 5};
    MPI_Datatype over;
    MPI_Status status;
    MPI_File fh;

    io_create(NAME, &fh);
    for (int i = 0; i < 16; i++)
        data[i] = i;
    if (mp_rank == 0)
        MUST(MPI_File_write_at(fh, 0, data, 16, MPI_INT, &status));
    MUST(MPI_File_close(&fh));
    MUST(MPI_Type_indexed(3, lens, displs, MPI_INT, &over));
    MUST(MPI_Type_commit(&over));
    io_open(NAME, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, &fh);
    MUST(MPI_File_set_view(fh, 0, MPI_INT, over, "native", MPI_INFO_NULL));
    for (int how = 0; how < 2; how++) {
        memset(back, -1, sizeof(back));
        if (how == 0)
            MUST(MPI_File_read_at(fh, 0, back, 14, MPI_INT, &status));
        else
            MUST(MPI_File_read_at_all(fh, 0, back, 14, MPI_INT, &status));
        CHECK_EQ(io_count(&status, MPI_INT), 14);
        for (int i = 0; i < 14; i++)
            CHECK_EQ(back[i], want[i % 7] + i / 7 * 6);
    }
    MUST(MPI_Type_free(&over));
    MUST(MPI_File_close(&fh));
}

/* Programs for MPICH set a view while requests are under way: those keep theirs. */
static void pending(void)
{
    enum { N = 4 };
    int data[N], back[N];
    MPI_Request req[N];
    MPI_File fh;

    io_scratch(NAME, &fh);
    for (int i = 0; i < N; i++) {
        data[i] = 100 * i + mp_rank;
        MUST(MPI_File_set_view(fh, 4 * (mp_size * i + mp_rank), MPI_INT, MPI_INT, "native",
                               MPI_INFO_NULL));
        if (i % 2 == 0)
            MUST(MPI_File_iwrite_all(fh, &data[i], 1, MPI_INT, &req[i]));
        else
            MUST(MPI_File_iwrite(fh, &data[i], 1, MPI_INT, &req[i]));
    }
    MUST(MPI_Waitall(N, req, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        MUST(MPI_File_set_view(fh, 4 * (mp_size * i + mp_rank), MPI_INT, MPI_INT, "native",
                               MPI_INFO_NULL));
        MUST(MPI_File_read_all(fh, &back[i], 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_EQ(back[i], data[i]);
    }
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    told();
    wrong();
    overlapping();
    pending();
    single("disable");
    single("enable");
    blocks();
    end();
    if (mp_size == 1)
        large();
    return mp_finish();
}
