/*
 * What the processes of a file have in common: a communicator and the shared pointer.
 */
#include "io/file.h"

#include "io/exchange.h"
#include "io/job.h"
#include "mpi/comm/comm.h"

int dm_file_unshare(struct dm_file *f)
{
    int err;

    if (f->comm == NULL)
        return DM_OK;
    dm_file_words_free(f);
    dm_exchanges_stop(f);
    err = dm_comm_free(f->comm);
    f->comm = NULL;
    return err;
}

int dm_file_pointer_add(struct dm_file *f, uint64_t n, uint64_t *old_p)
{
    return dm_file_word_add(f, DM_WORD_POINTER, n, old_p);
}

int dm_file_pointer_get(struct dm_file *f, uint64_t *value_p)
{
    return dm_file_word_add(f, DM_WORD_POINTER, 0, value_p);
}

int dm_file_pointer_set(struct dm_file *f, uint64_t value)
{
    uint64_t old;
    int err = dm_file_pointer_get(f, &old);

    return err == DM_OK ? dm_file_word_add(f, DM_WORD_POINTER, value - old, &old) : err;
}
