/*
 * The calls at their origin: what the plain and the request forms share (put_get.c, acc.c, req.c),
 * and what is checked before (check.c).
 */
#ifndef DM_ONESIDED_CALL_H
#define DM_ONESIDED_CALL_H

#include "onesided/peer.h"

/* What the plain and the request forms of the transfers share; the target is not MPI_PROC_NULL. */
int dm_rma_put(const struct dm_rma_call *call, const void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type);
int dm_rma_get(const struct dm_rma_call *call, void *origin, size_t origin_count,
               struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
               struct dm_type *target_type);
int dm_rma_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                      struct dm_type *origin_type, MPI_Aint disp, size_t target_count,
                      struct dm_type *target_type, struct dm_op *op);
int dm_rma_get_accumulate(const struct dm_rma_call *call, const void *origin, size_t origin_count,
                          struct dm_type *origin_type, void *result, size_t result_count,
                          struct dm_type *result_type, MPI_Aint disp, size_t target_count,
                          struct dm_type *target_type, struct dm_op *op);

/*
 * What most calls are: elements of a predefined type in memory that this process can address, which it updates
 * at once. False: they are not, and nothing was done. *err_p is that of the call.
 */
bool dm_rma_quick_accumulate(const void *origin, size_t origin_count, struct dm_type *origin_type,
                             int target, MPI_Aint disp, size_t target_count,
                             struct dm_type *target_type, struct dm_op *op, struct dm_win *win,
                             int *err_p);
bool dm_rma_quick_get_accumulate(const void *origin, size_t origin_count,
                                 struct dm_type *origin_type, void *result, size_t result_count,
                                 struct dm_type *result_type, int target, MPI_Aint disp,
                                 size_t target_count, struct dm_type *target_type, struct dm_op *op,
                                 struct dm_win *win, int *err_p);

/*
 * Request forms: begin checks the epoch (DM_ERR_RMA_SYNC outside passive target ones) and makes
 * the request of a call; step is one transfer of it that is over; end ends the call
 * itself: with an error of its own there is no request.
 */
void dm_rma_req_start(void);
int dm_rma_req_begin(struct dm_rma_call *call);
void dm_rma_req_step(struct dm_req *req, int err);
int dm_rma_req_end(struct dm_rma_call *call, int err, struct dm_req **req_p);

/*
 * The checks of every transfer: this process may access target now (DM_ERR_RMA_SYNC), the
 * target's bytes are inside its part (DM_ERR_RMA_RANGE; *offset_p gets where disp is), and both
 * sides have the same number of bytes (DM_ERR_TYPE).
 */
int dm_rma_check_call(struct dm_win *win, size_t origin_count, const struct dm_type *origin_type,
                      int target, MPI_Aint disp, size_t target_count,
                      const struct dm_type *target_type, uint64_t *offset_p);
/* Only the last of them. */
int dm_rma_check_sizes(size_t origin_count, const struct dm_type *origin_type, size_t target_count,
                       const struct dm_type *target_type);

#endif
