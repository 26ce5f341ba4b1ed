/*
 * Target-assisted RMA (assist_origin.c at the origin, assist_target.c at the target): short
 * transfers that the target executes in its passes of progress, and that the origin cancels when it
 * does not.
 *
 * Each origin has a row of request slots for each target, used as a ring: it gathers items in one,
 * posts it and goes on with the next. They are executed in order, and cancelled the last one first;
 * so the target need only check the one that comes next.
 */
#ifndef DM_ONESIDED_ASSIST_H
#define DM_ONESIDED_ASSIST_H

#include "onesided/peer.h"
#include "onesided/pkt.h"
#include "onesided/shared.h"

#define DM_RMA_ASSIST_SLOTS 4     /* of a row; a power of two */
#define DM_RMA_ASSIST_BYTES 16384 /* of an item's data, at most */
#define DM_RMA_ASSIST_PIECE 8192

enum dm_rma_assist_state { DM_ASSIST_NONE, DM_ASSIST_EXECUTING, DM_ASSIST_DONE, DM_ASSIST_POSTED };

/* What an item is: an update as in a packet, a short put or get. */
enum dm_rma_assist_kind { DM_ASSIST_UPDATE, DM_ASSIST_PUT, DM_ASSIST_GET };

/* One transfer; its bytes follow, in: the operands; out: what was read, or was there before. */
struct dm_rma_assist_item {
    uint64_t offset;    /* bytes from the start of the target's part */
    void *local;        /* at the origin: what is put; where what is fetched goes */
    struct dm_req *req; /* of the origin, or NULL */
    uint32_t data_len;
    uint32_t result_len;
    int32_t op;
    int32_t basic;
    uint8_t kind;  /* enum dm_rma_assist_kind */
    uint8_t flags; /* as in a packet: DM_RMA_FETCH, DM_RMA_SWAP */
    int16_t err;   /* out */
};
struct dm_rma_assist_slot {
    DM_ALIGNED(DM_CACHE_LINE) uint32_t state; /* enum dm_rma_assist_state */
    uint32_t len;                             /* bytes of items */
    char items[];                             /* a short one shares the line */
};

static inline struct dm_rma_assist_slot *dm_rma_assist_slot_at(const struct dm_rma_node *node,
                                                               int origin, int target, uint32_t n)
{
    size_t row = (size_t)origin * (size_t)node->n + (size_t)target;

    return (struct dm_rma_assist_slot *)(void *)(node->assists + (row * DM_RMA_ASSIST_SLOTS +
                                                                  n % DM_RMA_ASSIST_SLOTS) *
                                                                     node->assist_len);
}
/* Bytes of an item with its data: the next one is aligned. */
static inline size_t dm_rma_assist_item_len(size_t data_len, size_t result_len)
{
    size_t len =
        sizeof(struct dm_rma_assist_item) + (data_len > result_len ? data_len : result_len);

    return (len + 7) & ~(size_t)7;
}
/* Bytes of a piece of what is too long for one item; 0: slots are too short for that. */
static inline size_t dm_rma_assist_piece(const struct dm_win *win)
{
    size_t space = win->node->assist_len - sizeof(struct dm_rma_assist_slot) -
                   sizeof(struct dm_rma_assist_item);

    if (space < DM_RMA_ASSIST_PIECE / 8)
        return 0;
    return (space < DM_RMA_ASSIST_PIECE ? space : DM_RMA_ASSIST_PIECE) & ~(size_t)63;
}
/* Execute assists and split copies from now on, where others cannot address this rank's part. */
void dm_rma_assist_start(struct dm_win *win);
void dm_rma_assist_stop(struct dm_win *win);
/*
 * What others have asked for in this window, if this process assists; how much. Also in a loop that waits for
 * another process, which may wait for this one in the same way.
 */
int dm_rma_assist_execute(struct dm_rma_node *node);
/* This process waits in this window: passes of progress look at it first. */
void dm_rma_assist_first(struct dm_rma_node *node);
static inline void dm_rma_doorbell_ring(const struct dm_win *win, int lrank)
{
    dm_atomic_or(&dm_rma_slot(win, lrank)->doorbell, UINT64_C(1) << win->node->me % 64);
}
/* May the target execute assists and split copies of this process? */
bool dm_rma_assist_may(const struct dm_win *win, int target);
/* The target has executed something: attempts are worth while again. */
void dm_rma_assist_executed(struct dm_win *win, int target);

/*
 * A short transfer that a target of this host executes if it waits in the library, on memory that
 * this process cannot address; over with the next flush, whichever path it takes. acc is as in a
 * packet without records, data its acc->pkt.data_len bytes, copied, but those of a put may be read
 * until then. result, unless NULL, gets result_len bytes that were there. False: nothing was done.
 */
bool dm_rma_assist(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                   const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                   size_t result_len);
/* The same, over when it returns true; false: it was not done, and is not going to be. Waits. */
bool dm_rma_assist_now(const struct dm_rma_call *call, enum dm_rma_assist_kind kind,
                       const struct dm_pkt_rma_acc *acc, const void *data, void *result,
                       size_t result_len);
/*
 * All assists for target are over, or cancelled and then updates over, puts and gets under way.
 * Before updates take another path, and wherever transfers end. Waits; the next synchronization
 * reports failures.
 */
void dm_rma_assist_flush(struct dm_win *win, int target);
void dm_rma_assist_flush_all(struct dm_win *win);

#endif
