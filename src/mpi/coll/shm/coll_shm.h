/*
 * Collectives in memory that the ranks of a communicator on one node share: the segment.
 *
 * Each of these ranks has a lrank with SLOTS slots. Collectives are made of rounds, which
 * all lranks go through alike: in round r a rank may write its slot number r % SLOTS and post
 * it, wait for posts of others and read their slots, and finish the round. A slot is written
 * again when all have finished the round that it was written in; that every rank posts what others
 * wait for makes this true without asking, in most rounds. Data up to DM_COLL_SHM_INLINE bytes travel
 * in the same cache lines as the number of the round that says that they are there.
 *
 * Waiting is polling, and progress for everything else. Where processes outnumber cores a
 * rank soon yields, then sleeps in the provider, and whoever writes what it waits
 * for wakes it (wait.c).
 *
 * A segment is made, together, at the second blocking collective of a communicator (the first one
 * may be the only one), or later when a process had too many of them; all ranks have it or none has.
 * Its memory is a file without a name: nothing can stay behind.
 */
#ifndef DM_MPI_COLL_SHM_COLL_SHM_H
#define DM_MPI_COLL_SHM_COLL_SHM_H

#include <stdatomic.h>
#include <string.h>

#include "mpi/coll/run.h"

#define DM_COLL_SHM_SLOTS  16 /* rounds that a rank can be ahead of others, */
#define DM_COLL_SHM_BIG    4  /* and with data of more than DM_COLL_SHM_MID bytes */
#define DM_COLL_SHM_INLINE 96 /* bytes in the head of a slot */
#define DM_COLL_SHM_MID    2048
#define DM_COLL_SHM_PIECE  ((size_t)4096) /* at least; what a slot has space for in any case */
#define DM_COLL_SHM_PARTS  8 /* of a message that is written and read at the same time */
#define DM_COLL_SHM_SPREAD                                                                         \
    ((size_t)256 << 10)       /* bytes to move that are worth a look at the cores */
#define DM_COLL_SHM_RANKS 256 /* on a node, up to which each can have a part of a slot */

/* ---- in shared memory ---- */

/* Head of a slot: the post of one rank in a round. */
struct dm_coll_shm_head {
    _Atomic uint64_t round; /* that it belongs to; written last */
    uint64_t total;         /* what more there is, as each collective has it */
    uint32_t len;           /* bytes of data here */
    uint32_t n_rounds;      /* as the poster has it: see find_uneven in wait.c */
    uint32_t pad[2];
    char data[DM_COLL_SHM_INLINE]; /* when they fit; aligned like malloc's */
} DM_ALIGNED(2 * DM_CACHE_LINE);   /* lines travel in pairs */

struct dm_coll_shm_word {
    _Atomic uint64_t value;
} DM_ALIGNED(2 * DM_CACHE_LINE);

/* Whose lrank it is, for those who want to read its memory. */
struct dm_coll_shm_id {
    int64_t pid;
    uint64_t probe;    /* a number, */
    uint64_t probe_at; /* and its address in that process */
    struct dm_chan_core core;
} DM_ALIGNED(2 * DM_CACHE_LINE);

/* Pieces of a long copy that this rank and the other of two divide between them (split_copy.c). */
struct dm_coll_shm_chunks {
    _Atomic uint64_t
        left; /* the round's low half, the first piece that is left, the one behind the last */
    _Atomic uint64_t n_helped; /* pieces that the other has copied, ever */
    _Atomic uint64_t failed;   /* the piece that it could not copy, and 1; 0: none */
    uint64_t from, to, len;    /* addresses in the other's memory and in mine; bytes */
    uint64_t piece;            /* bytes */
} DM_ALIGNED(2 * DM_CACHE_LINE);

struct dm_coll_shm_rank {
    struct dm_coll_shm_id id;
    struct dm_coll_shm_word finished; /* twice the rounds; and one: there is an offer in the next */
    struct dm_coll_shm_word asleep;   /* what this rank sleeps for, 0: nothing (wait.c) */
    struct dm_coll_shm_chunks offer;
    struct dm_coll_shm_head heads[DM_COLL_SHM_SLOTS];
};

