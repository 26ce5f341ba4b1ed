/*
 * Every collective of MPI, timed: plain MPI, so that it can be built for any library.
 *
 *   mpiexec -n N coll [-c NAME,...] [-s MIN:MAX] [-f FACTOR] [-t MS] [-m BYTES] [-o]
 *
 *   -c collectives (default: all; -l lists them), by their names in lower case
 *   -s sizes in bytes from MIN to MAX (default 8:1048576), each FACTOR times the one before (8), and
 *      MAX itself
 *   -t time for one case, ms (default 200): at least three batches are run, whatever they take
 *   -m memory for a buffer (default 16777216): cases that need more are left out
 *   -o overlap instead: nonblocking collectives with computing in between
 *
 * A case is run in batches of calls, of which the slowest rank's time counts. The root of rooted ones
 * goes round and scans go up and down by turns, so that no rank runs ahead. SIZE is the block of a pair for gather, scatter, allgather and
 * alltoall (and their v forms, whose blocks differ by up to a half), the vector for the rest.
 *
 * Output lines "NAME SIZE MEDIAN LOWEST HIGHEST CPU": us a call over the batches, and the CPU time
 * of all ranks together, us a call. With -o "NAME SIZE HIDDEN TIME COMPUTE TOTAL": the share of the
 * communication that the computing hid, percent, and what that was made of, us.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_BATCHES 200

struct options {
    const char *names;
    size_t min, max, factor, max_buf;
    double limit; /* s */
    int is_overlap;
};

/* What the calls work on. */
static struct {
    int rank, size;
    size_t bytes;
    char *sbuf, *rbuf;
    int *scounts, *sdispls, *rcounts, *rdispls;
    int count, root, n_vec;
    MPI_Comm turn; /* of two communicators, one the other's reverse */
} w;

