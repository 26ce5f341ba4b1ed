/* test: np=2 timeout=120 san=no */
/*
 * Ten million pieces in the view and in memory: no access, however it is made, needs memory that grows
 * with their number, nor does one with a view whose datatype lists them. The largest resident size of the process (VmHWM) says so; a list of addresses, or
 * of lengths, would be longer than what is allowed.
 */
#include "io_test.h"

#define NAME       "pieces.dat"
#define PIECES     10000000
#define LISTED     3000000    /* pieces that a datatype lists */
#define ALLOWED_KB (16 << 10) /* less than 2 bytes for each piece, or 8 for each that is listed */

static char *mem;
static int salt; /* another value for each access that writes */

static char value(long i)
{
    return (char)(i * 7 + i / 1000 + mp_rank + 11 * salt);
}

/* Ask for the largest size from now on; then what it is, in KiB. */
static void peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (file == NULL)
        return;
    fputs("5", file);
    fclose(file);
}

static long peak_kb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "VmHWM: %ld kB", &kb) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kb;
}

enum { AT, AT_ALL, IAT, IAT_ALL, N_FORMS };
static const char *const form_names[] = {"at", "at_all", "nonblocking at", "nonblocking at_all"};

static int call(MPI_File fh, int is_write, int form, int count, MPI_Datatype type,
                MPI_Status *status)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int err;

    if (form == AT)
        return is_write ? MPI_File_write_at(fh, 0, mem, count, type, status)
                        : MPI_File_read_at(fh, 0, mem, count, type, status);
    if (form == AT_ALL)
        return is_write ? MPI_File_write_at_all(fh, 0, mem, count, type, status)
                        : MPI_File_read_at_all(fh, 0, mem, count, type, status);
    if (form == IAT)
        err = is_write ? MPI_File_iwrite_at(fh, 0, mem, count, type, &req)
                       : MPI_File_iread_at(fh, 0, mem, count, type, &req);
    else
        err = is_write ? MPI_File_iwrite_at_all(fh, 0, mem, count, type, &req)
                       : MPI_File_iread_at_all(fh, 0, mem, count, type, &req);
    return err == MPI_SUCCESS ? MPI_Wait(&req, status) : err;
}

/* One access; n pieces in memory are stride apart. */
static void access_one(MPI_File fh, int is_write, int form, int n, int stride)
{
    MPI_Datatype type = MPI_BYTE;
    MPI_Status status;
    long before, grown, n_wrong = 0;

    if (stride > 1) {
        MUST(MPI_Type_vector(n, 1, stride, MPI_BYTE, &type));
        MUST(MPI_Type_commit(&type));
    }
    salt += is_write;
    memset(mem, 0, 2 * (size_t)PIECES);
    for (long i = 0; is_write && i < n; i++)
        mem[i * stride] = value(i);
    peak_reset();
    before = peak_kb();
    MUST(call(fh, is_write, form, stride > 1 ? 1 : n, type, &status));
    grown = peak_kb() - before;
    CHECK_EQ(io_count(&status, MPI_BYTE), n);
    for (long i = 0; i < n; i++)
        n_wrong += mem[i * stride] != value(i);
    CHECK_EQ(n_wrong, 0);
    if (grown > ALLOWED_KB) {
        CHECK_EQ(grown, ALLOWED_KB);
        fprintf(stderr, "%s, %s, stride %d\n", is_write ? "writing" : "reading", form_names[form],
                stride);
    }
    if (stride > 1)
        MUST(MPI_Type_free(&type));
}

/* At distances that no loop describes: the 1st, 3rd, 6th, 8th, ... byte of a rank. */
static void list(MPI_Datatype *filetype)
{
    int *at = malloc(LISTED * sizeof(int));

    for (int i = 0; i < LISTED; i++)
        at[i] = (5 * i / 2 + i / 7 % 2) * mp_size;
    MUST(MPI_Type_create_indexed_block(LISTED, 1, at, MPI_BYTE, filetype));
    free(at);
}

/*
 * Pieces by turns with the other ranks: as the extent of a filetype, or all in one filetype, or listed
 * there.
 */
static void view(int kind, MPI_Datatype *filetype)
{
    MPI_Datatype many;

    if (kind == 2) {
        list(filetype);
    } else if (kind == 0) {
        MUST(MPI_Type_create_resized(MPI_BYTE, 0, mp_size, filetype));
    } else {
        MUST(MPI_Type_vector(PIECES, 1, mp_size, MPI_BYTE, &many));
        MUST(MPI_Type_create_resized(many, 0, (MPI_Aint)PIECES * mp_size, filetype));
        MUST(MPI_Type_free(&many));
    }
    MUST(MPI_Type_commit(filetype));
}

int main(int argc, char **argv)
{
    MPI_Datatype filetype;
    MPI_Info info;
    MPI_File fh;

    mp_start(&argc, &argv);
    mem = malloc(2 * (size_t)PIECES);
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_cb_write", "enable"));
    MUST(MPI_Info_set(info, "romio_cb_read", "enable"));
    MUST(MPI_Info_set(info, "cb_buffer_size", "1048576"));
    for (int kind = 0; kind < 3; kind++) {
        int most = kind == 2 ? LISTED : PIECES;

        io_scratch(NAME, &fh);
        view(kind, &filetype);
        MUST(MPI_File_set_view(fh, mp_rank, MPI_BYTE, filetype, "native", info));
        MUST(MPI_Type_free(&filetype));
        for (int form = 0; form < N_FORMS; form++) {
            /* connections and buffers are there after a few pieces */
            for (int part = 1000; part > 0; part /= 1000) {
                int n = most / part;

                access_one(fh, 1, form, n, 1 + kind % 2);
                MUST(MPI_Barrier(MPI_COMM_WORLD));
                access_one(fh, 0, form, n, 1 + kind % 2);
                MUST(MPI_Barrier(MPI_COMM_WORLD));
            }
        }
        MUST(MPI_File_close(&fh));
    }
    MUST(MPI_Info_free(&info));
    free(mem);
    return mp_finish();
}
