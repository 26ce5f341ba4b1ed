/*
 * Flow control: a bound for what unexpected messages take (flow.c).
 */
#ifndef DM_MPI_PT2PT_FLOW_H
#define DM_MPI_PT2PT_FLOW_H

#include "mpi/pt2pt/unexp.h"
#include "util/port.h"

/*
 * A process may be limited: whatever it sends to us is a rendezvous then, so that data wait there.
 */
enum dm_p2p_flow_bit {
    DM_FLOW_LIMITED = 1, /* we have limited it */
    DM_FLOW_OBEYED = 2,  /* it has limited us */
};
struct dm_p2p_flow {
    size_t limit;   /* DATUM_UNEXPECTED */
    size_t n_bytes; /* that eager messages without a receive count here */
    size_t n_most;  /* that they ever were */
    int n_limited;  /* processes with DM_FLOW_LIMITED, */
    int n_obeyed;   /* and with DM_FLOW_OBEYED */
    uint8_t *peers; /* by process, enum dm_p2p_flow_bit; those from n_peers on are 0 */
    int n_peers;
    uint64_t n_limits;   /* for DATUM_STATS: times that processes were limited, */
    uint64_t n_deferred; /* and sends that became a rendezvous for it */
};

void dm_p2p_flow_start(void); /* after the limits are set */
void dm_p2p_flow_stop(void);
void dm_p2p_flow_lost(int proc);
/* Set dm_p2p.eager_below. */
void dm_p2p_flow_set_below(void);
/*
 * Limit a process, if it is not; take back all limits. For dm_p2p_flow_keep and dm_p2p_flow_drop.
 */
void dm_p2p_flow_limit(int proc);
void dm_p2p_flow_release(void);
/* Must a message to this process be a rendezvous? */
bool dm_p2p_flow_is_limited(int proc);
/* Read packets that came; for calls that send many times without ever waiting. */
void dm_p2p_flow_poll(void);
enum { DM_FLOW_POLL_EVERY = 64 }; /* so many sends */

/*
 * What an eager message counts: its data, but no less than a short one's. The object around them
 * does not count: a request to send would take it as well, and programs that rely on buffers do so
 * with short ones.
 */
static inline size_t dm_p2p_flow_cost(const struct dm_p2p_unexp *u)
{
    return sizeof(u->small) + (u->data != u->small ? u->len : 0);
}

/* An eager message is kept; and it is kept no longer. */
static inline void dm_p2p_flow_keep(struct dm_p2p_flow *f, const struct dm_p2p_unexp *u)
{
    f->n_bytes += dm_p2p_flow_cost(u);
    if (f->n_bytes > f->n_most)
        f->n_most = f->n_bytes;
    if (dm_unlikely(f->n_bytes > f->limit))
        dm_p2p_flow_limit(u->proc);
}

static inline void dm_p2p_flow_drop(struct dm_p2p_flow *f, const struct dm_p2p_unexp *u)
{
    f->n_bytes -= dm_p2p_flow_cost(u);
    if (dm_unlikely(f->n_limited > 0) && f->n_bytes <= f->limit / 2)
        dm_p2p_flow_release();
}

#endif
