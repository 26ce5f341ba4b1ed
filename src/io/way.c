/*
 * Ways of a transfer of one process, and their costs.
 */
#include "io/way.h"

#define PIECE_LONG ((uint64_t)4 << 10) /* is worth a system call of its own */
#define PAGE_LEAST 256 /* bytes of each page, on average, that are worth its mapping */

/* Nanoseconds of the processor, picoseconds for a byte. */
static const struct way_cost {
    uint32_t write_page_ns; /* a page that is written to in a mapping; others write to it as well */
    uint32_t write_page_shared_ns; /* where more processes than cores do */
    uint32_t write_range_ns;       /* a range that is written by itself */
    uint32_t read_page_ns;         /* a page that is read in a mapping */
    uint32_t hole_ps;              /* a byte of a hole that is read */
    uint32_t read_range_ns;        /* a range that is read by itself */
} way_on_disk = {2000, 2000, 6500, 300, 170, 900}, way_in_memory = {600, 1200, 1500, 300, 120, 500};

void dm_way_next(const struct dm_move *m, uint64_t space, struct dm_way_window *w)
{
    uint64_t pos = m->pos + m->done, end = m->pos + m->len, last;

    w->low = dm_view_offset(m->view, pos);
    last = dm_view_pos(m->view, w->low + (int64_t)space);
    if (last > end)
        last = end;
    w->len = last - pos;
    w->high = dm_view_offset(m->view, last - 1) + 1;
}

uint64_t dm_way_piece(const struct dm_move *m, const struct dm_way_window *w)
{
    struct iovec ranges[16];
    uint64_t covered;
    int n;

    covered = dm_view_ranges(m->view, m->pos + m->done, w->len, ranges, 16, &n);
    return covered / (uint64_t)n;
}

bool dm_way_is_sieved(const struct dm_move *m, const struct dm_way_window *w)
{
    uint64_t piece = dm_way_piece(m, w), span = (uint64_t)(w->high - w->low);
    uint64_t n = w->len / piece + 1, hole = (span - w->len) / n;

    if (m->hints->ds_read != DM_HINT_AUTOMATIC)
        return m->hints->ds_read == DM_HINT_ENABLE;
    return hole <= (m->disk->is_memory  ? (uint64_t)3 << 10
                    : m->disk->is_local ? (uint64_t)8 << 10
                                        : (uint64_t)128 << 10);
}

bool dm_way_is_mapped(const struct dm_move *m, const struct dm_way_window *w)
{
    uint64_t n_pages = (uint64_t)(w->high - w->low) / DM_IO_PAGE;

    if (m->is_write ? !m->disk->can_map || m->hints->ds_write == DM_HINT_DISABLE
                    : !m->disk->can_map_read || m->hints->ds_read != DM_HINT_AUTOMATIC)
        return false;
    return dm_way_piece(m, w) < PIECE_LONG && n_pages * PAGE_LEAST <= w->len + 65536;
}

/* ---- costs ---- */

/* Pages that the first ranges touch; *n_p: how many ranges these are. */
static uint64_t way_first_pages(const struct dm_move *m, int *n_p)
{
    struct iovec ranges[16];
    uint64_t n_pages = 0, next = 0;

    (void)dm_view_ranges(m->view, m->pos, m->len, ranges, 16, n_p);
    for (int i = 0; i < *n_p; i++) {
        uint64_t low = (uintptr_t)ranges[i].iov_base / DM_IO_PAGE;
        uint64_t high = ((uintptr_t)ranges[i].iov_base + ranges[i].iov_len - 1) / DM_IO_PAGE + 1;

        n_pages += high - (low < next ? next : low);
        next = high;
    }
    return n_pages;
}

static uint64_t way_pages(const struct dm_move *m, uint64_t span, uint64_t n_ranges)
{
    int n;
    uint64_t pages = way_first_pages(m, &n), most = span / DM_IO_PAGE + 2;

    pages = pages * n_ranges / (uint64_t)n;
    return pages < most ? pages : most;
}

uint64_t dm_way_cost(const struct dm_move *m, bool is_oversubscribed)
{
    const struct way_cost *cost = m->disk->is_memory ? &way_in_memory : &way_on_disk;
    struct dm_way_window all = {.len = m->len};
    uint64_t n_ranges, span;

    if (m->len == 0)
        return 0;
    all.low = dm_view_offset(m->view, m->pos);
    all.high = dm_view_offset(m->view, m->pos + m->len - 1) + 1;
    span = (uint64_t)(all.high - all.low);
    if (span == m->len)
        return 0;
    n_ranges = m->len / dm_way_piece(m, &all) + 1;
    if (dm_way_is_mapped(m, &all))
        return way_pages(m, span, n_ranges) * (!m->is_write        ? cost->read_page_ns
                                               : is_oversubscribed ? cost->write_page_shared_ns
                                                                   : cost->write_page_ns);
    if (m->is_write)
        return n_ranges * cost->write_range_ns;
    if (dm_way_is_sieved(m, &all))
        return (span - m->len) * cost->hole_ps / 1000;
    return n_ranges * cost->read_range_ns;
}
