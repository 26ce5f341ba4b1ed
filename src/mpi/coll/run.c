/*
 * The steps of collective algorithms, executed as they are called or recorded.
 *
 * Invariant: at most one spare block of temporary memory is kept between collectives, so
 * that large ones do not take their pages from the system anew each time.
 */
#include "mpi/coll/run.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll_state.h"
#include "mpi/coll/sched.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/log.h"
#include "util/port.h"
#include "util/copy.h"

#define ALIGN     ((size_t)64)
#define SPARE_MIN ((size_t)64 << 10)
#define SPARE_MAX ((size_t)16 << 20)

struct dm_coll_block {
    struct dm_coll_block *next;
    size_t len; /* with this header */
};

/* ---- a run ---- */

void dm_coll_run_open(struct dm_run *run, struct dm_comm *comm)
{
    run->comm = comm;
    run->rank = comm->rank;
    run->size = comm->size;
    run->tag = dm_coll_next_tag(comm);
    run->err = DM_OK;
    run->is_stopped = false;
    run->is_broken = false;
    run->sched = NULL;
    run->inter = NULL;
    run->map = NULL;
    run->blocks = NULL;
    run->reqs = run->few;
    run->n_reqs = 0;
    run->cap_reqs = DM_COLL_FEW;
    run->scratch_used = 0;
    if (comm->remote != NULL) {
        run->inter = comm;
        run->tag_inter = run->tag;
        run->tag_local = dm_coll_next_tag(comm->local);
        dm_coll_across(run);
    }
}

void dm_coll_inside(struct dm_run *run)
{
    run->comm = run->inter->local;
    run->size = run->comm->size;
    run->tag = run->tag_local;
}

void dm_coll_across(struct dm_run *run)
{
    run->comm = run->inter;
    run->size = run->comm->remote->size;
    run->tag = run->tag_inter;
}

void dm_coll_among(struct dm_run *run, const int *ranks, int n, int me)
{
    run->map = ranks;
    run->size = ranks != NULL ? n : run->comm->size;
    run->rank = ranks != NULL ? me : run->comm->rank;
}

static inline int run_rank_of(const struct dm_run *run, int rank)
{
    return dm_unlikely(run->map != NULL) ? run->map[rank] : rank;
}

static void free_block(struct dm_coll_block *block)
{
    struct dm_coll_state *state = &dm_coll_state;

    if (block->len < SPARE_MIN || block->len > SPARE_MAX ||
        (state->spare != NULL && state->spare_len >= block->len)) {
        free(block);
        return;
    }
    free(state->spare);
    state->spare = block;
    state->spare_len = block->len;
}

void dm_coll_free_blocks(struct dm_coll_block *block)
{
    while (block != NULL) {
        struct dm_coll_block *next = block->next;

        free_block(block);
        block = next;
    }
}

int dm_coll_run_close(struct dm_run *run)
{
    dm_coll_wait(run);
    dm_coll_free_blocks(run->blocks);
    if (run->reqs != run->few)
        free(run->reqs);
    return run->err;
}

void dm_coll_fail(struct dm_run *run, int err)
{
    if (run->err == DM_OK)
        run->err = err;
    if (err != DM_ERR_TRUNCATE && err != DM_EUSAGE)
        run->is_stopped = true;
}

int dm_coll_whole(uint64_t came, uint64_t expected)
{
    if (dm_likely(came >= expected))
        return DM_OK;
    return DM_FAIL(DM_EUSAGE, "%llu bytes came from the root, %llu are expected",
                   (unsigned long long)came, (unsigned long long)expected);
}

void dm_coll_check_whole(struct dm_run *run, uint64_t came, uint64_t expected)
{
    int err = dm_coll_whole(came, expected);

    if (dm_unlikely(err != DM_OK))
        dm_coll_fail(run, err);
}

/* ---- messages ---- */

