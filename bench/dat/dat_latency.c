/*
 * Latency of raw DAT: ping-pongs of RDMA writes into both kinds of memory and
 * of sends, half round trip; atomics until their completion.
 *
 * The floors do the same with bare stores into shared memory, the last 8 bytes
 * last, or with bare process_vm_writev. At 8 bytes the floor is the hand-over
 * of one cache line.
 */
#include "dat_bench.h"

#include <sys/uio.h>

#include <dat2/dat_ib_extensions.h>

enum { N_RECVS = 16, SEND_MAX = 65536 };

/* Round trips in a turn, about 2 ms. */
static int trips(size_t size)
{
    size_t n = ((size_t)8 << 20) / (size + 1024);

    return n < 20 ? 20 : (int)n;
}

/* One side's moves: the first begins. */
static double per_trip(double start, int n)
{
    return (dt_now() - start) * 1e9 / n / 2;
}

static double bare_pingpong(struct bn *b, size_t size)
{
    const _Atomic uint64_t *mine = bn_end(b->shared.mine.buf, size);
    double start = dt_now();
    int n = trips(size);

    for (int i = 0; i < n; i++) {
        b->seq++;
        if (b->is_first)
            bn_put(b->shared.mapped, b->src.mine.buf, size, b->seq);
        bn_spin_until(mine, b->seq);
        if (!b->is_first)
            bn_put(b->shared.mapped, b->src.mine.buf, size, b->seq);
    }
    return per_trip(start, n);
}

static double write_pingpong_in(struct bn *b, const struct bn_mem *mem, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, size);
    DAT_RMR_TRIPLET to = dt_remote(&mem->theirs, 0, size);
    const _Atomic uint64_t *mine = bn_end(mem->mine.buf, size);
    double start = dt_now();
    int n = trips(size);

    for (int i = 0; i < n; i++) {
        b->seq++;
        if (!b->is_first)
            bn_spin_until(mine, b->seq);
        /* What was sent last has arrived: the answer is here. */
        bn_set_end(b->src.mine.buf, size, b->seq);
        bn_write(b, b->t.ep, &seg, &to);
        if (b->is_first)
            bn_spin_until(mine, b->seq);
    }
    return per_trip(start, n);
}

static double write_pingpong(struct bn *b, size_t size)
{
    return write_pingpong_in(b, &b->shared, size);
}

static double write_pingpong_private(struct bn *b, size_t size)
{
    return write_pingpong_in(b, &b->private, size);
}

static pid_t peer_pid(struct bn *b)
{
    pid_t mine = getpid();
    pid_t theirs;

    dt_tell(&b->t, &mine, sizeof(mine));
    dt_hear(&b->t, &theirs, sizeof(theirs));
    return theirs;
}

static double vm_pingpong(struct bn *b, size_t size)
{
    struct iovec here = {.iov_base = b->src.mine.buf, .iov_len = size};
    struct iovec there = {.iov_base = b->private.theirs.buf, .iov_len = size};
    const _Atomic uint64_t *mine = bn_end(b->private.mine.buf, size);
    pid_t pid = peer_pid(b);
    double start = dt_now();
    int n = trips(size);

    for (int i = 0; i < n; i++) {
        b->seq++;
        if (!b->is_first)
            bn_spin_until(mine, b->seq);
        bn_set_end(b->src.mine.buf, size, b->seq);
        CHECK_EQ(process_vm_writev(pid, &here, 1, &there, 1, 0), size);
        if (b->is_first)
            bn_spin_until(mine, b->seq);
    }
    return per_trip(start, n);
}

/* N_RECVS receives are always posted, in the upper half of the memory. */
static void post_recv(struct bn *b, uint64_t slot)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->shared.mine, BN_LEN / 2 + slot * SEND_MAX, SEND_MAX);

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

static void send_one(struct bn *b, DAT_LMR_TRIPLET *seg)
{
    bool is_marked = bn_is_marked(b);

    OK(dat_ep_post_send(b->t.ep, 1, seg, dt_cookie(0),
                        is_marked ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG));
    if (is_marked)
        bn_reap(b);
}

