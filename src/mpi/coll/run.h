/*
 * One collective operation under way, and the steps that algorithms are made of.
 *
 * An algorithm is a function over a run and the arguments; it calls the steps below and
 * nothing else, so that the same text can also be recorded as a schedule (sched.h): what it
 * decides depends on the arguments, never on data that were received. The first
 * error sticks to the run: after one that leaves no hope (a lost peer, no memory) all
 * further steps do nothing, after a truncated message the algorithm goes on, since the
 * other ranks wait for it.
 */
#ifndef DM_MPI_COLL_RUN_H
#define DM_MPI_COLL_RUN_H

#include "mpi/coll/coll.h"

#define DM_COLL_FEW     16   /* nonblocking steps that need no memory of their own */
#define DM_COLL_SCRATCH 1024 /* bytes of temporary memory that need no malloc */

struct dm_coll_block; /* temporary memory of a run */
struct dm_sched;      /* recorded steps, see sched.h */

struct dm_run {
    struct dm_comm *comm;
    int rank;
    int size;
    int tag;
    int err;                /* what the collective returns */
    bool is_stopped;        /* steps do nothing any more */
    bool is_broken;         /* what dm_coll_recv_whole got was not what is expected */
    struct dm_sched *sched; /* steps are recorded here; NULL: executed as they are called */
    struct dm_comm *inter;  /* the intercommunicator, also while comm is its local one; or NULL */
    int tag_inter, tag_local;
    const int *map; /* ranks of comm that the ranks of the steps stand for; NULL: themselves */
    struct dm_coll_block *blocks;
    struct dm_req **reqs; /* started and not waited for */
    int n_reqs;
    int cap_reqs;
    struct dm_req *few[DM_COLL_FEW];
    size_t scratch_used;
    char scratch[DM_COLL_SCRATCH] DM_ALIGNED(16);
};

/*
 * What a collective was called with, MPI_IN_PLACE resolved: is_in_place says that sbuf
 * (or in scatter rbuf) is to be left alone. Arrays of counts are set where the operation
 * has them; the accessors below hide the difference between MPI_Gather and MPI_Gatherv.
 */
struct dm_coll_args {
    const void *sbuf;
    void *rbuf; /* bcast: the buffer */
    size_t scount;
    size_t rcount;
    struct dm_type *stype;
    struct dm_type *rtype; /* reductions and bcast: the type */
    struct dm_counts scounts, sdispls;
    struct dm_counts rcounts, rdispls;
    const MPI_Datatype *stypes, *rtypes; /* alltoallw; displacements are in bytes then */
    struct dm_op *op;
    int root;
    bool is_in_place;
};

typedef void dm_coll_alg(struct dm_run *run, const struct dm_coll_args *args);

/* ---- a run ---- */

/*
 * Takes the next tag of comm. On an intercommunicator size is that of the remote group, whose
 * ranks the steps name.
 */
void dm_coll_run_open(struct dm_run *run, struct dm_comm *comm);
/*
 * On an intercommunicator: from here on steps are inside the local group (an algorithm for one
 * group may be called), or between the groups again.
 */
void dm_coll_inside(struct dm_run *run);
void dm_coll_across(struct dm_run *run);
/*
 * Steps from here on are among n ranks of comm, ranks[] (kept), of which this process is number me;
 * an algorithm for a communicator may be called. With NULL among all of comm again. Not recorded.
 */
void dm_coll_among(struct dm_run *run, const int *ranks, int n, int me);
/* Waits for what is under way, frees temporary memory, returns the run's error. */
int dm_coll_run_close(struct dm_run *run);
/* The collective failed: remember the first error; stop unless the others can still be served. */
void dm_coll_fail(struct dm_run *run, int err);
/* Fewer bytes came from the root of a broadcast than are expected: DM_EUSAGE, as the calls do not match. */
int dm_coll_whole(uint64_t came, uint64_t expected);
/* The same, and that is what the run returns. */
void dm_coll_check_whole(struct dm_run *run, uint64_t came, uint64_t expected);

/* ---- steps ---- */

/* Blocking; zero-byte messages are sent like any other. */
void dm_coll_send(struct dm_run *run, const void *buf, size_t count, struct dm_type *type,
                  int dest);
void dm_coll_recv(struct dm_run *run, void *buf, size_t count, struct dm_type *type, int source);
/* The same for all of a broadcast, or a part: dm_coll_check_whole. */
void dm_coll_recv_whole(struct dm_run *run, void *buf, size_t count, struct dm_type *type,
                        int source);
