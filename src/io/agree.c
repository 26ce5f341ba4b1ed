/*
 * Agreement about errors: nobody goes on alone, and everybody knows the reason.
 */
#include "io/file.h"

#include <string.h>

#include "mpi/coll/coll.h"

#define AGREE_TEXT 512

int dm_io_agree(struct dm_comm *comm, int err)
{
    char text[AGREE_TEXT] = "";
    uint64_t mine = 0, worst = 0;
    int first, bad;

    if (comm == NULL)
        return err;
    /* The lowest rank has the highest number. */
    if (err != DM_OK)
        mine = (uint64_t)(comm->size - comm->rank) << 32 | (uint32_t)err;
    bad = dm_allreduce(&mine, &worst, 1, dm_type_get(MPI_UINT64_T), dm_op_get(MPI_MAX), comm);
    if (bad != DM_OK || worst == 0)
        return err != DM_OK ? err : bad;
    first = comm->size - (int)(worst >> 32);
    if (first == comm->rank && dm_err_code() == err)
        strncpy(text, dm_err_detail(), sizeof(text) - 1);
    bad = dm_bcast(text, sizeof(text), dm_type_get(MPI_BYTE), first, comm);
    if (err != DM_OK || bad != DM_OK)
        return err != DM_OK ? err : bad;
    return DM_FAIL((int)(uint32_t)worst, "%s (rank %d)", text, first);
}

int dm_file_agree(struct dm_file *f, int err)
{
    return dm_io_agree(f->comm, err);
}

int dm_file_bcast(struct dm_file *f, void *data, size_t len)
{
    if (f->comm == NULL)
        return DM_OK;
    return dm_bcast(data, len, dm_type_get(MPI_BYTE), 0, f->comm);
}