struct dm_coll_shm_shared {
    struct dm_coll_shm_word is_broken; /* a rank has given up: so must all others; its tag and 1 */
    struct dm_coll_shm_word n_asleep;
    struct dm_coll_shm_word n_arrived;              /* ranks that have come to barriers, ever */
    struct dm_coll_shm_head met[DM_COLL_SHM_SLOTS]; /* round: its barrier is over; nothing else */
    struct dm_coll_shm_rank lranks[];
    /* then, page-aligned, the slots' data */
};

/* ---- of this process ---- */

enum dm_coll_shm_state { DM_COLL_SHM_NONE, DM_COLL_SHM_READY, DM_COLL_SHM_NEVER };

struct dm_coll_shm {
    enum dm_coll_shm_state state;
    unsigned int fits; /* DM_COLL_SHARED and the like */
    uint32_t next_try; /* when it is made: value of comm->n_coll */
    uint32_t n_closed; /* collectives on the segment */
    int n;             /* lranks: ranks on my node, */
    int me;
    int *ranks; /* and what they are in the communicator, ascending */
    int n_nodes, node;
    int *leaders; /* lowest rank of each node, ascending; by number of the node */
    int *node_of; /* of each rank */
    uint64_t round;
    uint64_t n_barriers;                 /* value of n_arrived when the barriers before are over */
    uint64_t n_finished;                 /* all ranks have finished this round, as far as known */
    uint64_t wrote[DM_COLL_SHM_SLOTS];   /* rounds that I have claimed my slots for last, */
    uint64_t wrote_big[DM_COLL_SHM_BIG]; /* and their large parts */
    uint64_t n_moved;       /* bytes that all ranks together have to move in this collective */
    uint32_t n_rounds;      /* of a collective where all must count alike; else 0 */
    bool is_oversubscribed; /* processes outnumber cores, somewhere on the node */
    bool can_read;          /* each others' memory (dm_host_vm_read) */
    bool is_flat;           /* barriers by looking at everybody's post */
    unsigned int n_vain;    /* waits that were too long to yield for, less shorter ones (wait.c) */
    struct dm_backoff split_backoff; /* of long copies by both of two ranks (split_copy.c) */
    size_t space;                    /* bytes in a slot, at most */
    uint64_t probe;                  /* read by the others, to try whether they can */
    struct dm_coll_shm_shared *shared;
    size_t shared_len;
    size_t data_at; /* in it, */
    char *data;     /* the slots' */
};

/*
 * Has a rank given up in a collective before this one? Then it does this one by messages, and so must all
 * others.
 */
static inline bool dm_coll_shm_is_left(const struct dm_coll_shm *b, const struct dm_comm *comm)
{
    uint64_t left = b->shared != NULL ? atomic_load(&b->shared->is_broken.value) : 0;

    return left != 0 && (uint64_t)dm_coll_tag(comm->coll_seq) >= left;
}
/* Ready, set up if it is time to? Then what the communicator fits (DM_COLL_SHARED ...), else 0. */
unsigned int dm_coll_shm_look(struct dm_comm *comm);
static inline unsigned int dm_coll_shm_fits(struct dm_comm *comm)
{
    struct dm_coll_shm *b = comm->coll;

    if (dm_unlikely(b == NULL || b->state == DM_COLL_SHM_NONE))
        return dm_coll_shm_look(comm);
    if (dm_unlikely(dm_coll_shm_is_left(b, comm)))
        b->fits = 0;
    return b->fits;
}
void dm_coll_shm_start(void);

/* ---- rounds (wait.c). False, here and below: the run has failed and is stopped ---- */

