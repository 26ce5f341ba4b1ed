/*
 * File objects: handles, error handlers, opening, closing, deleting (MPI-4.0 section 14.2).
 */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exchange.h"
#include "io/job.h"
#include "io/plan.h"
#include "io/ship.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/node/node.h"

#define AMODES                                                                                     \
    (MPI_MODE_CREATE | MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR |                         \
     MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN | MPI_MODE_EXCL | MPI_MODE_APPEND |           \
     MPI_MODE_SEQUENTIAL)

static struct {
    struct dm_list open;        /* files with a handle */
    struct dm_errhandler *eh;   /* of MPI_FILE_NULL; NULL: MPI_ERRORS_RETURN */
    struct dm_file *not_closed; /* the last one whose closing failed, for its error handler */
} files;

/* ---- handles and error handlers ---- */

MPI_File dm_file_handle(const struct dm_file *file)
{
    return file != NULL ? file->self : MPI_FILE_NULL;
}

struct dm_comm *dm_file_comm(const struct dm_file *file)
{
    return file->comm;
}

MPI_File dm_file_f2c(MPI_Fint handle)
{
    MPI_File fh = (MPI_File)(uintptr_t)(uint32_t)handle;

    return dm_file_get(fh) != NULL ? fh : MPI_FILE_NULL;
}

MPI_Fint dm_file_c2f(MPI_File fh)
{
    return dm_file_get(fh) != NULL ? (MPI_Fint)(uintptr_t)fh : 0;
}

struct dm_errhandler *dm_file_errhandler(struct dm_file *file, const void **handle_p)
{
    static const MPI_File no_file = MPI_FILE_NULL;

    *handle_p = file != NULL ? &file->self : &no_file;
    if (file != NULL)
        return file->eh;
    return files.eh != NULL ? files.eh : &dm_errhandler_return;
}

int dm_file_set_errhandler(struct dm_file *file, struct dm_errhandler *eh)
{
    dm_errhandler_set(file != NULL ? &file->eh : &files.eh, eh);
    return DM_OK;
}

int dm_file_get_errhandler(struct dm_file *file, struct dm_errhandler **eh_p)
{
    const void *handle;

    *eh_p = dm_file_errhandler(file, &handle);
    dm_errhandler_ref(*eh_p);
    return DM_OK;
}

void dm_file_ref(struct dm_file *f)
{
    f->obj.refs++;
}

void dm_file_unref(struct dm_file *f)
{
    if (f == NULL || --f->obj.refs > 0)
        return;
    (void)dm_disk_close(&f->disk);
    dm_handle_drop(DM_KIND_FILE, &f->obj);
    dm_list_del(&f->link);
    dm_ship_forget(f);
    dm_exchanges_free(f);
    dm_file_words_free(f);
    dm_view_unref(f->view);
    dm_errhandler_unref(f->eh);
    if (f->group != NULL)
        dm_group_unref(f->group);
    free(f->disk.path);
    free(f);
}

int dm_io_start(void)
{
    dm_list_init(&files.open);
    dm_file_words_start();
    dm_file_lock_start();
    dm_datarep_start();
    return DM_OK;
}

void dm_io_stop(void)
{
    dm_io_jobs_stop();
    dm_file_unref(files.not_closed);
    files.not_closed = NULL;
    /* What the program has left open. */
    while (!dm_list_is_empty(&files.open)) {
        struct dm_file *f = dm_container_of(files.open.next, struct dm_file, link);

        dm_list_del(&f->link);
        dm_file_unref(f);
    }
    dm_file_words_stop();
    dm_datarep_stop();
    dm_errhandler_unref(files.eh);
    files.eh = NULL;
}

/* ---- opening ---- */

static int file_check_amode(int amode)
{
    int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);

    if ((amode & ~AMODES) != 0)
        return DM_FAIL(DM_ERR_AMODE, "amode has the unknown bits 0x%x",
                       (unsigned)(amode & ~AMODES));
    if (access == 0 || (access & (access - 1)) != 0)
        return DM_FAIL(DM_ERR_AMODE, "amode must have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and "
                                     "MPI_MODE_RDWR");
    if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
        return DM_FAIL(DM_ERR_AMODE,
                       "MPI_MODE_RDONLY goes with neither MPI_MODE_CREATE nor MPI_MODE_EXCL");
    if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
        return DM_FAIL(DM_ERR_AMODE, "MPI_MODE_RDWR does not go with MPI_MODE_SEQUENTIAL");
    return DM_OK;
}

