/*
 * Rates of raw DAT: posts that nobody waits for, on one endpoint and on
 * several; completions; small sends; atomics.
 *
 * The floors: bare stores of the same size into the same memory; a ring of
 * 64-byte entries in the same process, or between the two.
 */
#include "dat_bench.h"

#include <dat2/dat_ib_extensions.h>

enum { N_EPS = 8, N_POSTS = 20000, BATCH = 64, N_RECVS = 128, N_SENDS = 8192, ENTRY = 64 };

static DAT_EP_HANDLE eps[N_EPS];

/* The first endpoint is there already; connect the others. */
static void more_eps(struct bn *b)
{
    DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
    DAT_CONN_QUAL qual = 0;

    eps[0] = b->t.ep;
    if (b->is_first)
        psp = dt_listen(&b->t);
    else
        dt_hear(&b->t, &qual, sizeof(qual));
    for (int i = 1; i < N_EPS; i++) {
        eps[i] = dt_ep(&b->t);
        if (b->is_first)
            dt_accept(&b->t, eps[i]);
        else
            dt_connect(&b->t, eps[i], qual);
    }
    if (b->is_first)
        OK(dat_psp_free(psp));
}

static double ns_per(double start, int n)
{
    return (dt_now() - start) * 1e9 / n;
}

static double post_on(struct bn *b, size_t size, unsigned n_eps)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, size);
    DAT_RMR_TRIPLET to = dt_remote(&b->shared.theirs, 0, size);
    int n = b->is_first ? N_POSTS : 0;
    double start = dt_now();

    for (int i = 0; i < n; i++)
        bn_write(b, eps[(unsigned)i % n_eps], &seg, &to);
    return ns_per(start, N_POSTS);
}

static double post_write(struct bn *b, size_t size)
{
    return post_on(b, size, 1);
}

static double post_write_8_eps(struct bn *b, size_t size)
{
    return post_on(b, size, N_EPS);
}

static double bare_stores(struct bn *b, size_t size)
{
    int n = b->is_first ? N_POSTS : 0;
    double start = dt_now();

    for (int i = 0; i < n; i++) {
        bn_put(b->shared.mapped, b->src.mine.buf, size, (uint64_t)i);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return ns_per(start, N_POSTS);
}

/* A batch of signalled posts, then their completions. */
static double complete_on(struct bn *b, size_t size, unsigned n_eps)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, size);
    DAT_RMR_TRIPLET to = dt_remote(&b->shared.theirs, 0, size);
    int n = b->is_first ? N_POSTS / BATCH : 0;
    double start = dt_now();

    for (int i = 0; i < n; i++) {
        for (unsigned k = 0; k < BATCH; k++)
            OK(dat_ep_post_rdma_write(eps[k % n_eps], 1, &seg, dt_cookie(k), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
        for (int k = 0; k < BATCH; k++)
            bn_reap(b);
    }
    return ns_per(start, N_POSTS / BATCH * BATCH);
}

static double write_complete(struct bn *b, size_t size)
{
    return complete_on(b, size, 1);
}

static double write_complete_8_eps(struct bn *b, size_t size)
{
    return complete_on(b, size, N_EPS);
}

struct entry {
    _Alignas(ENTRY) uint64_t data[ENTRY / 8 - 1];
    _Atomic uint64_t seq;
};

static void ring_put(struct entry *ring, uint64_t seq)
{
    struct entry *e = &ring[seq % BATCH];

    memset(e->data, (int)seq, sizeof(e->data));
    atomic_store_explicit(&e->seq, seq, memory_order_release);
}

static volatile uint64_t sink;

static void ring_get(struct entry *ring, uint64_t seq)
{
    struct entry *e = &ring[seq % BATCH];
    uint64_t copy[ENTRY / 8 - 1];

    bn_spin_until(&e->seq, seq);
    memcpy(copy, e->data, sizeof(copy));
    sink = copy[seq % (ENTRY / 8 - 1)];
}

static double bare_ring(struct bn *b, size_t size)
{
    struct entry *ring = (struct entry *)(void *)b->src.mine.buf;
    int n = b->is_first ? N_POSTS / BATCH : 0;
    uint64_t seq = 1;
    double start = dt_now();

    for (int i = 0; i < n; i++, seq += BATCH) {
        for (uint64_t k = 0; k < BATCH; k++) {
            bn_put(b->shared.mapped, b->src.mine.buf + 65536, size, k);
            ring_put(ring, seq + k);
        }
        for (uint64_t k = 0; k < BATCH; k++)
            ring_get(ring, seq + k);
    }
    return ns_per(start, N_POSTS / BATCH * BATCH);
}

static double dequeue_empty(struct bn *b, size_t size)
{
    DAT_EVENT event;
    int n = b->is_first ? N_POSTS : 0;
    double start = dt_now();

    (void)size;
    for (int i = 0; i < n; i++)
        CHECK(dat_evd_dequeue(b->t.req_evd, &event) != DAT_SUCCESS);
    return ns_per(start, N_POSTS);
}

static double bare_look(struct bn *b, size_t size)
{
    int n = b->is_first ? N_POSTS : 0;
    double start = dt_now();

    (void)size;
    for (int i = 0; i < n; i++)
        sink = atomic_load_explicit(&b->page->ping, memory_order_acquire);
    return ns_per(start, N_POSTS);
}

static void post_recv(struct bn *b, uint64_t slot)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->shared.mine, BN_LEN / 2 + slot * ENTRY, ENTRY);

    OK(dat_ep_post_recv(b->t.ep, 1, &seg, dt_cookie(slot), DAT_COMPLETION_DEFAULT_FLAG));
}

