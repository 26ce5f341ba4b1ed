/*
 * Checks of how the program uses MPI (DATUM_CHECK): do all processes make the same collective calls, are buffers left
 * alone while they are in use, is everything given back in the end. Nothing here runs while the setting is off.
 *
 * The functions of src/api call in, behind the test that the call statistics have; all under the global lock.
 */
#ifndef DM_USAGE_USAGE_H
#define DM_USAGE_USAGE_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"
#include "mpi/op/op.h"

/* What is checked, by bit. */
enum dm_usage_what {
    DM_USAGE_COLLECTIVES = 1, /* calls are compared between processes */
    DM_USAGE_LEAKS = 2,       /* objects that MPI_Finalize finds */
    DM_USAGE_BUFFERS = 4,     /* of requests: changed, or used twice */
    DM_USAGE_REQUESTS = 8,    /* that MPI_Finalize finds */
    DM_USAGE_ALL = 15
};

/*
 * Call the error handler of a communicator with a text, for what is found when there is no call that could return an
 * error. Without may_call a function of the program is not called: false.
 */
typedef bool dm_usage_raise_fn(struct dm_comm *comm, const char *text, bool may_call);

/* Read the setting. DM_ECONFIG: a word is unknown. */
int dm_usage_start(dm_usage_raise_fn *raise);
void dm_usage_stop(void);
bool dm_usage_is_on(void);
/* In MPI_Finalize: say what was not given back. */
void dm_usage_report(void);

/* ---- objects ---- */

/*
 * The program got a reference of an object by the function fn, or gave one back. Predefined ones and NULL do not
 * count. The memory of obj may be gone in dm_usage_freed.
 */
void dm_usage_made(const char *fn, enum dm_kind kind, const void *obj);
void dm_usage_freed(const void *obj);
/* The same of keyvals, which are numbers here. */
void dm_usage_made_keyval(const char *fn, int keyval);
void dm_usage_freed_keyval(int keyval);

/* ---- requests ---- */

/* A buffer of a request, while that is active. */
struct dm_usage_buffer {
    const void *buf;
    size_t count;
    struct dm_type *type;
    int peer;         /* rank, or MPI_UNDEFINED */
    int tag;          /* likewise */
    bool is_written;  /* by the library */
    int n_partitions; /* equal parts, each the program's until it is ready; 0: there are none */
};
/* fn has given the program a request for n buffers; it is active, unless it is persistent. */
void dm_usage_requested(const char *fn, MPI_Request request, const struct dm_usage_buffer *buffers,
                        int n);
/* fn, which waits, has used n buffers. */
void dm_usage_used(const char *fn, const struct dm_usage_buffer *buffers, int n);
/* fn, which is one-sided and has no request, has begun with n buffers, for a rank of a window. */
void dm_usage_rma(const char *fn, const void *win, int rank, const struct dm_usage_buffer *buffers,
                  int n);
/* The same of one that has given the program a request. */
void dm_usage_rma_requested(const char *fn, MPI_Request request, const void *win, int rank,
                            const struct dm_usage_buffer *buffers, int n);
/* A call that synchronizes with a rank of a window begins; MPI_ANY_SOURCE: with all. */
void dm_usage_synced(const void *win, int rank);
/* fn has started persistent requests. */
void dm_usage_started(const char *fn, int n, const MPI_Request *requests);
/* Partitions of a request are ready, from low to high. */
void dm_usage_ready(MPI_Request request, int low, int high);
/*
 * A call that may complete requests, or free them, begins and ends. The array may be anything that a program passes:
 * it is looked at before the arguments are checked. dm_usage_awaited does nothing for the names of other functions.
 */
void dm_usage_await(const char *fn, int n, const MPI_Request *requests);
void dm_usage_awaited(const char *fn);

/* ---- collective calls ---- */

/* Which collective: what its counts have to do with each other. */
enum dm_usage_coll {
    DM_USAGE_OTHER, /* no data: the function alone is compared */
    DM_USAGE_BARRIER,
    DM_USAGE_BCAST,
    DM_USAGE_GATHER,
    DM_USAGE_GATHERV,
    DM_USAGE_SCATTER,
    DM_USAGE_SCATTERV,
    DM_USAGE_ALLGATHER,
    DM_USAGE_ALLGATHERV,
    DM_USAGE_ALLTOALL,
    DM_USAGE_ALLTOALLV,
    DM_USAGE_ALLTOALLW,
    DM_USAGE_REDUCE,
    DM_USAGE_ALLREDUCE,
    DM_USAGE_REDUCE_SCATTER_BLOCK,
    DM_USAGE_REDUCE_SCATTER,
    DM_USAGE_SCAN,
    DM_USAGE_EXSCAN,
    DM_USAGE_NEIGHBOR_ALLGATHER,
    DM_USAGE_NEIGHBOR_ALLGATHERV,
    DM_USAGE_NEIGHBOR_ALLTOALL,
    DM_USAGE_NEIGHBOR_ALLTOALLV,
    DM_USAGE_NEIGHBOR_ALLTOALLW
};

/*
 * A collective call with its arguments, those that it has; of one with a single buffer the r ones. A call without a
 * root has MPI_UNDEFINED.
 */
struct dm_usage_call {
    const char *fn;
    enum dm_usage_coll coll;
    struct dm_comm *comm;
    bool is_nonblocking; /* or persistent: it must not wait for the others */
    int root;
    const struct dm_op *op;
    const void *sbuf; /* for MPI_IN_PLACE */
    const void *rbuf;
    size_t scount, rcount;
    struct dm_type *stype, *rtype;
    struct dm_counts scounts, rcounts;
    struct dm_counts sdispls, rdispls;
    const MPI_Datatype *stypes, *rtypes;
};

/*
 * Compare a call with those of the other processes; collective over call->comm (NULL: this process alone). A blocking
 * call waits for the others. One that must not wait is compared by rank 0 of the communicator when it can.
 * DM_EUSAGE: they differ; at all ranks, unless counts of one alone disagree.
 */
int dm_usage_compare(const struct dm_usage_call *call);
/* The same of a call without data. */
int dm_usage_compare_name(const char *fn, struct dm_comm *comm, bool is_nonblocking);
/*
 * A completion call has failed with err, by a collective of comm (NULL: by something else). If that may be because processes make
 * other collective calls, wait a while for what rank 0 finds. DM_EUSAGE with that as detail, else err.
 */
int dm_usage_explained(struct dm_comm *comm, int err);
/* A call has given the program a request. */
void dm_usage_requested_by(const struct dm_usage_call *call, MPI_Request request);

#endif
