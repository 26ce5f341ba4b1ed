/*
 * The control segment: what the processes of a node share.
 *
 * Every adapter instance has one memfd, which its peers map when they connect:
 * a table of memory keys, the receive queues of its endpoints and the rings of
 * its event dispatchers. So an initiator checks keys, places data and reports
 * completions in the target by itself, without the target's processor. All
 * positions in it are offsets from its start. It is sealed against shrinking,
 * so a mapping stays valid when its owner has died.
 *
 * An initiator makes its endpoint's busy word odd while it touches a peer's
 * memory. The owner takes something away (a key, a receive queue) by marking
 * it, then a barrier in all processes (membarrier), then waiting until no busy
 * word is odd any more. So the initiator needs no fence of its own.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_SEG_H
#define DM_PROVIDERS_SHM_TRANSPORT_SEG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

#include "util/arena.h"
#include "util/port.h"

#define DM_SHM_MAGIC   0x6d68732d6d756461u
#define DM_SHM_VERSION 5u
#define DM_SHM_N_KEYS  65536u
#define DM_SHM_KEY_IDX 0xffffu

/* A registered region, or a bound RMR. A key is (generation << 16 | index), for
 * both the local and the remote context. serial is never reused; 0: the entry
 * is free. An RMR has no local privileges, so it does not serve as an LMR. */
struct dm_shm_key {
    DM_ALIGNED(64) _Atomic uint64_t serial;
    uint64_t va; /* of the first byte, as peers address it; 0 if zero based */
    uint64_t len;
    uint64_t addr;        /* of the first byte in the owner */
    uint64_t base_serial; /* of the region that peers map to reach it */
    uint32_t base_key;    /* of the same; 0: it cannot be mapped */
    uint32_t key;
    uint32_t priv; /* DAT_MEM_PRIV_FLAGS */
    uint32_t pz;
    uint32_t only; /* offset / 64 of the one endpoint that serves it, 0: any */
    uint32_t file; /* offset / 64 of the struct dm_shm_file of an LMR, 0: peers ask for it */
};

/* The file that a region's memory is a part of, and a descriptor of it: who may open the owner's
 * descriptors maps the region without asking. */
struct dm_shm_file {
    DM_ALIGNED(64) uint64_t dev;
    uint64_t ino;
    uint64_t offset; /* in the file, of the region */
    int32_t fd;
    _Atomic uint32_t is_mapped; /* somebody has; set by a peer while its busy word is odd */
};

/* What "only" is for an endpoint at this offset. */
#define DM_SHM_ONLY(offset) ((uint32_t)((offset) / 64))

enum dm_shm_link { DM_LINK_DOWN, DM_LINK_WAIT, DM_LINK_UP };

/* A posted receive: followed by n_seg DAT_LMR_TRIPLETs. */
struct dm_shm_recv {
    uint64_t cookie;
    uint32_t n_seg;
    uint32_t flags; /* DAT_COMPLETION_FLAGS */
    DAT_LMR_TRIPLET seg[];
};

/* A receive of a shared queue. The state word is (position << 24 | owner << 2 |
 * phase), so that each use of a slot has a state of its own. */
enum dm_desc_phase { DM_DESC_FREE, DM_DESC_POSTED, DM_DESC_CLAIMED };
struct dm_shm_desc {
    _Atomic uint64_t state;
    struct dm_shm_recv recv;
};

/* A shared receive queue as the peers of its endpoints see it: descriptors in
 * any order, and a ring of (position << 24 | index of the descriptor), which
 * is taken from in order. */
struct dm_shm_link_srq {
    /* Changed only while nobody takes. */
    DM_ALIGNED(64) _Atomic uint32_t is_open;
    uint32_t n_desc;
    uint64_t descs;
    uint64_t order; /* the ring: _Atomic uint64_t[order_mask + 1] */
    uint64_t order_mask;
    uint64_t stride; /* of descs */
    /* Written by the owner. */
    DM_ALIGNED(64) _Atomic uint64_t tail;
    _Atomic uint32_t is_stalled; /* somebody waits for a receive; set by it */
    /* Written by the takers. */
    DM_ALIGNED(64) _Atomic uint64_t head;
    _Atomic uint32_t low; /* watermark, DM_MARK_... */
};

