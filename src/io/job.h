/*
 * Jobs: what a thread of the library does beside the program, one after the other.
 */
#ifndef DM_IO_JOB_H
#define DM_IO_JOB_H

#include <stdbool.h>

#include "util/list.h"

#define DM_IO_TEXT 512

/* An error with its text, for another thread or a later time. */
struct dm_io_result {
    int err;
    char text[DM_IO_TEXT];
};

/* Of what this thread has just done. */
void dm_io_result_set(struct dm_io_result *result, int err);
/* The same as if it had happened now; returns it. */
int dm_io_result_get(const struct dm_io_result *result);

struct dm_io_job {
    struct dm_list link;
    int (*run)(void *arg);   /* in the thread: without any lock */
    void (*over)(void *arg); /* then, in the progress engine, with the result */
    void *arg;
    struct dm_io_result result;
};

/* It must stay until it is over. False: there is no thread to do it. */
bool dm_io_job_start(struct dm_io_job *job);
/* All that were started are done, and the thread ends. */
void dm_io_jobs_stop(void);

#endif
