/*
 * Buffers of active requests: changed while the library may still read them, or given to the library twice while one
 * of the two is written to (MPI-4.0 section 3.7.2).
 *
 * What is sent is summed at the start and at the completion. That a program reads a receive buffer too early is not seen.
 */
#include <stdlib.h>
#include <string.h>

#include "usage/state.h"
#include "util/log.h"
#include "util/port.h"

#define TEXT_LEN 4096
#define N_IOV    64
#define MAX_RUNS (1 << 16) /* of a buffer with holes that is compared with another */

/* ---- the runs of a buffer ---- */

struct usage_walk {
    const struct dm_usage_buffer *b;
    size_t offset;
    struct iovec iov[N_IOV];
};

/* The next few runs; 0: there are none any more. */
static int walk_next(struct usage_walk *walk)
{
    size_t total = walk->b->count * (size_t)walk->b->type->size;
    int n = 0;

    if (walk->offset >= total)
        return 0;
    walk->offset += dm_type_iov(walk->b->buf, walk->b->count, walk->b->type, walk->offset,
                                walk->iov, N_IOV, &n);
    return n;
}

static uint64_t sum_bytes(uint64_t sum, const char *bytes, size_t len)
{
    uint64_t word;

    for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    for (; len > 0; bytes++, len--)
        sum = (sum ^ (unsigned char)*bytes) * UINT64_C(1099511628211);
    return sum;
}

static uint64_t buffer_sum(const struct dm_usage_buffer *b)
{
    struct usage_walk walk = {.b = b};
    uint64_t sum = 1;
    int n;

    while ((n = walk_next(&walk)) > 0)
        for (int i = 0; i < n; i++)
            sum = sum_bytes(sum, walk.iov[i].iov_base, walk.iov[i].iov_len);
    return sum;
}

/* ---- overlapping ---- */

static void buffer_bound(struct dm_usage_active *active)
{
    const struct dm_usage_buffer *b = &active->b;
    ptrdiff_t stretch = (ptrdiff_t)(b->count - 1) * b->type->extent;
    uintptr_t at = (uintptr_t)b->buf + (uintptr_t)b->type->true_lb;

    active->low = (const char *)(at + (uintptr_t)(stretch < 0 ? stretch : 0));
    active->high = (const char *)(at + (uintptr_t)b->type->true_extent +
                                  (uintptr_t)(stretch > 0 ? stretch : 0));
}

static int run_by_address(const void *a, const void *b)
{
    const struct iovec *x = a, *y = b;

    return ((uintptr_t)x->iov_base > (uintptr_t)y->iov_base) -
           ((uintptr_t)x->iov_base < (uintptr_t)y->iov_base);
}

/* All runs in ascending order; NULL when there are too many, or no memory. */
static struct iovec *buffer_runs(const struct dm_usage_buffer *b, int *n_p)
{
    struct usage_walk walk = {.b = b};
    struct iovec *runs = malloc(MAX_RUNS * sizeof(*runs));
    int n;

    *n_p = 0;
    while (runs != NULL && (n = walk_next(&walk)) > 0) {
        if (*n_p + n > MAX_RUNS) {
            free(runs);
            return NULL;
        }
        memcpy(runs + *n_p, walk.iov, (size_t)n * sizeof(*runs));
        *n_p += n;
    }
    if (runs != NULL)
        qsort(runs, (size_t)*n_p, sizeof(*runs), run_by_address);
    return runs;
}

/* Do two ascending lists of runs share a byte? */
static bool runs_overlap(const struct iovec *a, int n_a, const struct iovec *b, int n_b)
{
    int i = 0, j = 0;

    while (i < n_a && j < n_b) {
        uintptr_t x = (uintptr_t)a[i].iov_base, y = (uintptr_t)b[j].iov_base;

        if (x + a[i].iov_len <= y)
            i++;
        else if (y + b[j].iov_len <= x)
            j++;
        else
            return true;
    }
    return false;
}

static bool buffers_overlap(const struct dm_usage_active *a, const struct dm_usage_active *b)
{
    struct iovec *runs_a, *runs_b;
    int n_a, n_b;
    bool overlap;

    if (a->low >= b->high || b->low >= a->high)
        return false;
    if (a->b.type->is_contig && b->b.type->is_contig)
        return true;
    runs_a = buffer_runs(&a->b, &n_a);
    runs_b = buffer_runs(&b->b, &n_b);
    overlap = runs_a != NULL && runs_b != NULL && runs_overlap(runs_a, n_a, runs_b, n_b);
    free(runs_a);
    free(runs_b);
    return overlap;
}

