/*
 * Requests: what completion calls wait for, of every layer.
 */
#ifndef DM_MPI_CORE_REQUEST_H
#define DM_MPI_CORE_REQUEST_H

#include "mpi/core/handle.h"
#include "mpi/core/status.h"
#include "util/copies.h"

struct dm_comm; /* comm_obj.h */
struct dm_win;  /* onesided/onesided.h */
struct dm_file; /* io/io.h */

enum dm_req_kind {
    DM_REQ_SEND,
    DM_REQ_RECV,
    DM_REQ_COLL,
    DM_REQ_RMA,
    DM_REQ_GENERALIZED,
    DM_REQ_IO, /* a thread of src/io completes it */
    DM_REQ_PERSISTENT,
    DM_REQ_DONE /* completed at once; shared immutable requests are allowed */
};

/*
 * What MPI_Wait waits for. Layers embed it as their first member. Complete when n_pending is
 * 0; then status and err are final. A request has two holders: the program's
 * handle and the running operation; ops->free runs when both are gone.
 */
struct dm_req {
    struct dm_obj obj;
    enum dm_req_kind kind;
    int n_pending; /* 0: complete */
    int err;       /* enum dm_err */
    bool is_cancelled;
    bool is_started;      /* persistent: between MPI_Start and the report of its completion */
    bool has_copies;      /* dm_req_set_copies */
    struct dm_comm *comm; /* for error handlers; may be NULL */
    union {
        struct dm_win *win;   /* the same for RMA requests */
        struct dm_file *file; /* the same of DM_REQ_IO */
    };
    MPI_Status status; /* of a receive; empty status otherwise */
    const struct dm_req_ops *ops;
};
struct dm_req_ops {
    /* Release the memory. */
    void (*free)(struct dm_req *req);
    /* MPI_Cancel; NULL: has no effect. */
    int (*cancel)(struct dm_req *req);
    /* MPI_Start of a persistent one (see below); NULL for all others. */
    int (*start)(struct dm_req *req);
    /* Called by wait/test just before completion is reported (generalized: query). May be NULL. */
    int (*finish)(struct dm_req *req, MPI_Status *status);
    /*
     * Of DM_REQ_IO, by who waits for this one alone: do a part of what a thread of the library would do.
     * False: there is none to do now.
     */
    bool (*help)(struct dm_req *req);
};

/*
 * Persistent requests of every layer have kind DM_REQ_PERSISTENT and ops->start. Made inactive:
 * n_pending 0, is_started false, err DM_OK, empty status, one reference (the program's). MPI_Start
 * (pt2pt) refuses a started one, else sets is_started and calls ops->start, which begins the
 * operation: n_pending becomes what is awaited, or stays 0 when all is done at once; while it is
 * not 0 the operation holds a reference of its own. An error of ops->start is MPI_Start's and
 * leaves the request inactive; later ones go to req->err. The completion calls report status and
 * err, then dm_req_rest(). MPI_Request_free drops the program's reference in any state; MPI_Cancel
 * comes to ops->cancel only of a started one.
 */
static inline bool dm_req_is_inactive(const struct dm_req *req)
{
    return req->kind == DM_REQ_PERSISTENT && !req->is_started;
}
/* Make a persistent request inactive. */
static inline void dm_req_rest(struct dm_req *req)
{
    req->n_pending = 0;
    req->err = 0; /* DM_OK */
    req->is_cancelled = false;
    req->is_started = false;
    dm_status_set_empty(&req->status);
}

/* Initialise the common part; no handle yet, refs 1 (the caller's). */
void dm_req_init(struct dm_req *req, enum dm_req_kind kind, const struct dm_req_ops *ops,
                 struct dm_comm *comm);
static inline void dm_req_ref(struct dm_req *req)
{
    req->obj.refs++;
}
static inline void dm_req_unref(struct dm_req *req)
{
    if (--req->obj.refs > 0)
        return;
    dm_handle_drop(DM_KIND_REQUEST, &req->obj);
    req->ops->free(req);
}
static inline bool dm_req_is_done(const struct dm_req *req)
{
    return req->n_pending == 0;
}
/* The handle for the program, made at first call. */
static inline int dm_req_handle(struct dm_req *req, MPI_Request *handle_p)
{
    int err = req->obj.handle == 0 ? dm_handle_new(DM_KIND_REQUEST, &req->obj) : 0;

    *handle_p = dm_likely(err == 0) ? req->obj.handle : MPI_REQUEST_NULL;
    return err;
}
/*
 * The operation works on copies of the program's buffers, which end with it; several calls add up. Before the program
 * has the request.
 */
void dm_req_set_copies(struct dm_req *req, struct dm_copies *copies);
/* Of one that has copies: completion is about to be reported to the program. */
void dm_req_end_copies(const struct dm_req *req);
/* Wait for completion inside the library (collectives, blocking calls); returns req->err. */
int dm_req_wait(struct dm_req *req);
/*
 * A completed request with an empty status (sends to MPI_PROC_NULL and the like). All are one
 * shared object; dm_req_new_done_as gives the handle that is made next a number of DM_REQ_DONE_MASK
 * bits, by which MPI_Cancel may know what it was. 0: none.
 */
#define DM_REQ_DONE_HANDLE 0x6c000001u /* next to MPI_MESSAGE_NO_PROC */
#define DM_REQ_DONE_MASK   0x1ffffffu
static inline bool dm_req_is_done_handle(int handle)
{
    return ((uint32_t)handle & ~(DM_REQ_DONE_MASK << 1)) == DM_REQ_DONE_HANDLE;
}
static inline uint32_t dm_req_done_number(int handle)
{
    return (uint32_t)handle >> 1 & DM_REQ_DONE_MASK;
}
int dm_req_new_done(struct dm_req **req_p);
int dm_req_new_done_as(uint32_t number, struct dm_req **req_p);
/* The same of a collective, which the program may neither free nor cancel; also one shared object. */
#define DM_REQ_DONE_COLL_HANDLE 0x6c000002u
void dm_req_new_done_coll(struct dm_req **req_p);
/* Is it one of the two? */
bool dm_req_is_shared(const struct dm_req *req);

/* The request of a handle, NULL when it is none (the null handle included). */
static inline struct dm_req *dm_req_get(int handle)
{
    if (dm_req_is_done_handle(handle))
        return (struct dm_req *)(void *)dm_handles.of[DM_KIND_REQUEST]
            .builtin[DM_REQ_DONE_HANDLE % DM_HANDLE_N_BUILTIN];
    return dm_handle_get(DM_KIND_REQUEST, handle);
}

#endif
