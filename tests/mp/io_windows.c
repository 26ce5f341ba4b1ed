/* test: np=1,2,4 timeout=60 */
/*
 * Collective transfers in two phases of many windows, which threads of the library access beside the
 * messages: interleaved parts with holes, windows that nobody has data in, views of other lengths, the end
 * of the file between, one aggregator or two.
 */
#include "io_test.h"

#define NAME   "windows.dat"
#define BLOCK  3000   /* bytes; as many are left out behind each */
#define BLOCKS 120    /* of each rank */
#define GAP    700000 /* bytes in the middle of a view: more than some windows */
#define LEN    (BLOCK * BLOCKS)

static unsigned char data[2 * LEN], back[2 * LEN];

static unsigned char byte_of(int rank, int i, int turn)
{
    return (unsigned char)(i * 7 + i / 251 + rank * 13 + turn * 31 + 1);
}

/* Where byte i of a rank is in the file. */
static long long place(int rank, int i)
{
    long long block = i / BLOCK;

    return block * mp_size * 2 * BLOCK + (long long)rank * BLOCK + i % BLOCK +
           (block >= BLOCKS / 2 ? GAP : 0);
}

static void open_with(const char *buffer, const char *nodes, MPI_File *fh)
{
    MPI_Datatype type;
    MPI_Info info;
    MPI_Aint at[BLOCKS];

    for (int b = 0; b < BLOCKS; b++)
        at[b] = (MPI_Aint)place(mp_rank, b * BLOCK);
    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "romio_cb_read", "enable"));
    MUST(MPI_Info_set(info, "cb_buffer_size", buffer));
    MUST(MPI_Info_set(info, "cb_nodes", nodes));
    MUST(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_CREATE | MPI_MODE_RDWR, info, fh));
    MUST(MPI_Type_create_hindexed_block(BLOCKS, BLOCK, at, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_File_set_view(*fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MUST(MPI_Type_free(&type));
    MUST(MPI_Info_free(&info));
}

/* A rank that is not the first has less to write. */
static int length(void)
{
    return LEN - mp_rank * 10 * BLOCK;
}

/* Of n bytes, with holes or without. */
static MPI_Datatype memory(int n, int is_woven)
{
    MPI_Datatype type;

    MUST(MPI_Type_create_hvector(n / 8, 8, is_woven ? 16 : 8, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static int at_in_memory(int i, int is_woven)
{
    return is_woven ? i / 8 * 16 + i % 8 : i;
}

static void write_turn(MPI_File fh, int turn, int is_woven)
{
    int n = length();
    MPI_Datatype type = memory(n, is_woven);
    MPI_Request req;
    MPI_Status status;

    for (int i = 0; i < n; i++)
        data[at_in_memory(i, is_woven)] = byte_of(mp_rank, i, turn);
    if (turn % 2 == 0) {
        MUST(MPI_File_write_at_all(fh, 0, data, 1, type, &status));
    } else {
        MUST(MPI_File_iwrite_at_all(fh, 0, data, 1, type, &req));
        MUST(MPI_Wait(&req, &status));
    }
    CHECK_EQ(io_count(&status, MPI_BYTE), n);
    MUST(MPI_Type_free(&type));
}

static void read_turn(MPI_File fh, int turn, int is_woven, int expect)
{
    MPI_Datatype all = memory(LEN, is_woven);
    MPI_Request req;
    MPI_Status status;

    memset(back, 0, sizeof(back));
    if (turn % 2 == 0) {
        MUST(MPI_File_read_at_all(fh, 0, back, 1, all, &status));
    } else {
        MUST(MPI_File_iread_at_all(fh, 0, back, 1, all, &req));
        MUST(MPI_Wait(&req, &status));
    }
    CHECK_EQ(io_count(&status, MPI_BYTE), expect);
    for (int i = 0; i < LEN; i++) {
        int want = i < expect && i < length() ? byte_of(mp_rank, i, turn) : 0;

        if (back[at_in_memory(i, is_woven)] != want) {
            CHECK_EQ(back[at_in_memory(i, is_woven)], want);
            break;
        }
    }
    MUST(MPI_Type_free(&all));
}

/* The file without MPI: nothing is between. */
static void look(int turn)
{
    long long size = io_size(NAME), used = 0;
    unsigned char *file = malloc((size_t)size + 1);

    CHECK_EQ(io_peek(NAME, 0, file, (size_t)size), size);
    for (int r = 0; r < mp_size; r++) {
        int n = LEN - r * 10 * BLOCK;

        for (int i = 0; i < n; i++) {
            if (file[place(r, i)] != byte_of(r, i, turn)) {
                CHECK_EQ(file[place(r, i)], byte_of(r, i, turn));
                break;
            }
            file[place(r, i)] = 0;
        }
    }
    for (long long i = 0; i < size; i++)
        used += file[i] != 0;
    CHECK_EQ(used, 0);
    free(file);
}

/* What a rank finds below the new end. */
static int below(long long end)
{
    int n = 0;

    while (n < LEN && place(mp_rank, n) < end)
        n++;
    return n;
}

static void with(const char *buffer, const char *nodes, int is_woven)
{
    long long size, end;
    MPI_File fh;

    open_with(buffer, nodes, &fh);
    for (int turn = 0; turn < 4; turn++) {
        write_turn(fh, turn, is_woven);
        MUST(MPI_File_sync(fh));
        MPI_Barrier(MPI_COMM_WORLD);
        size = io_size(NAME);
        if (mp_rank == 0)
            look(turn);
        read_turn(fh, turn, is_woven, below(size));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end = size / 3;
    MUST(MPI_File_set_size(fh, end));
    read_turn(fh, 3, is_woven, below(end));
    MUST(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0)
        unlink(NAME);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    with("262144", "1", 0); /* two windows in turn; a thread for blocking calls, too */
    with("262144", "2", 1);
    with("65536", "2", 0); /* the call accesses the file */
    with("16777216", "1", 1);
    return mp_finish();
}
