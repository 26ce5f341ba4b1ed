/*
 * Agreements of the processes of a file, step by step: for transfers that do not wait.
 */
#ifndef DM_IO_AGREE_H
#define DM_IO_AGREE_H

#include "io/file.h"
#include "io/job.h"

/* The largest of everybody's words. */
struct dm_io_max {
    uint64_t mine, all;
    struct dm_req *req; /* persistent, of nonblocking use; NULL: none was made */
};

/* Collective; not waited for. DM_ENOMEM. */
int dm_io_max_init(struct dm_io_max *max, struct dm_comm *comm);
/* What is to be waited for, NULL: nothing, it is over. */
struct dm_req *dm_io_max_start(struct dm_io_max *max, struct dm_comm *comm, uint64_t mine,
                               bool blocks, int *err_p);

/* What dm_io_agree does. */
struct dm_agreement {
    struct dm_comm *comm;
    struct dm_io_max *max;
    bool blocks;                 /* the calls do, which is faster */
    struct dm_io_result *result; /* of this process, then of all */
    enum { AGREE_BEGIN, AGREE_DECIDE, AGREE_TAKE, AGREE_TAKEN, AGREE_GIVE } stage;
    int first; /* the rank whose error is reported, by a tree: */
    int bit;   /* of the next process to report to */
    struct dm_req *req;
    char text[DM_IO_TEXT];
};

/* Go on as far as it can: what it waits for; NULL: it is over. */
struct dm_req *dm_agreement_step(struct dm_agreement *a);
/* The result of a request that is done; the reference is dropped, or it rests. */
int dm_io_reap(struct dm_req **req_p);

#endif
