/*
 * What a provider supplies: a table of operations over its transport. The DAT
 * calls, their checks, the objects, their states and references are common.
 *
 * All are called with ia->lock held unless they say otherwise, by a call of the
 * consumer; arguments have been checked. An object's common part is filled in
 * when the provider gets it, and freed after the provider's part. What is
 * marked "optional" may be NULL: the calls that need it then answer "not
 * supported", or nothing is done. docs/PROVIDER.md says how to write one.
 */
#ifndef DM_PROVIDERS_COMMON_PROVIDER_H
#define DM_PROVIDERS_COMMON_PROVIDER_H

#include "providers/common/dto.h"
#include "providers/common/ep.h"
#include "providers/common/lmr.h"
#include "providers/common/rmr.h"
#include "providers/common/sp.h"
#include "providers/common/srq.h"

struct dm_clock_source;
struct dm_datagrams;

/* Operations of an instance. */
struct dm_prov_ia_ops {
    size_t size; /* of the provider's instance, struct dm_pia first */
    /* Read params, open the transport, set ia->addr. Without the lock; cleans up if it fails. */
    DAT_RETURN (*open)(struct dm_pia *ia, const char *params);
    /* Start threads; the async EVD is there. False: out of memory. Without the lock. */
    bool (*start)(struct dm_pia *ia);
    /* Optional. The instance is being closed: disconnect from all peers at once. */
    void (*disconnect)(struct dm_pia *ia);
    /* Stop threads and connections; nothing adds to event rings afterwards. Without the lock. */
    void (*stop)(struct dm_pia *ia);
    /* Optional. In a forked child, where the instance is of no use: close the copies of sockets, as
     * the connections are the parent's. The lock is held, as the parent held it. */
    void (*forked)(struct dm_pia *ia);
    /* Undo open(). Without the lock, all objects are gone. */
    void (*close)(struct dm_pia *ia);
    /* Optional. The end of a call that may have ended connections: close what is over. */
    void (*reap)(struct dm_pia *ia);
    /* Memory that peers can reach, 64-byte aligned and zeroed; NULL if none. */
    void *(*mem_alloc)(struct dm_pia *ia, size_t len);
    void (*mem_free)(struct dm_pia *ia, void *mem);
    /* Have the provider's thread look at CNO agents soon; with or without the lock. */
    void (*kick)(struct dm_pia *ia);
    /* Before and after an EVD's ring is replaced: keep everybody off the old one, and show the
     * new one (or again the old). False, before: somebody is stuck in the old one, it has to
     * stay. Optional: peers do not reach rings. */
    bool (*evd_moved)(struct dm_pia *ia, struct dm_evd *evd, bool is_before);
    /* Optional. Wait until nobody else is in the middle of adding to a ring; false: stuck. */
    bool (*quiesce)(struct dm_pia *ia);
    /* Drive the network: a consumer has found its queue empty. Without the lock. Optional if
     * neither ia->is_driven nor ia->due is ever set; sleep, if is_driven is not. */
    void (*poll)(struct dm_pia *ia);
    /* Optional. When a wait for so long that begins now is over, by the time that sleep goes by. */
    uint64_t (*deadline)(struct dm_pia *ia, struct dm_evd *evd, DAT_TIMEOUT timeout);
    /* Sleep, and drive the network meanwhile, until the ring's word is not this value any more
     * or the deadline has come; as dm_futex_wait(). Without the lock. */
    int (*sleep)(struct dm_pia *ia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline);
    /* Optional. dm_futex_wait() on that word of an EVD's or a CNO's, with what else wakes this consumer. Without the
     * lock. */
    int (*wait)(struct dm_pia *ia, _Atomic uint32_t *word, uint32_t value, uint64_t deadline);
    /* Optional. Fill in how its virtual time is used (util/clock.h). False: it has none. */
    bool (*clock)(struct dm_pia *ia, struct dm_clock_source *source);
    /* Optional. Datagrams, likewise (util/datagram.h). */
    bool (*datagrams)(struct dm_pia *ia, struct dm_datagrams *datagrams);
};

/* Operations of endpoints. */
struct dm_prov_ep_ops {
    size_t size; /* of the provider's endpoint, struct dm_ep first */
    DAT_RETURN (*create)(struct dm_ep *ep);
    /* End the connection without an event, complete what is posted as flushed. */
    void (*destroy)(struct dm_ep *ep);
    /* Optional. dat_ep_free: end the connection. False: the peer may still write to memory. */
    bool (*close)(struct dm_ep *ep);
    /* Optional. Bring ep->state up to date, where peers change it in memory. */
    void (*refresh)(struct dm_ep *ep);
    /* The attributes, PZ or EVDs have changed; is_queue_new: the size of the receive queue,
     * which is empty. */
    DAT_RETURN (*modified)(struct dm_ep *ep, bool is_queue_new);
    /* Are no receives posted, are no requests under way? */
    void (*is_idle)(struct dm_ep *ep, bool *is_recv_idle_p, bool *is_request_idle_p);
    /* Optional. Receives taken (of a shared queue) or posted so far. NULL: no dat_ep_recv_query
     * and no watermarks. */
    uint32_t (*n_recvs)(struct dm_ep *ep);
    /* Arm the watermarks of receives of a shared queue; DAT_WATERMARK_INFINITE: none. One that
     * has been passed already fires now. Optional as n_recvs. */
    void (*set_marks)(struct dm_ep *ep, DAT_COUNT soft, DAT_COUNT hard);
    /* Disconnected, to be unconnected again: counters to 0, obj.gen is new. */
    void (*reset)(struct dm_ep *ep);
    /* Begin to connect; ends with one event on connect_evd. Sets the state and remote_addr. */
    DAT_RETURN (*connect)(struct dm_ep *ep, const struct dm_connect *how);
    /* Optional. The same to a port in a communicator, ep->comm. */
    DAT_RETURN(*common_connect)
    (struct dm_ep *ep, const DAT_COMM *comm, const struct dm_connect *how);
    /* End the connection, or the attempt, with DISCONNECTED. */
    void (*disconnect)(struct dm_ep *ep);
    /* Optional. Has the peer sent or written anything, or is there no connection any more? */
    bool (*has_received)(struct dm_ep *ep);
};