/* What the first process has opened; sent as it is. */
struct file_first {
    int32_t err;
    int32_t amode;
    uint64_t ino;
    uint64_t end; /* with MPI_MODE_APPEND */
    struct dm_hints hints;
    struct dm_file_home words;
    uint32_t is_local;
    int32_t n_writers;
    char text[512];
};

static int file_open_flags(int amode)
{
    int flags = (amode & MPI_MODE_RDONLY) != 0 ? O_RDONLY : O_RDWR;

    if ((amode & MPI_MODE_CREATE) != 0)
        flags |= O_CREAT;
    /* Without O_CREAT the system would take O_EXCL for something else. */
    if ((amode & MPI_MODE_EXCL) != 0 && (amode & MPI_MODE_CREATE) != 0)
        flags |= O_EXCL;
    return flags;
}

/* A file to be written is opened for reading, too, if it may be: mappings need it. */
static int file_open_disk(struct dm_file *f, const char *path, int flags)
{
    int err = dm_disk_open(&f->disk, path, flags);

    if (err == DM_ERR_ACCESS && (f->amode & MPI_MODE_WRONLY) != 0) {
        free(f->disk.path);
        err = dm_disk_open(&f->disk, path, (flags & ~O_ACCMODE) | O_WRONLY);
    }
    /* The program may have said that no other host writes. */
    if (err == DM_OK && ((f->amode & MPI_MODE_UNIQUE_OPEN) == 0 || !dm_node_is_one(f->group)))
        dm_disk_keep_to_ranges(&f->disk);
    return err;
}

/* A network file system may not show a file yet where nobody has made it. */
static int file_open_made(struct dm_file *f, const char *path)
{
    int flags = file_open_flags(f->amode) & ~O_EXCL;
    int err = file_open_disk(f, path, flags & ~O_CREAT);
    bool is_local;

    if (err != DM_ERR_NO_SUCH_FILE || (flags & O_CREAT) == 0)
        return err;
    (void)dm_disk_fs_of(path, &is_local);
    if (is_local)
        return err;
    free(f->disk.path);
    return file_open_disk(f, path, flags);
}

/* The file is there, says the first process. */
static int file_open_other(struct dm_file *f, const char *path, const struct file_first *first)
{
    int err;

    if (first->amode != f->amode)
        return DM_FAIL(DM_ERR_NOT_SAME, "amode is 0x%x, that of rank 0 is 0x%x", (unsigned)f->amode,
                       (unsigned)first->amode);
    err = file_open_made(f, path);
    if (err == DM_ERR_NO_SUCH_FILE)
        return DM_FAIL(err, "opening \"%s\": rank 0 has it, but it is not there on host %s", path,
                       dm_world.host_of(dm_world.host_arg, dm_world.rank));
    if (err == DM_OK && f->disk.is_local && f->disk.ino != first->ino)
        return DM_FAIL(DM_ERR_NOT_SAME, "\"%s\" on host %s is another file than that of rank 0",
                       path, dm_world.host_of(dm_world.host_arg, dm_world.rank));
    return err;
}

static int file_check_comm(const struct dm_file *f)
{
    return f->size == 1 || f->comm != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "communicator of a file");
}

static int file_open_first(struct dm_file *f, const char *path, struct file_first *first)
{
    int err = file_check_comm(f);

    if (err == DM_OK)
        err = file_open_disk(f, path, file_open_flags(f->amode));
    if (err == DM_OK && (f->amode & MPI_MODE_APPEND) != 0)
        err = dm_disk_size(&f->disk, &first->end);
    if (err == DM_OK && f->size > 1)
        err = dm_file_words_make(f, &first->words);
    first->err = err;
    first->ino = f->disk.ino;
    first->is_local = f->disk.is_local;
    first->n_writers = dm_plan_n_writers(f);
    if (err != DM_OK)
        snprintf(first->text, sizeof(first->text), "%s", dm_err_detail());
    return err;
}

/*
 * Collective over comm, of which f->comm is a copy: that one's first messages would be dear. The first
 * process makes the file, then the others open it.
 */
