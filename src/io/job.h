/*
 * Jobs: what a thread of the library does beside the program, one after the other, in parts. Whoever waits
 * for a job does what is left of it: that thread may have neither a processor nor the data near it. It leaves
 * a job alone for a moment, so that a program that waits at once does the whole.
 */
#ifndef DM_IO_JOB_H
#define DM_IO_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

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

enum dm_io_job_state {
    DM_JOB_TODO,
    DM_JOB_RUNNING, /* in the thread */
    DM_JOB_WANTED,  /* the same, and it shall leave the rest to those who wait */
    DM_JOB_OURS,    /* of those who wait for it */
    DM_JOB_DONE,
};

struct dm_io_job {
    struct dm_list link;
    /* The next part of it, without any lock; true: it is over, with *err_p. */
    bool (*part)(void *arg, int *err_p);
    void (*over)(void *arg); /* then, inside the global lock, with the result */
    void *arg;
    struct dm_io_result result;
    struct timespec due; /* the thread takes it then, by CLOCK_MONOTONIC */
    _Atomic enum dm_io_job_state state;
};

/* It must stay until it is over. False: there is no thread to do it. */
bool dm_io_job_start(struct dm_io_job *job);
/*
 * The caller can do nothing until the job is over (inside the global lock): do a part of it here. False: not
 * now, the thread is at it, or it is done and the progress engine sees that.
 */
bool dm_io_job_help(struct dm_io_job *job);
/* All that were started are done, and the thread ends. */
void dm_io_jobs_stop(void);

#endif