static double send_pingpong(struct bn *b, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, size);
    double start = dt_now();
    int n = trips(size);

    for (int i = 0; i < n; i++) {
        if (b->is_first)
            send_one(b, &seg);
        recv_one(b);
        if (!b->is_first)
            send_one(b, &seg);
    }
    return per_trip(start, n);
}

enum { N_ATOMICS = 5000 };

static double fetch_add_by(struct bn *b, bool is_active)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    /* Both use the first's memory, so that they can meet there. */
    DAT_RMR_TRIPLET to = dt_remote(&b->shared.theirs, 0, 8);
    double start = dt_now();

    for (int i = 0; i < N_ATOMICS && is_active; i++) {
        OK(dat_ib_post_fetch_and_add(b->t.ep, 1, &seg, dt_cookie(0), &to,
                                     DAT_COMPLETION_DEFAULT_FLAG));
        bn_reap(b);
    }
    return (dt_now() - start) * 1e9 / N_ATOMICS;
}

static double fetch_add(struct bn *b, size_t size)
{
    (void)size;
    return fetch_add_by(b, b->is_first);
}

static double cmp_swap(struct bn *b, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&b->shared.theirs, 0, 8);
    double start = dt_now();

    (void)size;
    for (int i = 0; i < N_ATOMICS && b->is_first; i++) {
        OK(dat_ib_post_cmp_and_swap(b->t.ep, i, i + 1, &seg, dt_cookie(0), &to,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        bn_reap(b);
    }
    return (dt_now() - start) * 1e9 / N_ATOMICS;
}

static double bare_atomic(struct bn *b, size_t size)
{
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)b->shared.mapped;
    double start = dt_now();

    (void)size;
    for (int i = 0; i < N_ATOMICS && b->is_first; i++)
        atomic_fetch_add(word, 1);
    return (dt_now() - start) * 1e9 / N_ATOMICS;
}

static double fetch_add_private(struct bn *b, size_t size)
{
    DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, 0, 8);
    DAT_RMR_TRIPLET to = dt_remote(&b->private.theirs, 0, 8);
    double start = dt_now();
    int n = N_ATOMICS / 50;

    (void)size;
    for (int i = 0; i < n && b->is_first; i++) {
        OK(dat_ib_post_fetch_and_add(b->t.ep, 1, &seg, dt_cookie(0), &to,
                                     DAT_COMPLETION_DEFAULT_FLAG));
        bn_reap(b);
    }
    return (dt_now() - start) * 1e9 / n;
}

static bool has_atomics(struct bn *b)
{
    DAT_IA_ATTR attr;

    OK(dat_ia_query(b->t.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
    return attr.extension_supported == DAT_EXTENSION_IB;
}

static void rows(struct bn *b)
{
    for (size_t size = 8; size <= 1 << 20; size *= size < 4096 ? 8 : 4)
        bn_row(b, "write_pingpong", size, "ns", write_pingpong, "stores", bare_pingpong);
    for (size_t size = 8; size <= 1 << 18; size *= size < 4096 ? 512 : 8)
        bn_row(b, "write_pingpong_private", size, "ns", write_pingpong_private, "process_vm_writev",
               vm_pingpong);
    for (uint64_t slot = 0; slot < N_RECVS; slot++)
        post_recv(b, slot);
    for (size_t size = 8; size <= SEND_MAX; size *= size < 4096 ? 8 : 16)
        bn_row(b, "send_pingpong", size, "ns", send_pingpong, "stores", bare_pingpong);
    if (!has_atomics(b))
        return;
    bn_row(b, "fetch_add", 8, "ns", fetch_add, "lock_xadd", bare_atomic);
    bn_row(b, "cmp_swap", 8, "ns", cmp_swap, "lock_xadd", bare_atomic);
    bn_row(b, "fetch_add_private", 8, "ns", fetch_add_private, "lock_xadd", bare_atomic);
}

int main(int argc, char **argv)
{
    return bn_run(argc, argv, rows);
}
