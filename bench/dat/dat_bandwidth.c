/*
 * Bandwidth of raw DAT by size: RDMA writes and reads of memory that can be
 * mapped and of private memory.
 *
 * The floors move the same bytes between the same pages, by memcpy through a
 * mapping or by bare process_vm calls. "read" in a row's name: the target reads
 * every message, all of it, before the next one; its time counts. In the other
 * rows nobody touches what was written, which is rare in real programs.
 */
#include "dat_bench.h"

#include <sys/uio.h>

enum { TURN_BYTES = 32 << 20, TURN_MAX = 1000, TURN_MIN = 8 };

static int count(size_t size)
{
    size_t n = TURN_BYTES / size;

    return n > TURN_MAX ? TURN_MAX : n < TURN_MIN ? TURN_MIN : (int)n;
}

/* Messages walk through the whole memory. */
static size_t place(size_t size, int i)
{
    return (size_t)i % (BN_LEN / size) * size;
}

static double mb_per_s(double start, size_t size)
{
    return (double)size * count(size) / (dt_now() - start) * 1e-6;
}

/* n posts of one kind, signalled now and then and at the end. */
static double posts(struct bn *b, const struct bn_mem *mem, size_t size, bool is_write)
{
    int n = b->is_first ? count(size) : 0;
    int every = is_write ? 16 : 4;
    double start = dt_now();

    for (int i = 0; i < n; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, place(size, i), size);
        DAT_RMR_TRIPLET remote = dt_remote(&mem->theirs, place(size, i), size);
        bool is_marked = i % every == every - 1 || i == n - 1;
        DAT_COMPLETION_FLAGS flags =
            is_marked ? DAT_COMPLETION_DEFAULT_FLAG : DAT_COMPLETION_SUPPRESS_FLAG;

        if (is_write)
            OK(dat_ep_post_rdma_write(b->t.ep, 1, &seg, dt_cookie(0), &remote, flags));
        else
            OK(dat_ep_post_rdma_read(b->t.ep, 1, &seg, dt_cookie(0), &remote, flags));
        if (is_marked)
            bn_reap(b);
    }
    return mb_per_s(start, size);
}

static double write_mapped(struct bn *b, size_t size)
{
    return posts(b, &b->shared, size, true);
}

static double write_private(struct bn *b, size_t size)
{
    return posts(b, &b->private, size, true);
}

static double read_mapped(struct bn *b, size_t size)
{
    return posts(b, &b->shared, size, false);
}

static double read_private(struct bn *b, size_t size)
{
    return posts(b, &b->private, size, false);
}

static double copies(struct bn *b, size_t size, bool is_write)
{
    int n = b->is_first ? count(size) : 0;
    double start = dt_now();

    for (int i = 0; i < n; i++) {
        char *local = b->src.mine.buf + place(size, i);
        char *remote = b->shared.mapped + place(size, i);

        memcpy(is_write ? remote : local, is_write ? local : remote, size);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return mb_per_s(start, size);
}

static double copy_out(struct bn *b, size_t size)
{
    return copies(b, size, true);
}

static double copy_in(struct bn *b, size_t size)
{
    return copies(b, size, false);
}

static double vm_copies(struct bn *b, size_t size, bool is_write)
{
    int n = b->is_first ? count(size) : 0;
    pid_t pid = getpid();
    double start;

    dt_tell(&b->t, &pid, sizeof(pid));
    dt_hear(&b->t, &pid, sizeof(pid));
    start = dt_now();
    for (int i = 0; i < n; i++) {
        struct iovec here = {.iov_base = b->src.mine.buf + place(size, i), .iov_len = size};
        struct iovec there = {.iov_base = b->private.theirs.buf + place(size, i), .iov_len = size};
        ssize_t done = is_write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                                : process_vm_readv(pid, &here, 1, &there, 1, 0);

        CHECK_EQ(done, size);
    }
    return mb_per_s(start, size);
}

static double vm_write(struct bn *b, size_t size)
{
    return vm_copies(b, size, true);
}

static double vm_read(struct bn *b, size_t size)
{
    return vm_copies(b, size, false);
}

static volatile uint64_t sink;

/* The target's part: read each message when its end is there, then say so. */
static void reader(struct bn *b, size_t size)
{
    for (int i = 0; i < count(size); i++) {
        char *at = b->shared.mine.buf + place(size, i);
        uint64_t sum = 0;
        uint64_t word;

        bn_spin_until(bn_end(at, size), ++b->seq);
        for (size_t done = 0; done < size; done += sizeof(word)) {
            memcpy(&word, at + done, sizeof(word));
            sum += word;
        }
        sink = sum;
        atomic_store_explicit(&b->page->pong, b->seq, memory_order_release);
    }
}

static double write_read(struct bn *b, size_t size)
{
    double start = dt_now();

    if (!b->is_first) {
        reader(b, size);
        return 0;
    }
    for (int i = 0; i < count(size); i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&b->src.mine, place(size, i), size);
        DAT_RMR_TRIPLET remote = dt_remote(&b->shared.theirs, place(size, i), size);

        bn_set_end(b->src.mine.buf + place(size, i), size, ++b->seq);
        bn_write(b, b->t.ep, &seg, &remote);
        bn_spin_until(&b->page->pong, b->seq);
    }
    return mb_per_s(start, size);
}

static double copy_read(struct bn *b, size_t size)
{
    double start = dt_now();

    if (!b->is_first) {
        reader(b, size);
        return 0;
    }
    for (int i = 0; i < count(size); i++) {
        b->seq++;
        bn_put(b->shared.mapped + place(size, i), b->src.mine.buf + place(size, i), size, b->seq);
        bn_spin_until(&b->page->pong, b->seq);
    }
    return mb_per_s(start, size);
}

struct kind {
    const char *name;
    bn_turn ours;
    const char *floor_name;
    bn_turn bare;
};

static const struct kind kinds[] = {
    {"write_mapped", write_mapped, "memcpy", copy_out},
    {"write_mapped_read", write_read, "memcpy", copy_read},
    {"read_mapped", read_mapped, "memcpy", copy_in},
    {"write_private", write_private, "process_vm_writev", vm_write},
    {"read_private", read_private, "process_vm_readv", vm_read},
};

static void rows(struct bn *b)
{
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t size = 4096; size <= BN_LEN; size *= 4)
            bn_row(b, kinds[k].name, size, "MB/s", kinds[k].ours, kinds[k].floor_name,
                   kinds[k].bare);
}

int main(int argc, char **argv)
{
    return bn_run(argc, argv, rows);
}
