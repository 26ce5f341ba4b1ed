/*
 * Large transfers over several rails: a share for each RDMA queue that is up, which are transfers
 * of their own; the whole is done when all shares are.
 *
 * Network rails only, of whatever kinds, and not with shared memory: what reaches this host alone is
 * either fastest by far or not used. RDMA queues are connected when the first large transfer comes,
 * which does not wait for them. Shares follow the speed at which earlier ones went (shares.c). An RDMA
 * queue that breaks leaves its work to the first RDMA queue and is tried again later.
 */
#include "dapl_adapt/rma/stripe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/public/types.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "dapl_adapt/rma/shares.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/err.h"

#define OLD_PART    0.75 /* of what is known in a new measurement */
#define REST_FACTOR 32   /* times as long as it takes to measure one that is slow it is left out */

struct dm_share {
    struct dm_rdma rdma; /* first */
    struct dm_rdmaq *rdmaq;
    uint64_t start;
    uint64_t len;
};

struct dm_stripes {
    struct dm_rdma *whole;
    int n_left;
    struct dm_share shares[DM_RDMAQS];
};

/* A share is done: learn from it; the last one ends the whole. */
static void stripe_done_one(struct dm_rdma *rdma, int err)
{
    struct dm_share *share = (void *)rdma;
    struct dm_stripes *stripes = rdma->stripes;
    struct dm_rdma *whole = stripes->whole;
    uint64_t took = dm_clock_ns() - share->start;
    double speed = (double)share->len / (double)(took > 0 ? took : 1);

    if (err == DM_OK && share->rdmaq->speed > 0)
        share->rdmaq->speed = OLD_PART * share->rdmaq->speed + (1 - OLD_PART) * speed;
    else if (err == DM_OK)
        share->rdmaq->speed = speed;
    else if (whole->err == DM_OK)
        whole->err = err;
    if (--stripes->n_left > 0)
        return;
    err = whole->err;
    if (whole->owns_mr)
        dm_adapt_unreg(whole->conn->adapt, whole->mr);
    free(stripes);
    whole->stripes = NULL;
    whole->done(whole, err);
}

/*
 * RDMA queues that can take a share; those that could be there are started. Memory that was made known
 * before a rail came is not reached by it.
 */
static int stripe_rdmaqs_up(struct dm_conn *conn, const struct dm_rdma *rdma,
                            struct dm_rdmaq **rdmaqs)
{
    uint64_t now = dm_clock_ns();
    int max = dm_cfg()->rails < DM_RAILS_MAX ? (int)dm_cfg()->rails : DM_RAILS_MAX;
    struct dm_adapt *adapt = conn->adapt;
    struct dm_rdmaq *rdmaq;
    int number;
    int n = 1;

    rdmaqs[0] = &conn->links->rdmaq[0];
    for (int i = 0; i < conn->rails.n_all && n < max; i++) {
        if (adapt->rails.ias[conn->rails.pair[i][0]] == conn->ia ||
            adapt->rails.ias[conn->rails.pair[i][0]]->caps.is_local)
            continue;
        number = conn->rails.pair[i][conn->who.is_higher ? 0 : 1];
        rdmaq = &conn->links->rdmaq[DM_LINK_EXTRA - DM_LINK_RDMA + number];
        if (dm_link_of(conn, rdmaq)->may_post && dm_rdma_has_keys(rdmaq, rdma))
            rdmaqs[n++] = rdmaq;
        else if (now >= rdmaq->rest_until)
            dm_conn_start(conn, (enum dm_link_kind)(DM_LINK_EXTRA + number));
    }
    return n;
}

/* As measured; before that, as the kernel says of the interfaces, if it does of all. */
static void stripe_speeds(struct dm_rdmaq *const *rdmaqs, int n, struct dm_share_way *ways)
{
    bool is_measured = true;

    for (int i = 0; i < n; i++)
        is_measured = is_measured && rdmaqs[i]->speed > 0;
    for (int i = 0; i < n; i++)
        ways[i].speed = is_measured ? rdmaqs[i]->speed : rdmaqs[i]->ia->net.mbits;
}

