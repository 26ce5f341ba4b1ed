/*
 * IS of the NAS Parallel Benchmarks: ranks of random integers by a parallel bucket sort.
 *
 *   mpiexec -n N is [-c S|W|A] [-r RUNS]
 *
 * Ten times: the sizes of the buckets are summed (MPI_Allreduce of some 1000 integers), buckets are given to
 * processes, which tell each other how many keys will come (MPI_Alltoall of one integer) and send them
 * (MPI_Alltoallv).
 * Checked: the published ranks of five keys each time; in the end that the keys are in order over all processes and are
 * those that were there in the beginning.
 */
#include "apps.h"

#include <limits.h>

#define N_STEPS 10
#define N_TESTS 5

static const struct size {
    int log_keys, log_most, log_buckets;
    int places[N_TESTS], ranks[N_TESTS]; /* of the keys whose ranks are known */
    /* Rank changes with the step s: those below n_up by s + up, the others by -(s + down). */
    int n_up, up, down;
} sizes[] = {
    {16, 11, 9, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, 3, 0, 0},
    {20,
     16,
     10,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     2,
     -2,
     0},
    {23,
     19,
     10,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     3,
     -1,
     -1},
};

static struct app app = {
    .name = "is",
    .title = "sort of integers, NAS",
    .classes = "SWA",
};
static const struct size *size;
static int n_buckets, shift, first_key, n_keys; /* of this process */
static int *keys, *sorted;                      /* sorted: by bucket */
static int *mine;                               /* keys that came, and room for that many */
static int n_mine, room;
static int first_keys[2 * N_STEPS + 1]; /* of rank 0, as they were in the beginning */
static int *counts, *totals;            /* of buckets, then the test keys */
static int *send_n, *send_at, *recv_n, *recv_at, *first_bucket;
static int *below;  /* of the keys of my buckets: how many keys are smaller */
static int n_lower; /* keys in the buckets of processes before me */

static void make_keys(void)
{
    uint64_t state = app_random_at(APP_SEED, 4 * (uint64_t)first_key);

    for (int i = 0; i < n_keys; i++) {
        double x = 0;

        for (int k = 0; k < 4; k++)
            x += app_random(&state);
        keys[i] = (int)(x * (1 << size->log_most) / 4);
    }
}

