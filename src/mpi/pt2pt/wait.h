/*
 * What the completion calls share.
 */
#ifndef DM_MPI_PT2PT_WAIT_H
#define DM_MPI_PT2PT_WAIT_H

#include "mpi/core/core.h"
#include "mpi/pt2pt/p2p.h"
#include "mpi/pt2pt/pt2pt.h"

/* dm_p2p_resolve where *req_p, found by the handle, may be none or another one. */
int dm_p2p_resolve_more(const MPI_Request *request, struct dm_req **req_p);
/* The request of a handle; NULL for MPI_REQUEST_NULL. DM_ERR_REQUEST: not a request. */
static inline int dm_p2p_resolve(const MPI_Request *request, struct dm_req **req_p)
{
    *req_p = NULL;
    if (*request == MPI_REQUEST_NULL)
        return DM_OK;
    *req_p = dm_req_get(*request);
    return dm_likely(*req_p != NULL && dm_list_is_empty(&dm_p2p.recalled))
               ? DM_OK
               : dm_p2p_resolve_more(request, req_p);
}
/*
 * Report a finished request: its status but for MPI_ERROR, its error (recorded, and who
 * is to blame); the handle becomes null and the reference is dropped.
 */
int dm_p2p_complete(struct dm_req *req, MPI_Request *request, MPI_Status *status);
/* The status of a finished request, which stays; the error of a generalized one's query_fn. */
int dm_p2p_look(struct dm_req *req, MPI_Status *status);
/*
 * Several requests: DM_ERR_IN_STATUS with a text that tells of the first that has failed, for programs whose error
 * handler ends them before they can look at the statuses.
 */
struct dm_p2p_failure {
    int index; /* -1: none */
    char why[240];
};
void dm_p2p_note_failure(struct dm_p2p_failure *first, int index, int err);
int dm_p2p_in_status(const struct dm_p2p_failure *first);
/* Its communicator's or window's error handler is the one to call. */
void dm_p2p_blame(const struct dm_req *req);
/* The empty status, but for MPI_ERROR. */
void dm_p2p_status_empty(MPI_Status *status);

/* ---- generalized requests (grequest.c) ---- */

/* What MPI_Wait does when it is done: query_fn into its status, then free_fn. */
int dm_greq_end(struct dm_req *req);
/*
 * MPI_Request_free: free_fn now or when the operation is complete; drops the program's reference.
 */
int dm_greq_free(struct dm_req *req);
/* Call its poll function, if it has one and is not done. */
void dm_greq_poll(struct dm_req *req);
/* One pass of progress while a thread of the program may complete what is awaited. */
void dm_greq_pass(int *n_idle);
void dm_greq_wait(struct dm_req *req);
/* Forget the classes. */
void dm_greq_stop(void);

#endif
