/*
 * Data representations: which there are, what lengths they have, and conversions.
 */
#include "io/datarep.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"

const struct dm_datarep dm_datarep_native = {.kind = DM_REP_NATIVE, .name = "native"};
static const struct dm_datarep datarep_internal = {.kind = DM_REP_NATIVE, .name = "internal"};
static const struct dm_datarep datarep_external32 = {.kind = DM_REP_EXTERNAL32,
                                                     .name = "external32"};
static struct dm_list datareps; /* registered */

void dm_datarep_start(void)
{
    dm_list_init(&datareps);
}

void dm_datarep_stop(void)
{
    while (!dm_list_is_empty(&datareps)) {
        struct dm_datarep *rep = dm_container_of(datareps.next, struct dm_datarep, link);

        dm_list_del(&rep->link);
        free(rep);
    }
}

static const struct dm_datarep *datarep_known(const char *name)
{
    static const struct dm_datarep *const own[] = {&dm_datarep_native, &datarep_internal,
                                                   &datarep_external32};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(own[i]->name, name) == 0)
            return own[i];
    dm_list_for_each (it, &datareps) {
        const struct dm_datarep *rep = dm_container_of(it, struct dm_datarep, link);

        if (strcmp(rep->name, name) == 0)
            return rep;
    }
    return NULL;
}

/* Programs in Fortran write them so, which MPICH takes. */
static const struct dm_datarep *datarep_in_capitals(const char *name)
{
    if (strcmp(name, "NATIVE") == 0)
        return &dm_datarep_native;
    if (strcmp(name, "INTERNAL") == 0)
        return &datarep_internal;
    return strcmp(name, "EXTERNAL32") == 0 ? &datarep_external32 : NULL;
}

int dm_datarep_find(const char *name, const struct dm_datarep **rep_p)
{
    *rep_p = datarep_known(name);
    if (*rep_p == NULL)
        *rep_p = datarep_in_capitals(name);
    if (*rep_p != NULL)
        return DM_OK;
    return DM_FAIL(DM_ERR_UNSUPPORTED_DATAREP,
                   "\"%s\" is not native, internal, external32, nor registered", name);
}

int dm_register_datarep(const char *name, struct dm_conversion read, struct dm_conversion write,
                        MPI_Datarep_extent_function *extent, void *extra)
{
    struct dm_datarep *rep;

    if (name[0] == '\0' || strlen(name) >= MPI_MAX_DATAREP_STRING)
        return DM_FAIL(DM_ERR_ARG, "datarep must have 1 to %d characters",
                       MPI_MAX_DATAREP_STRING - 1);
    if (extent == NULL)
        return DM_FAIL(DM_ERR_ARG, "dtype_file_extent_fn is NULL");
    if (datarep_known(name) != NULL)
        return DM_FAIL(DM_ERR_DUP_DATAREP, "\"%s\" is there already", name);
    rep = calloc(1, sizeof(*rep));
    if (rep == NULL)
        return DM_FAIL(DM_ENOMEM, "data representation");
    rep->kind = DM_REP_USER;
    if (read.narrow == NULL && read.wide == NULL && write.narrow == NULL && write.wide == NULL)
        rep->kind = DM_REP_NATIVE;
    rep->read = read;
    rep->write = write;
    rep->extent = extent;
    rep->extra = extra;
    memcpy(rep->name, name, strlen(name) + 1);
    dm_list_add_tail(&datareps, &rep->link);
    return DM_OK;
}

/* ---- lengths ---- */

static int datarep_basic_len(const struct dm_datarep *rep, struct dm_type *basic, MPI_Aint *len_p)
{
    MPI_Count size;
    int err;

    *len_p = basic->size;
    if (basic->size == 0)
        return DM_OK;
    if (rep->kind == DM_REP_USER) {
        err = dm_err_of_code(rep->extent(basic->obj.handle, len_p, rep->extra));
        if (err == DM_OK && *len_p <= 0)
            err =
                DM_FAIL(DM_ERR_CONVERSION, "dtype_file_extent_fn of \"%s\" gave %lld bytes for %s",
                        rep->name, (long long)*len_p, basic->name);
        return err;
    }
    err = dm_pack_external_size("external32", 1, basic, &size);
    *len_p = size;
    return err;
}

static int datarep_basic(void *arg, struct dm_type *basic, struct dm_type **type_p)
{
    MPI_Aint len;
    int err = datarep_basic_len(arg, basic, &len);

    if (err != DM_OK)
        return err;
    if (basic->size == len && basic->extent == len) {
        dm_type_ref(basic);
        *type_p = basic;
        return DM_OK;
    }
    return dm_type_contiguous((size_t)len, dm_type_get(MPI_BYTE), type_p);
}

