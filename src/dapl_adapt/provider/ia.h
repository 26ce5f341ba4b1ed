/*
 * One open interface adapter (IA): a rail. Owns the DAT objects that all its
 * connections share: protection zone, event dispatchers, service point.
 *
 * dto_evd gets every data transfer completion, so that one wait sees all; with DATUM_CQ=split and
 * DATUM_PROGRESS=threads2 recv_evd has those of receives instead. cm.evd gets
 * connection requests and connection events and belongs to the connection server while that runs.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_IA_H
#define DM_DAPL_ADAPT_PROVIDER_IA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/source.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "dapl_adapt/provider/rndv_select.h"
#include "dapl_adapt/public/progress.h"
#include "util/tune.h"

#define DM_IA_ADDR_MAX DM_PROBE_ADDR_MAX

struct dm_adapt;
struct dm_loopback;
struct dm_rail_srq;

/* Do atomic operations on the process' own word work? (rma/atomic.c) */
enum dm_atomics_state { DM_ATOMICS_UNTRIED, DM_ATOMICS_NONE, DM_ATOMICS_WORK };

/* What DATUM_STATS tells of a rail. */
struct dm_ia_counts {
    /* completions of receives and of requests, if counts_taken */
    uint64_t n_taken[DM_SIDES];
    uint64_t n_attempts; /* connection requests of ours */
    uint64_t n_refused;  /* that came to nothing */
    uint64_t n_waits;    /* times that we blocked in it, */
    uint64_t n_wakes;    /* and times that an event ended that */
    uint64_t n_writes;   /* posts besides those of records: RDMA writes, */
    uint64_t n_imms;     /* of them with an immediate value, */
    uint64_t n_reads;    /* RDMA reads, */
    uint64_t n_atomics;  /* fetch-and-adds, */
    uint64_t n_swaps;    /* compare-and-swaps, */
    uint64_t n_sends;    /* and sends */
    uint64_t rdma_len;   /* bytes moved by RDMA for this side */
    uint64_t n_records;  /* of connections that have moved on; also in n_writes or n_sends */
    uint64_t pipe_len;   /* and the bytes of their records */
    uint64_t n_shares;   /* of striped transfers, */
    uint64_t share_len;  /* and their bytes */
    uint64_t n_lost;     /* links beside the pipe that broke, */
    uint64_t n_again_up; /* and those that came up after they had broken, or been tried in vain */
    uint64_t n_again;    /* records sent that an earlier rail may have lost, */
    uint64_t again_len;  /* and bytes of RDMA that this rail did not finish */
};

/* What the rail can do, asked of the provider or found by probes. */
struct dm_ia_caps {
    bool is_late;        /* a write may be done before it is placed (iWARP) */
    bool is_local;       /* it reaches this host only */
    bool needs_sendrecv; /* no rings: their last byte may come early, or only completions wake */
    bool keeps_iov;      /* triplets are the provider's until their request has completed */
    bool is_manual;      /* nothing arrives but in polls and waits */
    bool has_ext;        /* it names the InfiniBand extensions */
    bool has_agents;     /* a thread of its own calls agents of notification objects */
    bool has_quals;      /* qualifiers of its own choice are connected to faster */
    bool has_clock;      /* it models a network, in virtual time (util/clock.h) */
    bool can_share;      /* takes shared memory registrations, as probed */
    bool is_pinning;     /* registration pins pages: a kept one can go stale */
    enum dm_last_byte last_byte;
};

/* How much one transfer or one endpoint may have. */
struct dm_ia_limits {
    uint64_t max_rdma;  /* bytes of one transfer */
    uint64_t max_taken; /* of a write whose source is free when the post returns */
    int max_iov;        /* segments of a write or send */
    int max_req;        /* requests in flight per endpoint */
    int max_recv;
    int max_reads_in;
    int max_reads_out;
};

/* Length of the event queues for transfers, in events. */
struct dm_ia_depth {
    int len;   /* of dto_evd, and of recv_evd */
    int max;   /* how far it can grow; 0: it cannot */
    int space; /* events that dto_evd can still take from new connections */
};

/* Connection management: the service point, its events, and the server that handles them. */
struct dm_ia_cm {
    DAT_EVD_HANDLE evd; /* connection requests and connection events */
    DAT_CNO_HANDLE cno; /* has the provider's thread call the server; null: it is a thread */
    bool is_served;     /* the server looks into evd; others with the lock, if there is a cno */
    pthread_mutex_t lock;
    atomic_int stop;
    atomic_int n_calls; /* of the server by the provider's thread that are under way */
    pthread_t thread;
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
};

/* Events at one side of the rail wake who sleeps in another one (progress/relay.c). */
struct dm_ia_relay {
    struct dm_ia *ia;
    enum dm_side side;
    struct dm_ia *_Atomic to; /* NULL: nobody sleeps */
    atomic_int n_calls;       /* of the agent that are under way */
    struct dm_ia_relay *next; /* of this sleep */
};

/*
 * With progress threads, for each side: what a thread sleeps in that leaves the event queues to
 * others, and a queue of software events to wake it. The second side has requests only, with
 * DATUM_PROGRESS=threads2, and is not there otherwise. Without progress threads the first side is
 * there if there are two queues to sleep for. Else evd is the queue of completions, where the
 * provider can be woken so.
 */
