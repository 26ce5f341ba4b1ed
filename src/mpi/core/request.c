/*
 * What all requests have in common. Completion calls are in src/mpi/pt2pt.
 */
#include "mpi/core/core_priv.h"

static void req_free_nothing(struct dm_req *req)
{
    /* The shared request is not memory of its own. */
    (void)req;
}

static const struct dm_req_ops done_ops = {.free = req_free_nothing};
/* refs never reach 0: this file holds one */
static struct dm_req done;
static struct dm_req done_coll;

int dm_req_start(void)
{
    int err;

    dm_req_init(&done, DM_REQ_DONE, &done_ops, NULL);
    dm_req_init(&done_coll, DM_REQ_COLL, &done_ops, NULL);
    done.n_pending = done_coll.n_pending = 0;
    err = dm_handle_bind(DM_KIND_REQUEST, (int)DM_REQ_DONE_COLL_HANDLE, &done_coll.obj);
    return err != DM_OK ? err : dm_handle_bind(DM_KIND_REQUEST, (int)DM_REQ_DONE_HANDLE, &done.obj);
}

void dm_req_init(struct dm_req *req, enum dm_req_kind kind, const struct dm_req_ops *ops,
                 struct dm_comm *comm)
{
    req->obj = (struct dm_obj){.handle = 0, .refs = 1};
    req->kind = kind;
    req->n_pending = 1;
    req->err = DM_OK;
    req->is_cancelled = false;
    req->is_started = false;
    req->has_copies = false;
    req->comm = comm;
    req->win = NULL;
    req->ops = ops;
    dm_status_set_empty(&req->status);
}

int dm_req_wait(struct dm_req *req)
{
    dm_wait_for(&req->n_pending);
    return req->err;
}

int dm_req_new_done(struct dm_req **req_p)
{
    return dm_req_new_done_as(0, req_p);
}

bool dm_req_is_shared(const struct dm_req *req)
{
    return req == &done || req == &done_coll;
}

void dm_req_new_done_coll(struct dm_req **req_p)
{
    dm_req_ref(&done_coll);
    *req_p = &done_coll;
}

int dm_req_new_done_as(uint32_t number, struct dm_req **req_p)
{
    done.obj.handle = (int)(DM_REQ_DONE_HANDLE | (number & DM_REQ_DONE_MASK) << 1);
    dm_req_ref(&done);
    *req_p = &done;
    return DM_OK;
}
