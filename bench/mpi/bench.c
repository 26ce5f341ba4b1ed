/*
 * datum-bench: point-to-point, one-sided, collectives and overlap, for any MPI library.
 *
 * A sample is a batch of calls that takes long enough for the clock. Before the samples of a size the batch is made
 * as long as it has to be, which warms up caches, registrations and connections. Every rank does what rank 0
 * decides. A table and the file say median, least and most, the 10th and 90th percentile, and how many samples
 * lie far outside.
 */
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "launch.h"
#include "options.h"

#define N_OWN_RANKS   2 /* without a launcher */
#define LEAST_SAMPLES 10
#define LEAST_QUICK   5
#define BATCH_MAX     1000000
#define N_BUFFERS     4 /* as large as the largest: two, a window, and what the library needs */

/* What a size is measured with. */
struct pace {
    double batch; /* seconds that a sample takes at least */
    double total; /* seconds for all samples */
    int least;    /* of them */
};

/* ---- one test ---- */

/* Messages or operations in one of the n. */
static double per_run(const struct test *t, const struct bench *b)
{
    return t->per_run * (t->is_windowed ? b->window : 1);
}

static double figure(const struct test *t, struct bench *b, int n, double seconds)
{
    double per_one = seconds / n / per_run(t, b);

    if (t->figure != NULL)
        return t->figure(b, n, seconds);
    switch (t->unit) {
    case UNIT_US:
        return per_one * 1e6;
    case UNIT_MBS:
        return (double)b->len / per_one / 1e6;
    default:
        return 1 / per_one;
    }
}

/* Of the slowest rank where all take part; rank 0's otherwise. */
static double slowest(const struct test *t, struct bench *b, double seconds)
{
    double most = seconds;

    if (t->n_ranks == 0)
        MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, b->comm);
    else
        MPI_Bcast(&most, 1, MPI_DOUBLE, 0, b->comm);
    return most;
}

/* How many in a batch, and seconds for it. */
static int calibrate(const struct test *t, struct bench *b, const struct pace *pace, double *took_p)
{
    double took = slowest(t, b, t->run(b, 1)); /* connections are made */
    int n = 1;

    for (;;) {
        took = slowest(t, b, t->run(b, n));
        if (took >= pace->batch) { /* or was it disturbed? */
            double again = slowest(t, b, t->run(b, n));

            took = again < took ? again : took;
        }
        if (took >= pace->batch || n >= BATCH_MAX)
            break;
        n = took > pace->batch / 100 ? (int)(n * pace->batch / took * 1.2) + 1 : n * 10;
        n = n < BATCH_MAX ? n : BATCH_MAX;
    }
    *took_p = took;
    return n;
}

