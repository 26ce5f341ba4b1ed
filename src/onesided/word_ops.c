/*
 * Operations on words of a rank by the provider's atomics, and waiting for them.
 */
#include "onesided/word_ops.h"

static void word_over(struct dm_rdma *rdma, int err)
{
    struct dm_rma_word *word = dm_container_of(rdma, struct dm_rma_word, rdma);

    word->err = err;
    word->is_over = true;
}

/* It belongs to the adaptation layer then, unless it is over. */
static void word_start(const struct dm_win *win, int rank, const struct dm_words *mine,
                       const struct dm_word_key *key, struct dm_rma_word *word)
{
    int err;

    word->is_over = false;
    word->rdma.done = word_over;
    err = dm_adapt_word_op(dm_chan_adapt(dm_world.chan), dm_rma_proc(win, rank), &word->rdma, mine,
                           key, &word->op, &word->old);
    if (err != DM_OK)
        word_over(&word->rdma, err);
}

int dm_rma_do_words(const struct dm_win *win, int rank, const struct dm_words *mine,
                    const struct dm_word_key *key, struct dm_rma_word *words, int n)
{
    int err = DM_OK;

    for (int i = 0; i < n; i++)
        word_start(win, rank, mine, key, &words[i]);
    for (int i = 0; i < n; i++) {
        while (!*(volatile bool *)&words[i].is_over || words[i].err == DM_EAGAIN) {
            dm_chan_progress_wait(dm_world.chan);
            if (words[i].is_over && words[i].err == DM_EAGAIN)
                word_start(win, rank, mine, key, &words[i]);
        }
        if (err == DM_OK)
            err = words[i].err;
    }
    return err;
}