void dm_coll_send(struct dm_run *run, const void *buf, size_t count, struct dm_type *type, int dest)
{
    int err;

    if (run->sched != NULL) {
        dm_sched_add(
            run,
            &(struct dm_coll_step){
                .kind = DM_STEP_SEND, .src = buf, .scount = count, .stype = type, .dest = dest});
        return;
    }
    if (run->is_stopped)
        return;
    err = dm_p2p_send_coll(buf, count, type, run_rank_of(run, dest), run->tag, run->comm);
    if (err != DM_OK)
        dm_coll_fail(run, err);
}

void dm_coll_recv(struct dm_run *run, void *buf, size_t count, struct dm_type *type, int source)
{
    int err;

    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_RECV,
                                                 .dst = buf,
                                                 .dcount = count,
                                                 .dtype = type,
                                                 .source = source});
        return;
    }
    if (run->is_stopped)
        return;
    err = dm_p2p_recv_coll(buf, count, type, run_rank_of(run, source), run->tag, run->comm,
                           MPI_STATUS_IGNORE);
    if (err != DM_OK)
        dm_coll_fail(run, err);
}

void dm_coll_recv_whole(struct dm_run *run, void *buf, size_t count, struct dm_type *type,
                        int source)
{
    MPI_Status status;
    int err;

    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_RECV,
                                                 .is_whole = true,
                                                 .dst = buf,
                                                 .dcount = count,
                                                 .dtype = type,
                                                 .source = source});
        return;
    }
    if (run->is_stopped)
        return;
    err =
        dm_p2p_recv_coll(buf, count, type, run_rank_of(run, source), run->tag, run->comm, &status);
    if (err != DM_OK)
        dm_coll_fail(run, err);
    else
        dm_coll_check_whole(run, dm_status_bytes(&status), dm_coll_bytes(count, type));
    run->is_broken = run->err != DM_OK;
}

void dm_coll_forward(struct dm_run *run, const void *buf, size_t count, struct dm_type *type,
                     int dest)
{
    if (run->sched != NULL)
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_SEND,
                                                 .is_whole = true,
                                                 .src = buf,
                                                 .scount = count,
                                                 .stype = type,
                                                 .dest = dest});
    else
        dm_coll_send(run, buf, run->is_broken ? 0 : count, type, dest);
}

void dm_coll_sendrecv(struct dm_run *run, const void *sbuf, size_t scount, struct dm_type *stype,
                      int dest, void *rbuf, size_t rcount, struct dm_type *rtype, int source)
{
    int err;

    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_SENDRECV,
                                                 .src = sbuf,
                                                 .scount = scount,
                                                 .stype = stype,
                                                 .dest = dest,
                                                 .dst = rbuf,
                                                 .dcount = rcount,
                                                 .dtype = rtype,
                                                 .source = source});
        return;
    }
    if (run->is_stopped)
        return;
    err = dm_p2p_sendrecv_coll(sbuf, scount, stype, run_rank_of(run, dest), rbuf, rcount, rtype,
                               run_rank_of(run, source), run->tag, run->comm);
    if (err != DM_OK)
        dm_coll_fail(run, err);
}

/* Room for one more request. */
static bool reserve_req(struct dm_run *run)
{
    struct dm_req **more;
    int cap = 4 * run->cap_reqs;

    if (run->is_stopped)
        return false;
    if (run->n_reqs < run->cap_reqs)
        return true;
    more = malloc((size_t)cap * sizeof(*more));
    if (more == NULL) {
        dm_coll_fail(run, DM_FAIL(DM_ENOMEM, "%d requests of a collective", cap));
        return false;
    }
    memcpy(more, run->reqs, (size_t)run->n_reqs * sizeof(*more));
    if (run->reqs != run->few)
        free(run->reqs);
    run->reqs = more;
    run->cap_reqs = cap;
    return true;
}