static void recv_one(struct bn *b)
{
    DAT_EVENT event;
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

    while (dat_evd_dequeue(b->t.recv_evd, &event) != DAT_SUCCESS)
        continue;
    CHECK_EQ(dto->status, DAT_DTO_SUCCESS);
    post_recv(b, dto->user_cookie.as_64);
}

/* A stream of sends; the receiver says how far it is after every batch, so
 * that there is always a receive. */
static double send_rate(struct bn *b, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, size);
    double start = dt_now();
    uint64_t base = b->seq;

    b->seq += N_SENDS / BATCH;
    if (b->is_first)
        for (uint64_t i = 0; i < N_SENDS; i++) {
            bool is_marked = i % BATCH == BATCH - 1;

            if (i % BATCH == 0 && i >= N_RECVS)
                while (atomic_load(&b->page->n_ready) < base + i / BATCH - 1)
                    continue;
            OK(dat_ep_post_send(b->t.ep, 1, &seg, dt_cookie(i),
                                is_marked ? DAT_COMPLETION_DEFAULT_FLAG
                                          : DAT_COMPLETION_SUPPRESS_FLAG));
            if (is_marked)
                bn_reap(b);
        }
    else
        for (uint64_t i = 1; i <= N_SENDS; i++) {
            recv_one(b);
            if (i % BATCH == 0)
                atomic_store(&b->page->n_ready, base + i / BATCH);
        }
    bn_spin_until(&b->page->n_ready, b->seq);
    return ns_per(start, N_SENDS);
}

static double bare_stream(struct bn *b, size_t size)
{
    struct entry *ring =
        (struct entry *)(void *)(b->is_first ? b->shared.mapped : b->shared.mine.buf);
    double start;
    uint64_t base = b->seq;

    (void)size;
    if (!b->is_first)
        memset(ring, 0, BATCH * sizeof(*ring));
    dt_meet(&b->t);
    start = dt_now();
    b->seq += N_SENDS / BATCH * 2;
    for (uint64_t i = 1; i <= N_SENDS; i++) {
        uint64_t half = BATCH / 2;

        if (b->is_first) {
            if (i % half == 1 && i > BATCH)
                while (atomic_load(&b->page->n_ready) < base + i / half - 1)
                    continue;
            ring_put(ring, i);
        } else {
            ring_get(ring, i);
            if (i % half == 0)
                atomic_store(&b->page->n_ready, base + i / half);
        }
    }
    bn_spin_until(&b->page->n_ready, b->seq);
    return ns_per(start, N_SENDS);
}

enum { N_ATOMICS = 8192, ATOMIC_BATCH = 16 };

static double atomics(struct bn *b, const struct bn_mem *mem, int n)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&mem->theirs, 0, 8);
    double start = dt_now();

    for (int i = 0; i < n && b->is_first; i++) {
        bool is_marked = i % ATOMIC_BATCH == ATOMIC_BATCH - 1;

        OK(dat_ib_post_fetch_and_add(b->t.ep, 1, &seg, dt_cookie(0), &to,
                                     is_marked ? DAT_COMPLETION_DEFAULT_FLAG
                                               : DAT_COMPLETION_SUPPRESS_FLAG));
        if (is_marked)
            bn_reap(b);
    }
    return ns_per(start, n);
}

static double fetch_add_rate(struct bn *b, size_t size)
{
    (void)size;
    return atomics(b, &b->shared, N_ATOMICS);
}

static double fetch_add_rate_private(struct bn *b, size_t size)
{
    (void)size;
    return atomics(b, &b->private, N_ATOMICS / 64);
}

static double bare_atomics(struct bn *b, size_t size)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)b->shared.mapped;
    double start = dt_now();

    (void)size;
    for (int i = 0; i < N_ATOMICS && b->is_first; i++)
        atomic_fetch_add(word, 1);
    return ns_per(start, N_ATOMICS);
}

static void rows(struct bn *b)
{
    DAT_IA_ATTR attr;

    more_eps(b);
    for (size_t size = 8; size <= 4096; size *= 8)
        bn_row(b, "post_write", size, "ns", post_write, "stores", bare_stores);
    bn_row(b, "post_write_8_eps", 8, "ns", post_write_8_eps, "stores", bare_stores);
    bn_row(b, "write_complete", 8, "ns", write_complete, "stores_and_ring", bare_ring);
    bn_row(b, "write_complete_8_eps", 8, "ns", write_complete_8_eps, "stores_and_ring", bare_ring);
    bn_row(b, "dequeue_empty", 0, "ns", dequeue_empty, "load", bare_look);
    for (uint64_t slot = 0; slot < N_RECVS; slot++)
        post_recv(b, slot);
    bn_row(b, "send_rate", 8, "ns", send_rate, "ring", bare_stream);
    OK(dat_ia_query(b->t.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
    if (attr.extension_supported != DAT_EXTENSION_IB)
        return;
    bn_row(b, "fetch_add_rate", 8, "ns", fetch_add_rate, "lock_xadd", bare_atomics);
    bn_row(b, "fetch_add_rate_private", 8, "ns", fetch_add_rate_private, "lock_xadd", bare_atomics);
}

int main(int argc, char **argv)
{
    return bn_run(argc, argv, rows);
}
