/*
 * Transfers of one process. The ways, which way.c chooses among:
 *
 *   one range of the file        straight from or to memory, by pieces of memory if they are long,
 *                                else through a buffer
 *   many, writing                copied into a mapping of the file where that works and pieces are
 *                                short and dense; else each range by itself. Bytes that are not
 *                                ours are never written back.
 *   many, reading                a part of the file with its holes at once where they are small, out of a
 *                                mapping if pieces are dense; else each range by itself
 */
#include "io/move.h"

#include <stdlib.h>

#include "io/mapped.h"
#include "io/way.h"
#include "util/copy.h"
#include "util/err.h"

#define STAGE_LEN   ((size_t)256 << 10) /* the buffer that scattered memory goes through */
#define PIECE_LONG  ((size_t)4 << 10)   /* mean piece of memory that is worth an iovec */
#define RANGE_LONG  ((size_t)16 << 10)  /* a range of the file that is worth a system call */
#define N_RANGES    256
#define PART_LOCAL  ((uint64_t)512 << 10) /* of a local file at a time: stays in the cache */
#define PART_REMOTE ((uint64_t)8 << 20)   /* of another one: several messages to a server */
#define AT_ONCE_LEN ((uint64_t)64 << 10)  /* costs less than to have a thread do it */

/* Bytes of the file to read at a time, as a hint says at most, and all that there is to read. */
static uint64_t move_space(const struct dm_move *m, uint64_t hint)
{
    uint64_t most = m->disk->is_local && hint > PART_LOCAL ? PART_LOCAL : hint;
    int64_t span;

    if (m->len == 0)
        return most;
    span = dm_view_offset(m->view, m->pos + m->len - 1) + 1 - dm_view_offset(m->view, m->pos);
    return (uint64_t)span < most ? (uint64_t)span : most;
}

static inline size_t move_min(uint64_t a, uint64_t b)
{
    return (size_t)(a < b ? a : b);
}

/* Packed bytes [at, at + len) of memory. */
static void move_out(const struct dm_move *m, uint64_t at, void *dst, size_t len)
{
    dm_type_pack(m->buf, m->count, m->type, at, dst, len);
}

static void move_in(const struct dm_move *m, uint64_t at, const void *src, size_t len)
{
    dm_type_unpack(m->buf, m->count, m->type, at, src, len);
}

/* ---- one range of the file ---- */

/* Through a buffer. */
static int move_staged(struct dm_move *m, uint64_t at, uint64_t offset, uint64_t len,
                       uint64_t *done_p)
{
    size_t space = move_min(len, STAGE_LEN), n = space;
    char *stage = malloc(space);
    int err = DM_OK;

    if (stage == NULL)
        return DM_FAIL(DM_ENOMEM, "buffer of a file, %zu bytes", space);
    while (*done_p < len && err == DM_OK && n == space) {
        size_t want = space = move_min(len - *done_p, space);

        if (m->is_write) {
            move_out(m, at + *done_p, stage, want);
            err = dm_disk_write(m->disk, stage, want, offset + *done_p, &n);
        } else {
            err = dm_disk_read(m->disk, stage, want, offset + *done_p, &n);
            move_in(m, at + *done_p, stage, n);
        }
        *done_p += n;
    }
    free(stage);
    return err;
}

/* By pieces of memory, while they are long. */
static int move_vectored(struct dm_move *m, uint64_t at, uint64_t offset, uint64_t len,
                         uint64_t *done_p)
{
    struct iovec iov[DM_DISK_IOV];
    int err = DM_OK;

    while (*done_p < len && err == DM_OK) {
        uint64_t covered = 0;
        size_t moved;
        int n, n_used = 0;

        (void)dm_type_iov(m->buf, m->count, m->type, at + *done_p, iov, DM_DISK_IOV, &n);
        for (; n_used < n && covered < len - *done_p; n_used++) {
            iov[n_used].iov_len = move_min(iov[n_used].iov_len, len - *done_p - covered);
            covered += iov[n_used].iov_len;
        }
        if (covered / (size_t)n_used < PIECE_LONG)
            return move_staged(m, at, offset, len, done_p);
        err = m->is_write ? dm_disk_writev(m->disk, iov, n_used, offset + *done_p, &moved)
                          : dm_disk_readv(m->disk, iov, n_used, offset + *done_p, &moved);
        *done_p += moved;
        if (moved < covered)
            break;
    }
    return err;
}

