/*
 * Agreement on context ids: every process offers the mask of its ids that are taken; the lowest one
 * that none of them has is the new communicator's. Masks are mostly zeros: ones that stay behind on
 * the stack would be NaNs to programs that compare reals they have not set.
 *
 * A mask is that of one page of ids, the same in all processes of a round. A page that is full is
 * followed by the next one in which every process has a free id: each says with its mask which is
 * its lowest, as that many bits, so that the union has the highest of them. Round the end once.
 *
 * Invariant: at most one agreement of a process has its mask on offer (the owner), so
 * that an id that comes out is still free. An agreement that is not the owner offers
 * nothing, then all of its circle try again. Among threads the agreement with the lowest
 * key (parent's id and tag) goes first; the lowest key of all is first in each of its
 * processes, so someone always gets on. Under MPI_THREAD_MULTIPLE, and while a nonblocking
 * agreement (idup.c) is under way, the first round offers nothing: no mask is held before all of a
 * circle have come, since they may be waiting for another agreement.
 */
#include "mpi/comm/agree.h"

#include <limits.h>
#include <string.h>

#include "channel/wait.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm_state.h"
#include "mpi/comm/intercomm.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/log.h"

struct dm_comm_state dm_comm_state;

#define N_WORDS   DM_AGREE_WORDS
#define TAG_OF(t) (INT_MIN + ((t) == INT_MAX ? (t)-1 : (t))) /* collectives' are not negative */

static struct dm_type *agree_word_type(void)
{
    return dm_type_get(MPI_UINT32_T);
}

static void agree_or_words(uint32_t *words, const uint32_t *others)
{
    for (int i = 0; i < N_WORDS; i++)
        words[i] |= others[i];
}

/* ---- the union over a circle ---- */

/* Over some ranks of a communicator: up and down a binomial tree. */
static int agree_or_some(const struct dm_comm_circle *c, uint32_t words[N_WORDS])
{
    uint32_t others[N_WORDS];
    int tag = TAG_OF(c->tag);
    int64_t step = 1;
    int err = DM_OK;

    for (; step < c->n && (c->me & step) == 0 && err == DM_OK; step *= 2) {
        if (c->me + step >= c->n)
            continue;
        err = dm_p2p_recv_coll(others, N_WORDS, agree_word_type(), c->ranks[c->me + step], tag,
                               c->comm, MPI_STATUS_IGNORE);
        if (err == DM_OK)
            agree_or_words(words, others);
    }
    if (c->me != 0 && err == DM_OK) {
        int up = c->ranks[c->me - step];

        err = dm_p2p_send_coll(words, N_WORDS, agree_word_type(), up, tag, c->comm);
        if (err == DM_OK)
            err = dm_p2p_recv_coll(words, N_WORDS, agree_word_type(), up, tag, c->comm,
                                   MPI_STATUS_IGNORE);
    }
    for (step /= 2; step > 0 && err == DM_OK; step /= 2)
        if (c->me + step < c->n)
            err = dm_p2p_send_coll(words, N_WORDS, agree_word_type(), c->ranks[c->me + step], tag,
                                   c->comm);
    return err;
}

/* Between the leaders of two groups. */
static int agree_or_leaders(const struct dm_comm_circle *c, uint32_t words[N_WORDS])
{
    uint32_t others[N_WORDS];
    int err;

    if (c->is_bridge)
        err = dm_sendrecv(words, N_WORDS, agree_word_type(), c->peer_rank, c->tag, others, N_WORDS,
                          agree_word_type(), c->peer_rank, c->tag, c->peer, MPI_STATUS_IGNORE);
    else
        err = dm_p2p_sendrecv_coll(words, N_WORDS, agree_word_type(), 0, others, N_WORDS,
                                   agree_word_type(), 0, TAG_OF(0), c->comm);
    if (err == DM_OK)
        agree_or_words(words, others);
    return err;
}

