/* test: np=1,3,4 timeout=60 */
/*
 * Random programs against a model of the file in memory: views, representations, memory layouts,
 * sizes, positions, forms of calls, hints, atomic mode. All ranks know the whole program, so each keeps
 * the whole model. Ranks of several hosts synchronize between accesses, unless they are atomic: on a file
 * system of a network nothing else makes others' data seen.
 *
 *     IO_RANDOM_SEED=7 IO_RANDOM_SECONDS=60 mpiexec -n 4 tests/mp/io_random
 *     IO_RANDOM_SEED=7 IO_RANDOM_ROUND=12 mpiexec -n 4 tests/mp/io_random      # one round
 */
#include <stdint.h>
#include <time.h>

#include "io_test.h"

#define NAME  "random.dat"
#define SPACE (1 << 20) /* bytes of the file that are ever used */
#define RANKS 8

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static int is_one_host;

static unsigned char model[SPACE];
static long long model_size;

/* A view: offsets in the file of its first bytes, listed from the description that made it. */
struct view {
    MPI_Datatype etype, filetype;
    int esize;
    long long disp;
    int n_blocks;
    int block[32], at[32]; /* bytes */
    int extent;
    int size;
};

static long long view_at(const struct view *v, long long pos)
{
    long long tile = pos / v->size;
    int in = (int)(pos % v->size), i = 0;

    while (in >= v->block[i])
        in -= v->block[i++];
    return v->disp + tile * v->extent + v->at[i] + in;
}

/*
 * The same filetype at all ranks but for disp, so that the ranges of different ranks do not overlap
 * when is_woven: then each rank has its own part of every extent.
 */
static void view_make(struct view *v, int rank, uint32_t seed)
{
    static const MPI_Datatype etypes[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    static const int esizes[] = {1, 2, 4, 8};
    uint64_t keep = state;
    int e, end = 0, lens[32], displs[32], part;
    MPI_Datatype tmp;

    state = seed;
    e = (int)rnd(4);
    v->etype = etypes[e];
    v->esize = esizes[e];
    v->n_blocks = 1 + (int)rnd(rnd(4) == 0 ? 20 : 3);
    v->size = 0;
    for (int i = 0; i < v->n_blocks; i++) {
        int gap = rnd(4) == 0 ? 0 : (int)rnd(rnd(6) == 0 ? 300 : 8);
        int n = 1 + (int)rnd(rnd(5) == 0 ? 100 : 6);

        displs[i] = end + gap;
        lens[i] = n;
        end += gap + n;
        v->at[i] = displs[i] * v->esize;
        v->block[i] = n * v->esize;
        v->size += n * v->esize;
    }
    part = (end + (int)rnd(4)) * v->esize;
    v->extent = part * mp_size;
    v->disp = (long long)rnd(100) + rank * part;
    MPI_Type_indexed(v->n_blocks, lens, displs, v->etype, &tmp);
    MPI_Type_create_resized(tmp, 0, v->extent, &v->filetype);
    MPI_Type_free(&tmp);
    MPI_Type_commit(&v->filetype);
    state = keep;
}

/* Memory: a vector of blocks of bytes, or contiguous. */
struct memory {
    MPI_Datatype type;
    int count, block, stride, blocks; /* a type is blocks of block bytes, stride apart */
    unsigned char *buf;
    size_t len;
};

static void memory_make(struct memory *m, int esize, int bytes)
{
    bytes = bytes / esize * esize;
    if (bytes == 0)
        bytes = esize;
    m->blocks = 1;
    m->block = bytes;
    m->stride = bytes;
    m->count = 1;
    if (rnd(2) == 0) {
        m->block = esize * (1 + (int)rnd(8));
        m->stride = m->block + (int)rnd(40);
        m->blocks = 1 + (int)rnd(4);
        m->count = bytes / (m->block * m->blocks);
        if (m->count == 0)
            m->count = 1;
    }
    MPI_Type_create_hvector(m->blocks, m->block, m->stride, MPI_BYTE, &m->type);
    MPI_Type_commit(&m->type);
    m->len = (size_t)m->count * (size_t)m->blocks * (size_t)m->stride + 64;
    m->buf = malloc(m->len);
    memset(m->buf, 0xee, m->len);
}

static unsigned char *memory_at(struct memory *m, int i)
{
    int whole = m->block * m->blocks, k = i % whole;
    /* the extent of the vector ends with its last block */
    long extent = (long)m->stride * (m->blocks - 1) + m->block;

    return m->buf + (long)(i / whole) * extent + (long)(k / m->block) * m->stride + k % m->block;
}

static int memory_size(const struct memory *m)
{
    return m->count * m->block * m->blocks;
}

static unsigned char value(int round, int rank, int i)
{
    return (unsigned char)(round * 31 + rank * 7 + i * 3 + i / 251);
}

static int round_no;

static int call(MPI_File fh, int is_write, int form, MPI_Offset offset, struct memory *m,
                MPI_Status *status)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int err = MPI_SUCCESS;

#define BOTH(w, r) (is_write ? (w) : (r))
#define ARGS       m->buf, m->count, m->type
    switch (form) {
    case 0:
        return BOTH(MPI_File_write_at(fh, offset, ARGS, status),
                    MPI_File_read_at(fh, offset, ARGS, status));
    case 1:
        return BOTH(MPI_File_write_at_all(fh, offset, ARGS, status),
                    MPI_File_read_at_all(fh, offset, ARGS, status));
    case 2:
        err = BOTH(MPI_File_iwrite_at(fh, offset, ARGS, &req),
                   MPI_File_iread_at(fh, offset, ARGS, &req));
        break;
    case 3:
        err = BOTH(MPI_File_iwrite_at_all(fh, offset, ARGS, &req),
                   MPI_File_iread_at_all(fh, offset, ARGS, &req));
        break;
    case 4:
        MUST(MPI_File_seek(fh, offset, MPI_SEEK_SET));
        return BOTH(MPI_File_write(fh, ARGS, status), MPI_File_read(fh, ARGS, status));
    case 5:
        MUST(MPI_File_seek(fh, offset, MPI_SEEK_SET));
        return BOTH(MPI_File_write_all(fh, ARGS, status), MPI_File_read_all(fh, ARGS, status));
    case 6:
        MUST(BOTH(MPI_File_write_at_all_begin(fh, offset, ARGS),
                  MPI_File_read_at_all_begin(fh, offset, ARGS)));
        return BOTH(MPI_File_write_at_all_end(fh, m->buf, status),
                    MPI_File_read_at_all_end(fh, m->buf, status));
    default:
        MUST(MPI_File_seek(fh, offset, MPI_SEEK_SET));
        err = BOTH(MPI_File_iwrite_all(fh, ARGS, &req), MPI_File_iread_all(fh, ARGS, &req));
        break;
    }
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&req, status);
    return err;
}

