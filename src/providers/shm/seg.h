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
#ifndef DM_PROVIDERS_SHM_SEG_H
#define DM_PROVIDERS_SHM_SEG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dat2/udat.h>

#include "util/port.h"

#define DM_SHM_MAGIC   0x6d68732d6d756461u
#define DM_SHM_VERSION 1u
#define DM_SHM_N_KEYS  65536u
#define DM_SHM_KEY_IDX 0xffffu

/* A registered region. A key is (generation << 16 | index), for both the local
 * and the remote context. serial is never reused; 0: the entry is free. */
struct dm_shm_key {
    DM_ALIGNED(64) _Atomic uint64_t serial;
    uint64_t va;
    uint64_t len;
    uint32_t key;
    uint32_t priv; /* DAT_MEM_PRIV_FLAGS */
    uint32_t pz;
    uint32_t is_shared; /* peers may map it */
};

enum dm_shm_link { DM_LINK_DOWN, DM_LINK_WAIT, DM_LINK_UP };

/* A posted receive: followed by n_seg DAT_LMR_TRIPLETs. */
struct dm_shm_recv {
    uint64_t cookie;
    uint32_t n_seg;
    uint32_t reserved;
    DAT_LMR_TRIPLET seg[];
};

/* An endpoint as its peer sees it. */
struct dm_shm_link_ep {
    /* Hardly ever written. */
    DM_ALIGNED(64) _Atomic uint32_t link; /* enum dm_shm_link */
    uint32_t pz;
    uint64_t handle;
    uint64_t recvs; /* the receive queue */
    uint32_t recv_mask;
    uint32_t recv_stride;
    _Atomic uint64_t recv_ring; /* event ring for receives; 0: none right now */
    _Atomic uint64_t conn_ring;
    uint32_t gen;
    /* Written by the owner. */
    DM_ALIGNED(64) _Atomic uint32_t recv_tail;
    _Atomic uint32_t is_stalled; /* the peer waits for a receive; set by it */
    /* Written by the peer. */
    DM_ALIGNED(64) _Atomic uint32_t recv_head;
    /* Written by the owner for every operation it starts. */
    DM_ALIGNED(64) _Atomic uint64_t busy;
};

struct dm_shm_hdr {
    uint64_t magic;
    uint32_t version;
    uint32_t has_membarrier; /* the owner can make all processes pass a barrier */
    uint64_t size;
    uint64_t id;
    uint64_t self_va;       /* where the owner has mapped it */
    uint64_t nonce;         /* what a probing reader must find */
    _Atomic uint64_t probe; /* what a probing writer changes */
    DM_ALIGNED(4096) struct dm_shm_key keys[DM_SHM_N_KEYS];
};

struct dm_shm_heap {
    uint64_t at;       /* first byte never used */
    uint64_t free[64]; /* by class: offset of a free block, linked */
};

/* This process's own segment. */
struct dm_shm_seg {
    int fd;
    struct dm_shm_hdr *hdr;
    size_t size;
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
