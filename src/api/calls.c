/*
 * The profile of calls.
 *
 * Invariant: the table is written inside the global lock. What a thread is in is its own.
 */
#include "api/calls.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "mpi/coll/coll.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/log.h"

#define CALLS_DEPTH 2 /* callbacks may call MPI; what those call has no row */

/* Of one function; sums. */
struct calls_row {
    uint64_t n;
    uint64_t n_bytes;
    uint64_t ns;
    uint64_t waited_ns;
};
#define ROW_WORDS (int)(sizeof(struct calls_row) / sizeof(uint64_t))

struct calls_open {
    int index;
    uint64_t since;
    uint64_t waited_ns;
};

static struct calls_row *rows;
static DM_THREAD_LOCAL struct calls_open calls_open[CALLS_DEPTH];
static DM_THREAD_LOCAL int calls_depth;

void dm_calls_start(void)
{
    if (dm_cfg()->stats != DM_STATS_CALLS)
        return;
    if (rows == NULL)
        rows = calloc((size_t)dm_calls_n_functions(), sizeof(*rows));
    dm_api.is_profiled = rows != NULL;
    (void)dm_wait_time(dm_world.chan, dm_api.is_profiled);
}

void dm_calls_enter(const struct dm_fn *fn)
{
    if (calls_depth++ < CALLS_DEPTH)
        calls_open[calls_depth - 1] = (struct calls_open){
            fn->index, dm_clock_ns(), dm_wait_time(dm_world.chan, dm_api.is_profiled)};
}

void dm_calls_leave(uint64_t n_bytes)
{
    const struct calls_open *call;
    struct calls_row *row;

    if (calls_depth == 0 ||
        --calls_depth >= CALLS_DEPTH) /* it has begun before there was a profile */
        return;
    call = &calls_open[calls_depth];
    row = &rows[call->index];
    row->n++;
    row->n_bytes += n_bytes;
    row->ns += dm_clock_ns() - call->since;
    row->waited_ns += dm_wait_time(dm_world.chan, dm_api.is_profiled) - call->waited_ns;
}

/* ---- printing ---- */

static int calls_by_time(const void *a, const void *b)
{
    const struct calls_row *x = &rows[*(const int *)a], *y = &rows[*(const int *)b];

    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : *(const int *)a - *(const int *)b;
}

static void calls_print_rows(int n)
{
    int *order = calloc((size_t)n, sizeof(*order));
    int n_called = 0;

    for (int i = 0; order != NULL && i < n; i++)
        if (rows[i].n > 0 && dm_calls_function(i) != NULL)
            order[n_called++] = i;
    if (order == NULL)
        return;
    qsort(order, (size_t)n_called, sizeof(*order), calls_by_time);
    dm_log_info("%-32s %12s %16s %14s %14s %12s", "calls, of all processes", "calls", "bytes",
                "seconds", "of them waits", "us for one");
    for (int i = 0; i < n_called; i++) {
        const struct calls_row *row = &rows[order[i]];

        dm_log_info("%-32s %12llu %16llu %14.6f %14.6f %12.2f", dm_calls_function(order[i]),
                    (unsigned long long)row->n, (unsigned long long)row->n_bytes,
                    (double)row->ns * 1e-9, (double)row->waited_ns * 1e-9,
                    (double)row->ns * 1e-3 / (double)row->n);
    }
    free(order);
}

int dm_calls_print(void)
{
    int n = dm_calls_n_functions();
    struct calls_row *sum;
    int err;

    if (rows == NULL)
        return DM_OK;
    dm_api.is_profiled = false;
    sum = calloc((size_t)n, sizeof(*sum));
    if (sum == NULL)
        return DM_FAIL(DM_ENOMEM, "profile of calls");
    err = dm_reduce(rows, sum, (size_t)n * ROW_WORDS, dm_type_get(MPI_UINT64_T), dm_op_get(MPI_SUM),
                    0, dm_world.comm_world);
    free(rows);
    rows = sum;
    if (err == DM_OK && dm_world.rank == 0)
        calls_print_rows(n);
    free(rows);
    rows = NULL;
    return err;
}