void dm_coll_isend(struct dm_run *run, const void *buf, size_t count, struct dm_type *type,
                   int dest)
{
    int err;

    if (run->sched != NULL) {
        dm_sched_add(
            run,
            &(struct dm_coll_step){
                .kind = DM_STEP_ISEND, .src = buf, .scount = count, .stype = type, .dest = dest});
        return;
    }
    if (!reserve_req(run))
        return;
    err = dm_p2p_isend_coll(buf, count, type, run_rank_of(run, dest), run->tag, run->comm,
                            &run->reqs[run->n_reqs]);
    if (err == DM_OK)
        run->n_reqs++;
    else
        dm_coll_fail(run, err);
}

void dm_coll_irecv(struct dm_run *run, void *buf, size_t count, struct dm_type *type, int source)
{
    int err;

    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_IRECV,
                                                 .dst = buf,
                                                 .dcount = count,
                                                 .dtype = type,
                                                 .source = source});
        return;
    }
    if (!reserve_req(run))
        return;
    err = dm_p2p_irecv_coll(buf, count, type, run_rank_of(run, source), run->tag, run->comm,
                            &run->reqs[run->n_reqs]);
    if (err == DM_OK)
        run->n_reqs++;
    else
        dm_coll_fail(run, err);
}

/* Also of a stopped run: buffers must not be in use when the call returns. */
void dm_coll_wait(struct dm_run *run)
{
    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_WAIT});
        return;
    }
    for (int i = 0; i < run->n_reqs; i++) {
        struct dm_req *req = run->reqs[i];
        int err;

        /* The others have perhaps stopped too: what has not come will not come. */
        if (run->is_stopped && !dm_req_is_done(req) && req->ops->cancel != NULL)
            req->ops->cancel(req);
        err = dm_req_wait(req);
        if (err != DM_OK)
            dm_coll_fail(run, err);
        dm_req_unref(req);
    }
    run->n_reqs = 0;
}

/* ---- local work ---- */

void dm_coll_copy(struct dm_run *run, const void *src, size_t scount, struct dm_type *stype,
                  void *dst, size_t dcount, struct dm_type *dtype)
{
    int err;

    if (src == dst && stype == dtype)
        return;
    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_COPY,
                                                 .src = src,
                                                 .scount = scount,
                                                 .stype = stype,
                                                 .dst = dst,
                                                 .dcount = dcount,
                                                 .dtype = dtype});
        return;
    }
    if (run->is_stopped)
        return;
    err = dm_type_copy(src, scount, stype, dst, dcount, dtype);
    if (err != DM_OK)
        dm_coll_fail(run, err);
}

void dm_coll_pack(struct dm_run *run, const void *src, size_t count, struct dm_type *type,
                  void *dst)
{
    if (run->sched != NULL) {
        dm_sched_add(
            run, &(struct dm_coll_step){
                     .kind = DM_STEP_PACK, .src = src, .scount = count, .stype = type, .dst = dst});
        return;
    }
    if (!run->is_stopped)
        dm_type_pack(src, count, type, 0, dst, dm_coll_bytes(count, type));
}

void dm_coll_unpack(struct dm_run *run, const void *src, void *dst, size_t count,
                    struct dm_type *type)
{
    if (run->sched != NULL) {
        dm_sched_add(
            run,
            &(struct dm_coll_step){
                .kind = DM_STEP_UNPACK, .src = src, .dst = dst, .dcount = count, .dtype = type});
        return;
    }
    if (!run->is_stopped)
        dm_type_unpack(dst, count, type, 0, src, dm_coll_bytes(count, type));
}

void dm_coll_move(struct dm_run *run, const void *src, void *dst, size_t len)
{
    if (len == 0)
        return;
    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){
                              .kind = DM_STEP_MOVE, .src = src, .dst = dst, .dcount = len});
        return;
    }
    if (!run->is_stopped)
        dm_copy(dst, src, len);
}

