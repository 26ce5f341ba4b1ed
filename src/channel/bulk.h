/*
 * Bulk RDMA beside the pipe, also to oneself.
 */
#ifndef DM_CHANNEL_BULK_H
#define DM_CHANNEL_BULK_H

#include "dapl_adapt/dapl_adapt.h"

struct dm_chan; /* channel.h */

int dm_chan_rdma_write(struct dm_chan *chan, int proc, struct dm_rdma *rdma, const void *local,
                       struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
int dm_chan_rdma_read(struct dm_chan *chan, int proc, struct dm_rdma *rdma, void *local,
                      struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
/* As dm_adapt_rdma_write_value and dm_adapt_expect_value; never to oneself. */
int dm_chan_rdma_write_value(struct dm_chan *chan, int proc, struct dm_rdma *rdma,
                             const void *local, struct dm_mr *mr, uint64_t remote,
                             const struct dm_rkey *rkey, size_t len, uint32_t value);
int dm_chan_expect_value(struct dm_chan *chan, int proc, struct dm_rdma *rdma, uint32_t *value_p);
/* The protocol that large messages to proc are offered with; not DM_RNDV_AUTO. */
enum dm_rndv dm_chan_rndv(struct dm_chan *chan, int proc);
/* How they come from proc, as dm_adapt_rndv_begin, dm_adapt_rndv_exchange, dm_adapt_rndv_in_exchange. */
enum dm_rndv dm_chan_rndv_begin(struct dm_chan *chan, int proc, size_t len,
                                struct dm_rndv_select **select_p);
enum dm_rndv dm_chan_rndv_exchange(struct dm_chan *chan, int proc, size_t len, enum dm_rndv agreed,
                                   struct dm_rndv_select **select_p);
enum dm_rndv dm_chan_rndv_in_exchange(struct dm_chan *chan, int proc, size_t len);
/* May proc, which polls until then, write a part of what this process reads from it? As dm_adapt_rndv_may_split. */
bool dm_chan_rndv_may_split(struct dm_chan *chan, int proc, size_t len, uint64_t polls_until);

/* One operation on a word of a process (dapl_adapt/public/words.h); the caller fills in op. */
struct dm_chan_word {
    struct dm_rdma rdma;
    struct dm_word_op op;
    uint64_t old; /* what was there */
    int err;
    bool is_over;
};

/*
 * Do n operations on words of proc, perhaps this process, in whatever order; waits, with progress, until
 * all are over even if one fails. `mine` are this process' words, key leads to those of proc. The first
 * error, without a text (dm_adapt_word_op).
 */
int dm_chan_do_words(struct dm_chan *chan, int proc, const struct dm_words *mine,
                     const struct dm_word_key *key, struct dm_chan_word *words, int n);

#endif