/* One access by all ranks; each keeps the model of all. */
static void access_all(MPI_File fh, struct view *views, int is_write, uint32_t seed)
{
    struct memory m, mine = {0};
    MPI_Status status;
    int form = (int)rnd(8), n = 0;
    long long start[RANKS], lens[RANKS], got = 0;

    for (int r = 0; r < mp_size; r++) {
        long long most = (SPACE - 4096) / views[r].extent * views[r].size / views[r].esize / 2;
        int bytes = (int)rnd(rnd(3) == 0 ? 20000 : 500);

        state = seed + (uint32_t)r * 977;
        start[r] = most > 0 ? rnd((uint32_t)most) : 0;
        if (rnd(8) == 0)
            bytes = 1;
        memory_make(&m, views[r].esize, bytes);
        lens[r] = memory_size(&m);
        /* stay inside the space */
        while (view_at(&views[r], start[r] * views[r].esize + lens[r]) >= SPACE && start[r] > 0)
            start[r] /= 2;
        if (view_at(&views[r], start[r] * views[r].esize + lens[r]) >= SPACE || rnd(10) == 0) {
            lens[r] = 0;
            m.count = 0;
        }
        if (r == mp_rank) {
            mine = m;
        } else {
            MPI_Type_free(&m.type);
            free(m.buf);
        }
    }
    n = (int)lens[mp_rank];
    for (int i = 0; is_write && i < n; i++)
        *memory_at(&mine, i) = value(round_no, mp_rank, i);
    MUST(call(fh, is_write, form, start[mp_rank], &mine, &status));
    for (int r = 0; r < mp_size; r++) {
        for (int i = 0; i < lens[r]; i++) {
            long long at = view_at(&views[r], start[r] * views[r].esize + i);

            if (is_write) {
                model[at] = value(round_no, r, i);
                if (at >= model_size)
                    model_size = at + 1;
            } else if (r == mp_rank && at < model_size) {
                got = i + 1;
            }
        }
    }
    if (is_write) {
        CHECK_EQ(io_count(&status, MPI_BYTE), n);
    } else {
        CHECK_EQ(io_count(&status, MPI_BYTE), got);
        for (int i = 0; i < n; i++) {
            long long at = view_at(&views[mp_rank], start[mp_rank] * views[mp_rank].esize + i);

            CHECK_EQ(*memory_at(&mine, i), i < got ? model[at] : 0xee);
        }
    }
    MPI_Type_free(&mine.type);
    free(mine.buf);
}