struct dm_ia_wake {
    DAT_CNO_HANDLE cno[DM_SIDES];
    DAT_EVD_HANDLE evd[DM_SIDES];
    atomic_bool is_posted; /* the one software event that the queue of completions has room for */
    struct dm_ia_relay relay[DM_SIDES];
};

/* Where the rail is in the network. */
struct dm_ia_net {
    unsigned char addr[DM_IA_ADDR_MAX];
    size_t addr_len;
    char dev[32]; /* interface that has the address, as far as the kernel knows one */
    int mbits;    /* its speed, 0: unknown */
};

/* Memory that reads go to which only tell something. */
struct dm_ia_echo {
    unsigned char bytes[8];
    struct dm_lmr lmr;
};

/* Memory that is the rail's. */
struct dm_ia_memory {
    struct dm_ia_echo echo;
    struct dm_region_chunk *ring_chunks; /* of rings, the latest first; region.c */
    struct dm_ia_source source;          /* of records */
    struct dm_rail_srq *srq;             /* NULL: there is none, or nobody has asked for it */
    char no_srq[160];                    /* why not */
};

/* Atomics of the adapter on the process' own words, by a connection to itself. */
struct dm_ia_atomics {
    enum dm_atomics_state state;
    bool has_swap; /* compare-and-swaps work, too */
    bool is_down;  /* the connection has to be made again */
    struct dm_loopback *loopback;
};

#define DM_PROBE_DESCS 64

/* Rendezvous protocol, measured once for all peers reached by the rail, or tuned. */
struct dm_ia_rndv {
    enum dm_rndv choice; /* read or pipe; DM_RNDV_AUTO: not yet */
    int n_measured;
    struct dm_desc descs[DM_PROBE_DESCS]; /* of measuring transfers, in turn */
    uint32_t n_descs;
    struct dm_rndv_select select; /* is_on: how fast the two were; what comes is timed further on */
    const struct dm_conn *last;   /* by which a message began last; compared only */
};

struct dm_ia {
    /* in front what polls and posts look at */
    DAT_EVD_HANDLE dto_evd;
    DAT_EVD_HANDLE recv_evd; /* the same as dto_evd, or its own */
    DAT_IA_HANDLE ia;
    struct dm_adapt *adapt;
    const struct dm_tune_rail *tuned; /* what the tuning file says of it, or NULL */
    int index;                        /* my number among the rails of this process */
    int n_conns;                      /* connections that are up */
    int n_sendrecv;                   /* connections whose records arrive as completions */
    int n_signalled;                  /* completions that are certainly coming */
    int n_probes;                     /* measuring transfers under way */
    bool is_waited_on; /* a thread waits in dto_evd, or has an event of it not yet handled */
    bool is_driven;    /* every poll has to look into its event queue */
    bool counts_taken; /* completions are counted (DATUM_CQ) */
    bool can_wake;     /* a software event wakes who waits for completions */
    bool is_serial;    /* one thread at a time may call it (serial.h) */
    bool is_builtin;
    struct dm_ia_caps caps;
    struct dm_ia_limits limits;
    struct dm_ia_cm cm;
    struct dm_ia_wake wake;
    struct dm_ia_counts counts;
    struct dm_ia_rndv rndv;
    struct dm_ia_memory memory;
    struct dm_ia_atomics atomics;
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE async_evd;
    struct dm_ia_depth depth;
    char name[DAT_NAME_MAX_LENGTH];
    char library[256];
    struct dm_ia_net net;
};

/*
 * A rail where every record costs system calls, a copy next to nothing, and rings are locked
 * by nobody: their pages are there when they are used.
 */
static inline bool dm_ia_is_software(const struct dm_ia *ia)
{
    return ia->is_driven && !ia->caps.is_pinning && !ia->caps.has_clock;
}

/*
 * Open by name, query, create the shared objects; the service point listens from
 * then on. n_peers and per_peer size the event queues. DM_EPROVIDER, with the reason recorded.
 */
int dm_ia_open(const struct dm_conf_entry *entry, int n_peers, int per_peer, struct dm_ia **ia_p);
/* Free everything; connections must be gone. */
void dm_ia_close(struct dm_ia *ia);
/*
 * Only open, with its probes, and close again, for listing: DM_OK and what was found as in
 * dm_ia_found, or DM_EPROVIDER with the reason.
 */
int dm_ia_try(const struct dm_conf_entry *entry, char *found, size_t len);
/* What the probes found, in one line for people. */
void dm_ia_found(const struct dm_ia *ia, char *text, size_t len);

/*
 * The steps of opening that probes need by themselves. The handle of the entry's nonthreadsafe
 * or threadsafe line; DM_EPROVIDER.
 */
int dm_ia_open_handle(const struct dm_conf_entry *entry, bool is_safe, DAT_IA_HANDLE *ia_p,
                      DAT_EVD_HANDLE *async_p);
/* Listen on a qualifier of our own: near one made from the process id, else, or with is_any, one of the
 * provider's choice. */
int dm_ia_listen(DAT_IA_HANDLE ia, const char *name, DAT_EVD_HANDLE evd, bool is_any,
                 DAT_CONN_QUAL *qual_p, DAT_PSP_HANDLE *psp_p);

/*
 * An endpoint for n_recv receives and n_req requests; with is_shared it takes its receives from
 * memory.srq. DM_EPROVIDER.
 */
int dm_ia_ep_create(struct dm_ia *ia, int n_recv, int n_req, bool is_shared, DAT_EP_HANDLE *ep_p);

#endif
