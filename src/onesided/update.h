/*
 * Updates of elements of one basic type that are contiguous on both sides (update.c).
 */
#ifndef DM_ONESIDED_UPDATE_H
#define DM_ONESIDED_UPDATE_H

#include "onesided/peer.h"
#include "onesided/pkt.h"

/*
 * An update of memory that this process cannot address. acc is as in a packet without records. send
 * does it by packets, when no other path can.
 */
struct dm_rma_update {
    const struct dm_rma_call *call;
    struct dm_pkt_rma_acc acc;
    size_t n;         /* elements */
    const char *data; /* operands of n elements, packed (DM_RMA_SWAP: two); NULL with MPI_NO_OP */
    char *result;     /* with DM_RMA_FETCH: gets what was there, packed; else NULL */
    int (*send)(const struct dm_rma_update *u);
};

/* The header of an update packet with data_len bytes of data. */
static inline struct dm_pkt_rma_acc dm_rma_acc_header(const struct dm_rma_call *call, MPI_Op op,
                                                      int flags, size_t data_len)
{
    return (struct dm_pkt_rma_acc){
        .pkt = {.type = DM_PKT_RMA_ACC,
                .version = DM_PKT_VERSION,
                .hdr_len = sizeof(struct dm_pkt_rma_acc),
                .flags = (uint8_t)flags,
                .data_len = (uint32_t)data_len},
        .win = call->win->parts[call->target].handle,
        .op = op,
    };
}

/* Start it, by the first path that can be taken; u becomes what is left of it for the last one. */
int dm_rma_update_start(struct dm_rma_update *u);
/* As packets: data without a result; with one. */
int dm_rma_update_send(const struct dm_rma_update *u);
int dm_rma_update_send_fetch(const struct dm_rma_update *u);
/* What an assist of kind update was to do, after it was cancelled. Waits. */
int dm_rma_update_redo(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                       const char *data, char *result, size_t result_len);

#endif
