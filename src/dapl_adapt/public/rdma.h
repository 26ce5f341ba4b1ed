/*
 * RDMA, on endpoints of its own.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_RDMA_H
#define DM_DAPL_ADAPT_PUBLIC_RDMA_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/public/types.h"

/*
 * What a write ends with. A value, which the peer expects, is carried by the write itself
 * (DATUM_RNDV=imm), or told by a message that is posted behind it on the same endpoint
 * (DATUM_FIN=chained).
 */
enum dm_rdma_end {
    DM_RDMA_END_NONE,
    DM_RDMA_END_VALUE,
    DM_RDMA_END_MESSAGE, /* to be posted */
    DM_RDMA_END_POSTED   /* the message is */
};

/*
 * One transfer, embedded in the caller's object; belongs to the layer from the call
 * until done is called (perhaps before the call returns). err is DM_OK, or why not.
 */
struct dm_rdma {
    void (*done)(struct dm_rdma *rdma, int err);
    /* private to the layer */
    struct dm_rdma *next;
    struct dm_conn *conn;
    struct dm_mr *mr;
    uint64_t local;
    uint64_t remote;
    struct dm_rkey rkey;
    uint64_t len;
    uint64_t left;
    uint32_t n_posted;
    int err;
    bool is_read;
    bool is_queued;
    bool is_echo; /* all is written, a read behind it tells that it is placed */
    bool owns_mr;
    enum dm_rdma_end end;
    uint32_t value; /* of DM_RDMA_END_VALUE */
    bool is_atomic; /* changes a word; is_read, too: */
    bool is_swap;
    uint64_t operand;
    uint64_t compare;
    uint64_t cell;
    uint64_t *old_p;
    struct dm_stripes *stripes; /* the transfer that this is a share of */
};

/*
 * Move len bytes (any size; split as the provider needs) between local memory inside
 * mr and remote memory. Write: done means placed in the target's memory. Order among
 * transfers is not promised. len 0 completes at once. mr NULL: the layer registers.
 * DM_EPEER: the connection is lost; DM_EAGAIN: mr is NULL and the memory cannot be
 * registered, use copies. After an error done is not called.
 */
int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len);
/*
 * DATUM_RNDV=imm and DATUM_FIN=chained. Expect a write that ends with a value from the peer: *value_p
 * is which, done is called when it has come, and all that was written before it on the same way. A
 * peer has to begin the writes that it owes in the order in which their values were given out.
 * DM_EAGAIN: not now, do without.
 */
int dm_adapt_expect_value(struct dm_conn *conn, struct dm_rdma *rdma, uint32_t *value_p);
/* dm_adapt_rdma_write that ends with a value which the peer expects. */
int dm_adapt_rdma_write_value(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                              struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                              size_t len, uint32_t value);

#endif
