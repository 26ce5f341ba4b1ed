/*
 * A connection to one peer process: the pipe's endpoint with its two rings, and endpoints for RDMA.
 *
 * What the server's thread and the main thread share (links' states, notes) is
 * guarded by dm_adapt.lock; the pipe itself belongs to the main thread.
 */
#ifndef DM_DAPL_ADAPT_CORE_CONN_H
#define DM_DAPL_ADAPT_CORE_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/pipe.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/region.h"
#include "dapl_adapt/public/types.h"
#include "util/port.h"

struct dm_adapt;
struct dm_addr;
struct dm_ia;

struct dm_conn {
    struct dm_tx tx;
    struct dm_rx rx DM_ALIGNED(64);
    struct dm_adapt *adapt;
    struct dm_conn *next_made; /* in dm_adapt.all; fixed */
    struct dm_ctl *ctl;
    uint64_t ctl_remote;
    int proc;
    int active;           /* index in dm_adapt.active, -1 */
    bool is_up;           /* the pipe is established; in dm_adapt.active */
    bool is_failed;       /* `failed` was called, or need not be */
    bool is_dying;        /* lost; unread records are still delivered */
    bool is_writable_due; /* the writable call is due */
    bool has_addr;
    bool is_asked; /* connecting was asked for */
    bool is_armed; /* the peer notifies us when it has written to our ring */
    /* moving to another rail */
    bool is_moving;          /* between rails: the pipe's link is not there */
    bool is_counted;         /* in the counts of its rail */
    uint16_t epoch;          /* shared with the server's thread */
    uint16_t wanted;         /* the peer's epoch, when it is ahead, */
    struct dm_ia *wanted_ia; /* and where it asked */
    uint32_t acked_to_peer;  /* n_consumed in the last private data */
    uint32_t acked_by_peer;  /* records of ours that it has consumed for certain */
    uint32_t written;        /* what it had written of that when we looked last */
    uint32_t looked;         /* our records when we looked at all that is unread, */
    uint32_t stale;          /* which was up to this one, */
    bool has_stale;          /* and some of it is unread still */
    uint32_t n_moves;
    uint32_t n_flaps; /* since it was up for long */
    uint64_t up_since;
    uint64_t move_until;  /* then the loss is final */
    uint64_t close_until; /* then endpoints are freed without waiting for their end */
    uint64_t broke_at;
    const char *cause;                /* what broke, */
    const struct dm_ia *broken;       /* where; NULL: the peer knows */
    int next_rail;                    /* place in `rails`, tried first */
    const char *causes[DM_RAILS_MAX]; /* why each rail does not do, by place in `rails` */
    uint8_t n_refused[DM_RAILS_MAX];  /* times that nobody listened */
    struct dm_ia *ia;
    int peer_rail;
    struct dm_region region;
    /* rings, agreed with the peer: at most what the settings say */
    uint32_t n_slots;
    uint32_t slot_size;
    uint32_t stride;
    struct dm_link link[DM_LINK_N];
    /* rails that both have, in order of preference: mine and theirs */
    int n_rails;
    int rail;
    uint8_t rails[DM_RAILS_MAX][2];
    struct dm_addr *addr;
    int err;       /* what `failed` is told */
    char why[400]; /* text of the loss */
    /* RDMA */
    struct dm_rdmaq rdmaq[DM_RDMAQS]; /* of link[DM_LINK_RDMA] and following */
    int sq_size;                      /* requests of the pipe */
    int rq_size;                      /* and of each RDMA queue at most */
    int is_sendrecv;                  /* decided when the pipe is accepted */
    uint64_t probe;
    uint32_t probe_ctx;
};

static inline struct dm_link *dm_link_of(struct dm_conn *conn, const struct dm_rdmaq *rdmaq)
{
    return &conn->link[DM_LINK_RDMA + (rdmaq - conn->rdmaq)];
}

static inline struct dm_rdmaq *dm_rdmaq_of(struct dm_link *link)
{
    return &link->conn->rdmaq[link->kind - DM_LINK_RDMA];
}

#endif