static int agree_or_circle(const struct dm_comm_circle *c, uint32_t words[N_WORDS])
{
    struct dm_comm *local = c->comm->remote != NULL ? c->comm->local : c->comm;
    bool has_other = c->is_bridge || c->comm->remote != NULL;
    int leader = c->is_bridge ? c->leader : 0;
    int err, moved;

    if (c->ranks != NULL)
        return agree_or_some(c, words);
    err = dm_allreduce(MPI_IN_PLACE, words, N_WORDS, agree_word_type(), dm_op_get(MPI_BOR), local);
    if (err != DM_OK || !has_other)
        return err;
    if (local->rank == leader)
        err = agree_or_leaders(c, words);
    if (err != DM_OK) /* the other leader is gone: nobody must wait for what it would have said */
        words[DM_AGREE_FLAGS] = DM_AGREE_FAILED;
    moved = dm_bcast(words, N_WORDS, agree_word_type(), leader, local);
    return err == DM_OK ? moved : err;
}

/* ---- the agreement ---- */

/* A number as that many ones: of several the OR is the greatest. */
static void agree_level_set(uint32_t *level, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        level[i / 32] |= 1u << (i % 32);
}

static uint32_t agree_level_get(const uint32_t *level)
{
    uint32_t n = 0;

    while (n < DM_CTX_PAGES && (level[n / 32] >> (n % 32) & 1) != 0)
        n++;
    return n;
}

static bool agree_may_own(const struct dm_agreement *me)
{
    if (dm_comm_state.owner != NULL)
        return false;
    dm_list_for_each (it, &dm_comm_state.agreements) {
        if (dm_container_of(it, struct dm_agreement, link)->key < me->key)
            return false;
    }
    return true;
}

void dm_agree_init(struct dm_agreement *me, uint64_t key, uint32_t page)
{
    me->key = key;
    me->page = me->first = page;
}

void dm_agree_offer(struct dm_agreement *me, bool is_offering, uint32_t words[N_WORDS])
{
    memset(words, 0, N_WORDS * sizeof(*words));
    if (is_offering && agree_may_own(me)) {
        dm_comm_state.owner = me;
        dm_ctx_mask(me->page, words);
        agree_level_set(&words[DM_AGREE_LEVEL], dm_ctx_lowest());
    } else {
        words[DM_AGREE_FLAGS] = DM_AGREE_NO_OFFER;
    }
}

void dm_agree_withdraw(struct dm_agreement *me)
{
    if (dm_comm_state.owner == me)
        dm_comm_state.owner = NULL;
}

/* False: all have been looked at. */
static bool agree_next_page(struct dm_agreement *me, const uint32_t *level)
{
    bool is_round = me->page < me->first; /* the end has been passed: one by one */
    uint32_t lowest = agree_level_get(level);

    me->page++;
    if (!is_round && lowest > me->page)
        me->page = lowest;
    if (me->page >= DM_CTX_PAGES)
        me->page = 0;
    return me->page != me->first;
}

int dm_agree_result(struct dm_agreement *me, const uint32_t words[N_WORDS], uint32_t *ctxs,
                    int n_ctxs)
{
    int n = 0;

    dm_agree_withdraw(me);
    if (words[DM_AGREE_FLAGS] & DM_AGREE_FAILED)
        return DM_FAIL(DM_ERR_OTHER, "another process has failed in the same call, with a wrong "
                                     "argument or without memory");
    if (words[DM_AGREE_FLAGS] != 0)
        return DM_EAGAIN;
    for (uint32_t id = 0; id < DM_CTX_PAIRS && n < n_ctxs; id++)
        if ((words[id / 32] >> (id % 32) & 1) == 0)
            ctxs[n++] = 2 * (me->page * DM_CTX_PAIRS + id);
    if (n < n_ctxs && agree_next_page(me, &words[DM_AGREE_LEVEL]))
        return DM_EAGAIN;
    if (n < n_ctxs)
        return DM_FAIL(DM_ERR_OTHER,
                       "out of context ids: the processes have no id in common that is free; "
                       "there are %d, free communicators that are not needed any more",
                       DM_CTX_PAGES * DM_CTX_PAIRS);
    for (int i = 0; i < n; i++)
        dm_ctx_take(ctxs[i]);
    return DM_OK;
}