static int file_open_all(struct dm_file *f, struct dm_comm *comm, const char *path)
{
    struct file_first first = {.amode = f->amode, .hints = f->hints};
    bool lacks[DM_N_WORDS_LACKS] = {false};
    int err = f->rank == 0 ? file_open_first(f, path, &first) : DM_OK, bad;

    if (f->size > 1) {
        if (f->rank > 0)
            (void)dm_file_words_make(f, &first.words);
        bad = dm_bcast(&first, sizeof(first), dm_type_get(MPI_BYTE), 0, comm);
        if (bad != DM_OK)
            return bad;
    }
    f->pos = first.end;
    if (f->size == 1 || first.err != DM_OK)
        return f->rank == 0 ? err : DM_FAIL(first.err, "%s (rank 0)", first.text);
    f->hints = first.hints;
    f->is_one_cache = first.is_local && dm_node_is_one(f->group);
    f->n_writers = first.n_writers;
    dm_file_words_take(f, &first.words, lacks);
    if (f->rank > 0)
        err = file_check_comm(f);
    if (err == DM_OK && f->rank > 0)
        err = file_open_other(f, path, &first);
    if (err == DM_OK)
        err = dm_exchanges_prepare(f);
    dm_file_cache_init(f);
    err = dm_io_agree_flags(comm, err, lacks, DM_N_WORDS_LACKS);
    if (err == DM_OK)
        dm_file_words_choose(f, lacks);
    return err;
}

static int file_new(struct dm_comm *comm, int amode, struct dm_info *info, struct dm_file **f_p)
{
    struct dm_file *f = calloc(1, sizeof(*f));
    const void *handle;
    int err;

    if (f == NULL)
        return DM_FAIL(DM_ENOMEM, "file object, %zu bytes", sizeof(*f));
    f->obj.refs = 1;
    dm_list_init(&f->link);
    f->disk.fd = -1;
    dm_file_words_init(f);
    f->rank = comm->rank;
    f->size = comm->size;
    f->group = comm->group;
    dm_group_ref(f->group);
    f->amode = amode;
    f->eh = dm_file_errhandler(NULL, &handle);
    dm_errhandler_ref(f->eh);
    dm_hints_default(&f->hints);
    if (f->rank == 0)
        dm_hints_read_file(&f->hints);
    dm_hints_read(&f->hints, info);
    err = dm_exchanges_new(f);
    if (err == DM_OK)
        err = dm_view_new(0, dm_type_get(MPI_BYTE), dm_type_get(MPI_BYTE), &dm_datarep_native, true,
                          &f->view);
    if (err == DM_OK)
        err = dm_handle_new(DM_KIND_FILE, &f->obj);
    if (err != DM_OK) {
        dm_file_unref(f);
        return err;
    }
    f->self = (MPI_File)(uintptr_t)(uint32_t)f->obj.handle;
    *f_p = f;
    return DM_OK;
}

/* MPI_MODE_APPEND: the shared pointer at the end, too. Nobody uses it before all are here. */
static int file_to_end(struct dm_file *f, struct dm_comm *comm)
{
    int err = f->rank == 0 ? dm_file_pointer_set(f, f->pos) : DM_OK;

    return f->size > 1 ? dm_io_agree(comm, err) : err;
}

/*
 * Nothing is made on disk before all say that they can go on, which they do as they agree about the
 * communicator of the file, *own_p. NULL with DM_OK: the file is this process' alone, or this process had no
 * memory for it, which the others do not know yet.
 */
static int file_agree_first(struct dm_comm *comm, int err, struct dm_comm **own_p)
{
    struct dm_io_result result;
    int bad;

    *own_p = NULL;
    if (comm->size == 1)
        return err;
    dm_io_result_set(&result, err);
    bad = dm_comm_dup_or_fail(comm, err, own_p);
    if (bad == DM_OK || (err == DM_OK && bad == DM_ENOMEM))
        return DM_OK;
    err = dm_io_agree(comm, dm_io_result_get(&result));
    return err != DM_OK ? err : bad;
}

int dm_file_decline_open(struct dm_comm *comm, int err)
{
    struct dm_comm *none;

    return comm != NULL && comm->remote == NULL ? file_agree_first(comm, err, &none) : err;
}

