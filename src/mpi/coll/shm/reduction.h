/*
 * What reductions over a segment have in common.
 *
 * Vectors lie in the slots packed. One rank's, the base, is reduced into, in place where one rank
 * reduces for all or for a part of the vector. When the operation commutes that is the lowest
 * rank's and the others follow upwards, (x0 + x1) + x2, which is what programs know from other
 * MPI libraries: ScaLAPACK's xssep fails its threshold in a tenth of its runs when sums of three
 * are rounded the other way. Else it is the highest rank's and the others follow downwards, each
 * as the lower operand, so that any operation will do. Of many ranks this holds in groups, and among
 * what the groups have become. The bits depend on the number of ranks and the length alone, never on
 * who comes when.
 */
#ifndef DM_MPI_COLL_SHM_REDUCTION_H
#define DM_MPI_COLL_SHM_REDUCTION_H

#include "mpi/coll/shm/data.h"
#include "mpi/coll/shm/rounds.h"

#define DM_REDUCTION_SMALL ((size_t)32 << 10) /* bytes that one rank reduces for all */

struct dm_reduction {
    struct dm_run *run;
    struct dm_coll_shm *shm;
    const struct dm_coll_args *a;
    size_t size;  /* of an element */
    size_t n;     /* elements in a round, of which there are */
    size_t n_now; /* this many in the present one */
    size_t total; /* bytes of the vector */
    int last;     /* the highest local rank that is reduced */
    int base;     /* the one whose vector is reduced into */
    char *spare;  /* space for a round of packed elements, for those who open it */
    size_t
        n_typed; /* elements that there is space for as they are in memory, when that is not packed, */
    void *in, *io; /* here */
};

/* False: an element is too large for n parts of a slot, or there is no memory. */
bool dm_reduction_open(struct dm_reduction *r, struct dm_run *run, const struct dm_coll_args *a,
                       size_t n_parts, size_t total);
bool dm_reduction_open_spare(struct dm_reduction *r);
/* Rounds in which pieces of a vector of so many bytes are written and read at the same time. */
void dm_reduction_set_pieces(struct dm_reduction *r, size_t bytes);

static inline void dm_reduction_set_last(struct dm_reduction *r, int last)
{
    r->last = last;
    r->base = r->a->op->is_commutative ? 0 : last;
}
/* Rounds for so many elements of mine, or for as many of each. */
static inline void dm_reduction_expect(struct dm_reduction *r, size_t count)
{
    r->shm->n_rounds = (uint32_t)((count + r->n - 1) / r->n);
}
/* The next round, which begins with element number `at`: its bytes. */
static inline size_t dm_reduction_begin(struct dm_reduction *r, size_t at)
{
    size_t left = r->a->rcount - at;

    dm_coll_shm_next(r->shm);
    r->n_now = left < r->n ? left : r->n;
    return r->n_now * r->size;
}
/*
 * My elements from number `at` on as packed bytes in the program's buffer; NULL: they are not
 * packed.
 */
static inline char *dm_reduction_direct(const struct dm_reduction *r, const void *buf, size_t at)
{
    if (!r->a->rtype->is_contig)
        return NULL;
    return (char *)(uintptr_t)buf + r->a->rtype->true_lb + at * r->size;
}
/* n elements of this round, from number `from` of it on, into my slot; `at` as above. */
static inline void dm_reduction_put(const struct dm_reduction *r, size_t at, size_t from, size_t n)
{
    dm_coll_shm_pack(r->a->sbuf, r->a->rcount, r->a->rtype, (at + from) * r->size,
                     dm_coll_shm_slot_data(r->shm, r->shm->me, r->n_now * r->size) + from * r->size,
                     n * r->size);
}
/* Packed elements into the result, from number `at` on. */
static inline void dm_reduction_store(const struct dm_reduction *r, size_t at, const char *src,
                                      size_t len)
{
    dm_coll_shm_unpack(r->run, r->a->rbuf, r->a->rcount, r->a->rtype, at * r->size, src, len);
}

/* The run has failed: that local rank's vector has another length. */
void dm_reduction_disagrees(struct dm_reduction *r, int lrank);
/*
 * Is a local rank's vector as long as mine? Ranks that go through different numbers of rounds
 * would take each other's next collectives for this one.
 */
static inline bool dm_reduction_agrees(struct dm_reduction *r, int lrank, size_t len)
{
    const struct dm_coll_shm_head *head = dm_coll_shm_head(r->shm, lrank);

    if (dm_likely(head->len == len && head->total == r->total))
        return true;
    dm_reduction_disagrees(r, lrank);
    return false;
}

/* io[i] = in[i] op io[i] for n packed elements. */
void dm_reduction_combine(struct dm_reduction *r, const char *in, char *io, size_t n);
/*
 * The same for the vectors of all local ranks but the base: n elements that begin `skip` bytes
 * into a slot of len bytes. own: where mine are; NULL: in my slot.
 */
void dm_reduction_add_all(struct dm_reduction *r, size_t len, size_t skip, const char *own,
                          char *io, size_t n);
/*
 * All rounds of a long vector, of which each rank reduces a part; those who want it get all
 * (allreduce.c).
 */
void dm_reduction_parts(struct dm_reduction *r, bool is_wanted);

#endif