/* Which of them get shares, and how long; how many do. One that gets none is measured again later. */
static int stripe_cut(const struct dm_rdma *whole, struct dm_rdmaq *const *rdmaqs, int n,
                      struct dm_share_way *ways)
{
    uint64_t min = dm_cfg()->stripe > 0 ? dm_cfg()->stripe : 1;
    uint64_t now = dm_clock_ns();
    int n_shares;

    stripe_speeds(rdmaqs, n, ways);
    for (int i = 0; i < n; i++)
        ways[i].is_due = rdmaqs[i]->measure_at != 0 && now >= rdmaqs[i]->measure_at;
    n_shares = dm_shares_cut(whole->left, min, ways, n);
    for (int i = 0; i < n; i++) {
        if (ways[i].len > 0)
            rdmaqs[i]->measure_at = 0;
        else if (rdmaqs[i]->measure_at == 0 && rdmaqs[i]->speed > 0)
            rdmaqs[i]->measure_at = now + (uint64_t)(REST_FACTOR * (double)min / rdmaqs[i]->speed);
    }
    return n_shares;
}

static void stripe_describe_one(struct dm_stripes *stripes, struct dm_share *share,
                                struct dm_rdmaq *rdmaq, uint64_t offset, uint64_t len)
{
    const struct dm_rdma *whole = stripes->whole;

    share->rdma = *whole;
    share->rdma.done = stripe_done_one;
    share->rdma.stripes = stripes;
    share->rdma.owns_mr = false;
    share->rdma.local += offset;
    share->rdma.remote += offset;
    share->rdma.left = len;
    share->rdmaq = rdmaq;
    rdmaq->ia->counts.n_shares++;
    rdmaq->ia->counts.share_len += len;
    share->start = dm_clock_ns();
    share->len = len;
}

/* The shares of the queues that get some, in front: perhaps of a single one, which is measured so. */
static void stripe_describe(struct dm_stripes *stripes, struct dm_rdmaq **rdmaqs, int n,
                            const struct dm_share_way *ways)
{
    uint64_t offset = 0;
    int n_shares = 0;

    for (int i = 0; i < n; i++) {
        if (ways[i].len == 0)
            continue;
        stripe_describe_one(stripes, &stripes->shares[n_shares++], rdmaqs[i], offset, ways[i].len);
        offset += ways[i].len;
    }
}

bool dm_stripe_start(struct dm_conn *conn, struct dm_rdma *rdma)
{
    struct dm_rdmaq *rdmaqs[DM_RDMAQS];
    struct dm_share_way ways[DM_RDMAQS];
    struct dm_stripes *stripes;
    int n;

    if (!conn->was_up || dm_conn_is_moving(conn) || conn->ia->caps.is_local ||
        dm_cfg()->rails < 2 || !conn->links->at[DM_LINK_RDMA].may_post ||
        dm_addr_fetch(conn) != DM_OK)
        return false;
    n = stripe_rdmaqs_up(conn, rdma, rdmaqs);
    if (n < 2)
        return false;
    stripes = malloc(sizeof(*stripes));
    if (stripes == NULL)
        return false;
    stripes->whole = rdma;
    stripes->n_left = stripe_cut(rdma, rdmaqs, n, ways);
    stripe_describe(stripes, rdmaqs, n, ways);
    conn->adapt->n_striped += stripes->n_left > 1;
    for (int i = 0, n_shares = stripes->n_left; i < n_shares; i++) {
        struct dm_rdmaq *rdmaq = stripes->shares[i].rdmaq;

        /* an RDMA queue may break meanwhile */
        if (!dm_link_of(conn, rdmaq)->may_post)
            rdmaq = &conn->links->rdmaq[0];
        dm_rdma_start(conn, rdmaq, &stripes->shares[i].rdma);
    }
    return true;
}
