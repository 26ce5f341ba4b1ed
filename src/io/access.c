/*
 * Data access: checks, pointers, conversion, and then the move.
 *
 * Pointers advance by what was asked for (section 14.4.1), also at the end of the file; status says
 * what was read. A call that is collective goes through its communication even when this process
 * has nothing to do, or an error.
 */
#include "io/access.h"

#include "io/convert.h"
#include "io/exchange.h"
#include "io/job.h"
#include "io/plan.h"
#include "mpi/coll/coll.h"
#include "util/glock.h"

#define TURNS_LEN ((uint64_t)256 << 10) /* each process begins somewhere else from so many on */

/* ---- checks ---- */

static int access_check_mode(const struct dm_file *f, const struct dm_access *a)
{
    if (a->is_write && (f->amode & MPI_MODE_RDONLY) != 0)
        return DM_FAIL(DM_ERR_READ_ONLY, "\"%s\" is open for reading only", f->disk.path);
    if (!a->is_write && (f->amode & MPI_MODE_WRONLY) != 0)
        return DM_FAIL(DM_ERR_ACCESS, "\"%s\" is open for writing only", f->disk.path);
    if ((f->amode & MPI_MODE_SEQUENTIAL) != 0 &&
        (a->at == DM_AT_OFFSET || a->at == DM_AT_INDIVIDUAL))
        return DM_FAIL(
            DM_ERR_UNSUPPORTED_OPERATION,
            "\"%s\" is open with MPI_MODE_SEQUENTIAL: only the shared pointer can be used",
            f->disk.path);
    if (a->is_coll && f->split.what != NULL)
        return DM_FAIL(DM_ERR_IO, "%s_begin of \"%s\" is under way: call %s_end first",
                       f->split.what, f->disk.path, f->split.what);
    if (a->at == DM_AT_OFFSET && a->offset < 0)
        return DM_FAIL(DM_ERR_ARG, "offset is %lld", (long long)a->offset);
    return DM_OK;
}

/* The bytes of the file that the call is about. */
static int access_len(const struct dm_file *f, const struct dm_access *a, uint64_t *len_p)
{
    MPI_Count size;
    int err = dm_datarep_size(f->view->rep, a->type, &size);
    dm_int128 len = (dm_int128)size * (dm_int128)a->count;

    *len_p = 0;
    if (err != DM_OK)
        return err;
    if (len > INT64_MAX / 4)
        return DM_FAIL(DM_ERR_COUNT, "%zu elements of %lld bytes", a->count, (long long)size);
    if ((uint64_t)len % f->view->etype_size != 0)
        return DM_FAIL(DM_ERR_IO,
                       "%lld bytes are no multiple of the %llu of the view's etype; only whole "
                       "etypes can be accessed",
                       (long long)len, (unsigned long long)f->view->etype_size);
    *len_p = (uint64_t)len;
    return DM_OK;
}

static int access_offset(const struct dm_file *f, MPI_Offset offset, uint64_t *pos_p)
{
    dm_int128 pos = (dm_int128)offset * (dm_int128)f->view->etype_size;

    *pos_p = 0;
    if (pos > INT64_MAX / 4)
        return DM_FAIL(DM_ERR_ARG, "offset %lld is beyond the end of the largest file",
                       (long long)offset);
    *pos_p = (uint64_t)pos;
    return DM_OK;
}

/* ---- where it begins ---- */

/*
 * In the order of ranks: the last one takes what all need from the shared pointer, and tells where
 * that was. Errors of one go to all, so that the pointer is not moved.
 */
static int access_ordered(struct dm_file *f, int err, uint64_t len, uint64_t *pos_p)
{
    struct dm_type *word = dm_type_get(MPI_UINT64_T);
    uint64_t before = 0, base = 0;
    int bad;

    if (f->comm == NULL)
        return err != DM_OK ? err : dm_file_pointer_add(f, len, pos_p);
    err = dm_file_agree(f, err);
    if (err != DM_OK)
        return err;
    err = dm_coll_exscan(&len, &before, 1, word, dm_op_get(MPI_SUM), f->comm, dm_coll_blocking());
    if (f->rank == 0)
        before = 0;
    if (err == DM_OK && f->rank == f->size - 1)
        err = dm_file_pointer_add(f, before + len, &base);
    bad = dm_bcast(&base, 1, word, f->size - 1, f->comm);
    *pos_p = base + before;
    return err != DM_OK ? err : bad;
}

