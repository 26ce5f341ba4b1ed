/*
 * Bulk RDMA beside the pipe; to oneself it is a copy.
 */
#include "channel/channel.h"

#include <string.h>

#include "channel/chan.h"
#include "util/err.h"

int dm_chan_rdma_write(struct dm_chan *chan, int proc, struct dm_rdma *rdma, const void *local,
                       struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    struct dm_conn *conn;

    if (proc == chan->rank) {
        memmove((void *)(uintptr_t)remote, local, len);
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    conn = dm_adapt_conn(chan->adapt, proc);
    if (dm_unlikely(conn == NULL))
        return DM_ENOMEM;
    return dm_adapt_rdma_write(conn, rdma, local, mr, remote, rkey, len);
}

int dm_chan_rdma_read(struct dm_chan *chan, int proc, struct dm_rdma *rdma, void *local,
                      struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    struct dm_conn *conn;

    if (proc == chan->rank) {
        memmove(local, (const void *)(uintptr_t)remote, len);
        rdma->done(rdma, DM_OK);
        return DM_OK;
    }
    conn = dm_adapt_conn(chan->adapt, proc);
    if (dm_unlikely(conn == NULL))
        return DM_ENOMEM;
    return dm_adapt_rdma_read(conn, rdma, local, mr, remote, rkey, len);
}

int dm_chan_rdma_write_value(struct dm_chan *chan, int proc, struct dm_rdma *rdma,
                             const void *local, struct dm_mr *mr, uint64_t remote,
                             const struct dm_rkey *rkey, size_t len, uint32_t value)
{
    struct dm_conn *conn = dm_adapt_conn(chan->adapt, proc);

    if (dm_unlikely(conn == NULL))
        return DM_ENOMEM;
    return dm_adapt_rdma_write_value(conn, rdma, local, mr, remote, rkey, len, value);
}

int dm_chan_expect_value(struct dm_chan *chan, int proc, struct dm_rdma *rdma, uint32_t *value_p)
{
    struct dm_conn *conn = dm_adapt_conn(chan->adapt, proc);

    return conn == NULL ? DM_ENOMEM : dm_adapt_expect_value(conn, rdma, value_p);
}

enum dm_rndv dm_chan_rndv(struct dm_chan *chan, int proc)
{
    struct dm_conn *conn;

    if (proc == chan->rank)
        return DM_RNDV_PIPE;
    conn = dm_adapt_conn(chan->adapt, proc);
    return conn == NULL ? DM_RNDV_PIPE : dm_adapt_rndv(conn);
}

enum dm_rndv dm_chan_rndv_begin(struct dm_chan *chan, int proc, size_t len,
                                struct dm_rndv_select **select_p)
{
    struct dm_conn *conn = proc == chan->rank ? NULL : dm_adapt_conn(chan->adapt, proc);

    return conn == NULL ? DM_RNDV_PIPE : dm_adapt_rndv_begin(conn, len, select_p);
}

enum dm_rndv dm_chan_rndv_exchange(struct dm_chan *chan, int proc, size_t len, enum dm_rndv agreed,
                                   struct dm_rndv_select **select_p)
{
    struct dm_conn *conn = proc == chan->rank ? NULL : dm_adapt_conn(chan->adapt, proc);

    return conn == NULL ? DM_RNDV_PIPE : dm_adapt_rndv_exchange(conn, len, agreed, select_p);
}

enum dm_rndv dm_chan_rndv_in_exchange(struct dm_chan *chan, int proc, size_t len)
{
    const struct dm_conn *conn = proc == chan->rank ? NULL : dm_adapt_conn(chan->adapt, proc);

    return conn == NULL ? DM_RNDV_AUTO : dm_adapt_rndv_in_exchange(conn, len);
}

bool dm_chan_rndv_may_split(struct dm_chan *chan, int proc, size_t len, uint64_t polls_until)
{
    struct dm_conn *conn;

    if (proc == chan->rank)
        return false;
    conn = dm_adapt_conn(chan->adapt, proc);
    return conn != NULL && dm_adapt_rndv_may_split(conn, len, polls_until);
}

/* ---- words ---- */

static void word_over(struct dm_rdma *rdma, int err)
{
    struct dm_chan_word *word = dm_container_of(rdma, struct dm_chan_word, rdma);

    word->err = err;
    word->is_over = true;
}

/* It belongs to the adaptation layer then, unless it is over. */
static void word_start(struct dm_chan *chan, int proc, const struct dm_words *mine,
                       const struct dm_word_key *key, struct dm_chan_word *word)
{
    int err;

    word->is_over = false;
    word->rdma.done = word_over;
    err = dm_adapt_word_op(chan->adapt, proc, &word->rdma, mine, key, &word->op, &word->old);
    if (err != DM_OK)
        word_over(&word->rdma, err);
}

int dm_chan_do_words(struct dm_chan *chan, int proc, const struct dm_words *mine,
                     const struct dm_word_key *key, struct dm_chan_word *words, int n)
{
    int err = DM_OK;

    for (int i = 0; i < n; i++)
        word_start(chan, proc, mine, key, &words[i]);
    for (int i = 0; i < n; i++) {
        while (!*(volatile bool *)&words[i].is_over || words[i].err == DM_EAGAIN) {
            dm_chan_progress_wait(chan);
            if (words[i].is_over && words[i].err == DM_EAGAIN)
                word_start(chan, proc, mine, key, &words[i]);
        }
        if (err == DM_OK)
            err = words[i].err;
    }
    return err;
}