/* Sizes of all buckets of all processes, and the keys at the test places. */
static void count_buckets(void)
{
    int at = 0, *next = send_at; /* free until the exchange, and large enough */

    memset(counts, 0, (size_t)(n_buckets + N_TESTS) * sizeof(*counts));
    for (int i = 0; i < n_keys; i++)
        counts[keys[i] >> shift]++;
    for (int b = 0; b < n_buckets; b++) {
        next[b] = at;
        at += counts[b];
    }
    for (int i = 0; i < n_keys; i++)
        sorted[next[keys[i] >> shift]++] = keys[i];
    for (int t = 0; t < N_TESTS; t++) {
        int place = size->places[t] - first_key;

        if (place >= 0 && place < n_keys)
            counts[n_buckets + t] = keys[place];
    }
    MPI_Allreduce(counts, totals, n_buckets + N_TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Whole buckets for each process, about the same number of keys for all. */
static void deal(void)
{
    int b = 0, total = 0;

    for (int to = 0; to < app.size; to++) {
        int share = app_part(1 << size->log_keys, to + 1, app.size);

        first_bucket[to] = b;
        if (to == app.rank)
            n_lower = total;
        send_n[to] = 0;
        while (b < n_buckets && (total < share || to == app.size - 1)) {
            total += totals[b];
            send_n[to] += counts[b];
            b++;
        }
    }
    first_bucket[app.size] = b;
}

static void exchange(void)
{
    int at = 0;

    MPI_Alltoall(send_n, 1, MPI_INT, recv_n, 1, MPI_INT, MPI_COMM_WORLD);
    n_mine = 0;
    for (int i = 0; i < app.size; i++) {
        send_at[i] = at;
        at += send_n[i];
        recv_at[i] = n_mine;
        n_mine += recv_n[i];
    }
    if (n_mine > room) {
        free(mine);
        room = n_mine + n_mine / 8;
        mine = app_alloc((size_t)room, sizeof(*mine));
    }
    MPI_Alltoallv(sorted, send_n, send_at, MPI_INT, mine, recv_n, recv_at, MPI_INT, MPI_COMM_WORLD);
    if (n_mine > 0 && app_spoils(&app))
        mine[0] = first_bucket[app.rank] << shift;
}

/* below[k]: keys of all processes that are smaller than my smallest possible key + k. */
static void rank_mine(void)
{
    int least = first_bucket[app.rank] << shift, end = first_bucket[app.rank + 1] << shift;
    int sum = n_lower;

    memset(below, 0, (size_t)(end - least + 1) * sizeof(*below));
    for (int i = 0; i < n_mine; i++)
        below[mine[i] - least]++;
    for (int k = 0; k <= end - least; k++) {
        int n = below[k];

        below[k] = sum;
        sum += n;
    }
}

static int test_ranks(int step)
{
    int is_right = 1, least = first_bucket[app.rank] << shift;
    int end = first_bucket[app.rank + 1] << shift;

    for (int t = 0; t < N_TESTS; t++) {
        int key = totals[n_buckets + t];
        int want = size->ranks[t] + (t < size->n_up ? step + size->up : -step - size->down);

        if (key >= least && key < end && below[key - least] != want)
            is_right = 0;
    }
    return is_right;
}

/* Rank all keys ten times, two of them changed each time; whether the known ranks are right. */
static int solve(void)
{
    int is_right = 1;

    if (app.rank == 0)
        memcpy(keys, first_keys, sizeof(first_keys));
    for (int step = 1; step <= N_STEPS; step++) {
        if (app.rank == 0) {
            keys[step] = step;
            keys[step + N_STEPS] = (1 << size->log_most) - step;
        }
        count_buckets();
        deal();
        exchange();
        rank_mine();
        is_right &= test_ranks(step);
    }
    return is_right;
}

/* Something that keys of another kind or number hardly have in common. */
static uint64_t digest(const int *list, int n)
{
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        uint64_t h = ((uint64_t)list[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);

        sum += h ^ h >> 29;
    }
    return sum;
}

/* Put my keys where their ranks say; whether all are in order and the old ones. */
static int is_sorted(void)
{
    int least = first_bucket[app.rank] << shift, *list = app_alloc((size_t)n_mine, sizeof(*list));
    int last = -1, before = -1, is_right = 1;
    uint64_t sums[2] = {digest(keys, n_keys), 0};

    for (int i = 0; i < n_mine; i++) {
        int at = below[mine[i] - least]++ - n_lower;

        if (at >= 0 && at < n_mine)
            list[at] = mine[i];
        else
            is_right = 0;
    }
    if (n_mine > 0)
        last = list[n_mine - 1];
    MPI_Exscan(&last, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (app.rank == 0)
        before = -1;
    for (int i = 0; i < n_mine; i++) {
        is_right &= before <= list[i];
        before = list[i];
    }
    sums[1] = digest(list, n_mine);
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    free(list);
    return is_right && sums[0] == sums[1];
}

static void set_up(void)
{
    size_t n_ranks = (size_t)app.size;

    n_buckets = 1 << size->log_buckets;
    shift = size->log_most - size->log_buckets;
    first_key = app_part(1 << size->log_keys, app.rank, app.size);
    n_keys = app_part(1 << size->log_keys, app.rank + 1, app.size) - first_key;
    keys = app_alloc((size_t)n_keys, sizeof(int));
    sorted = app_alloc((size_t)n_keys, sizeof(int));
    counts = app_alloc((size_t)(n_buckets + N_TESTS), sizeof(int));
    totals = app_alloc((size_t)(n_buckets + N_TESTS), sizeof(int));
    send_n = app_alloc(n_ranks, sizeof(int));
    send_at = app_alloc(n_ranks > (size_t)n_buckets ? n_ranks : (size_t)n_buckets, sizeof(int));
    recv_n = app_alloc(n_ranks, sizeof(int));
    recv_at = app_alloc(n_ranks, sizeof(int));
    first_bucket = app_alloc(n_ranks + 1, sizeof(int));
    below = app_alloc(((size_t)1 << size->log_most) + 1, sizeof(int));
    make_keys();
    if (app.rank == 0)
        memcpy(first_keys, keys, sizeof(first_keys));
}

int main(int argc, char **argv)
{
    app_start(&app, &argc, &argv);
    size = &sizes[app.n_class];
    if (app.size > 256)
        app_refuse(&app, "at most 256 ranks");
    set_up();
    while (app_run(&app)) {
        int is_right = solve();

        app_stop(&app);
        app_check(&app, is_sorted() && is_right, "%d known ranks, order, the same keys",
                  N_TESTS * N_STEPS);
    }
    return app_end(&app, "");
}