int dm_file_open(struct dm_comm *comm, const char *name, int amode, struct dm_info *info,
                 struct dm_file **file_p)
{
    const char *path = dm_disk_path(name);
    struct dm_comm *own = NULL;
    struct dm_file *f = NULL;
    int err;

    *file_p = NULL;
    if (comm->remote != NULL)
        return DM_FAIL(DM_ERR_COMM, "a file cannot be opened on an intercommunicator");
    err = file_check_amode(amode);
    if (err == DM_OK && path[0] == '\0')
        err = DM_FAIL(DM_ERR_BAD_FILE, "filename is empty");
    if (err == DM_OK)
        err = file_new(comm, amode, info, &f);
    err = file_agree_first(comm, err, &own);
    if (err != DM_OK) {
        dm_file_unref(f);
        return err;
    }
    f->comm = own;
    if (own != NULL)
        snprintf(own->name, sizeof(own->name), "the file \"%s\"", path); /* in messages */
    err = file_open_all(f, comm, path);
    if (err == DM_OK && (amode & MPI_MODE_APPEND) != 0)
        err = file_to_end(f, comm);
    if (err != DM_OK) {
        (void)dm_file_unshare(f);
        dm_file_unref(f);
        return err;
    }
    dm_file_words_explain(f);
    dm_file_print_hints(f);
    dm_list_add_tail(&files.open, &f->link);
    *file_p = f;
    return DM_OK;
}

/* ---- closing and deleting ---- */

int dm_file_close(struct dm_file *f)
{
    int err = DM_OK, close_err;

    dm_file_drain(f);
    if (f->split.what != NULL) {
        err = DM_FAIL(DM_ERR_IO, "%s_begin of \"%s\" has no %s_end", f->split.what, f->disk.path,
                      f->split.what);
        dm_req_unref(f->split.req);
    }
    close_err = dm_disk_close(&f->disk);
    err = dm_file_agree(f, err != DM_OK ? err : close_err);
    if ((f->amode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
        int gone = f->rank == 0 ? dm_disk_unlink(f->disk.path) : DM_OK;

        gone = dm_file_agree(f, gone);
        err = err != DM_OK ? err : gone;
    }
    close_err = dm_file_unshare(f);
    err = err != DM_OK ? err : close_err;
    dm_handle_drop(DM_KIND_FILE, &f->obj);
    dm_list_del(&f->link);
    if (err == DM_OK) {
        dm_file_unref(f);
        return DM_OK;
    }
    dm_file_unref(files.not_closed);
    files.not_closed = f;
    return err;
}

int dm_file_delete(const char *name, struct dm_info *info)
{
    (void)info;
    return dm_disk_unlink(dm_disk_path(name));
}

/* ---- questions and hints ---- */

int dm_file_get_group(struct dm_file *f, struct dm_group **group_p)
{
    return dm_group_copy(f->group, group_p);
}

int dm_file_get_amode(struct dm_file *f, int *amode)
{
    *amode = f->amode;
    return DM_OK;
}

int dm_file_take_hints(struct dm_file *f, const struct dm_info *info)
{
    struct dm_hints hints = f->hints, before = f->hints;
    int err;

    dm_exchanges_drain(f);
    dm_hints_read(&hints, info);
    err = dm_file_bcast(f, &hints, sizeof(hints));
    if (err != DM_OK)
        return err;
    f->hints = hints;
    f->has_view = true;
    f->alone[0] = f->alone[1] = (struct dm_backoff){.left = 0};
    dm_ship_forget(f);
    err = dm_exchanges_prepare_all(f);
    if (err != DM_OK)
        f->hints = before;
    return err;
}

int dm_file_set_info(struct dm_file *f, struct dm_info *info)
{
    int err = dm_file_agree(f, DM_OK);

    return err == DM_OK ? dm_file_take_hints(f, info) : err;
}

int dm_file_decline_info(struct dm_file *f, int err)
{
    return dm_file_agree(f, err);
}

int dm_file_get_info(struct dm_file *f, struct dm_info **info_p)
{
    struct dm_hints hints = f->hints;

    hints.cb_nodes = (uint64_t)dm_plan_n_agg(f);
    hints.cb_buffer_size = dm_plan_buffer(f);
    return dm_hints_write(&hints, &f->disk, info_p);
}