void dm_coll_combine(struct dm_run *run, struct dm_op *op, const void *lower, void *upper,
                     size_t count, struct dm_type *type)
{
    int err;

    if (count == 0)
        return;
    if (run->sched != NULL) {
        dm_sched_add(run, &(struct dm_coll_step){.kind = DM_STEP_COMBINE,
                                                 .op = op,
                                                 .src = lower,
                                                 .dst = upper,
                                                 .dcount = count,
                                                 .dtype = type});
        return;
    }
    if (run->is_stopped)
        return;
    err = dm_op_apply(op, lower, upper, count, type);
    if (err != DM_OK)
        dm_coll_fail(run, err);
}

/* ---- temporary memory ---- */

static struct dm_coll_block *get_block(size_t len)
{
    struct dm_coll_state *state = &dm_coll_state;
    struct dm_coll_block *block;

    /* A spare that is far too large stays for those who need it. */
    if (state->spare != NULL && len >= SPARE_MIN && len <= state->spare_len) {
        block = state->spare;
        state->spare = NULL;
        return block;
    }
    block = malloc(len);
    if (block != NULL)
        block->len = len;
    return block;
}

void *dm_coll_alloc(struct dm_run *run, size_t len)
{
    struct dm_coll_block *block;
    size_t need = (len + 15) & ~(size_t)15;

    if (run->is_stopped)
        return NULL;
    if (need >= len && need <= sizeof(run->scratch) - run->scratch_used) {
        char *place = run->scratch + run->scratch_used;

        run->scratch_used += need;
        return place;
    }
    block = len < PTRDIFF_MAX - ALIGN ? get_block(ALIGN + len) : NULL;
    if (block == NULL) {
        dm_coll_fail(run, DM_FAIL(DM_ENOMEM, "%zu bytes of temporary memory of a collective", len));
        return NULL;
    }
    block->next = run->blocks;
    run->blocks = block;
    return (char *)block + ALIGN;
}

void *dm_coll_alloc_n(struct dm_run *run, size_t n, size_t size)
{
    if (size > 0 && n > PTRDIFF_MAX / size)
        return dm_coll_alloc(run, SIZE_MAX);
    return dm_coll_alloc(run, n * size);
}

void *dm_coll_alloc_typed(struct dm_run *run, size_t count, const struct dm_type *type)
{
    dm_int128 stretch = count > 0 ? (dm_int128)(count - 1) * type->extent : 0;
    dm_int128 low = type->true_lb + (stretch < 0 ? stretch : 0);
    dm_int128 len = type->true_extent + (stretch < 0 ? -stretch : stretch) + 15;
    char *place;

    if (count == 0)
        len = 0;
    place = dm_coll_alloc(run, len > PTRDIFF_MAX ? SIZE_MAX : (size_t)len);
    if (place == NULL)
        return NULL;
    /* The origin is aligned like malloc's memory, so that every part of an element is. */
    return (void *)(((uintptr_t)place - (uintptr_t)low + 15) & ~(uintptr_t)15);
}

/* ---- arguments ---- */

struct dm_type *dm_coll_byte(void)
{
    return dm_coll_state.byte;
}

void *dm_coll_rplace(const struct dm_coll_args *a, int i)
{
    if (a->rtypes != NULL)
        return (void *)((uintptr_t)a->rbuf + (uintptr_t)dm_count_at(a->rdispls, (size_t)i));
    if (dm_coll_is_v(a->rdispls))
        return dm_coll_at(a->rbuf, dm_count_at(a->rdispls, (size_t)i), a->rtype);
    return dm_coll_at(a->rbuf, (MPI_Count)a->rcount * i, a->rtype);
}

const void *dm_coll_splace(const struct dm_coll_args *a, int i)
{
    if (a->stypes != NULL)
        return (void *)((uintptr_t)a->sbuf + (uintptr_t)dm_count_at(a->sdispls, (size_t)i));
    if (dm_coll_is_v(a->sdispls))
        return dm_coll_at(a->sbuf, dm_count_at(a->sdispls, (size_t)i), a->stype);
    return dm_coll_at(a->sbuf, (MPI_Count)a->scount * i, a->stype);
}
