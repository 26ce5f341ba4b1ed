/*
 * Carrying out requests, between the files that do it.
 */
#ifndef DM_PROVIDERS_SHM_RDMA_H
#define DM_PROVIDERS_SHM_RDMA_H

#include <sys/uio.h>

#include "providers/shm/ep.h"

struct dm_shm_op {
    struct dm_dto dto;
    struct dm_list link;
    char *taken; /* a short write that waits: its data; NULL: they are where the segments say */
    bool is_invalidated; /* SEND_INVALIDATE: the peer has ended the context */
    uint64_t due;        /* while virtual time runs: not before */
    /* Staged transfer. */
    bool is_copied; /* a send, the receive is still to be completed */
    DAT_DTO_COMPLETION_STATUS recv_status;
    uint64_t done;
    uint32_t chunk;         /* bytes under way */
    DAT_LMR_TRIPLET copy[]; /* of seg, when queued */
};

enum dm_shm_exec {
    DM_EXEC_DONE,    /* over: see the result */
    DM_EXEC_NO_RECV, /* the peer has posted no receive */
    DM_EXEC_LOCK,    /* only with ia->lock */
    DM_EXEC_MAP,     /* a region of the peer is being mapped */
    DM_EXEC_STAGE,   /* the target's progress thread has to copy */
    DM_EXEC_DOWN,    /* the connection is ending */
};

struct dm_shm_result {
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;
    bool is_notify;   /* the peer must run a CNO agent */
    bool is_overflow; /* the peer's event ring was full */
};

/* Carry out a request if that is possible at once. */
enum dm_shm_exec dm_shm_exec(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res);

/* ---- rdma.c and send.c, among themselves ---- */

/* Those that use a receive of the peer. False: a region changed under us, look again. */
bool dm_shm_exec_send(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                      struct dm_shm_result *res, enum dm_shm_exec *exec_p);
bool dm_shm_exec_send_invalidate(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                                 struct dm_shm_result *res, enum dm_shm_exec *exec_p);
bool dm_shm_exec_write_immed(struct dm_shm_ep *ep, const struct dm_shm_op *op, bool is_locked,
                             struct dm_shm_result *res, enum dm_shm_exec *exec_p);
/* Check the local segments; their memory in vec, the total in *len_p. */
bool dm_shm_rdma_local_check(const struct dm_shm_key *keys, uint32_t pz, const struct dm_shm_op *op,
                             struct iovec *vec, uint64_t *len_p);
/* Take the data of a write of up to DM_TAKEN_MAX bytes; nothing of others, of bad ones, and of those whose source a
 * read or an atomic that waits will change. False: no memory. */
bool dm_shm_rdma_take(struct dm_shm_ep *ep, struct dm_shm_op *op);
/* Are the segments, which were checked a moment ago, still registered? While a
 * key lives, what it stands for does not change. */
bool dm_shm_rdma_is_local(const struct dm_shm_key *keys, const struct dm_shm_op *op);
/* How it goes on when a region is not to be had at once. */
enum dm_shm_exec dm_shm_exec_of(enum dm_shm_find found);

#endif