/* The next round; and mine to write: my slot in it is free for so many bytes. */
static inline void dm_coll_shm_next(struct dm_coll_shm *b)
{
    b->round++;
}
bool dm_coll_shm_claim(struct dm_run *run, struct dm_coll_shm *b, size_t len);
/*
 * A lrank's slot of this round: its head, and where its data are when they have len bytes: in the
 * head, or outside.
 */
static inline struct dm_coll_shm_head *dm_coll_shm_head(const struct dm_coll_shm *b, int lrank)
{
    return &b->shared->lranks[lrank].heads[b->round % DM_COLL_SHM_SLOTS];
}
static inline char *dm_coll_shm_slot_data_at(const struct dm_coll_shm *b, int lrank, uint64_t round,
                                             size_t len)
{
    size_t mids = (size_t)DM_COLL_SHM_SLOTS * DM_COLL_SHM_MID;
    char *data = b->data + (size_t)lrank * (mids + DM_COLL_SHM_BIG * b->space);

    if (len <= DM_COLL_SHM_INLINE)
        return b->shared->lranks[lrank].heads[round % DM_COLL_SHM_SLOTS].data;
    if (len <= DM_COLL_SHM_MID)
        return data + round % DM_COLL_SHM_SLOTS * DM_COLL_SHM_MID;
    return data + mids + round % DM_COLL_SHM_BIG * b->space;
}
static inline char *dm_coll_shm_slot_data(const struct dm_coll_shm *b, int lrank, size_t len)
{
    return dm_coll_shm_slot_data_at(b, lrank, b->round, len);
}
/*
 * Post what is in my slot. Private: a rank that waits for me is woken; public: all will wait for it
 * (dm_coll_shm_await with is_public), and wake each other.
 */
void dm_coll_shm_post(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total,
                      bool is_public);
/* Wait for the post of a lrank in this round; the head is its then. */
const struct dm_coll_shm_head *dm_coll_shm_await(struct dm_run *run, struct dm_coll_shm *b,
                                                 int lrank, bool is_public);
/* Post, and wait until all have posted: no lrank's head need be waited for. */
bool dm_coll_shm_barrier(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total);
/*
 * The same, and before it is over one rank, the last that comes, does `work` for all. Not on flat segments.
 */
bool dm_coll_shm_barrier_work(struct dm_run *run, struct dm_coll_shm *b, size_t len, size_t total,
                              void (*work)(void *arg), void *arg);
/* Wait until a lrank has finished this round; or has done so, or says that there is an offer. */
bool dm_coll_shm_await_finished(struct dm_run *run, struct dm_coll_shm *b, int lrank);
bool dm_coll_shm_await_published(struct dm_run *run, struct dm_coll_shm *b, int lrank);
void dm_coll_shm_announce(struct dm_run *run, struct dm_coll_shm *b);
/* Wait until a lrank has made a word that large, where no rank sleeps. */
bool dm_coll_shm_await_word(struct dm_run *run, struct dm_coll_shm *b, _Atomic uint64_t *word,
                            uint64_t value, int lrank);
/* I shall not look at this round any more. */
void dm_coll_shm_finish(struct dm_run *run, struct dm_coll_shm *b);
/* A collective is over: when it has failed here all others must be told. */
void dm_coll_shm_close(struct dm_run *run, struct dm_coll_shm *b);

static inline struct dm_coll_shm *dm_coll_shm_of(const struct dm_run *run)
{
    return run->comm->coll;
}

/* ---- data: bytes [offset, offset + len) of the packed form (data.c) ---- */

void dm_coll_shm_pack(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                      void *dst, size_t len);
/* As much of len bytes as the buffer has space for; more is DM_ERR_TRUNCATE. */
void dm_coll_shm_unpack(struct dm_run *run, void *buf, size_t count, const struct dm_type *type,
                        size_t offset, const void *src, size_t len);

/* ---- collectives among the lranks, for algorithms over nodes too; root is a lrank ---- */

void dm_coll_shm_bcast(struct dm_run *run, struct dm_coll_shm *b, void *buf, size_t count,
                       struct dm_type *type, int root);