int dm_datarep_type(const struct dm_datarep *rep, struct dm_type *type, struct dm_type **new_p)
{
    if (dm_datarep_converts(rep))
        return dm_type_rebuild(type, datarep_basic, (void *)(uintptr_t)rep, new_p);
    dm_type_ref(type);
    *new_p = type;
    return DM_OK;
}

int dm_datarep_size(const struct dm_datarep *rep, struct dm_type *type, MPI_Count *size_p)
{
    struct dm_type *file;
    int err;

    *size_p = type->size;
    if (!dm_datarep_converts(rep))
        return DM_OK;
    if (rep->kind == DM_REP_EXTERNAL32)
        return dm_pack_external_size("external32", 1, type, size_p);
    err = dm_type_rebuild(type, datarep_basic, (void *)(uintptr_t)rep, &file);
    if (err != DM_OK)
        return err;
    *size_p = file->size;
    dm_type_rebuilt_drop(file);
    return DM_OK;
}

int dm_datarep_extent(const struct dm_datarep *rep, struct dm_type *type, MPI_Aint *extent_p)
{
    struct dm_type *file;
    int err;

    *extent_p = type->extent;
    if (!dm_datarep_converts(rep))
        return DM_OK;
    err = dm_type_rebuild(type, datarep_basic, (void *)(uintptr_t)rep, &file);
    if (err != DM_OK)
        return err;
    *extent_p = file->extent;
    dm_type_rebuilt_drop(file);
    return DM_OK;
}

int dm_file_get_type_extent(struct dm_file *f, struct dm_type *type, MPI_Aint *extent)
{
    return dm_datarep_extent(f->view->rep, type, extent);
}

/* ---- conversions ---- */

/* Without a function data are as in memory, which must then fit what the extents say. */
static int datarep_copies(const struct dm_datarep *rep, const struct dm_type *type, size_t n,
                          size_t size)
{
    if ((size_t)type->size * n == size)
        return DM_OK;
    return DM_FAIL(DM_ERR_CONVERSION,
                   "\"%s\" has no conversion function, but other lengths than memory", rep->name);
}

static int datarep_call(const struct dm_datarep *rep, struct dm_conversion fn, void *buf,
                        struct dm_type *type, size_t first, size_t n, void *file)
{
    MPI_Count items = (MPI_Count)n * type->n_basic;
    MPI_Offset position = (MPI_Offset)first * type->n_basic;

    if (fn.wide != NULL)
        return dm_err_of_code(fn.wide(buf, type->obj.handle, items, file, position, rep->extra));
    if (items > INT_MAX)
        return DM_FAIL(DM_ERR_CONVERSION,
                       "%lld elements at once; register \"%s\" by MPI_Register_datarep_c",
                       (long long)items, rep->name);
    return dm_err_of_code(fn.narrow(buf, type->obj.handle, (int)items, file, position, rep->extra));
}

int dm_datarep_encode(const struct dm_datarep *rep, const void *buf, struct dm_type *type,
                      size_t first, size_t n, void *file, size_t size)
{
    const char *from = (const char *)((uintptr_t)buf + first * (size_t)type->extent);
    MPI_Count position = 0;
    int err;

    if (rep->kind == DM_REP_EXTERNAL32)
        return dm_pack_external("external32", from, n, type, file, (MPI_Count)size, &position);
    if (rep->write.narrow != NULL || rep->write.wide != NULL)
        return datarep_call(rep, rep->write, (void *)(uintptr_t)buf, type, first, n, file);
    err = datarep_copies(rep, type, n, size);
    if (err == DM_OK)
        dm_type_pack(from, n, type, 0, file, size);
    return err;
}

int dm_datarep_decode(const struct dm_datarep *rep, void *buf, struct dm_type *type, size_t first,
                      size_t n, const void *file, size_t size)
{
    char *to = (char *)((uintptr_t)buf + first * (size_t)type->extent);
    MPI_Count position = 0;
    int err;

    if (rep->kind == DM_REP_EXTERNAL32)
        return dm_unpack_external("external32", file, (MPI_Count)size, &position, to, n, type);
    if (rep->read.narrow != NULL || rep->read.wide != NULL)
        return datarep_call(rep, rep->read, buf, type, first, n, (void *)(uintptr_t)file);
    err = datarep_copies(rep, type, n, size);
    if (err == DM_OK)
        dm_type_unpack(to, n, type, 0, file, size);
    return err;
}