/* ---- the collectives ---- */

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(void)
{
    MPI_Bcast(w.sbuf, w.count, MPI_BYTE, w.root, MPI_COMM_WORLD);
}
static void reduce(void)
{
    MPI_Reduce(w.sbuf, w.rbuf, w.n_vec, MPI_FLOAT, MPI_SUM, w.root, MPI_COMM_WORLD);
}
static void allreduce(void)
{
    MPI_Allreduce(w.sbuf, w.rbuf, w.n_vec, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(void)
{
    MPI_Gather(w.sbuf, w.count, MPI_BYTE, w.rbuf, w.count, MPI_BYTE, w.root, MPI_COMM_WORLD);
}
static void gatherv(void)
{
    MPI_Gatherv(w.sbuf, w.rcounts[w.rank], MPI_BYTE, w.rbuf, w.rcounts, w.rdispls, MPI_BYTE, w.root,
                MPI_COMM_WORLD);
}
static void scatter(void)
{
    MPI_Scatter(w.sbuf, w.count, MPI_BYTE, w.rbuf, w.count, MPI_BYTE, w.root, MPI_COMM_WORLD);
}
static void scatterv(void)
{
    MPI_Scatterv(w.sbuf, w.rcounts, w.rdispls, MPI_BYTE, w.rbuf, w.rcounts[w.rank], MPI_BYTE,
                 w.root, MPI_COMM_WORLD);
}
static void allgather(void)
{
    MPI_Allgather(w.sbuf, w.count, MPI_BYTE, w.rbuf, w.count, MPI_BYTE, MPI_COMM_WORLD);
}
static void allgatherv(void)
{
    MPI_Allgatherv(w.sbuf, w.rcounts[w.rank], MPI_BYTE, w.rbuf, w.rcounts, w.rdispls, MPI_BYTE,
                   MPI_COMM_WORLD);
}
static void alltoall(void)
{
    MPI_Alltoall(w.sbuf, w.count, MPI_BYTE, w.rbuf, w.count, MPI_BYTE, MPI_COMM_WORLD);
}
static void alltoallv(void)
{
    MPI_Alltoallv(w.sbuf, w.scounts, w.sdispls, MPI_BYTE, w.rbuf, w.scounts, w.sdispls, MPI_BYTE,
                  MPI_COMM_WORLD);
}
static void reduce_scatter_block(void)
{
    MPI_Reduce_scatter_block(w.sbuf, w.rbuf, w.n_vec / w.size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void reduce_scatter(void)
{
    int counts[1024], n = w.n_vec / w.size;

    for (int i = 0; i < w.size; i++)
        counts[i] = n + (i % 2 == 0 ? n / 2 : -(n / 2));
    MPI_Reduce_scatter(w.sbuf, w.rbuf, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static void scan(void)
{
    MPI_Scan(w.sbuf, w.rbuf, w.n_vec, MPI_FLOAT, MPI_SUM, w.turn);
}
static void exscan(void)
{
    MPI_Exscan(w.sbuf, w.rbuf, w.n_vec, MPI_FLOAT, MPI_SUM, w.turn);
}
static void ibcast(MPI_Request *req)
{
    MPI_Ibcast(w.sbuf, w.count, MPI_BYTE, w.root, MPI_COMM_WORLD, req);
}
static void iallreduce(MPI_Request *req)
{
    MPI_Iallreduce(w.sbuf, w.rbuf, w.n_vec, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, req);
}
static void ialltoall(MPI_Request *req)
{
    MPI_Ialltoall(w.sbuf, w.count, MPI_BYTE, w.rbuf, w.count, MPI_BYTE, MPI_COMM_WORLD, req);
}

/* has_blocks: a block for every rank in some buffer; else a vector. */
struct coll {
    const char *name;
    void (*call)(void);
    void (*start)(MPI_Request *req);
    int has_blocks, is_rooted;
};
static const struct coll colls[] = {
    {"barrier", barrier, NULL, 0, 0},
    {"bcast", bcast, ibcast, 0, 1},
    {"reduce", reduce, NULL, 0, 1},
    {"allreduce", allreduce, iallreduce, 0, 0},
    {"gather", gather, NULL, 1, 1},
    {"gatherv", gatherv, NULL, 1, 1},
    {"scatter", scatter, NULL, 1, 1},
    {"scatterv", scatterv, NULL, 1, 1},
    {"allgather", allgather, NULL, 1, 0},
    {"allgatherv", allgatherv, NULL, 1, 0},
    {"alltoall", alltoall, ialltoall, 1, 0},
    {"alltoallv", alltoallv, NULL, 1, 0},
    {"reduce_scatter", reduce_scatter, NULL, 0, 0},
    {"reduce_scatter_block", reduce_scatter_block, NULL, 0, 0},
    {"scan", scan, NULL, 0, 0},
    {"exscan", exscan, NULL, 0, 0},
};
#define N_COLLS (sizeof(colls) / sizeof(colls[0]))

/* ---- timing ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double cpu_time(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static MPI_Comm reverse;

/* n calls: seconds of the slowest rank. */
static double run_batch(const struct coll *c, int n, double *cpu)
{
    double mine[2], slowest, start, cpu_start;

    MPI_Barrier(MPI_COMM_WORLD);
    cpu_start = cpu_time();
    start = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        w.root = c->is_rooted ? i % w.size : 0;
        w.turn = i % 2 == 0 ? MPI_COMM_WORLD : reverse;
        c->call();
    }
    mine[0] = MPI_Wtime() - start;
    mine[1] = cpu_time() - cpu_start;
    MPI_Allreduce(&mine[0], &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], cpu, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return slowest;
}

/* How many calls make a batch of a twentieth of the time: all ranks know it alike. */
static int calibrate(const struct coll *c, double limit)
{
    int n = 1;
    double cpu, t = run_batch(c, n, &cpu);

    while (t < limit / 20 && n < 100000) {
        n = t < limit / 400 ? 4 * n : 2 * n;
        t = run_batch(c, n, &cpu);
    }
    /* All batches of a rooted one have every root. */
    return c->is_rooted && n > w.size ? n - n % w.size : n;
}

static void measure(const struct coll *c, double limit)
{
    double us[MAX_BATCHES], cpu, all_cpu = 0, spent = 0;
    int n = calibrate(c, limit), k = 0;

    while (k < MAX_BATCHES && (k < 3 || spent < limit)) {
        double t = run_batch(c, n, &cpu);

        us[k++] = t * 1e6 / n;
        all_cpu += cpu;
        spent += t;
    }
    if (w.rank != 0)
        return;
    qsort(us, (size_t)k, sizeof(us[0]), by_value);
    printf("%s %zu %.3f %.3f %.3f %.3f\n", c->name, w.bytes, us[k / 2], us[0], us[k - 1],
           all_cpu * 1e6 / n / k);
    fflush(stdout);
}

/* ---- overlap ---- */

static volatile double sink;

static void compute(long n)
{
    double x = sink + 2;

    for (long i = 0; i < n; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static double seconds_of(const struct coll *c, long loops, int does_communicate)
{
    double best = 1e9;

    for (int k = 0; k < 9; k++) {
        MPI_Request req = MPI_REQUEST_NULL;
        double start, t, slowest;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        if (does_communicate)
            c->start(&req);
        compute(loops);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        t = MPI_Wtime() - start;
        MPI_Allreduce(&t, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = slowest < best ? slowest : best;
    }
    return best;
}

static void overlap(const struct coll *c)
{
    long loops = 100000;
    double pure, busy, both, hidden;

    w.root = 0;
    seconds_of(c, 0, 1);
    pure = seconds_of(c, 0, 1);
    busy = seconds_of(c, loops, 0);
    /* As much work as the communication takes. */
    loops = (long)((double)loops * pure / busy) + 1;
    MPI_Bcast(&loops, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    busy = seconds_of(c, loops, 0);
    both = seconds_of(c, loops, 1);
    hidden = 100 * (1 - (both - busy) / pure);
    hidden = hidden < 0 ? 0 : hidden > 100 ? 100 : hidden;
    if (w.rank == 0)
        printf("%s %zu %.1f %.3f %.3f %.3f\n", c->name, w.bytes, hidden, pure * 1e6, busy * 1e6,
               both * 1e6);
    fflush(stdout);
}

/* ---- cases ---- */

/* Counts and places of size bytes for everybody, and a half more or less. */
static void set_counts(size_t size)
{
    int at = 0, r_at = 0, half = (int)(size / 2);

    w.count = (int)size;
    w.n_vec = (int)(size / sizeof(float));
    for (int i = 0; i < w.size; i++) {
        w.scounts[i] = (int)size + ((i + w.rank) % 2 == 0 ? half : -half);
        w.sdispls[i] = at;
        at += w.scounts[i];
        w.rcounts[i] = (int)size + (i % 2 == 0 ? half : -half);
        w.rdispls[i] = r_at;
        r_at += w.rcounts[i];
    }
}

static void run_case(const struct coll *c, const struct options *opt, size_t size)
{
    int is_scatter = strncmp(c->name, "reduce_scatter", 14) == 0;
    size_t need = c->has_blocks ? size * ((size_t)w.size + 1) : size + size / 2;

    if (need > opt->max_buf || (is_scatter && size < sizeof(float) * (size_t)w.size) ||
        (is_scatter && w.size > 1024))
        return;
    w.bytes = size;
    w.sbuf = calloc(need, 1);
    w.rbuf = calloc(need, 1);
    if (w.sbuf == NULL || w.rbuf == NULL) {
        fprintf(stderr, "coll: out of memory: two buffers of %zu bytes\n", need);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    set_counts(size);
    if (opt->is_overlap)
        overlap(c);
    else
        measure(c, opt->limit);
    free(w.sbuf);
    free(w.rbuf);
}

static void run_sizes(const struct coll *c, const struct options *opt)
{
    size_t size = opt->min;

    for (; size < opt->max; size *= opt->factor)
        run_case(c, opt, size);
    run_case(c, opt, opt->max);
}

static int is_named(const char *names, const char *name)
{
    size_t len = strlen(name);

    if (names == NULL)
        return 1;
    for (const char *at = strstr(names, name); at != NULL; at = strstr(at + 1, name))
        if ((at == names || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return 1;
    return 0;
}

/* Ends the program when a name is none of ours. */
static void check_names(const char *names)
{
    char copy[1000];
    size_t i;

    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
        for (i = 0; i < N_COLLS && strcmp(colls[i].name, name) != 0; i++)
            ;
        if (i == N_COLLS) {
            fprintf(stderr, "coll: no collective is called \"%s\"; coll -l lists them\n", name);
            exit(2);
        }
    }
}

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "coll: %s \"%s\"\n", what, value);
    return 2;
}

static int parse(int argc, char **argv, struct options *opt)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "-o") == 0) {
            opt->is_overlap = 1;
            continue;
        }
        if (strcmp(argv[i], "-l") == 0) {
            for (size_t k = 0; k < N_COLLS; k++)
                printf("%s\n", colls[k].name);
            exit(0);
        }
        if (strchr("csftm", argv[i][1]) == NULL || argv[i][0] != '-' || value == NULL)
            return wrong("unknown option, or one without its value:", argv[i]);
        i++;
        if (argv[i - 1][1] == 'c')
            check_names(opt->names = value);
        else if (argv[i - 1][1] == 's' && (sscanf(value, "%zu:%zu", &opt->min, &opt->max) != 2 ||
                                           opt->min < 1 || opt->max < opt->min))
            return wrong("-s wants MIN:MAX, not", value);
        else if (argv[i - 1][1] == 'f' && (opt->factor = strtoul(value, NULL, 10)) < 2)
            return wrong("-f wants a number from 2, not", value);
        else if (argv[i - 1][1] == 't' && (opt->limit = strtod(value, NULL) / 1e3) <= 0)
            return wrong("-t wants milliseconds, not", value);
        else if (argv[i - 1][1] == 'm' && (opt->max_buf = strtoul(value, NULL, 10)) == 0)
            return wrong("-m wants bytes, not", value);
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct options opt = {
        .min = 8, .max = 1 << 20, .factor = 8, .max_buf = (size_t)16 << 20, .limit = 0.2};
    int err = parse(argc, argv, &opt);

    if (err != 0)
        return err;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -w.rank, &reverse);
    w.scounts = calloc(4 * (size_t)w.size, sizeof(int));
    if (w.scounts == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    w.sdispls = w.scounts + w.size;
    w.rcounts = w.sdispls + w.size;
    w.rdispls = w.rcounts + w.size;
    for (size_t i = 0; i < N_COLLS; i++) {
        const struct coll *c = &colls[i];

        if (!is_named(opt.names, c->name) || (opt.is_overlap && c->start == NULL))
            continue;
        if (strcmp(c->name, "barrier") == 0)
            run_case(c, &opt, 0);
        else
            run_sizes(c, &opt);
    }
    free(w.scounts);
    MPI_Comm_free(&reverse);
    MPI_Finalize();
    return 0;
}
