/*
 * MPI_File_set_view and MPI_File_get_view.
 */
#include <string.h>

#include "io/file.h"
#include "io/job.h"

/*
 * What must be the same everywhere (section 14.3); sent as it is. Of etypes the standard says that of their
 * extents in the file; those with the same data are not refused, either.
 */
struct view_first {
    int64_t etype_extent;
    uint64_t etype_size;
    char datarep[MPI_MAX_DATAREP_STRING]; /* empty: the call has failed there */
};

static int view_check_disp(struct dm_file *f, MPI_Offset *disp)
{
    bool is_sequential = (f->amode & MPI_MODE_SEQUENTIAL) != 0;
    uint64_t pos;
    int err;

    if (*disp == MPI_DISPLACEMENT_CURRENT) {
        if (!is_sequential)
            return DM_FAIL(DM_ERR_ARG,
                           "MPI_DISPLACEMENT_CURRENT goes with MPI_MODE_SEQUENTIAL only");
        err = dm_file_pointer_get(f, &pos);
        if (err == DM_OK)
            err = dm_view_check(f->view, pos);
        if (err == DM_OK)
            *disp = f->view->size > 0 ? dm_view_offset(f->view, pos) : f->view->disp;
        return err;
    }
    if (is_sequential)
        return DM_FAIL(DM_ERR_ARG,
                       "with MPI_MODE_SEQUENTIAL disp must be MPI_DISPLACEMENT_CURRENT");
    if (*disp < 0 || *disp > INT64_MAX / 4)
        return DM_FAIL(DM_ERR_ARG, "the displacement disp is %lld", (long long)*disp);
    return DM_OK;
}

static int view_make(struct dm_file *f, MPI_Offset disp, struct dm_type *etype,
                     struct dm_type *filetype, const char *datarep, struct dm_view **view_p)
{
    const struct dm_datarep *rep;
    int err = view_check_disp(f, &disp);

    if (err == DM_OK)
        err = dm_file_make_idle(f);
    if (err == DM_OK)
        err = dm_datarep_find(datarep, &rep);
    if (err != DM_OK)
        return err;
    return dm_view_new(disp, etype, filetype, rep, (f->amode & MPI_MODE_RDONLY) == 0, view_p);
}

static int view_describe(const struct dm_view *view, struct view_first *mine)
{
    MPI_Aint extent;
    int err = dm_datarep_extent(view->rep, view->etype, &extent);

    if (err != DM_OK)
        return err;
    mine->etype_extent = extent;
    mine->etype_size = view->etype_size;
    memcpy(mine->datarep, view->rep->name, sizeof(mine->datarep));
    return DM_OK;
}

static int view_compare(const struct view_first *first, const struct view_first *mine)
{
    if (strcmp(first->datarep, mine->datarep) != 0)
        return DM_FAIL(DM_ERR_NOT_SAME, "datarep is \"%s\", that of rank 0 is \"%.*s\"",
                       mine->datarep, MPI_MAX_DATAREP_STRING, first->datarep);
    if (first->etype_extent != mine->etype_extent && first->etype_size != mine->etype_size)
        return DM_FAIL(DM_ERR_NOT_SAME,
                       "the extent of etype is %lld bytes in the file, that of rank 0 is %lld",
                       (long long)mine->etype_extent, (long long)first->etype_extent);
    return DM_OK;
}

int dm_file_set_view(struct dm_file *f, MPI_Offset disp, struct dm_type *etype,
                     struct dm_type *filetype, const char *datarep, struct dm_info *info)
{
    struct view_first mine = {.datarep = ""}, first;
    struct dm_view *view = NULL;
    int err = view_make(f, disp, etype, filetype, datarep, &view), bad;

    if (err == DM_OK)
        err = view_describe(view, &mine);
    first = mine;
    bad = dm_file_bcast(f, &first, sizeof(first));
    if (err == DM_OK && bad == DM_OK && first.datarep[0] != '\0')
        err = view_compare(&first, &mine);
    /* Nobody uses the shared pointer before all are here, nor before it is set. */
    if (bad == DM_OK)
        bad = dm_file_agree(f, err);
    err = err != DM_OK ? err : bad;
    if (err != DM_OK) {
        dm_view_unref(view);
        return err;
    }
    dm_view_unref(f->view);
    f->view = view;
    f->pos = 0;
    err = dm_file_take_hints(f, info);
    if (err == DM_OK && f->rank == 0)
        err = dm_file_pointer_set(f, 0);
    return dm_file_agree(f, err);
}

int dm_file_decline_view(struct dm_file *f, int err)
{
    struct view_first first = {.datarep = ""};
    struct dm_io_result result;
    int bad;

    dm_io_result_set(&result, err);
    bad = dm_file_bcast(f, &first, sizeof(first));
    err = dm_io_result_get(&result);
    if (bad == DM_OK)
        (void)dm_file_agree(f, err);
    return dm_io_result_get(&result);
}

/* A predefined type is itself; of others the program gets a handle of its own. */
static int view_show_type(struct dm_type *type, struct dm_type **type_p)
{
    *type_p = type;
    return type->is_builtin ? DM_OK : dm_type_dup(type, type_p);
}

int dm_file_get_view(struct dm_file *f, MPI_Offset *disp, struct dm_type **etype_p,
                     struct dm_type **filetype_p, char *datarep)
{
    int err = view_show_type(f->view->etype, etype_p);

    *disp = f->view->disp;
    memcpy(datarep, f->view->rep->name, strlen(f->view->rep->name) + 1);
    return err == DM_OK ? view_show_type(f->view->filetype, filetype_p) : err;
}