/* Processor time of this process so far, seconds. */
static double cpu_time(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void measure(const struct test *t, struct bench *b, const struct pace *pace,
                    struct report *rep)
{
    static double samples[MAX_SAMPLES];
    double took, cpu, all_cpu = 0;
    int n = calibrate(t, b, pace, &took);
    double wanted = pace->total / (took > 0 ? took : pace->batch);
    int n_samples = wanted > MAX_SAMPLES   ? MAX_SAMPLES
                    : wanted < pace->least ? pace->least
                                           : (int)wanted;
    struct stats s;

    cpu = cpu_time();
    for (int i = 0; i < n_samples; i++) {
        took = slowest(t, b, t->run(b, n));
        samples[i] = figure(t, b, n, took);
    }
    cpu = cpu_time() - cpu;
    MPI_Reduce(&cpu, &all_cpu, 1, MPI_DOUBLE, MPI_SUM, 0, b->comm);
    if (b->rank != 0)
        return;
    s = stats_of(samples, n_samples);
    s.cpu = all_cpu * 1e6 / n / n_samples / per_run(t, b);
    report_result(rep, t, b->len, &s, n);
}

/* ---- memory ---- */

static void *buffer(size_t len, int fill)
{
    void *mem = NULL;

    if (posix_memalign(&mem, 4096, len > 0 ? len : 1) != 0)
        return NULL;
    memset(mem, fill, len);
    return mem;
}

/* Of the largest size in a buffer: one more than ranks, since blocks may differ. */
static size_t n_blocks(const struct test *t, const struct bench *b)
{
    return t->is_all_to_all ? (size_t)b->size + 1 : 1;
}

/* For the largest size; false on some rank: on all. */
static int make_buffers(const struct test *t, struct bench *b, size_t most)
{
    size_t len = (most < 4096 ? 4096 : most) * n_blocks(t, b);
    int is_ok, all_ok = 0;

    b->sbuf = buffer(len, 0);
    b->rbuf = buffer(len, 0);
    b->win = MPI_WIN_NULL;
    is_ok = b->sbuf != NULL && b->rbuf != NULL;
    MPI_Allreduce(&is_ok, &all_ok, 1, MPI_INT, MPI_MIN, b->comm);
    return all_ok;
}

/* A window of memory that the library allocates, or of the program's. */
static char *make_window(struct bench *b, size_t most, int is_created)
{
    size_t len = most < 4096 ? 4096 : most;
    char *mem = NULL;

    if (is_created) {
        mem = buffer(len, 0);
        if (mem == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Win_create(mem, (MPI_Aint)len, 1, MPI_INFO_NULL, b->comm, &b->win);
        return mem;
    }
    MPI_Win_allocate((MPI_Aint)len, 1, MPI_INFO_NULL, b->comm, &mem, &b->win);
    memset(mem, 0, len);
    MPI_Barrier(b->comm);
    return NULL;
}

/* ---- all that was asked for ---- */

/* The range of sizes: what was asked for, as far as the test goes; true: and not further, for want of memory. */
static int range(const struct options *opt, const struct test *t, const struct bench *b,
                 size_t *least_p, size_t *most_p)
{
    size_t room = room_for(b->comm) / N_BUFFERS / n_blocks(t, b);
    size_t factor = opt->factor > 0 ? opt->factor : 2;

    *least_p = opt->least > t->least ? opt->least : t->least;
    *most_p = opt->has_size                           ? opt->most
              : opt->is_quick && t->dflt_most > 65536 ? 65536
                                                      : t->dflt_most;
    if (*most_p > t->most)
        *most_p = t->most;
    while (t->is_divided && *least_p < sizeof(double) * (size_t)b->size)
        *least_p *= factor;
    if (opt->memory > 0 && *most_p > opt->memory / n_blocks(t, b))
        *most_p = opt->memory / n_blocks(t, b);
    if (t->is_all_to_all && *most_p > INT_MAX / n_blocks(t, b)) /* displacements are int */
        *most_p = INT_MAX / n_blocks(t, b);
    if (t->least == t->most) /* one size, whatever was asked */
        *least_p = *most_p = t->most;
    if (*least_p > *most_p || *most_p <= room)
        return 0;
    *most_p = room;
    return 1;
}

/* The size behind this one; more than most: there is none. */
static size_t next_size(const struct options *opt, size_t len, size_t most)
{
    size_t next = len == 0 ? 1 : len * (opt->factor > 0 ? opt->factor : 2);

    return opt->factor > 0 && len < most && next > most ? most : next;
}

/* Test i of n. */
static void run_test(const struct options *opt, const struct test *t, struct bench *b,
                     struct report *rep, int i, int n)
{
    double seconds = opt->is_quick ? 0.02 : opt->seconds;
    struct pace pace = {
        .batch = seconds < 0.01  ? seconds / LEAST_SAMPLES
                 : opt->is_quick ? 0.0002
                                 : 0.001,
        .total = seconds,
        .least = opt->is_quick ? LEAST_QUICK : LEAST_SAMPLES,
    };
    size_t least, most;
    char *mem = NULL;
    int is_cut = range(opt, t, b, &least, &most);
    int k = 0, n_sizes = 1;

    if (b->rank == 0 && least <= most)
        report_test(rep, t, b->size, b->window);
    if (least > most) {
        if (b->rank == 0)
            report_skip(rep, t,
                        is_cut ? "no memory for the buffers"
                               : "none of its sizes is in --size and --memory");
        return;
    }
    for (size_t len = next_size(opt, least, most); most > 0 && len <= most;
         len = next_size(opt, len, most))
        n_sizes++;
    if (!make_buffers(t, b, most)) {
        if (b->rank == 0)
            report_skip(rep, t, "no memory for the buffers");
        most = 0;
        least = 1;
    }
    if (t->is_onesided && least <= most)
        mem = make_window(b, most, opt->is_created);
    for (b->len = least; b->len <= most; b->len = next_size(opt, b->len, most)) {
        if (b->rank == 0)
            bar_show((i + (double)k++ / n_sizes) / n, t->name, b->len);
        measure(t, b, &pace, rep);
        if (most == 0)
            break;
    }
    if (b->rank == 0 && is_cut && least <= most)
        report_cut(rep, t, most);
    if (b->win != MPI_WIN_NULL)
        MPI_Win_free(&b->win);
    free(mem);
    free(b->sbuf);
    free(b->rbuf);
}

/* Wait for the end of a test. Ranks that do not take part do not poll hard. */
static void wait_asleep(void)
{
    const struct timespec pause = {0, 1000000};
    MPI_Request req;
    int is_done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &req);
    for (;;) {
        MPI_Test(&req, &is_done, MPI_STATUS_IGNORE);
        if (is_done)
            return;
        nanosleep(&pause, NULL);
    }
}

static int count_hosts(int rank, int size)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "", *all = NULL;
    int len, n = 0;

    MPI_Get_processor_name(mine, &len);
    if (rank == 0)
        all = calloc((size_t)size, sizeof(mine));
    if (rank == 0 && all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(mine, sizeof(mine), MPI_CHAR, all, sizeof(mine), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        int is_new = 1;

        for (int k = 0; k < i; k++)
            is_new = is_new && strcmp(all + i * sizeof(mine), all + k * sizeof(mine)) != 0;
        n += is_new;
    }
    free(all);
    return n;
}

/* Every rank to each other: connections are made, and what a rank needs for them is there. */
static void talk_to_all(int rank, int size)
{
    int out = rank, in;

    for (int i = 1; i < size; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + i) % size, 0, &in, 1, MPI_INT,
                     (rank + size - i) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int run_all(const struct options *opt, int rank, int size)
{
    struct report rep = {0};
    int is_in_pair = rank == 0 || rank == size - 1;
    int n_hosts = count_hosts(rank, size), n_tests = opt->n_tests, err = 0;
    const struct test *t;
    MPI_Comm pair, all, reverse;

    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reverse);
    MPI_Comm_split(MPI_COMM_WORLD, is_in_pair ? 0 : MPI_UNDEFINED, rank, &pair);
    talk_to_all(rank, size);
    rep.memory = memory_of(all);
    if (rank == 0)
        err = report_begin(&rep, opt->json, size, n_hosts) == 0 ? 0 : errno != 0 ? errno : EIO;
    MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (err != 0 && rank == 0)
        fprintf(stderr, "datum-bench: %s: %s\n", opt->json, strerror(err));
    for (int i = 0; err == 0 && i < n_tests; i++) {
        struct bench b = {.comm = MPI_COMM_NULL, .reverse = reverse, .window = opt->window};

        t = opt->tests[i];
        if (size < 2 && t->n_ranks == 2) {
            report_skip(&rep, t, "it needs two ranks");
            continue;
        }
        b.comm = t->n_ranks == 2 ? pair : all;
        if (b.comm != MPI_COMM_NULL) {
            MPI_Comm_rank(b.comm, &b.rank);
            MPI_Comm_size(b.comm, &b.size);
            run_test(opt, t, &b, &rep, i, n_tests);
        }
        if (t->n_ranks == 2 && size > 2)
            wait_asleep();
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
    bar_clear();
    if (err == 0 && rank == 0 && report_end(&rep) != 0) {
        fprintf(stderr, "datum-bench: %s: cannot be written: %s\n", rep.json_name, strerror(errno));
        err = EIO;
    }
    MPI_Comm_free(&all);
    MPI_Comm_free(&reverse);
    if (pair != MPI_COMM_NULL)
        MPI_Comm_free(&pair);
    return err != 0;
}

int main(int argc, char **argv)
{
    struct options opt = {0};
    int status = options_parse(argc, argv, &opt);
    int rank, size;

    if (status == STATUS_OK && fflush(stdout) != 0) {
        fprintf(stderr, "datum-bench: standard output: cannot be written: %s\n", strerror(errno));
        return STATUS_FAILED;
    }
    if (status >= 0)
        return status;
    if (launcher_rank() == NULL && opt.n_ranks != 1)
        launch_self(opt.n_ranks != 0 ? opt.n_ranks : N_OWN_RANKS, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (opt.is_start) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return STATUS_OK;
    }
    if (rank == 0)
        bar_begin();
    if (opt.n_ranks != 0 && opt.n_ranks != size) {
        if (rank == 0)
            fprintf(stderr, "datum-bench: the job has %d ranks, --ranks wants %d\n", size,
                    opt.n_ranks);
        status = STATUS_USAGE;
    } else {
        status = run_all(&opt, rank, size);
    }
    MPI_Finalize();
    return status;
}
