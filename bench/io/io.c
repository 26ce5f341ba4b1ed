/*
 * Files: how long calls of MPI-IO take, plain MPI-3. One case in one run, so that a library which
 * fails in one of them is asked that only.
 *
 *   mpiexec -n N io [-k CASE] [-s BYTES] [-b BYTES] [-r RUNS] [-F pwrite|copy] FILE
 *
 * CASE: ind (independent) or coll (collective) with a pattern, as coll_strided: contig, strided
 * (blocks of -s bytes by turns), mem (contiguous in the file, pieces of -s bytes in memory), 3d, 4d
 * (blocks of an array of doubles), bt (several blocks for each rank, appended five times, as in
 * NPB-BT); or shared (appends of -s bytes by the shared pointer), short (nonblocking and split calls of
 * -s bytes, waited for at once), open (and close), overlap (nonblocking beside computing). -b is what each rank has. -F does the same without MPI-IO: pwrite
 * of each range, or copies into a mapping.
 * Output lines "WHAT MEDIAN BEST": milliseconds for all ranks, of a write to a new file and of a
 * read of what the system has in memory; microseconds a call of shared, short and open. What was read is
 * compared with what was written.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST_CELLS 8
#define MOST_RUNS  101
#define BT_STEPS   5

/* A block of a four-dimensional array of elements. */
struct cell {
    int dims[4], sub[4], start[4];
};

struct pattern {
    int n_cells, elem;
    struct cell cells[MOST_CELLS];
    size_t total; /* bytes of the whole array */
};

static int rank, size, n_runs = 5, floor_kind;
static size_t block = 512, bytes = 8 << 20;
static const char *name;
static char *buf;
static MPI_Datatype mem_type;
static int mem_count, is_mem, steps = 1;
static size_t mem_len;