/*
 * May they not share a byte? Results of one-sided calls may: programs do so that do not look at them, and what is there
 * then is their affair.
 */
static bool buffers_conflict(const struct dm_usage_active *a, const struct dm_usage_active *b)
{
    if (a->b.is_written && b->b.is_written)
        return !a->request->is_rma || !b->request->is_rma;
    return a->b.is_written || b->b.is_written;
}

/* ---- messages ---- */

static bool may_speak(void)
{
    if (dm_usage_state.n_said == DM_USAGE_LINES)
        dm_log_warn("DATUM_CHECK: more buffers are used wrongly; not said any more");
    return dm_usage_state.n_said++ < DM_USAGE_LINES;
}

static void say_changed(const struct dm_usage_active *active)
{
    char what[256], place[TEXT_LEN];
    struct dm_strbuf sb;

    if (!may_speak())
        return;
    dm_strbuf_init(&sb, what, sizeof(what));
    dm_usage_buffer_add(&sb, &active->b);
    dm_strbuf_init(&sb, place, sizeof(place));
    dm_usage_place_add(&sb, &active->request->started);
    dm_log_warn("DATUM_CHECK: the buffer of %s (%s) was changed before the request was completed; "
                "started in\n%s",
                active->request->made.fn, what, place);
}

static void say_overlap(const struct dm_usage_active *active, const struct dm_usage_active *other)
{
    char what[256], place[TEXT_LEN];
    struct dm_strbuf sb;

    if (!may_speak())
        return;
    dm_strbuf_init(&sb, place, sizeof(place));
    dm_usage_place_add(&sb, &active->request->started);
    dm_strbuf_add(&sb, "    and the other one in\n");
    dm_usage_place_add(&sb, &other->request->started);
    dm_strbuf_init(&sb, what, sizeof(what));
    dm_usage_buffer_add(&sb, &active->b);
    dm_strbuf_addf(&sb, ") overlaps that of %s (", other->request->made.fn);
    dm_usage_buffer_add(&sb, &other->b);
    dm_log_warn("DATUM_CHECK: the buffer of %s (%s), which is in use; started in\n%s",
                active->request->made.fn, what, place);
}

/* ---- an operation ---- */

bool dm_usage_buffer_look(struct dm_usage_active *active)
{
    if (!dm_usage_has(DM_USAGE_BUFFERS) || active->b.count == 0 || active->b.type->size == 0)
        return false;
    buffer_bound(active);
    dm_list_for_each (it, &dm_usage_state.active) {
        const struct dm_usage_active *other = dm_container_of(it, struct dm_usage_active, link);

        if (buffers_conflict(active, other) && buffers_overlap(active, other)) {
            say_overlap(active, other);
            break;
        }
    }
    return true;
}

void dm_usage_buffer_begin(struct dm_usage_active *active)
{
    if (!dm_usage_buffer_look(active))
        return;
    dm_list_add_tail(&dm_usage_state.active, &active->link);
    if (!active->b.is_written && active->b.n_partitions == 0)
        active->sum = buffer_sum(&active->b);
}

static uint64_t partition_sum(const struct dm_usage_buffer *b, int partition)
{
    struct dm_usage_buffer one = *b;

    one.count = b->count / (size_t)b->n_partitions;
    one.buf = (const char *)b->buf + (ptrdiff_t)one.count * b->type->extent * partition;
    return buffer_sum(&one) | 1;
}

void dm_usage_buffer_ready(struct dm_usage_active *active, int partition)
{
    if (dm_list_is_empty(&active->link) || active->b.is_written || partition < 0 ||
        partition >= active->b.n_partitions)
        return;
    if (active->sums == NULL)
        active->sums = calloc((size_t)active->b.n_partitions, sizeof(*active->sums));
    if (active->sums != NULL)
        active->sums[partition] = partition_sum(&active->b, partition);
}

static bool buffer_was_changed(const struct dm_usage_active *active)
{
    bool was_changed = false;

    if (active->b.is_written)
        return false;
    if (active->b.n_partitions == 0)
        return active->sum != buffer_sum(&active->b);
    for (int i = 0; i < active->b.n_partitions && active->sums != NULL; i++) {
        was_changed |= active->sums[i] != 0 && active->sums[i] != partition_sum(&active->b, i);
        active->sums[i] = 0;
    }
    return was_changed;
}

void dm_usage_buffer_end(struct dm_usage_active *active)
{
    if (dm_list_is_empty(&active->link))
        return;
    dm_list_del(&active->link);
    if (buffer_was_changed(active))
        say_changed(active);
}
