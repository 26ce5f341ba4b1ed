/*
 * The words that the processes of a file share: the shared pointer, and a ticket lock. They are a
 * window at the first process, open to all for as long as the file is; one process needs none.
 */
#include "io/file.h"

#include "channel/channel.h"
#include "mpi/coll/coll.h"
#include "onesided/onesided.h"

int dm_file_share(struct dm_file *f, struct dm_comm *comm)
{
    size_t len = f->rank == 0 ? DM_N_WORDS * sizeof(uint64_t) : 0;
    int err;

    f->words = f->local;
    if (f->size == 1)
        return DM_OK;
    err = dm_win_allocate(len, sizeof(uint64_t), NULL, comm, &f->words, &f->win);
    if (err != DM_OK)
        return err;
    f->comm = f->win->comm;
    for (int i = 0; i < DM_N_WORDS && f->rank == 0; i++)
        f->words[i] = 0;
    /* Nobody uses the words before all agree. */
    err = dm_file_agree(f, dm_win_lock_all(MPI_MODE_NOCHECK, f->win));
    if (err != DM_OK)
        (void)dm_file_unshare(f);
    return err;
}

int dm_file_unshare(struct dm_file *f)
{
    int err, free_err;

    if (f->win == NULL)
        return DM_OK;
    err = dm_win_unlock_all(f->win);
    free_err = dm_win_free(f->win);
    f->win = NULL;
    f->comm = NULL;
    return err != DM_OK ? err : free_err;
}

/* Fetch a word and apply op; value may be NULL with MPI_NO_OP. */
static int shared_fetch(struct dm_file *f, enum dm_file_word word, MPI_Op op, uint64_t value,
                        uint64_t *old_p)
{
    int err;

    if (f->win == NULL) {
        *old_p = f->words[word];
        if (op == MPI_SUM)
            f->words[word] += value;
        else if (op == MPI_REPLACE)
            f->words[word] = value;
        return DM_OK;
    }
    err = dm_fetch_and_op(&value, old_p, dm_type_get(MPI_UINT64_T), 0, word, dm_op_get(op), f->win);
    return err == DM_OK ? dm_win_flush(0, f->win) : err;
}

int dm_file_pointer_add(struct dm_file *f, uint64_t n, uint64_t *old_p)
{
    return shared_fetch(f, DM_WORD_POINTER, MPI_SUM, n, old_p);
}

int dm_file_pointer_get(struct dm_file *f, uint64_t *value_p)
{
    return shared_fetch(f, DM_WORD_POINTER, MPI_NO_OP, 0, value_p);
}

int dm_file_pointer_set(struct dm_file *f, uint64_t value)
{
    uint64_t old;

    return shared_fetch(f, DM_WORD_POINTER, MPI_REPLACE, value, &old);
}

/* ---- the lock of atomic mode ---- */

int dm_file_lock(struct dm_file *f)
{
    uint64_t mine, served;
    int err;

    if (f->win == NULL)
        return DM_OK;
    err = shared_fetch(f, DM_WORD_TICKET, MPI_SUM, 1, &mine);
    while (err == DM_OK) {
        err = shared_fetch(f, DM_WORD_SERVED, MPI_NO_OP, 0, &served);
        if (err != DM_OK || served == mine)
            break;
        /* The one before us may need this core, and us for its messages. */
        dm_chan_progress_wait(dm_world.chan);
    }
    return err;
}

int dm_file_unlock(struct dm_file *f)
{
    uint64_t old;

    return f->win == NULL ? DM_OK : shared_fetch(f, DM_WORD_SERVED, MPI_SUM, 1, &old);
}