/* The root gets what all vectors are reduced to in a->rbuf; a->root does not count. */
void dm_coll_shm_reduce(struct dm_run *run, struct dm_coll_shm *b, const struct dm_coll_args *a,
                        int root);

/* Bytes of a piece of a message that is long, so that it is written and read at the same time. */
static inline size_t dm_coll_shm_piece(const struct dm_coll_shm *b, size_t total)
{
    size_t part = total / DM_COLL_SHM_PARTS & ~(size_t)4095;

    if (!b->is_flat || part >= b->space)
        return b->space;
    return part > DM_COLL_SHM_PIECE ? part : DM_COLL_SHM_PIECE;
}
/* The root's posts can be there before anybody has read one. */
static inline bool dm_coll_shm_runs_ahead(const struct dm_coll_shm *b, size_t total)
{
    return b->is_oversubscribed && total <= DM_COLL_SHM_BIG * b->space;
}
void dm_coll_shm_spread(struct dm_coll_shm *b);
/* All ranks together have so many bytes to move in this collective: waits may last. */
static inline void dm_coll_shm_expect(struct dm_coll_shm *b, size_t bytes)
{
    b->n_moved = bytes;
    if (b->is_oversubscribed && bytes >= DM_COLL_SHM_SPREAD)
        dm_coll_shm_spread(b);
}

/* ---- long blocks are read where they are, for one copy instead of two (cma.c) ---- */

#define DM_COLL_SHM_CMA_MIN ((size_t)32 << 10) /* bytes that are worth it */
/* As the total of a post: there are spans in the slot; the data come as a message. */
#define DM_COLL_SHM_BY_CMA  ((uint64_t)1 << 63)
#define DM_COLL_SHM_MESSAGE ((uint64_t)1 << 62)

/* Memory of a rank. */
struct dm_coll_shm_span {
    uint64_t addr;
    uint64_t len;
};

static inline bool dm_coll_shm_uses_cma(const struct dm_coll_shm *b, size_t bytes)
{
    return b->can_read && bytes >= DM_COLL_SHM_CMA_MIN;
}
/* The spans in a lrank's slot of this round: one for all, or one for each lrank. */
static inline struct dm_coll_shm_span *dm_coll_shm_span(const struct dm_coll_shm *b, int lrank)
{
    return (struct dm_coll_shm_span *)(void *)dm_coll_shm_slot_data(
        b, lrank, sizeof(struct dm_coll_shm_span));
}
static inline size_t dm_coll_shm_spans_len(const struct dm_coll_shm *b)
{
    return (size_t)b->n * sizeof(struct dm_coll_shm_span);
}
static inline struct dm_coll_shm_span *dm_coll_shm_spans(const struct dm_coll_shm *b, int lrank)
{
    return (struct dm_coll_shm_span *)(void *)dm_coll_shm_slot_data(b, lrank,
                                                                    dm_coll_shm_spans_len(b));
}
/*
 * What a span of a lrank's memory has, into a buffer; more than it has space for is DM_ERR_TRUNCATE. Shared: that
 * lrank waits meanwhile, by dm_coll_shm_await_all_finished.
 */
void dm_coll_shm_cma_read(struct dm_run *run, struct dm_coll_shm *b, int lrank,
                          const struct dm_coll_shm_span *span, void *buf, size_t count,
                          struct dm_type *type, bool is_shared);
void dm_coll_shm_cma_bcast(struct dm_run *run, struct dm_coll_shm *b, void *buf, size_t count,
                           struct dm_type *type, int root);
/* Everybody has finished this round; the same by a round of its own, where everybody waits. */
bool dm_coll_shm_await_all_finished(struct dm_run *run, struct dm_coll_shm *b);
void dm_coll_shm_await_barrier(struct dm_run *run, struct dm_coll_shm *b);

/* ---- a long copy by both of two ranks (split_copy.c) ---- */