/* Tell the others, who are in their first round, that there will be no id. */
static int agree_notify_failed(const struct dm_comm_circle *c, int failed)
{
    uint32_t words[N_WORDS] = {0};

    words[DM_AGREE_FLAGS] = DM_AGREE_FAILED;
    (void)agree_or_circle(c, words);
    return failed;
}

/* One round; *ctx_p is set if it succeeds, DM_EAGAIN if somebody offered nothing. */
static int agree_attempt(const struct dm_comm_circle *c, struct dm_agreement *me, bool is_offering,
                         uint32_t *ctx_p)
{
    uint32_t words[N_WORDS];
    int err;

    dm_agree_offer(me, is_offering, words);
    err = agree_or_circle(c, words);
    if (err != DM_OK)
        dm_agree_withdraw(me);
    return err == DM_OK ? dm_agree_result(me, words, ctx_p, 1) : err;
}

static bool agree_is_alone(const struct dm_comm_circle *c)
{
    if (c->ranks != NULL)
        return c->n == 1;
    return c->comm->size == 1 && c->comm->remote == NULL && !c->is_bridge;
}

/* The same in all of the circle, else each of two might wait for the other everywhere. */
static uint64_t agree_key_of(const struct dm_comm_circle *c)
{
    uint64_t ctx = c->is_bridge ? c->lower_ctx : c->comm->ctx;

    return ctx << 32 | (c->ranks != NULL || c->is_bridge ? (uint32_t)c->tag + 1 : 0);
}

/*
 * One round after the other, until there is an id. Others go on between those that fail: the owner may need this
 * thread to get on, and a circle of one does not wait in a round. Nobody sleeps there: what ends it need not be a
 * message to this process, and all that could send one may wait for this round.
 */
static int agree_rounds(const struct dm_comm_circle *c, struct dm_agreement *me, uint32_t *ctx_p)
{
    struct dm_chan *chan = dm_world.chan;
    struct dm_waiter w;
    uint32_t page;
    int err;

    dm_wait_begin(chan, &w, DM_WAIT_MESSAGE, dm_chan_is_oversubscribed(chan), 0);
    for (;;) {
        page = me->page;
        err = agree_attempt(c, me, true, ctx_p);
        if (err != DM_EAGAIN)
            break;
        if (me->page == page)
            (void)dm_wait_pass(chan, &w);
    }
    dm_wait_end(chan, &w);
    return err;
}

int dm_comm_agree(const struct dm_comm_circle *c, int failed, uint32_t *ctx_p)
{
    bool is_comm = c->ranks == NULL && !c->is_bridge; /* all have called it as often as this one */
    struct dm_agreement me;
    int err = DM_EAGAIN;

    if (agree_is_alone(c)) {
        *ctx_p = dm_ctx_alone();
        return failed;
    }
    if (failed != DM_OK)
        return agree_notify_failed(c, failed);
    dm_agree_init(&me, agree_key_of(c), is_comm ? c->comm->ctx_page : 0);
    if (dm_world.thread_level == MPI_THREAD_MULTIPLE || dm_comm_state.n_idups > 0)
        err = agree_attempt(c, &me, false, ctx_p);
    /* Only now: one whose circle is not complete must not be waited for. */
    dm_list_add_tail(&dm_comm_state.agreements, &me.link);
    if (err == DM_EAGAIN)
        err = agree_rounds(c, &me, ctx_p);
    dm_list_del(&me.link);
    if (err == DM_OK && is_comm)
        c->comm->ctx_page = me.page;
    return err;
}

int dm_comm_agree_all(struct dm_comm *comm, uint32_t *ctx_p)
{
    struct dm_comm_circle circle = {.comm = comm};

    return dm_comm_agree(&circle, DM_OK, ctx_p);
}

/* ---- start and stop of the layer ---- */

int dm_commlayer_start(void)
{
    dm_list_init(&dm_comm_state.agreements);
    dm_comm_state.owner = NULL;
    dm_idup_start();
    return DM_OK;
}

void dm_commlayer_stop(void)
{
    dm_idup_stop();
    dm_list_init(&dm_comm_state.agreements);
}