/* Packed bytes [at, at + len) of memory and as many of the file; *done_p: how many were moved. */
static int move_range(struct dm_move *m, uint64_t at, uint64_t offset, uint64_t len,
                      uint64_t *done_p)
{
    size_t done;
    int err;

    *done_p = 0;
    if (!m->type->is_contig)
        return move_vectored(m, at, offset, len, done_p);
    err = m->is_write ? dm_disk_write(m->disk, dm_move_mem(m, at), len, offset, &done)
                      : dm_disk_read(m->disk, dm_move_mem(m, at), len, offset, &done);
    *done_p = done;
    return err;
}

/* ---- ranges by themselves ---- */

/*
 * Are there several in a page, on average? Where a range is a message to a server, a page holds back one of
 * them only; to write it and wait is one message less than to write it out when the next one comes.
 */
static bool ranges_are_near(const struct iovec *ranges, int n)
{
    uint64_t first = (uintptr_t)ranges[0].iov_base, last = (uintptr_t)ranges[n - 1].iov_base;

    return n > 1 && last > first && (last - first) / (uint64_t)(n - 1) < DM_IO_PAGE;
}

/* Short ranges of scattered memory, whose data are packed at once. */
static int move_ranges_staged(struct dm_move *m, const struct iovec *ranges, int n, char *stage,
                              uint64_t total, uint64_t *done_p)
{
    int (*write)(const struct dm_disk *, const void *, size_t, uint64_t, size_t *) =
        ranges_are_near(ranges, n) ? dm_disk_write_near : dm_disk_write;
    uint64_t at = 0;
    size_t done;
    int err = DM_OK;

    if (m->is_write)
        move_out(m, m->done, stage, total);
    for (int i = 0; i < n && err == DM_OK; i++) {
        uint64_t offset = (uintptr_t)ranges[i].iov_base;

        err = m->is_write ? write(m->disk, stage + at, ranges[i].iov_len, offset, &done)
                          : dm_disk_read(m->disk, stage + at, ranges[i].iov_len, offset, &done);
        at += done;
        if (done < ranges[i].iov_len)
            break;
    }
    if (!m->is_write)
        move_in(m, m->done, stage, at);
    *done_p = at;
    return err;
}

/* One range after the other; *want_p: their bytes. */
static int move_ranges(struct dm_move *m, const struct iovec *ranges, int n, uint64_t *want_p,
                       uint64_t *done_p)
{
    bool is_near = m->is_write && m->type->is_contig && ranges_are_near(ranges, n);
    int err = DM_OK;

    *want_p = *done_p = 0;
    for (int i = 0; i < n && *done_p == *want_p && err == DM_OK; i++) {
        uint64_t at = m->done + *done_p, offset = (uintptr_t)ranges[i].iov_base, done = 0;
        size_t len = ranges[i].iov_len, n_near = 0;

        if (is_near)
            err = dm_disk_write_near(m->disk, dm_move_mem(m, at), len, offset, &n_near);
        else
            err = move_range(m, at, offset, len, &done);
        *want_p += len;
        *done_p += done + n_near;
    }
    return err;
}

