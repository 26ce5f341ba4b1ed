/*
 * MPI_Pack and MPI_Unpack (MPI-4.0 section 5.2). The packed form is the plain stream of
 * data: all processes of a job share one architecture.
 */
#include "mpi/datatype/datatype.h"

/* Bytes from position to the end, checked against what count elements need. */
static int pack_check_space(const char *what, size_t space, MPI_Count position, size_t count,
                            const struct dm_type *type, size_t *len_p)
{
    dm_int128 need = (dm_int128)count * type->size;

    if (position < 0 || (size_t)position > space)
        return DM_FAIL(DM_ERR_ARG, "position %lld is outside the %s of %zu bytes",
                       (long long)position, what, space);
    if (need > (dm_int128)(space - (size_t)position))
        return DM_FAIL(DM_ERR_TRUNCATE, "%zu elements of %lld bytes, the %s has %zu bytes left",
                       count, (long long)type->size, what, space - (size_t)position);
    *len_p = (size_t)need;
    return DM_OK;
}

int dm_pack(const void *inbuf, size_t incount, const struct dm_type *type, void *outbuf,
            size_t outsize, MPI_Count *position, struct dm_comm *comm)
{
    size_t len = 0;
    int err = pack_check_space("output buffer", outsize, *position, incount, type, &len);

    (void)comm;
    if (err != DM_OK)
        return err;
    dm_type_pack(inbuf, incount, type, 0, (char *)outbuf + *position, len);
    *position += (MPI_Count)len;
    return DM_OK;
}

int dm_unpack(const void *inbuf, size_t insize, MPI_Count *position, void *outbuf, size_t outcount,
              const struct dm_type *type, struct dm_comm *comm)
{
    size_t len = 0;
    int err = pack_check_space("input buffer", insize, *position, outcount, type, &len);

    (void)comm;
    if (err != DM_OK)
        return err;
    dm_type_unpack(outbuf, outcount, type, 0, (const char *)inbuf + *position, len);
    *position += (MPI_Count)len;
    return DM_OK;
}

int dm_pack_size(size_t incount, const struct dm_type *type, struct dm_comm *comm, MPI_Count *size)
{
    dm_int128 need = (dm_int128)incount * type->size;

    (void)comm;
    *size = need <= INT64_MAX ? (MPI_Count)need : MPI_UNDEFINED;
    return DM_OK;
}
