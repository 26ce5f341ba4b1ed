/*
 * Collectives in memory that the ranks of a communicator on one node share: this process' side.
 *
 * Each of these ranks has DM_COLL_SHM_SLOTS slots in the segment (segment.h). Collectives are
 * made of rounds, which all go through alike (rounds.h). Waiting is polling, and progress for
 * everything else. Where processes outnumber cores a rank soon yields, then sleeps, and whoever
 * writes what it waits for wakes it (wait.h).
 *
 * A segment is made, together, at the 16th blocking collective of a communicator (many see few),
 * or later when a process had too many of them; all ranks have it or none
 * has. That of a communicator that has been freed is taken by the next one of the same group, which
 * goes on with its rounds: what a process knows of the segment is kept with it.
 */
#ifndef DM_MPI_COLL_SHM_COLL_SHM_H
#define DM_MPI_COLL_SHM_COLL_SHM_H

#include <string.h>

#include "mpi/coll/run.h"
#include "mpi/coll/shm/segment.h"
#include "mpi/node/node.h"
#include "mpi/node/segment.h"
#include "util/backoff.h"
#include "util/trial.h"

/* Lengths of split copies: up to 128, 256, 512, 1024 KiB, more; and how one is copied. */
#define DM_COLL_SHM_TRIALS 5
enum dm_coll_shm_way { DM_COLL_SHM_SPLIT, DM_COLL_SHM_ALONE };
struct dm_coll_shm_learnt {
    struct dm_backoff backoff;
    struct dm_trial trials[DM_COLL_SHM_TRIALS]; /* ns a byte */
};

enum dm_coll_shm_state { DM_COLL_SHM_NONE, DM_COLL_SHM_READY, DM_COLL_SHM_NEVER };

struct dm_coll_shm {
    enum dm_coll_shm_state state;
    unsigned int fits;               /* DM_COLL_SHARED and the like */
    uint32_t next_try;               /* when it is made: value of comm->n_coll */
    uint32_t n_closed;               /* collectives on the segment */
    int n;                           /* local ranks, */
    int me;                          /* mine, */
    const int *ranks;                /* and what they are in the communicator, ascending */
    const struct dm_node_map *nodes; /* the communicator's */
    uint64_t round;
    uint64_t n_barriers;                 /* value of n_arrived after the barriers before */
    uint64_t n_works;                    /* those of them with work */
    uint64_t n_finished;                 /* all ranks have finished this round, as far as known */
    uint64_t written[DM_COLL_SHM_SLOTS]; /* rounds that I have claimed my slots for last, */
    uint64_t written_mid[DM_COLL_SHM_MIDDLES], written_big[DM_COLL_SHM_BIG]; /* and longer ones */
    uint64_t n_moved;        /* bytes that all ranks together have to move in this collective */
    uint32_t n_rounds;       /* of a collective where all must count alike; else 0 */
    bool is_oversubscribed;  /* processes outnumber cores, somewhere on the node */
    bool can_read;           /* each others' memory (dm_host_vm_read) */
    bool is_flat;            /* barriers by looking at everybody's post */
    unsigned int n_overlong; /* waits that were too long to yield for, less shorter ones */
    struct dm_coll_shm_learnt split;
    size_t space; /* bytes in a slot, at most */
    size_t
        n_populated; /* of them in each of mine that are there; also of none where few read them */
    uint64_t probe;  /* read by the others when it is made, to try whether they can */
    struct dm_coll_shm_shared *shared;
    char *data; /* the slots', data_at bytes behind it */
    size_t data_at;
    struct dm_node_segment segment;
    struct dm_node_file file; /* of its maker */
};

/* Bytes of a rank's slots, but for their heads. */
static inline size_t dm_coll_shm_data_len(const struct dm_coll_shm *shm)
{
    return DM_COLL_SHM_MIDS + DM_COLL_SHM_BIG * shm->space;
}

/* A local rank's slots of DM_COLL_SHM_MID bytes, side by side with those of the others, so that who reads few bytes
 * of many touches few pages; and its long ones. */
static inline char *dm_coll_shm_mids(const struct dm_coll_shm *shm, int lrank)
{
    return shm->data + (size_t)lrank * DM_COLL_SHM_MIDS;
}

static inline char *dm_coll_shm_bigs(const struct dm_coll_shm *shm, int lrank)
{
    return shm->data + (size_t)shm->n * DM_COLL_SHM_MIDS +
           (size_t)lrank * DM_COLL_SHM_BIG * shm->space;
}

/*
 * Has a rank given up in a collective before this one? Then it does this one by messages, and so
 * must all others.
 */
static inline bool dm_coll_shm_is_broken(const struct dm_coll_shm *shm, const struct dm_comm *comm)
{
    uint64_t since = shm->shared != NULL ? atomic_load(&shm->shared->is_broken.value) : 0;

    return since != 0 && (uint64_t)dm_coll_tag(comm->coll_seq) >= since;
}
/*
 * Set the segment up if it is time to; then what the communicator fits (DM_COLL_SHARED ...), else
 * 0.
 */
unsigned int dm_coll_shm_try_set_up(struct dm_comm *comm);
/* What the communicator fits, for a blocking collective that begins. */
static inline unsigned int dm_coll_shm_fits(struct dm_comm *comm)
{
    struct dm_coll_shm *shm = comm->coll;

    if (dm_unlikely(shm == NULL || shm->state == DM_COLL_SHM_NONE))
        return dm_coll_shm_try_set_up(comm);
    if (dm_unlikely(dm_coll_shm_is_broken(shm, comm)))
        shm->fits = 0;
    return shm->fits;
}
void dm_coll_shm_start(void);
void dm_coll_shm_stop(void);

static inline struct dm_coll_shm *dm_coll_shm_of(const struct dm_run *run)
{
    return run->comm->coll;
}

/*
 * ---- collectives among the local ranks, for algorithms over nodes too; root is a local rank
 * ----
 */

void dm_coll_shm_bcast(struct dm_run *run, struct dm_coll_shm *shm, void *buf, size_t count,
                       struct dm_type *type, int root);
/* The ranks of the run are the local ranks; a->root, the counts and places are by these. */
void dm_coll_shm_gather(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a);
/* The root gets what all vectors are reduced to in a->rbuf; a->root does not count. */
void dm_coll_shm_reduce(struct dm_run *run, struct dm_coll_shm *shm, const struct dm_coll_args *a,
                        int root);

#endif