/* Up to `len` bytes; *moved_p less: the end of the file. */
static int move_exact(struct dm_move *m, uint64_t len, uint64_t *moved_p)
{
    size_t space = N_RANGES * RANGE_LONG;
    struct iovec ranges[N_RANGES];
    char *stage = NULL;
    int err = DM_OK;

    *moved_p = 0;
    while (*moved_p < len && err == DM_OK) {
        uint64_t total = 0, moved = 0, want;
        int n, n_used = 0;

        (void)dm_view_ranges(m->view, m->pos + m->done, len - *moved_p, ranges, N_RANGES, &n);
        if (m->type->is_contig || ranges[0].iov_len >= RANGE_LONG) {
            err = move_ranges(m, ranges, m->type->is_contig ? n : 1, &want, &moved);
        } else {
            while (n_used < n && ranges[n_used].iov_len < RANGE_LONG)
                total += ranges[n_used++].iov_len;
            want = total;
            if (stage == NULL && (stage = malloc(move_min(len, space))) == NULL)
                return DM_FAIL(DM_ENOMEM, "buffer of a file, %zu bytes", move_min(len, space));
            err = move_ranges_staged(m, ranges, n_used, stage, total, &moved);
        }
        *moved_p += moved;
        m->done += moved;
        m->n_way[DM_WAY_EXACT] += moved;
        if (moved < want)
            break;
    }
    free(stage);
    return err;
}

/* ---- a part of the file at a time ---- */

/* buf holds w, or as much of it as the file has: to memory. */
static void window_to_memory(struct dm_move *m, const struct dm_way_window *w, const char *buf,
                             uint64_t len, char *stage)
{
    if (m->type->is_contig) {
        dm_view_gather(m->view, buf, w->low, m->pos + m->done, dm_move_mem(m, m->done), len);
        m->done += len;
        return;
    }
    while (len > 0) {
        size_t n = move_min(len, STAGE_LEN);

        dm_view_gather(m->view, buf, w->low, m->pos + m->done, stage, n);
        move_in(m, m->done, stage, n);
        m->done += n;
        len -= n;
    }
}

static int move_sieve(struct dm_move *m, const struct dm_way_window *w, char *buf, char *stage,
                      uint64_t *moved_p)
{
    size_t want = (size_t)(w->high - w->low), got;
    int err = dm_disk_read(m->disk, buf, want, (uint64_t)w->low, &got);
    uint64_t len = w->len;

    if (got < want) {
        uint64_t end = dm_view_pos(m->view, w->low + (int64_t)got);

        len = end > m->pos + m->done ? end - (m->pos + m->done) : 0;
        if (len > w->len)
            len = w->len;
    }
    window_to_memory(m, w, buf, len, stage);
    m->n_way[DM_WAY_SIEVE] += len;
    *moved_p = len;
    return err;
}

/* Out of a mapping, where that is less work; true: something was moved. */
static bool move_from_mapping(struct dm_move *m, char *stage)
{
    uint64_t before = m->done;
    struct dm_way_window w;

    dm_way_next(m, m->hints->ind_rd_buffer_size, &w);
    if (dm_way_is_mapped(m, &w))
        dm_mapped_read(m, w.low, w.high, w.len, stage, STAGE_LEN);
    return m->done > before;
}

static int move_read(struct dm_move *m)
{
    uint64_t space = move_space(m, m->hints->ind_rd_buffer_size), moved;
    char *buf = NULL, *stage = NULL;
    int err = DM_OK;

    while (m->done < m->len && err == DM_OK) {
        struct dm_way_window w;
        bool is_mapped, is_sieved;

        dm_way_next(m, space, &w);
        is_mapped = dm_way_is_mapped(m, &w);
        is_sieved = dm_way_is_sieved(m, &w);
        if ((is_mapped || is_sieved) && buf == NULL) {
            buf = malloc(space + STAGE_LEN);
            if (buf == NULL)
                return DM_FAIL(DM_ENOMEM, "buffer of a file, %llu bytes",
                               (unsigned long long)(space + STAGE_LEN));
            stage = buf + space;
        }
        if (is_mapped && move_from_mapping(m, stage))
            continue;
        err = is_sieved ? move_sieve(m, &w, buf, stage, &moved) : move_exact(m, w.len, &moved);
        if (moved < w.len)
            break;
    }
    free(buf);
    return err;
}

