/*
 * The words that the processes of a file share: the shared pointer, and a ticket lock. On one host
 * they are in memory that all have mapped, else in a window at the first process, open to all for
 * as long as the file is; one process needs neither.
 */
#include "io/file.h"

#include "channel/channel.h"
#include "channel/wait.h"
#include "io/exchange.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/node/node.h"
#include "onesided/onesided.h"

#define SHARED_LEN (DM_N_WORDS * sizeof(uint64_t))

/* Collective; *is_done_p false: somebody cannot map it, so nobody uses it. */
static int shared_by_memory(struct dm_file *f, bool *is_done_p)
{
    struct dm_type *byte = dm_type_get(MPI_BYTE);
    struct dm_node_file file = {.len = 0};
    int mine = 1, all = 0, err;

    if (f->rank == 0)
        mine = dm_node_segment_make(&f->segment, "datum-file", SHARED_LEN, &file) == DM_OK;
    err = dm_bcast(&file, sizeof(file), byte, 0, f->comm);
    if (f->rank > 0 && err == DM_OK)
        mine = dm_node_segment_map(&f->segment, &file, SHARED_LEN) == DM_OK;
    if (err == DM_OK)
        err = dm_allreduce(&mine, &all, 1, dm_type_get(MPI_INT), dm_op_get(MPI_MIN), f->comm);
    *is_done_p = err == DM_OK && all != 0;
    if (*is_done_p) {
        dm_node_segment_close_file(&f->segment);
        f->words = f->segment.at;
    } else {
        dm_node_segment_free(&f->segment);
    }
    return err;
}

/* Collective, on failure too. */
static int shared_by_window(struct dm_file *f)
{
    void *mem;
    int err = dm_win_allocate(f->rank == 0 ? SHARED_LEN : 0, sizeof(uint64_t), NULL, f->comm, &mem,
                              &f->win);

    if (err != DM_OK)
        return err;
    f->words = mem;
    for (int i = 0; i < DM_N_WORDS && f->rank == 0; i++)
        f->words[i] = 0;
    /* Nobody uses the words before all agree. */
    return dm_file_agree(f, dm_win_lock_all(MPI_MODE_NOCHECK, f->win));
}

int dm_file_share(struct dm_file *f, struct dm_comm *comm)
{
    bool is_done = false;
    int err;

    f->words = f->local;
    if (f->size == 1)
        return DM_OK;
    err = dm_comm_dup_bare(comm, &f->comm);
    if (err != DM_OK)
        return err;
    if (dm_node_is_one(f->group))
        err = shared_by_memory(f, &is_done);
    if (err == DM_OK && !is_done)
        err = shared_by_window(f);
    if (err != DM_OK)
        (void)dm_file_unshare(f);
    return err;
}

int dm_file_unshare(struct dm_file *f)
{
    int err = DM_OK, bad;

    if (f->comm == NULL)
        return DM_OK;
    if (f->win != NULL) {
        err = dm_win_unlock_all(f->win);
        bad = dm_win_free(f->win);
        err = err != DM_OK ? err : bad;
        f->win = NULL;
    }
    dm_node_segment_free(&f->segment);
    f->words = f->local;
    dm_exchanges_stop(f);
    bad = dm_comm_free(f->comm);
    f->comm = NULL;
    return err != DM_OK ? err : bad;
}

/* Fetch a word and apply op, MPI_SUM, MPI_REPLACE or MPI_NO_OP. */
static int shared_fetch(struct dm_file *f, enum dm_file_word word, MPI_Op op, uint64_t value,
                        uint64_t *old_p)
{
    int err;

    if (f->win == NULL) {
        if (op == MPI_SUM)
            *old_p = atomic_fetch_add(&f->words[word], value);
        else if (op == MPI_REPLACE)
            *old_p = atomic_exchange(&f->words[word], value);
        else
            *old_p = atomic_load(&f->words[word]);
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

int dm_file_lock_ask(struct dm_file *f, uint64_t *ticket_p)
{
    return shared_fetch(f, DM_WORD_TICKET, MPI_SUM, 1, ticket_p);
}

int dm_file_lock_look(struct dm_file *f, uint64_t ticket, bool *is_ours_p)
{
    uint64_t served = 0;
    int err = shared_fetch(f, DM_WORD_SERVED, MPI_NO_OP, 0, &served);

    *is_ours_p = err == DM_OK && served == ticket;
    return err;
}

/* The one before us may need this core, and us for its messages; it tells nobody that it is over. */
int dm_file_lock(struct dm_file *f)
{
    struct dm_chan *chan = dm_world.chan;
    struct dm_waiter w;
    bool is_ours = false;
    uint64_t ticket;
    int err;

    if (f->size == 1)
        return DM_OK;
    err = dm_file_lock_ask(f, &ticket);
    if (err == DM_OK)
        err = dm_file_lock_look(f, ticket, &is_ours);
    if (err != DM_OK || is_ours)
        return err;
    dm_wait_begin(chan, &w, DM_WAIT_LOOK, dm_chan_is_oversubscribed(chan), 0);
    while (err == DM_OK && !is_ours) {
        if (dm_wait_pass(chan, &w))
            dm_wait_sleep(chan, &w, DM_WAIT_FILE_LOCK_US);
        err = dm_file_lock_look(f, ticket, &is_ours);
    }
    dm_wait_end(chan, &w);
    return err;
}

int dm_file_unlock(struct dm_file *f)
{
    uint64_t old;

    return f->size == 1 ? DM_OK : shared_fetch(f, DM_WORD_SERVED, MPI_SUM, 1, &old);
}