/* A watermark that has been armed fires once. */
#define DM_MARK_ARMED (1u << 30)
#define DM_MARK_FIRED (1u << 31)
#define DM_MARK_NONE  (DM_MARK_ARMED - 1) /* as a value: infinite */

/* A control message of an established connection; as in struct dm_shm_ctrl. */
struct dm_shm_ctrl_slot {
    uint32_t type;
    uint32_t status;
    uint32_t key;
    uint32_t len;
    uint64_t serial;
    uint64_t va;
    uint64_t offset;
    uint64_t size;
};

/* The last slot is for the last message, which ends the connection. */
enum { DM_SHM_CTRL_SLOTS = 4 };

/* An endpoint as its peer sees it. */
struct dm_shm_link_ep {
    /* Hardly ever written. */
    DM_ALIGNED(64) _Atomic uint64_t link; /* DM_LINK_DOWN, or dm_shm_link_word(), wire.h */
    uint32_t pz;
    uint32_t gen;
    uint64_t handle;
    uint64_t recvs; /* the receive queue */
    uint32_t recv_mask;
    uint32_t recv_stride;
    _Atomic uint64_t recv_ring; /* event ring for receives; 0: none right now */
    _Atomic uint64_t conn_ring;
    uint32_t recv_notify; /* DAT_COMPLETION_FLAGS: which receives wake a waiter */
    /* Written by the owner. */
    DM_ALIGNED(64) _Atomic uint32_t recv_tail;
    _Atomic uint32_t is_stalled; /* the peer waits for a receive; set by it */
    _Atomic uint32_t hard;       /* high watermark of shared receives, 0: none */
    _Atomic uint32_t n_reaped;   /* while there is a watermark, else unused */
    _Atomic uint32_t n_ctrl_read;
    /* Written by the peer. */
    DM_ALIGNED(64) _Atomic uint32_t recv_head;
    _Atomic uint32_t n_taken; /* shared receives */
    _Atomic uint32_t soft;    /* high watermark, DM_MARK_... */
    _Atomic uint64_t intent;  /* DM_INTENT of the last completion it reported */
    uint64_t intent_cookie;   /* and the receive's cookie */
    _Atomic uint32_t n_ctrl;
    _Atomic uint32_t is_ctrl_full; /* it waits for space; the owner takes that back */
    struct dm_shm_ctrl_slot ctrl[DM_SHM_CTRL_SLOTS];
    /* Written by the owner for every operation it starts. */
    DM_ALIGNED(64) _Atomic uint64_t busy;
    _Atomic uint64_t ctrl_busy;  /* the same, for control messages */
    DM_ALIGNED(64) uint64_t srq; /* offset of its shared receive queue, 0: none */
    /* What the ESTABLISHED event shows. */
    uint64_t conn_data;
    uint32_t conn_data_len;
    uint64_t up_busy; /* the peer's busy word when it had confirmed the connection; set by it */
};

/* Which receive (its number, modulo 2^24) has its completion at which position
 * of the event ring. Recorded before the receive is taken off its queue, so that
 * the owner can tell whether a peer that dies has got to the completion. */
#define DM_INTENT(number, pos)     ((uint64_t)((number)&0xffffffu) << 40 | ((pos)&0xffffffffffu))
#define DM_INTENT_NONE             UINT64_MAX
#define DM_INTENT_FULL             UINT64_C(0xfffffffffe) /* as a position: the ring was full */
#define DM_INTENT_POS(note)        ((note)&0xffffffffffu)
#define DM_INTENT_IS(note, number) ((note) >> 40 == ((number)&0xffffffu))

enum { DM_SHM_GUARDS = 2, DM_SHM_PEERS = 4096, DM_SHM_SHORT_LEN = 512 << 10 };
/* What a peer reads first lies within so many bytes: the kernel maps such pages together at the first touch. */
enum { DM_SHM_NEAR_LEN = 64 << 10, DM_SHM_NEAR_BLOCKS = 42 << 10 };
enum { DM_SHM_INBOX_WORDS = 4, DM_SHM_INBOX_SLOTS = 256, DM_SHM_INBOX_LEN = 640 };

/* Those that are used most are on the first pages, as are short blocks. */
enum { DM_SHM_INBOX_FIRST = 24 };
#define DM_SHM_FILLING UINT64_C(1) /* in a slot's from, where ids are even: it is being written */