/* Is there somebody to share with? Alike on all ranks. */
static inline bool dm_coll_shm_can_split(const struct dm_coll_shm *b)
{
    return b->n == 2 && !b->is_oversubscribed;
}
/* As dm_host_vm_read from the other's memory; the other copies a part when it helps. */
int dm_coll_shm_split_copy(struct dm_run *run, struct dm_coll_shm *b, uint64_t from, void *to,
                           size_t len);
/* Wait until the other has finished this round, and help while it copies. */
bool dm_coll_shm_split_help(struct dm_run *run, struct dm_coll_shm *b);
/* Bytes of a piece of so many: units, and at most so many bytes unless there would be too many pieces. */
size_t dm_coll_shm_piece_of(size_t len, size_t most, size_t unit);
/* What is divided, in my lrank: addresses in the other's memory and in mine, bytes of all and of a piece. */
void dm_coll_shm_publish(const struct dm_coll_shm *b, uint64_t from, uint64_t to, size_t len,
                         size_t piece);
/*
 * A piece of what a lrank has offered in a round, which is the taker's then: one of the two takes the first that is
 * left, the other the last. Its number; -1: none is left. And how many have been taken as the first.
 */
int64_t dm_coll_shm_take_first(const struct dm_coll_shm *b, int lrank, uint64_t round);
int64_t dm_coll_shm_take_last(const struct dm_coll_shm *b, int lrank, uint64_t round);
size_t dm_coll_shm_n_first(const struct dm_coll_shm *b, int lrank);

/* ---- reductions of two (reduce_pair.c) ---- */

/* Is this one for them? Alike on both ranks, whose vectors are equally long. The root gets the result. */
bool dm_coll_shm_is_pair(const struct dm_coll_shm *b, const struct dm_coll_args *a, size_t bytes);
void dm_coll_shm_pair_reduce(struct dm_run *run, struct dm_coll_shm *b,
                             const struct dm_coll_args *a, size_t bytes, int root);

/* ---- what a rank has for each of the others (blocks.c) ---- */

struct dm_coll_shm_buf {
    void *buf;
    size_t count;
    struct dm_type *type;
};

/* The blocks for the lranks above mine, then for those below, one after another. */
struct dm_coll_shm_blocks {
    const struct dm_coll_args *a;
    bool is_in_place;                      /* they are in a->rbuf */
    const struct dm_coll_shm_span *copies; /* or here, by lrank */
    size_t total, most;                    /* bytes of all, of the longest */
    int next;                              /* the one under way: steps above me, */
    size_t at;                             /* and bytes of it that have been put */
};

void dm_coll_shm_blocks_open(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *b,
                             const struct dm_coll_args *a, bool is_in_place);
/* Most bytes of them in one round; what a slot with so many of them is to be claimed and posted for. */
size_t dm_coll_shm_blocks_space(const struct dm_coll_shm *b);
size_t dm_coll_shm_blocks_len(const struct dm_coll_shm *b, size_t len);
/* The next len bytes into my slot of this round. */
void dm_coll_shm_blocks_put(struct dm_coll_shm_blocks *x, const struct dm_coll_shm *b, size_t len);
/* Those for me in a lrank's slot, that was posted with slot_len bytes. */
const char *dm_coll_shm_blocks_get(const struct dm_coll_shm *b, int lrank, size_t slot_len,
                                   size_t *len_p);
/*
 * Where data are, packed in temporary memory unless they are one run of bytes; the same of all blocks, by
 * lrank, into my slot; copies of all blocks. False: no memory.
 */
bool dm_coll_shm_show(struct dm_run *run, struct dm_coll_shm_buf from,
                      struct dm_coll_shm_span *span);
bool dm_coll_shm_blocks_show(struct dm_run *run, const struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *b);
bool dm_coll_shm_blocks_copy(struct dm_run *run, struct dm_coll_shm_blocks *x,
                             const struct dm_coll_shm *b);

/* Bytes in each of n parts of a slot. */
static inline size_t dm_coll_shm_part(const struct dm_coll_shm *b, int n)
{
    return b->space / (size_t)n & ~(size_t)15;
}

#endif
