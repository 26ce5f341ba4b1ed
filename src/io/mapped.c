/*
 * Through a mapping. Writing in one of two ways: the processor copies, or the system does
 * (process_vm_writev to this process itself). A copy costs a page fault for each page, which is
 * dear on virtual machines; the system looks each piece up, but takes no fault. What both cost
 * here is measured as they are used. Reading takes few faults: the system maps the pages around.
 */
#include "io/mapped.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "io/fault.h"
#include "util/err.h"
#include "util/port.h"

#define N_PIECES 1024 /* of one call */

struct mapped {
    struct dm_move *m;
    char *mem; /* the file from offset `at` on */
    int64_t at;
    uint64_t first; /* packed byte of memory, */
    size_t len;
    const char *src; /* already packed */
};

/* Nanoseconds of this process' time for a page that is copied to, for a piece that the system
 * moves; 0: not measured yet. */
static _Atomic uint32_t mapped_page_ns, mapped_piece_ns;
static atomic_bool mapped_is_refused; /* the system may not, by a filter of system calls */

static uint64_t mapped_now(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0
               ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
               : 0;
}

static void mapped_measured(_Atomic uint32_t *ns, uint64_t start, uint64_t n)
{
    uint64_t each = n > 0 ? (mapped_now() - start) / n + 1 : 0;
    uint32_t old = atomic_load_explicit(ns, memory_order_relaxed);

    if (each == 0 || each > UINT32_MAX / 8)
        return;
    atomic_store_explicit(ns, (uint32_t)(old == 0 ? each : (3 * (uint64_t)old + each) / 4),
                          memory_order_relaxed);
}

/* Shall the processor copy? */
static bool mapped_is_for_copy(uint64_t n_pages, uint64_t n_pieces)
{
    uint64_t page = atomic_load_explicit(&mapped_page_ns, memory_order_relaxed);
    uint64_t piece = atomic_load_explicit(&mapped_piece_ns, memory_order_relaxed);

    if (atomic_load_explicit(&mapped_is_refused, memory_order_relaxed))
        return true;
    if (piece == 0 || n_pieces <= n_pages)
        return false;
    return page == 0 || n_pages * page < n_pieces * piece;
}

static void mapped_copy(void *arg)
{
    struct mapped *c = arg;

    dm_view_scatter(c->m->view, c->mem, c->at, c->m->pos + c->first, c->src, c->len);
}

/* *done_p: what went; less than asked for with true: a page could not be had. */
static bool mapped_by_system(struct mapped *c, size_t *done_p, uint64_t *n_pieces)
{
    struct iovec pieces[N_PIECES];

    *done_p = 0;
    while (*done_p < c->len) {
        struct iovec from = {.iov_base = (void *)(uintptr_t)(c->src + *done_p)};
        ssize_t moved;
        int n;

        from.iov_len = dm_view_ranges(c->m->view, c->m->pos + c->first + *done_p, c->len - *done_p,
                                      pieces, N_PIECES, &n);
        for (int i = 0; i < n; i++)
            pieces[i].iov_base = c->mem + ((int64_t)(uintptr_t)pieces[i].iov_base - c->at);
        moved = process_vm_writev(getpid(), &from, 1, pieces, (unsigned long)n, 0);
        if (moved <= 0) {
            if (moved < 0 && (errno == ENOSYS || errno == EPERM)) {
                atomic_store_explicit(&mapped_is_refused, true, memory_order_relaxed);
                return false;
            }
            return true;
        }
        *done_p += (size_t)moved;
        *n_pieces += (uint64_t)n;
    }
    return true;
}

/*
 * The last byte that is ours, by a system call: the file is as long as the range then, and never gets
 * shorter, whoever else writes. Also where it has that length already: whoever made it longer may not
 * have returned yet, and file systems (ext4) fill with zeros what was behind the old end after they have
 * set the new length, under the lock of the file that this call waits for.
 */
static int mapped_extend(struct dm_move *m, int64_t high, uint64_t len)
{
    char last;
    size_t done;

    dm_type_pack(m->buf, m->count, m->type, m->done + len - 1, &last, 1);
    return dm_disk_write(m->disk, &last, 1, (uint64_t)high - 1, &done);
}

/*
 * Where all pages will be copied to, the system is asked for them at once, which is cheaper than a
 * fault for each. What it cannot give shows when it is copied.
 */
static void mapped_populate(const struct mapped *c, uint64_t n_pages, uint64_t n_pieces)
{
    int64_t low, high;

    if (n_pieces < n_pages)
        return;
    low = dm_view_offset(c->m->view, c->m->pos + c->first) / DM_IO_PAGE * DM_IO_PAGE;
    high = dm_view_offset(c->m->view, c->m->pos + c->first + c->len - 1) + 1;
    (void)madvise(c->mem + (low - c->at), (size_t)(high - low), DM_MADV_POPULATE);
}

