/*
 * What the processes of a file have in common: a communicator, the shared pointer, and a ticket lock.
 */
#include "io/file.h"

#include "channel/channel.h"
#include "channel/wait.h"
#include "io/exchange.h"
#include "io/job.h"
#include "mpi/comm/comm.h"
#include "util/clock.h"

/* In DM_WORD_SERVED: nobody gets the lock any more. Far above all tickets, also when several add it. */
#define LOCK_LOST ((uint64_t)1 << 48)

static uint64_t n_lock_looks; /* that found it taken */

uint64_t dm_file_lock_looks(void)
{
    return n_lock_looks;
}

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

/* ---- the lock of atomic mode ---- */

/* Nobody knows whose turn it is: whoever waits, or comes, is told so. Returns err, which has just been noted. */
static int lock_lose(struct dm_file *f, int err)
{
    struct dm_io_result result;
    uint64_t served;

    dm_io_result_set(&result, err);
    if (f->words.own != NULL)
        (void)dm_file_word_add(f, DM_WORD_SERVED, LOCK_LOST, &served);
    return dm_io_result_get(&result);
}

int dm_file_lock_ask(struct dm_file *f, uint64_t *ticket_p)
{
    int err = dm_file_word_add(f, DM_WORD_TICKET, 1, ticket_p);

    return err == DM_OK ? DM_OK : lock_lose(f, err);
}

/* How many are in front of that ticket's; 0: it is its turn. */
static int lock_count_before(struct dm_file *f, uint64_t ticket, uint64_t *n_p)
{
    uint64_t served = 0;
    int err = dm_file_word_add(f, DM_WORD_SERVED, 0, &served);

    *n_p = ticket - served;
    if (err != DM_OK)
        return lock_lose(f, err);
    if (served >= LOCK_LOST)
        return DM_FAIL(DM_EPEER, "the lock of \"%s\" was lost when a connection broke",
                       f->disk.path);
    return DM_OK;
}

int dm_file_lock_look(struct dm_file *f, uint64_t ticket, bool *is_ours_p)
{
    uint64_t n_before;
    int err = lock_count_before(f, ticket, &n_before);

    *is_ours_p = err == DM_OK && n_before == 0;
    return err;
}

/*
 * Until its turn has come. The one before us may need this core, and us for its messages; it tells nobody that it
 * is over. While the lock moves looks are frequent.
 */
static int lock_await(struct dm_file *f, uint64_t ticket, uint64_t n_before)
{
    uint64_t moved = dm_clock_ns(), n_last = n_before, pause;
    struct dm_chan *chan = dm_world.chan;
    struct dm_waiter w;
    int err = DM_OK;

    dm_wait_begin(chan, &w, DM_WAIT_LOOK, dm_chan_is_oversubscribed(chan), 0);
    while (err == DM_OK && n_before > 0) {
        if (n_before != n_last)
            moved = dm_clock_ns();
        n_last = n_before;
        n_lock_looks++;
        pause = (dm_clock_ns() - moved) / DM_WAIT_FILE_LOCK_PART;
        dm_wait_pause(chan, &w,
                      pause < DM_WAIT_FILE_LOCK_MAX_NS ? pause : DM_WAIT_FILE_LOCK_MAX_NS);
        err = lock_count_before(f, ticket, &n_before);
    }
    dm_wait_end(chan, &w);
    return err;
}

int dm_file_lock(struct dm_file *f)
{
    uint64_t ticket, n_before = 0;
    int err;

    if (f->size == 1)
        return DM_OK;
    err = dm_file_lock_ask(f, &ticket);
    if (err == DM_OK)
        err = lock_count_before(f, ticket, &n_before);
    return err == DM_OK && n_before > 0 ? lock_await(f, ticket, n_before) : err;
}

int dm_file_unlock(struct dm_file *f)
{
    uint64_t old;
    int err = f->size == 1 ? DM_OK : dm_file_word_add(f, DM_WORD_SERVED, 1, &old);

    return err == DM_OK ? DM_OK : lock_lose(f, err);
}
