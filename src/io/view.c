/*
 * Views.
 */
#include "io/view.h"

#include <stdlib.h>
#include <string.h>

#define OFFSET_MAX (INT64_MAX / 4)

static int view_check_type(const struct dm_view *view, bool is_for_writing)
{
    struct dm_type_order order;

    dm_type_order(view->tile, &order);
    if (!order.is_any)
        return DM_OK;
    if (order.first < 0 || view->disp + order.first < 0)
        return DM_FAIL(DM_ERR_IO, "filetype begins at the negative displacement %lld",
                       (long long)order.first);
    if (!order.is_ordered)
        return DM_FAIL(DM_ERR_IO, "the displacements of filetype descend; in a view they must not");
    if (order.overlaps && is_for_writing)
        return DM_FAIL(DM_ERR_IO, "filetype overlaps itself; it may not in a file that is open "
                                  "for writing");
    return DM_OK;
}

static void view_measure(struct dm_view *view, bool is_for_writing)
{
    struct dm_type_order order;

    dm_type_order(view->tile, &order);
    view->size = (uint64_t)view->tile->size;
    view->is_single =
        order.is_any && (!order.repeats || (is_for_writing && order.overlaps_repeated));
    view->has_overlaps = view->is_single ? order.overlaps : order.overlaps_repeated;
    view->start = view->disp + order.first;
    view->is_contig = view->tile->is_contig && view->size > 0 && !view->is_single;
}

int dm_view_new(MPI_Offset disp, struct dm_type *etype, struct dm_type *filetype,
                const struct dm_datarep *rep, bool is_for_writing, struct dm_view **view_p)
{
    struct dm_view *view = calloc(1, sizeof(*view));
    MPI_Count etype_size;
    int err;

    if (view == NULL)
        return DM_FAIL(DM_ENOMEM, "view of a file");
    view->refs = 1;
    view->disp = disp;
    view->rep = rep;
    view->etype = etype;
    view->filetype = filetype;
    dm_type_ref(etype);
    dm_type_ref(filetype);
    err = dm_datarep_size(rep, etype, &etype_size);
    if (err == DM_OK)
        err = dm_datarep_type(rep, filetype, &view->tile);
    if (err != DM_OK)
        goto fail;
    view->etype_size = (uint64_t)etype_size;
    if (etype_size == 0)
        err = DM_FAIL(DM_ERR_ARG, "etype has no data");
    else if (view->tile->size % etype_size != 0)
        err = DM_FAIL(DM_ERR_ARG,
                      "filetype has %lld bytes of data, no multiple of the %lld of "
                      "etype",
                      (long long)view->tile->size, (long long)etype_size);
    if (err == DM_OK)
        err = view_check_type(view, is_for_writing);
    if (err != DM_OK)
        goto fail;
    view_measure(view, is_for_writing);
    *view_p = view;
    return DM_OK;

fail:
    dm_view_unref(view);
    return err;
}

void dm_view_ref(struct dm_view *view)
{
    view->refs++;
}

void dm_view_unref(struct dm_view *view)
{
    if (view == NULL || --view->refs > 0)
        return;
    if (view->tile == view->filetype)
        dm_type_unref(view->tile);
    else if (view->tile != NULL)
        dm_type_rebuilt_drop(view->tile);
    dm_type_unref(view->etype);
    dm_type_unref(view->filetype);
    free(view);
}

int dm_view_check(const struct dm_view *view, uint64_t pos)
{
    dm_int128 end;

    if (view->size == 0)
        return pos == 0 ? DM_OK : DM_FAIL(DM_ERR_ARG, "the filetype of the view has no data");
    if (view->is_single && pos >= view->size)
        return DM_FAIL(
            DM_ERR_ARG,
            "filetype overlaps the next one by its extent, so a view of it has %llu bytes",
            (unsigned long long)view->size);
    end = (dm_int128)(pos / view->size + 1) * view->tile->extent + view->tile->true_extent +
          view->start;
    if (end > OFFSET_MAX)
        return DM_FAIL(DM_ERR_ARG, "byte %llu of the view is beyond the end of the largest file",
                       (unsigned long long)pos);
    return DM_OK;
}

/* Where the filetype of a position is; *pos_p becomes the position in it. */
static int64_t view_tile(const struct dm_view *view, uint64_t *pos_p)
{
    uint64_t n = *pos_p / view->size;

    *pos_p %= view->size;
    return view->disp + (int64_t)n * view->tile->extent;
}

int64_t dm_view_offset(const struct dm_view *view, uint64_t pos)
{
    int64_t base;
    struct iovec iov;
    int n;

    if (view->is_contig)
        return view->start + (int64_t)pos;
    base = view_tile(view, &pos);
    (void)dm_type_iov((void *)(uintptr_t)base, 1, view->tile, pos, &iov, 1, &n);
    return (int64_t)(uintptr_t)iov.iov_base;
}

uint64_t dm_view_pos(const struct dm_view *view, int64_t offset)
{
    uint64_t low = 0, high;

    if (view->size == 0 || offset <= view->start)
        return 0;
    if (view->is_contig)
        return (uint64_t)(offset - view->start);
    if (view->is_single) {
        high = view->size;
    } else {
        /* The first byte of filetype n is at start + n * extent. */
        low = (uint64_t)(offset - view->start) / (uint64_t)view->tile->extent;
        high = (low + 1) * view->size;
        low = low > 0 ? (low - 1) * view->size : 0;
    }
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (dm_view_offset(view, mid) < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint64_t dm_view_ranges(const struct dm_view *view, uint64_t pos, uint64_t len, struct iovec *iov,
                        int n, int *n_p)
{
    uint64_t covered = 0;
    int64_t base;

    *n_p = 0;
    if (len == 0)
        return 0;
    if (view->is_contig) {
        iov[0].iov_base = (void *)(uintptr_t)dm_view_offset(view, pos);
        iov[0].iov_len = len;
        *n_p = 1;
        return len;
    }
    base = view_tile(view, &pos);
    (void)dm_type_iov((void *)(uintptr_t)base, (pos + len - 1) / view->size + 1, view->tile, pos,
                      iov, n, &n);
    for (int i = 0; i < n && covered < len; i++) {
        if (iov[i].iov_len > len - covered)
            iov[i].iov_len = len - covered;
        covered += iov[i].iov_len;
        *n_p = i + 1;
    }
    return covered;
}

/* The address that the view's displacements count from, when mem holds the file from `at` on. */
static void *view_base(const char *mem, int64_t at, int64_t base)
{
    return (void *)((uintptr_t)mem + (uintptr_t)(base - at));
}

void dm_view_gather(const struct dm_view *view, const char *mem, int64_t at, uint64_t pos,
                    void *dst, size_t len)
{
    int64_t base;

    if (len == 0)
        return;
    base = view_tile(view, &pos);
    dm_type_pack(view_base(mem, at, base), (pos + len - 1) / view->size + 1, view->tile, pos, dst,
                 len);
}

void dm_view_scatter(const struct dm_view *view, char *mem, int64_t at, uint64_t pos,
                     const void *src, size_t len)
{
    int64_t base;

    if (len == 0)
        return;
    base = view_tile(view, &pos);
    dm_type_unpack(view_base(mem, at, base), (pos + len - 1) / view->size + 1, view->tile, pos, src,
                   len);
}
