/*
 * The shared-memory DAT provider: an adapter instance of one process.
 *
 * Locks: ia->lock guards everything but the fast paths of posting and
 * dequeuing. On the thread-safe line an endpoint's post_lock or recv_lock is
 * taken before it. The progress thread holds ia->lock while it works and waits
 * for nothing else than a peer's busy word, which becomes even without any lock.
 *
 * ia_params, "key=value key=value":
 *   copy=auto    stores into mappable memory, else process_vm, else staged
 *   copy=cma     process_vm for everything (staged where it is refused)
 *   copy=staged  the target's progress thread copies everything
 *   segment=128m size of the control segment (address space, not memory)
 *   the others: a modelled network (transport/preset.h)
 */
#ifndef DM_PROVIDERS_SHM_IA_H
#define DM_PROVIDERS_SHM_IA_H

#include "providers/shm/ops.h"
#include "providers/shm/progress.h"
#include "providers/shm/transport/ctrl_ring.h"
#include "providers/shm/transport/guard.h"
#include "providers/shm/transport/model.h"
#include "providers/shm/transport/seg.h"

struct dm_shm_box;

enum dm_shm_copy { DM_COPY_AUTO, DM_COPY_CMA, DM_COPY_STAGED };

/* The receiver of datagrams here, see datagram.h. */
struct dm_shm_datagram_state {
    struct dm_shm_box *box;  /* its own; NULL: there is none */
    DAT_EVD_HANDLE evd;      /* a software event for it wakes it */
    atomic_bool cannot_wait; /* on two words at a time */
};

struct dm_shm_ia {
    struct dm_pia pia;
    struct dm_shm_seg seg;
    enum dm_shm_copy copy;
    struct dm_shm_model model;
    /* Keys, see key.c. */
    uint64_t last_serial;
    struct dm_list free_keys; /* struct dm_shm_free_key */
    uint32_t n_free_keys;
    uint32_t n_keys_used; /* entries of the table that have ever been used */
    /* Connections. */
    struct dm_list peers;
    struct dm_hash peers_by_id;   /* the first of those with an id */
    struct dm_hash peers_by_qual; /* those that a qualifier names, see near.h */
    struct dm_shm_doorbell doorbell;
    struct dm_shm_guard guard;
    uint32_t last_owner;
    int n_half_open;        /* accepted sockets without a request yet */
    bool is_short_reported; /* that this process is short of address space, */
    bool is_files_reported; /* or of descriptors */
    /* The progress thread. */
    struct dm_list srcs;          /* those that may become due */
    struct dm_list quiet_srcs;    /* established connections: only descriptors wake them */
    struct dm_list deferred_free; /* dead sources, freed by the thread */
    int epoll_fd;
    uint64_t wake_at; /* when the thread looks for what is due, ns of CLOCK_MONOTONIC */
    struct dm_shm_src kick;
    bool is_stopping;
    bool is_kicked;           /* the thread by itself, while it runs agents */
    _Atomic bool is_polling;  /* a consumer reads the inbox, */
    _Atomic bool is_kick_due; /* and the thread is to be kicked when it has done that */
    _Atomic bool has_agents;
    struct dm_shm_datagram_state datagrams;
};

#endif
