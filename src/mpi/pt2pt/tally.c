/*
 * What communicators send and get, for tools (MPI_T).
 *
 * Counting costs nothing while nobody asks: a send that takes the short way is not seen here. With the
 * first tally eager_below becomes 0, so that each send gets a request and passes dm_p2p_send_start; and
 * the handlers of eager packets are replaced by ones that count.
 */
#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/pt2pt.h"

struct dm_p2p_peak {
    struct dm_match_level level;
};

/* ---- lengths of queues ---- */

struct tally_posted {
    uint32_t ctx;
    size_t n;
};

static void tally_count_posted(void *arg, struct dm_mnode *node)
{
    struct tally_posted *posted = arg;

    posted->n += node->key.ctx == posted->ctx;
}

size_t dm_p2p_n_posted(const struct dm_comm *comm)
{
    struct tally_posted posted = {.ctx = comm->ctx};

    dm_match_each_posted(&dm_p2p.match, tally_count_posted, &posted);
    return posted.n;
}

size_t dm_p2p_n_unexpected(const struct dm_comm *comm)
{
    return dm_match_n_unexp(&dm_p2p.match, comm->ctx);
}

struct dm_p2p_peak *dm_p2p_peak_new(const struct dm_comm *comm)
{
    struct dm_p2p_peak *peak = calloc(1, sizeof(*peak));

    if (peak == NULL)
        return NULL;
    peak->level.ctx = comm->ctx;
    dm_match_add_level(&dm_p2p.match, &peak->level);
    return peak;
}

size_t dm_p2p_peak_get(const struct dm_p2p_peak *peak)
{
    return peak->level.n_most;
}

void dm_p2p_peak_reset(struct dm_p2p_peak *peak)
{
    peak->level.n_most = peak->level.n;
}

void dm_p2p_peak_free(struct dm_p2p_peak *peak)
{
    dm_match_del_level(&dm_p2p.match, &peak->level);
    free(peak);
}

/* ---- messages ---- */

static void tally_switch(bool is_on)
{
    dm_p2p.is_tallied = is_on;
    dm_p2p_flow_set_below();
    dm_p2p_eager_tally(is_on);
}

struct dm_p2p_tally *dm_p2p_tally_get(const struct dm_comm *comm)
{
    struct dm_p2p_tally *tally;

    dm_list_for_each (it, &dm_p2p.tallies) {
        tally = dm_container_of(it, struct dm_p2p_tally, link);
        if (tally->comm == comm) {
            tally->n_users++;
            return tally;
        }
    }
    tally = calloc(1, sizeof(*tally));
    if (tally == NULL)
        return NULL;
    tally->comm = comm;
    tally->n_users = 1;
    dm_list_add_tail(&dm_p2p.tallies, &tally->link);
    if (!dm_p2p.is_tallied)
        tally_switch(true);
    return tally;
}

void dm_p2p_tally_put(struct dm_p2p_tally *tally)
{
    if (--tally->n_users > 0)
        return;
    dm_list_del(&tally->link);
    free(tally);
    if (dm_p2p.is_tallied && dm_list_is_empty(&dm_p2p.tallies))
        tally_switch(false);
}

void dm_p2p_tally_sent(const struct dm_p2p_req *r)
{
    dm_list_for_each (it, &dm_p2p.tallies) {
        struct dm_p2p_tally *tally = dm_container_of(it, struct dm_p2p_tally, link);

        if (tally->comm != r->req.comm || r->node.key.ctx != tally->comm->ctx_send)
            continue;
        tally->n_sent++;
        tally->sent_bytes += r->len;
    }
}

void dm_p2p_tally_arrived(const struct dm_mkey *key, size_t len)
{
    dm_list_for_each (it, &dm_p2p.tallies) {
        struct dm_p2p_tally *tally = dm_container_of(it, struct dm_p2p_tally, link);

        if (tally->comm->ctx != key->ctx)
            continue;
        tally->n_arrived++;
        tally->arrived_bytes += len;
    }
}

void dm_p2p_tally_stop(void)
{
    dm_p2p.is_tallied = false;
}
