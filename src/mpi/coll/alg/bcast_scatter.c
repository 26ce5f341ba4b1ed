/*
 * Broadcast of large messages (van de Geijn): a binomial scatter of n slices, then an
 * allgather of them in a ring. Every rank sends about twice the message instead of log2
 * n times.
 */
#include "mpi/coll/alg/alg.h"

#define ALIGN ((size_t)64)

/* The message as bytes, cut into n slices of `slice` bytes (the last ones shorter or empty). */
struct cut {
    char *base;
    size_t len;
    size_t slice;
    int n;
    int me; /* position in the tree: the root is 0 */
    int root;
};

static size_t slice_at(const struct cut *c, int64_t i)
{
    size_t at = (size_t)i * c->slice;

    return at < c->len ? at : c->len;
}

static int bcast_rank_of(const struct cut *c, int64_t pos)
{
    return (int)((pos + c->root) % c->n);
}

/* Slices [first, end) to or from the tree position pos. */
static void pass_down(struct dm_run *run, const struct cut *c, int64_t first, int64_t end)
{
    size_t at = slice_at(c, first);
    size_t len = slice_at(c, end < c->n ? end : c->n) - at;

    if (len > 0)
        dm_coll_forward(run, c->base + at, len, dm_coll_byte(), bcast_rank_of(c, first));
}

static void bcast_scatter(struct dm_run *run, const struct cut *c)
{
    int64_t step = 1;

    while (step < c->n && (c->me & step) == 0)
        step *= 2;
    if (c->me != 0) {
        int64_t end = c->me + step < c->n ? c->me + step : c->n;
        size_t at = slice_at(c, c->me);
        size_t len = slice_at(c, end) - at;

        if (len > 0)
            dm_coll_recv_whole(run, c->base + at, len, dm_coll_byte(),
                               bcast_rank_of(c, c->me - step));
    }
    while (step > 1) {
        step /= 2;
        if (c->me + step < c->n)
            pass_down(run, c, c->me + step, c->me + 2 * step);
    }
}

/* The root has all already: its buffer is not written, which may be memory that cannot be. */
static void bcast_ring(struct dm_run *run, const struct cut *c)
{
    int next = bcast_rank_of(c, c->me + 1);
    int prev = bcast_rank_of(c, c->me - 1 + c->n);

    for (int i = 0; i < c->n - 1; i++) {
        int out = (c->me - i + c->n) % c->n;
        int in = (out - 1 + c->n) % c->n;
        const char *src = c->base + slice_at(c, out);
        char *dst = c->base + slice_at(c, in);
        size_t out_len = slice_at(c, out + 1) - slice_at(c, out);
        size_t in_len = slice_at(c, in + 1) - slice_at(c, in);

        if (c->me == 0)
            dm_coll_send(run, src, out_len, dm_coll_byte(), next);
        else if (next == c->root)
            dm_coll_recv(run, dst, in_len, dm_coll_byte(), prev);
        else
            dm_coll_sendrecv(run, src, out_len, dm_coll_byte(), next, dst, in_len, dm_coll_byte(),
                             prev);
    }
}

void dm_coll_bcast_scatter(struct dm_run *run, const struct dm_coll_args *a)
{
    struct cut c = {.len = dm_coll_bytes(a->rcount, a->rtype), .n = run->size, .root = a->root};
    bool is_packed = !a->rtype->is_contig;

    c.me = (run->rank - a->root + c.n) % c.n;
    c.slice = (c.len / (size_t)c.n + ALIGN) & ~(ALIGN - 1);
    if (is_packed)
        c.base = dm_coll_alloc(run, c.len);
    else
        c.base = (char *)a->rbuf + a->rtype->true_lb;
    if (c.base == NULL)
        return;
    if (is_packed && c.me == 0)
        dm_coll_pack(run, a->rbuf, a->rcount, a->rtype, c.base);
    bcast_scatter(run, &c);
    bcast_ring(run, &c);
    if (is_packed && c.me != 0)
        dm_coll_unpack(run, c.base, a->rbuf, a->rcount, a->rtype);
}
