/*
 * Start and stop: the job, the upcalls.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_START_H
#define DM_DAPL_ADAPT_PUBLIC_START_H

#include "dapl_adapt/public/types.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "util/kv.h"
#include "util/tune.h"

/* The job as the launcher describes it; pointers must live as long as the layer. */
struct dm_adapt_job {
    int rank;
    int size;
    int n_local;        /* processes on this host */
    int n_cores;        /* that these have together, by the launcher; 0: it says nothing */
    const int *node_of; /* host number of each process */
    const char *name;   /* unique name of the job */
    const char
        *node_name;      /* the launcher's, if it is not the host's: a host may be several nodes */
    struct dm_kv_ops kv; /* to exchange addresses */
    const char *(*host_of)(void *arg, int proc); /* for messages */
    void *host_arg;
    /*
     * Told the tuned values of the provider that reaches all processes (NULL: none); gives a number
     * that processes have alike that choose the same algorithms of collectives. NULL: nobody wants
     * to know.
     */
    int (*choose_coll)(const struct dm_tune_rail *tuned,
                       uint32_t *hash_p); /* an error ends the start */
};

/* Upcalls; made only from inside dm_adapt_poll, dm_adapt_eager_* and dm_adapt_rdma_*. */
struct dm_adapt_events {
    void *arg;
    /* conn has unread bytes in its pipe; called again on the next poll while any are left. */
    void (*input)(void *arg, int proc, struct dm_conn *conn);
    /* conn became ready, or credits came back after a put took less than offered. */
    void (*writable)(void *arg, int proc, struct dm_conn *conn);
    /* conn is lost: no more input, every put fails. Once per connection. */
    void (*failed)(void *arg, int proc, struct dm_conn *conn, int err);
    /*
     * Processes of other jobs (proc.h). is_idle: is nothing queued for it above? gone: its
     * connection has been closed in order and is freed now; is_free: so is the number, which
     * somebody else may get next. NULL: of no interest.
     */
    bool (*is_idle)(void *arg, int proc);
    void (*gone)(void *arg, int proc, bool is_free);
    /* Rails have come while the job runs: its processes have to be told (dm_adapt_joined). */
    void (*joined)(void *arg);
};

/*
 * Open the providers (rails), publish own address through the kv operations
 * (one fence), start the connection server. Collective. When DATUM_CONNECT says
 * so, all connections are made before it returns.
 */
int dm_adapt_open(const struct dm_adapt_job *job, const struct dm_adapt_events *ev,
                  struct dm_adapt **adapt_p);
/*
 * Disconnect and free. Collective: the caller has made sure (barrier) that nobody
 * needs the pipes any more; a peer that disconnects first is not a failure then.
 */
int dm_adapt_close(struct dm_adapt *adapt);
/*
 * From now on a lost connection is expected (the job is finalizing) and `failed`
 * is not called any more.
 */
void dm_adapt_quiesce(struct dm_adapt *adapt);
/*
 * Rails that did not open at start, as the interface that they are for was not there, and have opened
 * since; those of the user's dat.conf are tried again after DATUM_RAIL_RETRY, then more rarely. Text for
 * dm_adapt_rail_reported at the peers, of the n-th of them; false: there are not so many.
 */
bool dm_adapt_joined(const struct dm_adapt *adapt, int n, char *buf, size_t len);
/* Such a text came from that process. What is known already is none. DM_ECONN: nonsense, or a lost peer. */
int dm_adapt_rail_reported(struct dm_adapt *adapt, int proc, const char *text);
#define DM_RAIL_TEXT_MAX 400
/* Print what DATUM_EXPLAIN promises (call on one process). */
void dm_adapt_explain(struct dm_adapt *adapt);

#endif