/* The part that c describes; *done_p: how much of it went. */
static void mapped_part(struct mapped *c, uint64_t n_pages, uint64_t n_pieces, size_t *done_p)
{
    uint64_t start = mapped_now(), n = 0;

    *done_p = 0;
    if (!mapped_is_for_copy(n_pages, n_pieces)) {
        if (mapped_by_system(c, done_p, &n)) {
            mapped_measured(&mapped_piece_ns, start, n);
            return;
        }
        c->first += *done_p;
        c->src += *done_p;
        c->len -= *done_p;
    }
    mapped_populate(c, n_pages, n_pieces);
    if (!dm_fault_guard(mapped_copy, c))
        return;
    *done_p += c->len;
    mapped_measured(&mapped_page_ns, start, n_pages);
}

static void mapped_run(struct mapped *c, uint64_t len, uint64_t n_pages, uint64_t piece,
                       char *stage, size_t stage_len)
{
    struct dm_move *m = c->m;
    uint64_t all = len;

    while (len > 0) {
        size_t want = len, done;

        if (stage == NULL) {
            c->src = dm_move_mem(m, m->done);
        } else {
            want = len < stage_len ? len : stage_len;
            c->src = stage;
            dm_type_pack(m->buf, m->count, m->type, m->done, stage, want);
        }
        c->first = m->done;
        c->len = want;
        mapped_part(c, (n_pages * want + all - 1) / all, want / piece + 1, &done);
        m->done += done;
        m->n_way[DM_WAY_MAPPED] += done;
        len -= done;
        if (done < want)
            break;
    }
}

/* Pages of [low, high) that are touched. */
static uint64_t mapped_pages(int64_t low, int64_t high, uint64_t n_pieces)
{
    uint64_t n = (uint64_t)(high - low) / DM_IO_PAGE + 1;

    return n < n_pieces ? n : n_pieces;
}

int dm_mapped_write(struct dm_move *m, int64_t low, int64_t high, uint64_t len, uint64_t piece,
                    char *stage, size_t stage_len)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = low / page * page;
    struct mapped c = {.m = m, .at = start};
    int err = mapped_extend(m, high, len);

    if (err != DM_OK)
        return err;
    c.mem =
        mmap(NULL, (size_t)(high - start), PROT_READ | PROT_WRITE, MAP_SHARED, m->disk->fd, start);
    if (c.mem == MAP_FAILED)
        return DM_OK;
    mapped_run(&c, len, mapped_pages(low, high, len / piece + 1), piece,
               m->type->is_contig ? NULL : stage, stage_len);
    (void)munmap(c.mem, (size_t)(high - start));
    return DM_OK;
}

/* ---- reading ---- */

struct mapped_read {
    const struct dm_move *m;
    const char *mem; /* the file from offset `at` on */
    int64_t at;
    char *dst;
    size_t len;
};

static void mapped_gather(void *arg)
{
    const struct mapped_read *r = arg;

    dm_view_gather(r->m->view, r->mem, r->at, r->m->pos + r->m->done, r->dst, r->len);
}

static void mapped_fetch(struct mapped_read *r, struct dm_move *m, uint64_t len, char *stage,
                         size_t stage_len)
{
    for (; len > 0; len -= r->len) {
        r->len = len < stage_len || stage == NULL ? len : stage_len;
        r->dst = stage != NULL ? stage : dm_move_mem(m, m->done);
        if (!dm_fault_guard(mapped_gather, r))
            return;
        if (stage != NULL)
            dm_type_unpack(m->buf, m->count, m->type, m->done, stage, r->len);
        m->done += r->len;
        m->n_way[DM_WAY_MAPPED] += r->len;
    }
}

void dm_mapped_read(struct dm_move *m, int64_t low, int64_t high, uint64_t len, char *stage,
                    size_t stage_len)
{
    int64_t page = sysconf(_SC_PAGESIZE), start = low / page * page;
    struct mapped_read r = {.m = m, .at = start};
    size_t span = (size_t)(high - start);
    uint64_t size;
    char *mem;

    if (dm_disk_size(m->disk, &size) != DM_OK || (uint64_t)high > size)
        return;
    mem = mmap(NULL, span, PROT_READ, MAP_SHARED, m->disk->fd, start);
    if (mem == MAP_FAILED)
        return;
    /* What the disk still has to bring comes ahead of the copy. */
    (void)madvise(mem, span, MADV_SEQUENTIAL);
    r.mem = mem;
    mapped_fetch(&r, m, len, m->type->is_contig ? NULL : stage, stage_len);
    (void)munmap(mem, span);
}
