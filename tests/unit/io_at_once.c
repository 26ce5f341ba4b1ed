/* test: timeout=60 layers=io,onesided,mpi,util,channel,dapl_adapt */
/*
 * Which transfers go in the call that starts them: short ones of one range, to a local file, or of what is in
 * memory; nothing else has moved a byte.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/move.h"
#include "test.h"

enum { SHORT = 4096, LONG = 1 << 20 };

static struct dm_hints hints;
static char mem[LONG];

static struct dm_move of(const struct dm_disk *disk, const struct dm_view *view, bool is_write,
                         uint64_t pos, uint64_t len)
{
    return (struct dm_move){.disk = disk,
                            .hints = &hints,
                            .view = view,
                            .is_write = is_write,
                            .buf = mem,
                            .count = len,
                            .type = dm_type_get(MPI_BYTE),
                            .pos = pos,
                            .len = len};
}

static void check(struct dm_move m, bool is_taken, uint64_t done)
{
    int err = DM_OK;

    CHECK_EQ(dm_move_at_once(&m, &err), is_taken);
    CHECK_EQ(err, DM_OK);
    CHECK_EQ(m.done, done);
}

static void one_range(struct dm_disk *disk, const struct dm_view *bytes)
{
    uint64_t size;

    check(of(disk, bytes, false, 0, SHORT), false, 0); /* it is empty */
    memset(mem, 'w', SHORT);
    check(of(disk, bytes, true, 0, SHORT), true, SHORT);
    memset(mem, 0, SHORT);
    check(of(disk, bytes, false, 0, SHORT), true, SHORT);
    CHECK(mem[0] == 'w' && mem[SHORT - 1] == 'w');
    check(of(disk, bytes, false, SHORT / 2, SHORT), false, 0); /* the end */
    check(of(disk, bytes, true, 0, LONG), false, 0);
    check(of(disk, bytes, true, 0, 0), false, 0);
    CHECK_EQ(dm_disk_size(disk, &size), DM_OK);
    CHECK_EQ(size, SHORT);
    disk->is_local = false;
    check(of(disk, bytes, true, 0, SHORT), false, 0);
    disk->is_local = true;
}

static void several_ranges(struct dm_disk *disk)
{
    struct dm_view *view;
    struct dm_type *tile;

    CHECK_EQ(dm_type_vector(2, 8, 16, dm_type_get(MPI_BYTE), &tile), DM_OK);
    CHECK_EQ(dm_type_commit(tile), DM_OK);
    CHECK_EQ(dm_view_new(0, dm_type_get(MPI_BYTE), tile, &dm_datarep_native, true, &view), DM_OK);
    check(of(disk, view, true, 0, 16), false, 0);
    check(of(disk, view, true, 0, 8), true, 8);
    dm_view_unref(view);
    dm_type_unref(tile);
}

int main(void)
{
    char path[] = "at-once.dat";
    struct dm_disk disk = {.fd = -1};
    struct dm_view *bytes;

    CHECK_EQ(dm_datatype_start(), DM_OK);
    CHECK_EQ(dm_disk_open(&disk, path, O_RDWR | O_CREAT), DM_OK);
    CHECK(disk.is_local);
    CHECK_EQ(dm_view_new(0, dm_type_get(MPI_BYTE), dm_type_get(MPI_BYTE), &dm_datarep_native, true,
                         &bytes),
             DM_OK);
    one_range(&disk, bytes);
    several_ranges(&disk);
    dm_view_unref(bytes);
    CHECK_EQ(dm_disk_close(&disk), DM_OK);
    CHECK_EQ(dm_disk_unlink(path), DM_OK);
    free(disk.path);
    dm_datatype_stop();
    return test_result();
}