/* Where peers put what belongs to handshakes, see inbox.h. */
struct dm_shm_inbox_slot {
    DM_ALIGNED(64) unsigned char bytes[DM_SHM_INBOX_LEN]; /* a struct dm_shm_letter */
};

struct dm_shm_inbox {
    DM_ALIGNED(64) _Atomic uint64_t claimed[DM_SHM_INBOX_WORDS]; /* hints: slots in use */
    _Atomic uint64_t full[DM_SHM_INBOX_WORDS];                   /* and for each to be read */
    _Atomic uint32_t is_rung;                  /* the owner's thread has been woken to look */
    _Atomic uint32_t is_due;                   /* something has come since anybody looked */
    _Atomic uint64_t from[DM_SHM_INBOX_SLOTS]; /* the instance whose slot it is, see inbox.h */
};

struct dm_shm_hdr {
    uint64_t magic;
    uint32_t version;
    uint32_t has_membarrier; /* the owner can make all processes pass a barrier */
    uint64_t size;
    uint64_t id;
    uint64_t self_va;             /* where the owner has mapped it */
    uint64_t nonce;               /* what a probing reader must find */
    _Atomic uint64_t probe;       /* what a probing writer changes */
    _Atomic uint32_t number;      /* among those in virtual time, from 1; 0: it has none */
    _Atomic uint32_t is_look_due; /* a notification found no space, see ctrl_ring.h */
    /* For the owner's death, see guard.h; ids of instances. */
    _Atomic uint32_t is_mourned;            /* its peers need not be told, or somebody does it */
    _Atomic uint64_t guards[DM_SHM_GUARDS]; /* who guards it, set by them; 0: a place is free */
    uint64_t pid_space;                     /* pids are told apart by it; 0: not known */
    int32_t pid;                            /* of the owner, there */
    struct dm_shm_inbox inbox;
    struct dm_shm_inbox_slot first_slots[DM_SHM_INBOX_FIRST];
    DM_ALIGNED(64) unsigned char short_blocks[DM_SHM_NEAR_BLOCKS]; /* see seg.c */
    DM_ALIGNED(4096) struct dm_shm_key keys[DM_SHM_N_KEYS];
    DM_ALIGNED(64) unsigned char more_blocks[DM_SHM_SHORT_LEN];
    struct dm_shm_inbox_slot more_slots[DM_SHM_INBOX_SLOTS - DM_SHM_INBOX_FIRST];
    _Atomic uint64_t peers[DM_SHM_PEERS]; /* whom it is connected with, as many as find a place */
};

enum { DM_SHM_HEAP_CLASSES = 96 };
struct dm_shm_heap {
    uint64_t first;
    uint64_t end;                       /* of its room */
    uint64_t at;                        /* end of the blocks */
    uint64_t used;                      /* end of what any block has had */
    uint64_t free[DM_SHM_HEAP_CLASSES]; /* by class: offset of a free block, linked */
};

/* This process's own segment: a memory file, or a part of the arena. */
struct dm_shm_seg {
    int fd;
    struct dm_arena arena;      /* with all that peers have there, too */
    struct dm_arena_part *part; /* NULL: the segment is a file of its own */
    struct dm_shm_hdr *hdr;
    size_t size;
    struct dm_shm_heap short_heap; /* of short blocks, as long as they have space there, */
    struct dm_shm_heap more_heap;  /* and then there */
    struct dm_shm_heap heap;
};

/* Create and map; false when memfd or mmap is refused (errno says why). */
bool dm_shm_seg_open(struct dm_shm_seg *seg, size_t size);
void dm_shm_seg_close(struct dm_shm_seg *seg);
/* A zeroed block, 64-byte aligned; NULL when the segment is full. */
void *dm_shm_seg_alloc(struct dm_shm_seg *seg, size_t len);
void dm_shm_seg_free(struct dm_shm_seg *seg, void *mem);
/* Distance from the start, and back. */
uint64_t dm_shm_seg_offset(const struct dm_shm_seg *seg, const void *mem);

/* Have all threads of all processes that map segments pass a barrier. */
void dm_shm_barrier_all(void);
/* Take part in such barriers; false if the kernel refuses. */
bool dm_shm_barrier_join(void);

#endif