/* From m->done on. */
static int move_write_from(struct dm_move *m)
{
    uint64_t space = m->hints->ind_wr_buffer_size, moved = 0;
    char *stage = NULL;
    int err = DM_OK;

    while (m->done < m->len && err == DM_OK) {
        uint64_t before = m->done;
        struct dm_way_window w;

        dm_way_next(m, space, &w);
        if (dm_way_is_mapped(m, &w)) {
            if (!m->type->is_contig && stage == NULL && (stage = malloc(STAGE_LEN)) == NULL)
                return DM_FAIL(DM_ENOMEM, "buffer of a file, %zu bytes", STAGE_LEN);
            err = dm_mapped_write(m, w.low, w.high, w.len, dm_way_piece(m, &w), stage, STAGE_LEN);
        }
        if (err == DM_OK && m->done < before + w.len)
            err = move_exact(m, before + w.len - m->done, &moved);
    }
    free(stage);
    return err;
}

/*
 * From m->first on, then what is before: so processes that write by turns do not all want the same
 * pages of the file at the same time. m->done is what went from the beginning on.
 */
static int move_write(struct dm_move *m)
{
    uint64_t len = m->len, last_done;
    int err, last_err;

    if (m->first == 0 || m->first >= len)
        return move_write_from(m);
    m->done = m->first;
    last_err = move_write_from(m);
    last_done = m->done;
    m->done = 0;
    m->len = m->first;
    err = move_write_from(m);
    m->len = len;
    if (err != DM_OK)
        return err;
    m->done = last_done;
    return last_err;
}

/* ---- moves ---- */

/* All of it, from m->done on. */
static int move_from(struct dm_move *m)
{
    uint64_t left = m->len - m->done, covered, done;
    struct iovec range;
    int n, err;

    covered = dm_view_ranges(m->view, m->pos + m->done, left, &range, 1, &n);
    if (covered == left) {
        err = move_range(m, m->done, (uintptr_t)range.iov_base, left, &done);
        m->done += done;
        m->n_way[DM_WAY_CONTIG] += done;
        return err;
    }
    /* Where bytes are seen twice, positions and offsets do not ascend together. */
    if (m->view->has_overlaps)
        return move_exact(m, left, &covered);
    return m->is_write ? move_write(m) : move_read(m);
}

int dm_move_run(struct dm_move *m)
{
    m->done = 0;
    return m->len > 0 ? move_from(m) : DM_OK;
}

bool dm_move_at_once(struct dm_move *m, int *err_p)
{
    struct iovec range;
    int n;

    if (m->len == 0 || m->len > AT_ONCE_LEN || !m->disk->is_local || !m->type->is_contig ||
        dm_view_ranges(m->view, m->pos, m->len, &range, 1, &n) < m->len)
        return false;
    if (m->is_write) {
        *err_p = dm_move_run(m);
        return true;
    }
    *err_p = DM_OK;
    if (!dm_disk_read_cached(m->disk, dm_move_mem(m, 0), m->len, (uintptr_t)range.iov_base))
        return false;
    m->done = m->len;
    m->n_way[DM_WAY_CONTIG] += m->len;
    return true;
}

/* Does it begin somewhere else than at its first byte? Then it has no parts. */
static bool move_is_turned(const struct dm_move *m)
{
    struct iovec range;
    int n;

    return m->is_write && m->first > 0 && m->first < m->len && m->done == 0 &&
           dm_view_ranges(m->view, m->pos, m->len, &range, 1, &n) < m->len;
}

bool dm_move_part(struct dm_move *m, int *err_p)
{
    uint64_t len = m->len, part = m->disk->is_local ? PART_LOCAL : PART_REMOTE;

    *err_p = DM_OK;
    if (m->done == len)
        return true;
    if (len - m->done > part && !move_is_turned(m))
        m->len = m->done + part;
    part = m->len;
    *err_p = move_from(m);
    m->len = len;
    return *err_p != DM_OK || m->done < part || m->done == len;
}
