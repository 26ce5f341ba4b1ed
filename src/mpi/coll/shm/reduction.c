/*
 * Opening a reduction, and combining operands.
 */
#include "mpi/coll/shm/reduction.h"

#define PIECE ((size_t)16 << 10) /* bytes, at least, of what goes in several rounds */
#define TYPED                                                                                      \
    ((size_t)64 << 10) /* of memory that elements which are not packed are combined in, or of one */

/* So many of them, whose extents may be far longer than their data. */
static size_t reduction_n_typed(const struct dm_reduction *r)
{
    const struct dm_type *type = r->a->rtype;
    size_t extent = (size_t)(type->extent < 0 ? -type->extent : type->extent);
    size_t n = extent > 0 ? TYPED / extent : r->n;

    n = n < r->n ? n : r->n;
    return n > 0 ? n : 1;
}

bool dm_reduction_open(struct dm_reduction *r, struct dm_run *run, const struct dm_coll_args *a,
                       size_t n_parts, size_t total)
{
    struct dm_coll_shm *shm = dm_coll_shm_of(run);

    *r = (struct dm_reduction){
        .run = run, .shm = shm, .a = a, .size = (size_t)a->rtype->size, .total = total};
    dm_reduction_set_last(r, shm->n - 1);
    r->n = dm_coll_shm_part(shm, (int)n_parts) / r->size;
    if (a->rtype->is_contig)
        return true;
    r->n_typed = reduction_n_typed(r);
    r->in = dm_coll_alloc_typed(run, r->n_typed, a->rtype);
    r->io = dm_coll_alloc_typed(run, r->n_typed, a->rtype);
    return r->in != NULL && r->io != NULL;
}

bool dm_reduction_open_spare(struct dm_reduction *r)
{
    r->spare = dm_coll_alloc(r->run, r->n * r->size);
    return r->spare != NULL;
}

void dm_reduction_set_pieces(struct dm_reduction *r, size_t bytes)
{
    size_t piece = dm_coll_shm_piece(r->shm, bytes), n;

    n = (piece > PIECE ? piece : PIECE) / r->size;
    if (n > 0 && n < r->n)
        r->n = n;
}

void dm_reduction_disagrees(struct dm_reduction *r, int lrank)
{
    dm_coll_fail(r->run, DM_FAIL(DM_ERR_TRUNCATE,
                                 "rank %d reduces a vector of another length than this one's "
                                 "%zu bytes",
                                 r->shm->ranks[lrank], r->total));
    if (dm_coll_shm_head(r->shm, lrank)->n_rounds != r->shm->n_rounds)
        r->run->is_stopped = true;
}

void dm_reduction_combine(struct dm_reduction *r, const char *in, char *io, size_t n)
{
    struct dm_type *type = r->a->rtype;
    int err = DM_OK;

    if (dm_likely(type->is_contig)) {
        err = dm_op_apply(r->a->op, in - type->true_lb, io - type->true_lb, n, type);
        n = 0;
    }
    for (size_t part; n > 0 && err == DM_OK;
         n -= part, in += part * r->size, io += part * r->size) {
        part = n < r->n_typed ? n : r->n_typed;
        dm_type_unpack(r->in, part, type, 0, in, part * r->size);
        dm_type_unpack(r->io, part, type, 0, io, part * r->size);
        err = dm_op_apply(r->a->op, r->in, r->io, part, type);
        dm_type_pack(r->io, part, type, 0, io, part * r->size);
    }
    if (dm_unlikely(err != DM_OK))
        dm_coll_fail(r->run, err);
}

static void reduction_add(struct dm_reduction *r, int lrank, size_t len, size_t skip,
                          const char *own, char *io, size_t n)
{
    if (own != NULL && lrank == r->shm->me)
        dm_reduction_combine(r, own, io, n);
    else if (dm_reduction_agrees(r, lrank, len))
        dm_reduction_combine(r, dm_coll_shm_slot_data(r->shm, lrank, len) + skip, io, n);
}

void dm_reduction_add_all(struct dm_reduction *r, size_t len, size_t skip, const char *own,
                          char *io, size_t n)
{
    if (r->base == 0)
        for (int i = 1; i <= r->last; i++)
            reduction_add(r, i, len, skip, own, io, n);
    else
        for (int i = r->last - 1; i >= 0; i--)
            reduction_add(r, i, len, skip, own, io, n);
}