static void die(const char *what)
{
    fprintf(stderr, "io: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(int err, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (err == MPI_SUCCESS)
        return;
    MPI_Error_string(err, text, &len);
    fprintf(stderr, "io: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- patterns ---- */

static void cell_grid(struct pattern *p, int n_dims, int elem, size_t mine)
{
    int parts[4] = {1, 1, 1, 1}, edge = 1, at = rank;
    struct cell *c = &p->cells[0];
    double volume;

    memset(parts + 4 - n_dims, 0, (size_t)n_dims * sizeof(parts[0]));
    MPI_Dims_create(size, n_dims, parts + 4 - n_dims);
    for (;; edge++) {
        volume = elem;
        for (int d = 0; d < n_dims; d++)
            volume *= edge + 1;
        if (volume > (double)mine)
            break;
    }
    p->n_cells = 1;
    p->elem = elem;
    for (int d = 3; d >= 0; d--) {
        c->sub[d] = d < 4 - n_dims ? 1 : edge;
        c->dims[d] = c->sub[d] * parts[d];
        c->start[d] = at % parts[d] * c->sub[d];
        at /= parts[d];
    }
}

/* Cells on diagonals: each rank has one in every slab. */
static void cell_diagonal(struct pattern *p, size_t mine)
{
    int side = 1, edge = 1;

    while ((side + 1) * (side + 1) <= size)
        side++;
    if (side * side != size || side > MOST_CELLS)
        die("bt wants a square number of ranks");
    while ((size_t)40 * (size_t)((edge + 1) * (edge + 1) * (edge + 1)) * (size_t)side <= mine)
        edge++;
    p->n_cells = side;
    p->elem = 40;
    for (int k = 0; k < side; k++) {
        int i = rank / side, j = rank % side;
        struct cell c = {.dims = {1, edge * side, edge * side, edge * side},
                         .sub = {1, edge, edge, edge},
                         .start = {0, k * edge, (i + k) % side * edge, (j + k) % side * edge}};

        p->cells[k] = c;
    }
    steps = BT_STEPS;
}

static void pattern_make(struct pattern *p, const char *what)
{
    size_t mine = bytes;

    memset(p, 0, sizeof(*p));
    if (strcmp(what, "3d") == 0) {
        cell_grid(p, 3, 8, mine);
    } else if (strcmp(what, "4d") == 0) {
        cell_grid(p, 4, 8, mine);
    } else if (strcmp(what, "bt") == 0) {
        cell_diagonal(p, mine / BT_STEPS);
    } else {
        int is_strided = strcmp(what, "strided") == 0, rows = is_strided ? (int)(mine / block) : 1;
        int columns = (int)(is_strided ? block : mine) / 8;
        struct cell c = {.dims = {1, 1, rows, columns * size},
                         .sub = {1, 1, rows, columns},
                         .start = {0, 0, 0, columns * rank}};

        if (!is_strided && strcmp(what, "contig") != 0 && strcmp(what, "mem") != 0)
            die("there is no such case");
        is_mem = strcmp(what, "mem") == 0;
        p->n_cells = 1;
        p->elem = 8;
        p->cells[0] = c;
    }
    p->total = (size_t)p->elem;
    for (int d = 0; d < 4; d++)
        p->total *= (size_t)p->cells[0].dims[d];
}

static size_t pattern_bytes(const struct pattern *p)
{
    size_t all = 0;

    for (int k = 0; k < p->n_cells; k++) {
        const int *sub = p->cells[k].sub;

        all += (size_t)sub[0] * (size_t)sub[1] * (size_t)sub[2] * (size_t)sub[3];
    }
    return all * (size_t)p->elem;
}

static MPI_Datatype pattern_type(const struct pattern *p)
{
    MPI_Datatype elem, cells[MOST_CELLS], type;
    int lens[MOST_CELLS];
    MPI_Aint displs[MOST_CELLS];

    MPI_Type_contiguous(p->elem, MPI_BYTE, &elem);
    for (int k = 0; k < p->n_cells; k++) {
        const struct cell *c = &p->cells[k];

        MPI_Type_create_subarray(4, c->dims, c->sub, c->start, MPI_ORDER_C, elem, &cells[k]);
        lens[k] = 1;
        displs[k] = 0;
    }
    MPI_Type_create_struct(p->n_cells, lens, displs, cells, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < p->n_cells; k++)
        MPI_Type_free(&cells[k]);
    MPI_Type_free(&elem);
    return type;
}

/* Each range of the file, with the system's own calls; map: its memory. */
static void floor_pass(const struct pattern *p, int fd, char *map, size_t base, int is_write)
{
    char *at = buf;

    for (int k = 0; k < p->n_cells; k++) {
        const struct cell *c = &p->cells[k];
        size_t len = (size_t)c->sub[3] * (size_t)p->elem;

        for (int x = 0; x < c->sub[0] * c->sub[1] * c->sub[2]; x++) {
            size_t a = (size_t)(c->start[0] + x / (c->sub[1] * c->sub[2]));
            size_t b = (size_t)(c->start[1] + x / c->sub[2] % c->sub[1]);
            size_t d = (size_t)(c->start[2] + x % c->sub[2]);
            size_t off = (a * (size_t)c->dims[1] + b) * (size_t)c->dims[2] + d;

            off = base + (off * (size_t)c->dims[3] + (size_t)c->start[3]) * (size_t)p->elem;
            if (map != NULL)
                memcpy(is_write ? map + off : at, is_write ? at : map + off, len);
            else if ((is_write ? pwrite(fd, at, len, (off_t)off)
                               : pread(fd, at, len, (off_t)off)) != (ssize_t)len)
                die("pwrite or pread");
            at += len;
        }
    }
}

static void floor_run(const struct pattern *p, int is_write)
{
    size_t all = p->total * (size_t)steps;
    int fd = open(name, O_RDWR);
    char *map = NULL;

    if (fd < 0)
        die("open");
    if (floor_kind == 'c') {
        if (is_write && posix_fallocate(fd, 0, (off_t)all) != 0)
            die("posix_fallocate");
        map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            die("mmap");
    }
    for (int s = 0; s < steps; s++)
        floor_pass(p, fd, map, (size_t)s * p->total, is_write);
    if (map != NULL)
        munmap(map, all);
    close(fd);
}

/* ---- memory ---- */

static char value_at(size_t i)
{
    return (char)(i * 7 + i / 251 + (size_t)rank * 31 + 1);
}

static void memory_make(size_t len)
{
    mem_len = is_mem ? 2 * len : len;
    buf = malloc(mem_len);
    if (buf == NULL)
        die("malloc");
    mem_type = MPI_BYTE;
    mem_count = (int)len;
    if (is_mem) {
        MPI_Type_vector((int)(len / block), (int)block, (int)(2 * block), MPI_BYTE, &mem_type);
        MPI_Type_commit(&mem_type);
        mem_count = 1;
    }
}

static int is_hole(size_t i)
{
    return is_mem && i / block % 2 == 1;
}

static void memory_fill(void)
{
    for (size_t i = 0; i < mem_len; i++)
        buf[i] = value_at(i);
}

static void memory_check(void)
{
    for (size_t i = 0; i < mem_len; i++)
        if (!is_hole(i) && buf[i] != value_at(i))
            die("what was read is not what was written");
}

/* ---- times ---- */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *what, const char *direction, double *times, int n)
{
    if (rank != 0)
        return;
    qsort(times, (size_t)n, sizeof(times[0]), compare_times);
    printf("%s%s %.3f %.3f\n", what, direction, times[n / 2], times[0]);
    fflush(stdout);
}

static void fresh_file(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int fd;

        unlink(name);
        fd = open(name, O_RDWR | O_CREAT, 0644);
        if (fd < 0)
            die("the file cannot be made");
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_File file_open(int amode)
{
    MPI_File f;

    must(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &f), "MPI_File_open");
    return f;
}

/* All steps of a pattern through a view. */
static void transfer(MPI_File f, size_t len, int is_coll, int is_write)
{
    for (int s = 0; s < steps; s++) {
        MPI_Offset at = (MPI_Offset)s * (MPI_Offset)len;

        if (is_write)
            must(is_coll ? MPI_File_write_at_all(f, at, buf, mem_count, mem_type, MPI_STATUS_IGNORE)
                         : MPI_File_write_at(f, at, buf, mem_count, mem_type, MPI_STATUS_IGNORE),
                 "writing");
        else
            must(is_coll ? MPI_File_read_at_all(f, at, buf, mem_count, mem_type, MPI_STATUS_IGNORE)
                         : MPI_File_read_at(f, at, buf, mem_count, mem_type, MPI_STATUS_IGNORE),
                 "reading");
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds from the first rank's start to the last one's end: a rank may leave a barrier long after others. */
static double span(double start)
{
    double ends[2] = {-start, now()};

    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return ends[0] + ends[1];
}

static double one_time(const struct pattern *p, MPI_Datatype type, int is_coll, int is_write)
{
    double start, time;
    MPI_File f = MPI_FILE_NULL;

    if (!floor_kind) {
        f = file_open(MPI_MODE_RDWR);
        must(MPI_File_set_view(f, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "set_view");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = now();
    if (floor_kind)
        floor_run(p, is_write);
    else
        transfer(f, pattern_bytes(p), is_coll, is_write);
    time = 1e3 * span(start);
    if (!floor_kind)
        must(MPI_File_close(&f), "MPI_File_close");
    return time;
}

static void run_pattern(const char *what, int is_coll)
{
    struct pattern p;
    MPI_Datatype type;
    double writes[MOST_RUNS], reads[MOST_RUNS];

    pattern_make(&p, what);
    type = pattern_type(&p);
    memory_make(pattern_bytes(&p));
    for (int r = -1; r < n_runs; r++) {
        int i = r < 0 ? 0 : r;

        fresh_file();
        memory_fill();
        writes[i] = one_time(&p, type, is_coll, 1);
        memset(buf, 0, mem_len);
        reads[i] = one_time(&p, type, is_coll, 0);
        memory_check();
    }
    report("write", "", writes, n_runs);
    report("read", "", reads, n_runs);
    MPI_Type_free(&type);
}

/* ---- other cases ---- */

static void run_shared(void)
{
    enum { CALLS = 1000 };
    double times[MOST_RUNS];

    memory_make(block);
    memory_fill();
    for (int r = 0; r < n_runs; r++) {
        MPI_File f;
        MPI_Offset end;
        double start;

        fresh_file();
        f = file_open(MPI_MODE_RDWR);
        MPI_Barrier(MPI_COMM_WORLD);
        start = now();
        for (int i = 0; i < CALLS; i++)
            must(MPI_File_write_shared(f, buf, (int)block, MPI_BYTE, MPI_STATUS_IGNORE),
                 "MPI_File_write_shared");
        times[r] = 1e6 * span(start) / CALLS;
        MPI_File_get_size(f, &end);
        MPI_File_close(&f);
        if (end != (MPI_Offset)block * CALLS * size)
            die("the file has another size");
    }
    report("shared", "", times, n_runs);
}

enum short_kind { SHORT_WRITE, SHORT_READ, SHORT_TEST, SHORT_SPLIT, N_SHORT };

static void short_call(MPI_File f, enum short_kind kind, MPI_Offset at)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int n = (int)block, is_over = 0;

    switch (kind) {
    case SHORT_WRITE:
        must(MPI_File_iwrite_at(f, at, buf, n, MPI_BYTE, &req), "MPI_File_iwrite_at");
        break;
    case SHORT_READ:
        must(MPI_File_iread_at(f, at, buf, n, MPI_BYTE, &req), "MPI_File_iread_at");
        break;
    case SHORT_TEST:
        must(MPI_File_iread_at(f, at, buf, n, MPI_BYTE, &req), "MPI_File_iread_at");
        while (!is_over)
            must(MPI_Test(&req, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
        break;
    default:
        must(MPI_File_write_at_all_begin(f, at, buf, n, MPI_BYTE), "MPI_File_write_at_all_begin");
        must(MPI_File_write_at_all_end(f, buf, MPI_STATUS_IGNORE), "MPI_File_write_at_all_end");
        break;
    }
    must(MPI_Wait(&req, MPI_STATUS_IGNORE), "MPI_Wait");
}

static void run_short(void)
{
    static const char *const names[N_SHORT] = {"iwrite", "iread", "iread_test", "split_write"};
    enum { CALLS = 500 };
    double times[N_SHORT][MOST_RUNS];

    memory_make(block);
    memory_fill();
    for (int r = 0; r < n_runs; r++) {
        MPI_File f;

        fresh_file();
        f = file_open(MPI_MODE_RDWR);
        for (int k = 0; k < N_SHORT; k++) {
            double start;

            MPI_Barrier(MPI_COMM_WORLD);
            start = now();
            for (int i = 0; i < CALLS; i++)
                short_call(f, (enum short_kind)k,
                           ((MPI_Offset)i * size + rank) * (MPI_Offset)block);
            times[k][r] = 1e6 * span(start) / CALLS;
        }
        memory_check();
        MPI_File_close(&f);
    }
    for (int k = 0; k < N_SHORT; k++)
        report(names[k], "", times[k], n_runs);
}

static void run_open(void)
{
    enum { CALLS = 20 };
    double times[MOST_RUNS];

    fresh_file();
    for (int r = 0; r < n_runs; r++) {
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = now();
        for (int i = 0; i < CALLS; i++) {
            MPI_File f = file_open(MPI_MODE_RDWR);

            must(MPI_File_close(&f), "MPI_File_close");
        }
        times[r] = 1e6 * span(start) / CALLS;
    }
    report("open_close", "", times, n_runs);
}

static volatile double sink;

static void compute(double seconds)
{
    double end = now() + seconds;

    while (now() < end)
        for (int i = 0; i < 1000; i++)
            sink = sink * 0.5 + i;
}

/* A nonblocking write, and computing as long as a blocking one takes; both together. */
static void run_overlap(int is_coll)
{
    double alone[MOST_RUNS] = {0}, both[MOST_RUNS] = {0};
    struct pattern p;

    pattern_make(&p, "contig");
    memory_make(pattern_bytes(&p));
    memory_fill();
    for (int r = 0; r < n_runs; r++) {
        MPI_File f;
        MPI_Request req;
        MPI_Offset at = (MPI_Offset)bytes * rank;
        double start;

        for (int part = 0; part < 2; part++) {
            fresh_file();
            f = file_open(MPI_MODE_RDWR);
            MPI_Barrier(MPI_COMM_WORLD);
            start = now();
            must(is_coll ? MPI_File_iwrite_at_all(f, at, buf, mem_count, MPI_BYTE, &req)
                         : MPI_File_iwrite_at(f, at, buf, mem_count, MPI_BYTE, &req),
                 "MPI_File_iwrite_at");
            if (part == 1)
                compute(alone[r] / 1e3);
            must(MPI_Wait(&req, MPI_STATUS_IGNORE), "MPI_Wait");
            (part == 0 ? alone : both)[r] = 1e3 * span(start);
            MPI_File_close(&f);
        }
    }
    report("nonblocking", "", alone, n_runs);
    report("and_computing", "", both, n_runs);
}

int main(int argc, char **argv)
{
    const char *what = "coll_strided";
    int opt;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((opt = getopt(argc, argv, "k:s:b:r:F:")) != -1) {
        switch (opt) {
        case 'k':
            what = optarg;
            break;
        case 's':
            block = (size_t)atol(optarg) / 8 * 8;
            break;
        case 'b':
            bytes = (size_t)atol(optarg);
            break;
        case 'r':
            n_runs = atoi(optarg);
            break;
        case 'F':
            floor_kind = optarg[0];
            break;
        default:
            die("unknown option");
        }
    }
    if (optind + 1 != argc || block < 8 || bytes < block || n_runs < 1 || n_runs > MOST_RUNS)
        die("usage: io [-k CASE] [-s BYTES] [-b BYTES] [-r RUNS] [-F pwrite|copy] FILE");
    name = argv[optind];
    if (strcmp(what, "shared") == 0)
        run_shared();
    else if (strcmp(what, "short") == 0)
        run_short();
    else if (strcmp(what, "open") == 0)
        run_open();
    else if (strcmp(what, "ind_overlap") == 0 || strcmp(what, "coll_overlap") == 0)
        run_overlap(what[0] == 'c');
    else if (strncmp(what, "ind_", 4) == 0)
        run_pattern(what + 4, 0);
    else if (strncmp(what, "coll_", 5) == 0)
        run_pattern(what + 5, 1);
    else
        die("there is no such case");
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    MPI_Finalize();
    return 0;
}