/* Position and length of a call; the pointer is moved on. */
static int access_place(struct dm_file *f, const struct dm_access *a, struct dm_move *m)
{
    int err = a->err != DM_OK ? a->err : access_check_mode(f, a);

    if (err == DM_OK)
        err = access_len(f, a, &m->len);
    switch (a->at) {
    case DM_AT_OFFSET:
        if (err == DM_OK)
            err = access_offset(f, a->offset, &m->pos);
        break;
    case DM_AT_INDIVIDUAL:
        m->pos = f->pos;
        break;
    case DM_AT_SHARED:
        if (err == DM_OK)
            err = dm_file_pointer_add(f, m->len, &m->pos);
        break;
    case DM_AT_ORDERED:
        err = access_ordered(f, err, m->len, &m->pos);
        break;
    }
    if (err == DM_OK && m->len > 0)
        err = dm_view_check(f->view, m->pos + m->len - 1);
    if (err == DM_OK && a->at == DM_AT_INDIVIDUAL)
        f->pos += m->len;
    if (err != DM_OK)
        m->len = 0;
    if (m->len >= TURNS_LEN)
        m->first = m->len / (uint64_t)f->size * (uint64_t)f->rank;
    return err;
}

static void access_move(struct dm_file *f, const struct dm_access *a, struct dm_move *m)
{
    *m = (struct dm_move){
        .disk = &f->disk,
        .hints = &f->hints,
        .view = f->view,
        .is_write = a->is_write,
        .buf = a->buf,
        .count = a->count,
        .type = a->type,
    };
}

/* ---- the move ---- */

/* Other threads of the program may go on meanwhile. */
static int access_move_unlocked(struct dm_move *m)
{
    int levels = dm_glock_release_all();
    int err = dm_move_run(m);

    dm_glock_reacquire(levels);
    return err;
}

/* Blocking, with what atomic mode and the representation demand. */
static int access_transfer(struct dm_file *f, struct dm_move *m, bool converts)
{
    struct dm_lock_turn turn;
    int err = DM_OK, bad = DM_OK;

    if (m->len == 0)
        return DM_OK;
    if (f->is_atomic)
        err = dm_file_lock(f, &turn);
    if (err != DM_OK)
        return err;
    if (!m->is_write)
        err = dm_file_see(f);
    if (err == DM_OK)
        err = converts ? dm_convert_run(m, access_move_unlocked) : access_move_unlocked(m);
    if (err == DM_OK && m->is_write)
        err = dm_file_show(f);
    if (f->is_atomic)
        bad = dm_file_unlock(f, &turn);
    dm_move_count(f, m);
    return err != DM_OK ? err : bad;
}

void dm_access_status(MPI_Status *status, uint64_t bytes)
{
    int keep;

    if (status == MPI_STATUS_IGNORE)
        return;
    keep = status->MPI_ERROR;
    dm_status_set_empty(status);
    status->MPI_ERROR = keep;
    dm_status_set_bytes(status, bytes);
}

int dm_access_run(struct dm_file *f, const struct dm_access *a, MPI_Status *status)
{
    bool exchanges = a->is_coll && dm_plan_is_asked(f, a->is_write), is_done = false;
    bool converts = dm_datarep_converts(f->view->rep);
    struct dm_staged staged = {.mem = NULL};
    struct dm_io_result result;
    int err, moved = DM_OK;
    struct dm_move m;

    access_move(f, a, &m);
    err = access_place(f, a, &m);
    if (err == DM_OK && exchanges && converts)
        err = dm_convert_stage(&m, &staged, false);
    dm_io_result_set(&result, err);
    if (exchanges) {
        moved = dm_exchange_run(f, &m, &is_done);
        dm_move_count(f, &m);
    }
    if (!is_done && moved == DM_OK)
        moved = access_transfer(f, &m, converts && staged.mem == NULL);
    if (staged.mem != NULL) {
        err = dm_convert_unstage(&m, &staged);
        moved = moved != DM_OK ? moved : err;
    }
    dm_access_status(status, m.done);
    return result.err != DM_OK ? dm_io_result_get(&result) : moved;
}

