/*
 * Requests of files: nonblocking transfers.
 */
#ifndef DM_IO_REQUEST_H
#define DM_IO_REQUEST_H

#include "io/convert.h"
#include "io/file.h"
#include "io/job.h"

/* Until it is complete it holds its file, and the view and type of its move. */
struct dm_io_req {
    struct dm_req req;
    struct dm_io_job job; /* its move, where a thread does that at once */
    struct dm_move move;
    struct dm_staged staged; /* its data, if they are converted */
    struct dm_hints hints;   /* as they were at the start */
    struct dm_view *view;
    bool is_declined; /* counted in n_declined of the file */
    struct dm_io_result result;
};

/* One that is pending, for this move. DM_ENOMEM. */
int dm_io_req_new(struct dm_file *f, const struct dm_move *m, struct dm_io_req **r_p);
/* Its data as they are in the file, where that needs a conversion: dm_convert_stage. */
int dm_io_req_stage(struct dm_io_req *r, bool must);
/* A thread makes its move, or this one does so at once; then it is complete. */
void dm_io_req_run(struct dm_io_req *r);
/* It is complete, with r->result and as its move says. */
void dm_io_req_complete(struct dm_io_req *r);

#endif