/* Between two accesses, which may be by different ranks to the same bytes. */
static void pass(MPI_File fh, int is_atomic)
{
    if (is_one_host || is_atomic) {
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        return;
    }
    MUST(MPI_File_sync(fh));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_File_sync(fh));
}

static void compare(void)
{
    static unsigned char got[SPACE];

    CHECK_EQ(io_size(NAME), model_size);
    CHECK_EQ(io_peek(NAME, 0, got, SPACE), model_size);
    for (long long i = 0; i < model_size; i++)
        if (got[i] != model[i]) {
            CHECK_EQ(i, -1);
            CHECK_EQ(got[i], model[i]);
            break;
        }
}

static void hints(MPI_Info info)
{
    static const char *const use[] = {"automatic", "enable", "disable"};
    static const char *const sizes[] = {"4096", "10000", "65536", "4194304"};

    MPI_Info_set(info, "romio_cb_write", use[rnd(3)]);
    MPI_Info_set(info, "romio_cb_read", use[rnd(3)]);
    MPI_Info_set(info, "cb_gather", use[rnd(3)]);
    MPI_Info_set(info, "romio_ds_write", use[rnd(3)]);
    MPI_Info_set(info, "romio_ds_read", use[rnd(3)]);
    MPI_Info_set(info, "cb_buffer_size", sizes[rnd(4)]);
    MPI_Info_set(info, "ind_rd_buffer_size", sizes[rnd(4)]);
    MPI_Info_set(info, "ind_wr_buffer_size", sizes[rnd(4)]);
    MPI_Info_set(info, "cb_nodes", rnd(2) == 0 ? "1" : "3");
}

static void one_round(uint32_t seed)
{
    struct view views[RANKS];
    int is_atomic;
    MPI_Info info;
    MPI_File fh;

    state = seed;
    memset(model, 0, sizeof(model));
    model_size = 0;
    MPI_Info_create(&info);
    hints(info);
    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_open(MPI_COMM_WORLD, NAME, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    is_atomic = rnd(4) == 0;
    if (is_atomic)
        MUST(MPI_File_set_atomicity(fh, 1));
    for (int v = 0; v < 2; v++) {
        uint32_t view_seed = rnd(1u << 30);

        for (int r = 0; r < mp_size; r++)
            view_make(&views[r], r, view_seed);
        MUST(MPI_File_set_view(fh, views[mp_rank].disp, views[mp_rank].etype,
                               views[mp_rank].filetype, rnd(4) == 0 ? "external32" : "native",
                               info));
        for (int i = 0; i < 6; i++) {
            uint32_t access_seed = rnd(1u << 30);
            uint64_t keep = state;

            state = access_seed;
            access_all(fh, views, i % 2 == 0 || access_seed % 3 == 0, access_seed);
            state = keep;
            pass(fh, is_atomic);
        }
        for (int r = 0; r < mp_size; r++)
            MPI_Type_free(&views[r].filetype);
    }
    MUST(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    compare();
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    const char *text;
    uint32_t seed;
    double end;
    int first = 0, go_on = 1, bad = 0, n_host;
    MPI_Comm host;

    mp_start(&argc, &argv);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    MUST(MPI_Comm_size(host, &n_host));
    MUST(MPI_Comm_free(&host));
    is_one_host = n_host == mp_size;
    text = getenv("IO_RANDOM_SEED");
    seed = text != NULL ? (uint32_t)atol(text) : (uint32_t)time(NULL);
    MPI_Bcast(&seed, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    text = getenv("IO_RANDOM_ROUND");
    if (text != NULL)
        first = atoi(text);
    end = MPI_Wtime() + (getenv("IO_RANDOM_SECONDS") ? atof(getenv("IO_RANDOM_SECONDS")) : 3);
    for (round_no = first; go_on && !bad; round_no++) {
        one_round(seed * 1000003u + (uint32_t)round_no);
        MPI_Allreduce(&mp_failures, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (bad && mp_rank == 0)
            fprintf(stderr, "IO_RANDOM_SEED=%u IO_RANDOM_ROUND=%d\n", seed, round_no);
        go_on = getenv("IO_RANDOM_ROUND") == NULL && MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (mp_rank == 0)
        unlink(NAME);
    return mp_finish();
}