int dm_access_start(struct dm_file *f, const struct dm_access *a, struct dm_req **req_p)
{
    bool converts = dm_datarep_converts(f->view->rep);
    struct dm_move m;
    int err;

    access_move(f, a, &m);
    err = access_place(f, a, &m);
    if (a->is_coll && dm_plan_is_hinted(f, a->is_write))
        return dm_exchange_start(f, &m, err, req_p);
    if (err != DM_OK)
        return err;
    /* The lock is messages, and conversions may be functions of the program: not for the thread. */
    if (m.len > 0 && !f->is_atomic && (!converts || dm_convert_is_short(&m)))
        return dm_file_start(f, &m, req_p);
    err = access_transfer(f, &m, converts);
    return dm_file_started(f, &m, err, req_p);
}

/* ---- positions ---- */

static int access_check_pointer(const struct dm_file *f)
{
    if ((f->amode & MPI_MODE_SEQUENTIAL) != 0)
        return DM_FAIL(DM_ERR_UNSUPPORTED_OPERATION, "\"%s\" is open with MPI_MODE_SEQUENTIAL",
                       f->disk.path);
    return DM_OK;
}

/* The position that MPI_SEEK_... names; the end is the first whole etype behind the last byte. */
static int access_seek_to(struct dm_file *f, MPI_Offset offset, int whence, uint64_t from,
                          uint64_t *pos_p)
{
    dm_int128 pos = (dm_int128)offset * (dm_int128)f->view->etype_size;
    uint64_t size, end;
    int err;

    switch (whence) {
    case MPI_SEEK_SET:
        break;
    case MPI_SEEK_CUR:
        pos += from;
        break;
    case MPI_SEEK_END:
        err = dm_file_see(f);
        if (err == DM_OK)
            err = dm_disk_size(&f->disk, &size);
        if (err != DM_OK)
            return err;
        end = dm_view_pos(f->view, (int64_t)size);
        pos += (end + f->view->etype_size - 1) / f->view->etype_size * f->view->etype_size;
        break;
    default:
        return DM_FAIL(DM_ERR_ARG, "whence is %d, not MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END",
                       whence);
    }
    if (pos < 0 || pos > INT64_MAX / 4)
        return DM_FAIL(DM_ERR_ARG, "the pointer would be at etype %lld",
                       (long long)(pos / (dm_int128)f->view->etype_size));
    *pos_p = (uint64_t)pos;
    return DM_OK;
}

int dm_file_seek(struct dm_file *f, MPI_Offset offset, int whence)
{
    int err = access_check_pointer(f);

    return err != DM_OK ? err : access_seek_to(f, offset, whence, f->pos, &f->pos);
}

int dm_file_get_position(struct dm_file *f, MPI_Offset *offset)
{
    int err = access_check_pointer(f);

    *offset = (MPI_Offset)(f->pos / f->view->etype_size);
    return err;
}

int dm_file_get_byte_offset(struct dm_file *f, MPI_Offset offset, MPI_Offset *disp)
{
    int err = DM_OK;
    uint64_t pos;

    if (offset < 0)
        err = DM_FAIL(DM_ERR_ARG, "offset is %lld", (long long)offset);
    if (err == DM_OK)
        err = access_offset(f, offset, &pos);
    if (err == DM_OK)
        err = dm_view_check(f->view, pos);
    if (err == DM_OK)
        *disp = f->view->size > 0 ? dm_view_offset(f->view, pos) : f->view->disp;
    return err;
}

int dm_file_seek_shared(struct dm_file *f, MPI_Offset offset, int whence)
{
    struct {
        int64_t offset, whence;
    } first = {offset, whence};
    uint64_t from = 0, pos;
    int err = DM_OK, bad = dm_file_bcast(f, &first, sizeof(first));

    if (bad != DM_OK)
        return bad;
    err = access_check_pointer(f);
    if (err == DM_OK && (first.offset != offset || first.whence != whence))
        err = DM_FAIL(DM_ERR_NOT_SAME, "offset %lld and whence %d are not those of rank 0",
                      (long long)offset, whence);
    err = dm_file_agree(f, err);
    if (err == DM_OK && f->rank == 0) {
        err = dm_file_pointer_get(f, &from);
        if (err == DM_OK)
            err = access_seek_to(f, offset, whence, from, &pos);
        if (err == DM_OK)
            err = dm_file_pointer_set(f, pos);
    }
    return dm_file_agree(f, err);
}

int dm_file_get_position_shared(struct dm_file *f, MPI_Offset *offset)
{
    int err = access_check_pointer(f);
    uint64_t pos;

    if (err == DM_OK)
        err = dm_file_pointer_get(f, &pos);
    if (err == DM_OK)
        *offset = (MPI_Offset)(pos / f->view->etype_size);
    return err;
}
