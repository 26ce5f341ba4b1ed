/*
 * The sending side of a pipe. What an 8-byte message needs is in the first two cache lines.
 */
#ifndef DM_DAPL_ADAPT_CORE_TX_H
#define DM_DAPL_ADAPT_CORE_TX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/datagram.h"
#include "dapl_adapt/core/pending.h"
#include "dapl_adapt/core/record.h"
#include "dapl_adapt/core/region_layout.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/public/types.h"
#include "util/port.h"

#define DM_TX_IOV     8 /* segments of a record */
#define DM_TX_REFS    8 /* registrations that writes in flight may hold */
#define DM_TX_RESERVE 2 /* requests kept for credit messages */

/* The triplets of a request. */
struct dm_tx_desc {
    DAT_LMR_TRIPLET iov[DM_TX_IOV];
    DAT_RMR_TRIPLET rmr;
};

/* The request queue of the pipe's endpoint. */
struct dm_tx_queue {
    uint32_t done; /* records and extras known complete */
    uint32_t size;
    uint32_t n_descs;         /* a power of two, at least `size` */
    struct dm_tx_desc *descs; /* by the number of the request; NULL: the provider has copied them */
    uint32_t signal_every;
    uint32_t n_signalled; /* completions that are coming */
};

/* Parts that are sent from the program's memory. */
struct dm_tx_direct {
    bool is_off;     /* all records stay whole in the shadow buffer until credited */
    bool is_pending; /* `post` is not known complete */
    bool has_hole;
    uint32_t post; /* number of the last such post */
    uint32_t hole; /* its record: not whole in the shadow buffer */
    int n_refs;
    struct dm_mr *refs[DM_TX_REFS];
    uint64_t len; /* bytes, of all rails */
};

/* Where the next record goes: to a slot, or to a cell. */
struct dm_tx_ring {
    char *trailer;  /* of the next slot, in the shadow buffer */
    uint64_t tag;   /* in place: << DM_TRAILER_TAG */
    uint64_t delta; /* remote address minus address in the shadow buffer */
    int32_t stride; /* from one slot to the next; cells go downwards */
    int32_t step;   /* in the shadow buffer; 0: a record's bytes there are free once it is posted */
    uint32_t max;   /* bytes of a record; of one in a single cell */
    uint32_t slot;
    uint32_t end;  /* slots of this round */
    uint32_t look; /* from this slot on a record may end it */
    uint32_t gen;  /* 0: there is no ring yet */
    DAT_LMR_CONTEXT lctx;
    uint8_t shift; /* DM_CELL_SHIFT or DM_SLOT_SHIFT */
    bool is_mixed; /* some records have taken several cells */
};

/* The way round the ring of slots, and between the rings (eager/place.c). Counts of slots and cells. */
struct dm_tx_place {
    uint32_t last; /* slots of the round before, */
    uint32_t last_cells;
    uint32_t n_cells;     /* n_slots at least */
    uint32_t n_begin;     /* cells in which a record may begin */
    uint32_t cells_most;  /* of a record */
    uint32_t most;        /* records in slots that were unconsumed at a time, lately, */
    uint32_t burst_cells; /* and those in cells */
    uint32_t asked;       /* up to this one the peer has been asked for credits */
    uint32_t left;        /* so many had been sent when the ring was left for the cells, */
    uint32_t entered;     /* and when it was entered last */
    uint32_t in_row;      /* short ones in slots, one after the other, */
    uint32_t row_end;     /* up to this one */
    uint32_t stayed;      /* records of earlier stays in the ring of slots */
    uint32_t n_long;      /* rounds that long records are reckoned with */
    uint64_t flags;       /* DM_TRAILER_, of the record that ends this round */
    bool is_short;        /* rounds may end before the last slot */
    bool has_cells;       /* short records may go to cells; then `idle` is the other ring */
    bool in_cells;
    bool is_packed; /* short messages are kept in cells, with the numbers of slots */
    bool is_out;    /* the present one is not: it goes from its slot */
    uint64_t dirty[DM_REGION_CELLS_MAX / 64]; /* cells that end with data */
};

/*
 * Buffers of the rail's that records are sent from, instead of a shadow buffer of the connection's own
 * (eager/lend.c). One is at hand while ring.trailer is in it, others belong to requests.
 */
struct dm_tx_loan {
    uint32_t *places; /* by the number of the request, plus 1; 0: none. NULL: it borrows none */
    uint32_t n;       /* a power of two, more than requests there are at a time */
    uint32_t done;    /* requests whose buffers are back */
    uint32_t n_held;
    uint32_t at_hand; /* the buffer, plus 1; 0: none */
};

struct dm_tx {
    struct dm_tx_ring ring;
    DAT_EP_HANDLE ep;
    DAT_RMR_CONTEXT rctx;
    uint32_t n_avail; /* slots or cells to fill before looking around again; 0: not ready */
    uint32_t until_signal;
    uint32_t n_posted;    /* records */
    uint32_t n_filled;    /* slots and cells: what credits count */
    uint32_t reserved;    /* bytes before the trailer of the reserved record */
    uint32_t short_below; /* bytes: after such records in slots may come one in a cell */
    uint32_t cookie;      /* all but kind and number */
    uint32_t n_extra;     /* posts that are not records */
    uint64_t len_sent;    /* bytes of records over this rail */
    uint8_t protocol;     /* enum dm_record_protocol */
    bool is_slow;         /* a record is not one write, or the provider keeps its triplets */
    bool is_serial;       /* as its rail */
    bool is_blocked;      /* somebody waits */
    /* colder */
    struct dm_tx_ring idle;
    struct dm_tx_place place;
    uint32_t n_slots;
    uint32_t most;     /* what is longer goes in pieces */
    uint32_t piece;    /* of so many bytes */
    uint32_t n_redo;   /* of the last records, to be sent again on this rail */
    uint32_t n_before; /* records that went over earlier rails */
    uint64_t heads;    /* DM_RECORD_BASIC: where the peer's trailers are */
    struct dm_tx_queue sq;
    struct dm_tx_direct direct;
    struct dm_tx_loan loan;
    struct dm_pending_peer pending;
    struct dm_tx_datagrams datagrams;
};

/*
 * Where the triplets of the next request are to be. A provider that keeps them gets a place that
 * nobody touches until the request is known complete, others the caller's own.
 */
static inline struct dm_tx_desc *dm_tx_desc(struct dm_tx *tx, struct dm_tx_desc *own)
{
    return tx->sq.descs == NULL ? own
                                : &tx->sq.descs[(tx->n_posted + tx->n_extra) % tx->sq.n_descs];
}

_Static_assert(offsetof(struct dm_tx, idle) <= 2 * DM_CACHE_LINE, "the hot part is two lines");

#endif
