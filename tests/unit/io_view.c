/* test: timeout=60 layers=io,onesided,mpi,util,channel,dapl_adapt */
/*
 * Views against a list of all their bytes: offsets of positions, positions of offsets, ranges, and
 * copies between memory that holds the file and packed data. A view of 10^7 pieces takes no more
 * memory than one of 10.
 */
#include "io/view.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { TILES = 3, MOST = 4096 };

static uint32_t seed = 1;

static uint32_t rnd(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* The offsets of all bytes of the first filetypes of a view. */
static int64_t offsets[MOST];
static size_t n_offsets;

static struct dm_view *make(MPI_Offset disp, struct dm_type *tile, const int *lens,
                            const int *displs, int n)
{
    struct dm_view *view = NULL;

    n_offsets = 0;
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < lens[i]; k++)
                offsets[n_offsets++] = disp + t * tile->extent + displs[i] + k;
    CHECK_EQ(dm_view_new(disp, dm_type_get(MPI_BYTE), tile, &dm_datarep_native, true, &view),
             DM_OK);
    return view;
}

static void check_positions(const struct dm_view *view)
{
    int64_t last = offsets[n_offsets - 1];
    size_t at = 0;

    for (size_t i = 0; i < n_offsets; i++)
        CHECK_EQ(dm_view_offset(view, i), offsets[i]);
    for (int64_t offset = 0; offset <= last; offset++) {
        while (offsets[at] < offset)
            at++;
        CHECK_EQ(dm_view_pos(view, offset), at);
    }
}

static void check_ranges(const struct dm_view *view, uint64_t pos, uint64_t len)
{
    while (len > 0) {
        struct iovec iov[3];
        uint64_t covered, sum = 0;
        int n;

        covered = dm_view_ranges(view, pos, len, iov, 3, &n);
        CHECK(covered > 0 && covered <= len && n > 0);
        for (int i = 0; i < n; i++)
            for (size_t k = 0; k < iov[i].iov_len; k++)
                CHECK_EQ((int64_t)(uintptr_t)iov[i].iov_base + (int64_t)k, offsets[pos + sum++]);
        CHECK_EQ(sum, covered);
        pos += covered;
        len -= covered;
    }
}

static void check_copies(const struct dm_view *view, uint64_t pos, size_t len)
{
    int64_t low = offsets[pos];
    size_t span = (size_t)(offsets[pos + len - 1] - low) + 1;
    char *file = malloc(span), *packed = malloc(len), *back = malloc(len);

    memset(file, 0, span);
    for (size_t i = 0; i < len; i++)
        packed[i] = (char)(1 + i % 100);
    dm_view_scatter(view, file, low, pos, packed, len);
    for (size_t i = 0, k = 0; i < span; i++) {
        if (k < len && offsets[pos + k] == low + (int64_t)i)
            CHECK_EQ(file[i], packed[k++]);
        else
            CHECK_EQ(file[i], 0);
    }
    dm_view_gather(view, file, low, pos, back, len);
    CHECK(memcmp(packed, back, len) == 0);
    free(file);
    free(packed);
    free(back);
}

static void random_views(void)
{
    for (int round = 0; round < 300; round++) {
        int lens[8], displs[8], n = 1 + (int)rnd(8), end = 0;
        struct dm_type *indexed, *tile;
        struct dm_view *view;

        for (int i = 0; i < n; i++) {
            displs[i] = end + (int)rnd(6);
            lens[i] = 1 + (int)rnd(20);
            end = displs[i] + lens[i];
        }
        CHECK_EQ(dm_type_indexed((size_t)n, dm_counts_int(lens), dm_counts_int(displs),
                                 dm_type_get(MPI_BYTE), &indexed),
                 DM_OK);
        CHECK_EQ(dm_type_create_resized(indexed, 0, end + (int)rnd(5), &tile), DM_OK);
        CHECK_EQ(dm_type_commit(tile), DM_OK);
        view = make((MPI_Offset)rnd(50), tile, lens, displs, n);
        check_positions(view);
        for (int k = 0; k < 10; k++) {
            uint64_t pos = rnd((uint32_t)n_offsets), len = 1 + rnd((uint32_t)(n_offsets - pos));

            check_ranges(view, pos, len);
            check_copies(view, pos, len);
        }
        dm_view_unref(view);
        dm_type_free(tile);
        dm_type_free(indexed);
    }
}

static size_t heap(void)
{
    return mallinfo2().uordblks;
}

static void many_pieces(void)
{
    size_t used[2];

    for (int k = 0; k < 2; k++) {
        size_t pieces = k == 0 ? 10 : 10000000, before = heap();
        struct dm_type *tile;
        struct dm_view *view;

        CHECK_EQ(dm_type_vector(pieces, 1, 3, dm_type_get(MPI_INT), &tile), DM_OK);
        CHECK_EQ(dm_type_commit(tile), DM_OK);
        CHECK_EQ(dm_view_new(0, dm_type_get(MPI_INT), tile, &dm_datarep_native, true, &view),
                 DM_OK);
        CHECK_EQ(dm_view_offset(view, 4 * (pieces - 1)), 12 * (int64_t)(pieces - 1));
        CHECK_EQ(dm_view_pos(view, 12 * (int64_t)(pieces - 1)), 4 * (pieces - 1));
        used[k] = heap() - before;
        dm_view_unref(view);
        dm_type_free(tile);
    }
    CHECK(used[1] <= used[0] + 256);
}

int main(void)
{
    CHECK_EQ(dm_datatype_start(), DM_OK);
    random_views();
    many_pieces();
    dm_datatype_stop();
    return test_result();
}
