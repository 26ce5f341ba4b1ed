/*
 * Agreement about errors: nobody goes on alone, and everybody knows the reason.
 */
#include "io/agree.h"

#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/pt2pt/pt2pt.h"

#define AGREE_TAG 2

/* The lowest rank has the highest number. */
static uint64_t agree_word(const struct dm_comm *comm, int err)
{
    return err == DM_OK ? 0 : (uint64_t)(comm->size - comm->rank) << 32 | (uint32_t)err;
}

static int agree_first(const struct dm_comm *comm, uint64_t word)
{
    return comm->size - (int)(word >> 32);
}

/* Some process has an error: that of the lowest one. */
static int agree_reason(struct dm_comm *comm, int err, uint64_t worst)
{
    int first = agree_first(comm, worst), bad;
    char text[DM_IO_TEXT] = "";

    if (first == comm->rank && dm_err_code() == err)
        strncpy(text, dm_err_detail(), sizeof(text) - 1);
    bad = dm_bcast(text, sizeof(text), dm_type_get(MPI_BYTE), first, comm);
    if (err != DM_OK || bad != DM_OK)
        return err != DM_OK ? err : bad;
    return DM_FAIL((int)(uint32_t)worst, "%s (rank %d)", text, first);
}

int dm_io_agree_flags(struct dm_comm *comm, int err, bool *flags, int n)
{
    uint64_t mine[1 + DM_IO_FLAGS] = {0}, all[1 + DM_IO_FLAGS] = {0};
    int bad;

    if (comm == NULL)
        return err;
    mine[0] = agree_word(comm, err);
    for (int i = 0; i < n; i++)
        mine[1 + i] = flags[i];
    bad =
        dm_allreduce(mine, all, (size_t)n + 1, dm_type_get(MPI_UINT64_T), dm_op_get(MPI_MAX), comm);
    for (int i = 0; i < n; i++)
        flags[i] = all[1 + i] != 0;
    if (bad != DM_OK || all[0] == 0)
        return err != DM_OK ? err : bad;
    return agree_reason(comm, err, all[0]);
}

int dm_io_agree(struct dm_comm *comm, int err)
{
    return dm_io_agree_flags(comm, err, NULL, 0);
}

int dm_file_agree(struct dm_file *f, int err)
{
    return dm_io_agree(f->comm, err);
}

int dm_file_bcast(struct dm_file *f, void *data, size_t len)
{
    if (f->comm == NULL)
        return DM_OK;
    return dm_bcast(data, len, dm_type_get(MPI_BYTE), 0, f->comm);
}

/* ---- step by step ---- */

int dm_io_reap(struct dm_req **req_p)
{
    struct dm_req *req = *req_p;
    int err = req->err;

    *req_p = NULL;
    if (err != DM_OK && req->ops->finish != NULL)
        err = req->ops->finish(req, &req->status);
    if (req->kind == DM_REQ_PERSISTENT)
        dm_req_rest(req);
    else
        dm_req_unref(req);
    return err;
}

int dm_io_max_init(struct dm_io_max *max, struct dm_comm *comm)
{
    return dm_coll_allreduce(&max->mine, &max->all, 1, dm_type_get(MPI_UINT64_T),
                             dm_op_get(MPI_MAX), comm, dm_coll_persistent(NULL, &max->req));
}

struct dm_req *dm_io_max_start(struct dm_io_max *max, struct dm_comm *comm, uint64_t mine,
                               bool blocks, int *err_p)
{
    max->mine = mine;
    max->all = 0;
    if (blocks) {
        *err_p = dm_allreduce(&max->mine, &max->all, 1, dm_type_get(MPI_UINT64_T),
                              dm_op_get(MPI_MAX), comm);
        return NULL;
    }
    *err_p = max->req->ops->start(max->req);
    return *err_p == DM_OK ? max->req : NULL;
}

static void agree_note(struct dm_agreement *a, int err)
{
    if (a->result->err == DM_OK && err != DM_OK)
        dm_io_result_set(a->result, err);
}

/* All know the largest word. False: there is no more to do. */
static bool agree_decide(struct dm_agreement *a)
{
    int err = a->req != NULL ? dm_io_reap(&a->req) : DM_OK;

    agree_note(a, err);
    if (err != DM_OK || a->max->all == 0)
        return false;
    a->first = agree_first(a->comm, a->max->all);
    a->bit = 1;
    if (a->first == a->comm->rank)
        memcpy(a->text, a->result->text, sizeof(a->text));
    return true;
}

/* The number in the tree whose root is the first one. */
static int agree_number(const struct dm_agreement *a)
{
    return (a->comm->rank - a->first + a->comm->size) % a->comm->size;
}

static int agree_rank(const struct dm_agreement *a, int number)
{
    return (number + a->first) % a->comm->size;
}

static void agree_take(struct dm_agreement *a)
{
    int me = agree_number(a);

    if (me > 0)
        agree_note(a, dm_irecv(a->text, sizeof(a->text), dm_type_get(MPI_BYTE),
                               agree_rank(a, me & (me - 1)), AGREE_TAG, a->comm, &a->req));
}

static void agree_taken(struct dm_agreement *a)
{
    if (a->req != NULL)
        agree_note(a, dm_io_reap(&a->req));
    if (a->result->err == DM_OK)
        dm_io_result_set(a->result,
                         DM_FAIL((int)(uint32_t)a->max->all, "%s (rank %d)", a->text, a->first));
}

/* To the next one. False: there is none. */
static bool agree_give(struct dm_agreement *a)
{
    int me = agree_number(a), bit = a->bit;

    if (a->req != NULL)
        agree_note(a, dm_io_reap(&a->req));
    if ((me & bit) != 0 || bit >= a->comm->size || me + bit >= a->comm->size)
        return false;
    a->bit *= 2;
    agree_note(a, dm_isend(a->text, sizeof(a->text), dm_type_get(MPI_BYTE), agree_rank(a, me + bit),
                           AGREE_TAG, a->comm, &a->req));
    return true;
}

struct dm_req *dm_agreement_step(struct dm_agreement *a)
{
    bool goes_on = true;
    int err;

    while (goes_on && (a->req == NULL || dm_req_is_done(a->req))) {
        switch (a->stage) {
        case AGREE_BEGIN:
            a->req = dm_io_max_start(a->max, a->comm, agree_word(a->comm, a->result->err),
                                     a->blocks, &err);
            agree_note(a, err);
            goes_on = err == DM_OK;
            break;
        case AGREE_DECIDE:
            goes_on = agree_decide(a);
            break;
        case AGREE_TAKE:
            agree_take(a);
            break;
        case AGREE_TAKEN:
            agree_taken(a);
            break;
        case AGREE_GIVE:
            goes_on = agree_give(a);
            break;
        }
        if (a->stage != AGREE_GIVE)
            a->stage++;
    }
    return goes_on ? a->req : NULL;
}