/*
 * Send on what dm_coll_recv_whole has got; nothing if that was not what is expected, so that all behind see that the
 * calls do not match.
 */
void dm_coll_forward(struct dm_run *run, const void *buf, size_t count, struct dm_type *type,
                     int dest);
void dm_coll_sendrecv(struct dm_run *run, const void *sbuf, size_t scount, struct dm_type *stype,
                      int dest, void *rbuf, size_t rcount, struct dm_type *rtype, int source);
/* Started here, complete after the next dm_coll_wait. */
void dm_coll_isend(struct dm_run *run, const void *buf, size_t count, struct dm_type *type,
                   int dest);
void dm_coll_irecv(struct dm_run *run, void *buf, size_t count, struct dm_type *type, int source);
void dm_coll_wait(struct dm_run *run);
/* Local: typed copy; bytes of packed data at offset 0 out of or into a typed buffer. */
void dm_coll_copy(struct dm_run *run, const void *src, size_t scount, struct dm_type *stype,
                  void *dst, size_t dcount, struct dm_type *dtype);
void dm_coll_pack(struct dm_run *run, const void *src, size_t count, struct dm_type *type,
                  void *dst);
void dm_coll_unpack(struct dm_run *run, const void *src, void *dst, size_t count,
                    struct dm_type *type);
/* Plain bytes; the two do not overlap. */
void dm_coll_move(struct dm_run *run, const void *src, void *dst, size_t len);
/* upper[i] = lower[i] op upper[i]; lower holds data of lower ranks. */
void dm_coll_combine(struct dm_run *run, struct dm_op *op, const void *lower, void *upper,
                     size_t count, struct dm_type *type);

/* ---- temporary memory, freed with the run or its schedule; NULL when the run has failed ---- */

void *dm_coll_alloc(struct dm_run *run, size_t len);
/* len elements of size bytes each; catches overflow. */
void *dm_coll_alloc_n(struct dm_run *run, size_t n, size_t size);
/*
 * Room for count elements of a type; the address is the origin of element 0 (the lower
 * bound and the alignment of the type are taken into account).
 */
void *dm_coll_alloc_typed(struct dm_run *run, size_t count, const struct dm_type *type);
/* Give back a list of blocks. */
void dm_coll_free_blocks(struct dm_coll_block *block);

/* ---- small helpers ---- */
/* MPI_BYTE: packed data travels as bytes, and matches any type signature. */
struct dm_type *dm_coll_byte(void);

/* Element i of a buffer. */
static inline void *dm_coll_at(const void *buf, MPI_Count i, const struct dm_type *type)
{
    return (void *)((uintptr_t)buf + (uintptr_t)(i * type->extent));
}
static inline size_t dm_coll_bytes(size_t count, const struct dm_type *type)
{
    return count * (size_t)type->size;
}
/* Counts and places of rank i's block on the receiving and the sending side. */
static inline bool dm_coll_is_v(struct dm_counts c)
{
    return c.narrow != NULL || c.wide != NULL;
}
static inline size_t dm_coll_rcount(const struct dm_coll_args *a, int i)
{
    return dm_coll_is_v(a->rcounts) ? (size_t)dm_count_at(a->rcounts, (size_t)i) : a->rcount;
}
static inline size_t dm_coll_scount(const struct dm_coll_args *a, int i)
{
    return dm_coll_is_v(a->scounts) ? (size_t)dm_count_at(a->scounts, (size_t)i) : a->scount;
}
/* Of alltoallw, where the handle of an empty block may be none. */
static inline struct dm_type *dm_coll_type_of(MPI_Datatype handle)
{
    struct dm_type *type = dm_type_get(handle);

    return dm_likely(type != NULL) ? type : dm_coll_byte();
}
static inline struct dm_type *dm_coll_rtype(const struct dm_coll_args *a, int i)
{
    return a->rtypes != NULL ? dm_coll_type_of(a->rtypes[i]) : a->rtype;
}
static inline struct dm_type *dm_coll_stype(const struct dm_coll_args *a, int i)
{
    return a->stypes != NULL ? dm_coll_type_of(a->stypes[i]) : a->stype;
}
void *dm_coll_rplace(const struct dm_coll_args *a, int i);
const void *dm_coll_splace(const struct dm_coll_args *a, int i);

#endif