/* Operations of the passive side; a connection is the provider's own, void * here. */
struct dm_prov_cm_ops {
    /* Listen for sp->qual (of a common service point: for sp->comm at sp->addr). */
    DAT_RETURN (*listen)(struct dm_sp *sp);
    /* Listen for any free qualifier, to be set. */
    DAT_RETURN (*listen_any)(struct dm_sp *sp);
    /* Stop, and drop connections that have not sent their request yet. */
    void (*unlisten)(struct dm_sp *sp);
    /* Accept for the endpoint. conn NULL: the peer has given up, ACCEPT_COMPLETION_ERROR. */
    void (*accept)(struct dm_ep *ep, void *conn, DAT_COUNT len, const void *data);
    void (*reject)(void *conn, bool is_by_consumer, DAT_COUNT len, const void *data);
    /* Optional as handoff. Does somebody listen for it? Without the lock. */
    bool (*is_listening)(struct dm_pia *ia, DAT_CONN_QUAL qual);
    /* Have the peer connect there. */
    void (*handoff)(void *conn, DAT_CONN_QUAL qual);
};

/* Operations of memory. */
struct dm_prov_mem_ops {
    size_t lmr_size; /* of the provider's region, struct dm_lmr first */
    /* Optional. A last check, and what registering costs; without the lock. */
    DAT_RETURN (*lmr_prepare)(struct dm_pia *ia, const struct dm_lmr *want);
    /* Register, set lmr->key. file: its memory as a file, or NULL; from: the region that it is
     * made of, or NULL. */
    DAT_RETURN(*lmr_register)
    (struct dm_lmr *lmr, const struct dm_lmr_file *file, const struct dm_lmr *from);
    /* Let nobody begin to use it, and wait until nobody does. False: somebody is stuck in it. */
    bool (*lmr_hide)(struct dm_lmr *lmr);
    void (*lmr_deregister)(struct dm_lmr *lmr);
    /* Optional, all of them: RMRs. */
    /* Reserve a context that has never been used; 0: there is none. And give it back. */
    uint32_t (*key_new)(struct dm_pia *ia);
    void (*key_free)(struct dm_pia *ia, uint32_t key);
    /* Let no peer begin to use what the RMR is bound to, and wait until none does. */
    void (*rmr_hide)(struct dm_rmr *rmr);
    /* Its context is worth nothing from now on. */
    void (*rmr_shut)(struct dm_rmr *rmr);
};

/* Operations of shared receive queues; optional. */
struct dm_prov_srq_ops {
    size_t size; /* of the provider's queue, struct dm_srq first; 0: there are none */
    DAT_RETURN (*create)(struct dm_srq *srq);
    void (*destroy)(struct dm_srq *srq);
    /*
     * Receives that wait for messages; those and what is used by messages not completed.
     * srq->post_lock is held.
     */
    void (*count)(struct dm_srq *srq, uint32_t *n_available_p, uint32_t *n_outstanding_p);
    /* srq->post_lock is held, too. n is enough for what is outstanding. */
    DAT_RETURN (*resize)(struct dm_srq *srq, DAT_COUNT n);
    /* Arm the low watermark, srq->attr has it; it fires now if it has been passed. */
    void (*set_low)(struct dm_srq *srq);
};

struct dm_prov_ops {
    struct dm_prov_ia_ops ia;
    struct dm_prov_ep_ops ep;
    struct dm_prov_cm_ops cm;
    struct dm_prov_mem_ops mem;
    struct dm_prov_srq_ops srq;
    /* Post a request that has been checked as far as DAT wants the call to fail; without the
     * lock. For the rarer kinds. */
    DAT_RETURN (*post)(struct dm_ep *ep, const struct dm_dto *dto);
    /* The calls of the fast paths; they go into the table as they are. */
    DAT_EP_POST_SEND_FUNC post_send;
    DAT_EP_POST_RECV_FUNC post_recv;
    DAT_EP_POST_RDMA_READ_FUNC post_rdma_read;
    DAT_EP_POST_RDMA_WRITE_FUNC post_rdma_write;
    DAT_SRQ_POST_RECV_FUNC srq_post_recv;
};

/* The provider's, in its init.c: a library holds one provider. */
const struct dm_prov_ops *dm_prov_ops_get(void);

#endif
