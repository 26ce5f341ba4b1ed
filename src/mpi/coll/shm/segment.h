/*
 * What a segment holds: for each local rank its slots, and words that others look at.
 *
 * The head of a slot has the number of its round and short data, in the same cache lines. Longer
 * data lie behind all heads: DM_COLL_SHM_MIDDLES places of DM_COLL_SHM_MID bytes for each rank,
 * then DM_COLL_SHM_BIG places for more.
 */
#ifndef DM_MPI_COLL_SHM_SEGMENT_H
#define DM_MPI_COLL_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "channel/channel.h"
#include "mpi/node/split.h"
#include "util/port.h"

#define DM_COLL_SHM_SLOTS   64 /* rounds that a rank can be ahead of others, */
#define DM_COLL_SHM_MIDDLES 16 /* with data of more than DM_COLL_SHM_INLINE bytes, */
#define DM_COLL_SHM_BIG     4  /* and with more than DM_COLL_SHM_MID */
#define DM_COLL_SHM_INLINE  96 /* bytes in the head of a slot */
#define DM_COLL_SHM_MID     2048
#define DM_COLL_SHM_MIDS    ((size_t)DM_COLL_SHM_MIDDLES * DM_COLL_SHM_MID)
#define DM_COLL_SHM_PIECE   ((size_t)4096) /* at least; what a slot has space for in any case */
/* New memory costs page faults in each process: so many slots are used in the first rounds. */
#define DM_COLL_SHM_FEW       16
#define DM_COLL_SHM_FEW_UNTIL 1024
#define DM_COLL_SHM_MORE      (DM_COLL_SHM_SLOTS - DM_COLL_SHM_FEW)

/* Head of a slot: the post of one rank in a round. */
struct dm_coll_shm_head {
    _Atomic uint64_t round; /* that it belongs to; written last */
    uint64_t total;         /* what more there is, as each collective has it */
    uint32_t len;           /* bytes of data here */
    uint32_t n_rounds;      /* as the poster has it: see wait_find_uneven in wait.c */
    uint32_t pad[2];
    char data[DM_COLL_SHM_INLINE]; /* when they fit; aligned like malloc's */
} DM_ALIGNED(2 * DM_CACHE_LINE);   /* lines travel in pairs */

struct dm_coll_shm_word {
    _Atomic uint64_t value;
} DM_ALIGNED(2 * DM_CACHE_LINE);

/* Which process a local rank is, for those who want to read its memory. */
struct dm_coll_shm_id {
    int64_t pid;
    uint64_t probe;    /* a number, */
    uint64_t probe_at; /* and its address in that process */
    struct dm_chan_core core;
} DM_ALIGNED(2 * DM_CACHE_LINE);

/* A split copy that this rank wants, of two (split_copy.c). */
struct dm_coll_shm_split {
    struct dm_split split;      /* its number is the round's */
    _Atomic uint64_t n_by_peer; /* pieces that the other has copied, ever */
    _Atomic uint64_t failed;    /* the piece that it could not copy, and 1; 0: none */
    uint64_t from, to, len;     /* addresses in the other's memory and in mine; bytes */
    uint64_t piece;             /* bytes */
} DM_ALIGNED(2 * DM_CACHE_LINE);

struct dm_coll_shm_rank {
    struct dm_coll_shm_id id;
    struct dm_coll_shm_word finished; /* twice the rounds; and 1: a split copy is posted */
    struct dm_coll_shm_word asleep;   /* what this rank sleeps for, 0: nothing (wait.h) */
    struct dm_coll_shm_word
        n_group; /* of the group that begins here: that have come to its work, ever */
    struct dm_coll_shm_split split;
    struct dm_coll_shm_head heads[DM_COLL_SHM_FEW];
};

struct dm_coll_shm_shared {
    struct dm_coll_shm_word is_broken; /* a rank has given up: so must all others; its tag and 1 */
    struct dm_coll_shm_word n_asleep;
    struct dm_coll_shm_word n_arrived;              /* ranks that have come to barriers, ever */
    uint32_t n_kept;                                /* of mpi/node/kept.h */
    struct dm_coll_shm_head overs[DM_COLL_SHM_FEW]; /* round: its barrier is over */
    struct dm_coll_shm_rank ranks[];
    /* then the other heads of each rank; then, page-aligned, the slots' data */
};

#endif
