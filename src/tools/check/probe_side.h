/*
 * What the probes stand on: one process's DAT objects, memory, the side channel, waiting,
 * reports. Functions that can fail record the detail; the other process hears of it.
 */
#ifndef DM_TOOLS_CHECK_PROBE_SIDE_H
#define DM_TOOLS_CHECK_PROBE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/tools.h"
#include "tools/check/probe.h"
#include "util/port.h"

#define DM_PROBE_WAIT_US  8000000 /* for what must happen */
#define DM_PROBE_SHORT_US 300000  /* for what may not happen */

struct dm_probe_side {
    struct dm_probe_env *env;
    DAT_IA_HANDLE ia;
    DAT_EVD_HANDLE async_evd;
    DAT_EVD_HANDLE cr_evd;
    DAT_EVD_HANDLE conn_evd;
    DAT_EVD_HANDLE recv_evd;
    DAT_EVD_HANDLE req_evd;
    DAT_PZ_HANDLE pz;
    DAT_PSP_HANDLE psp; /* passive */
    DAT_EP_HANDLE ep;
    DAT_CONN_QUAL qual; /* where the passive process listens, known to both */
    unsigned char peer_addr[DM_PROBE_ADDR_MAX];
    struct dm_probe_limits limits;
    char *kept; /* triplets of what is posted, in turn */
    size_t kept_at;
};

/* Sizes of an endpoint; 0 stands for a modest one. */
struct dm_probe_ep {
    int n_recv;
    int n_req;
    int n_iov;
    int n_reads;
};

/* Registered memory, and what a peer needs to know of it. */
struct dm_probe_mem {
    char *buf;
    size_t len;
    int fd; /* -1: private */
    struct dm_lmr lmr;
};
struct dm_probe_remote {
    uint64_t addr;
    uint64_t rctx;
};

/* ---- objects ---- */

/* Open the provider, make everything but the endpoint; dm_probe_close in any case. */
int dm_probe_open(struct dm_probe_env *env, struct dm_probe_side *side);
void dm_probe_close(struct dm_probe_side *side);
/* The attributes for an endpoint of these sizes, within what the provider allows. */
void dm_probe_ep_attr(const struct dm_probe_limits *limits, const struct dm_probe_ep *size,
                      DAT_EP_ATTR *attr_p);
int dm_probe_ep_create(struct dm_probe_side *side, const struct dm_probe_ep *size,
                       DAT_EP_HANDLE *ep_p);
/* The passive process listens, both know where. */
int dm_probe_agree_address(struct dm_probe_side *side);
/* Connect the two endpoints (after dm_probe_agree_address). */
int dm_probe_connect(struct dm_probe_side *side, DAT_EP_HANDLE ep);
/* All of it: open, an endpoint of these sizes, connected. */
int dm_probe_join(struct dm_probe_env *env, const struct dm_probe_ep *size,
                  struct dm_probe_side *side);
/* End the connection of side->ep on both sides and free it. */
void dm_probe_part(struct dm_probe_side *side);

/* Zeroed and registered; is_shared: in a memory file that the peer could map, where possible. */
int dm_probe_alloc(struct dm_probe_side *side, size_t len, bool is_shared,
                   struct dm_probe_mem *mem_p);
void dm_probe_free(struct dm_probe_mem *mem);
/* Exchange where each other's memory is. */
int dm_probe_swap(struct dm_probe_side *side, const struct dm_probe_mem *mine,
                  struct dm_probe_remote *theirs_p);

/* ---- the side channel ---- */

int dm_probe_put(struct dm_probe_side *side, uint64_t value);
/* Fails with the other process's detail when that has failed, or when it is gone. */
int dm_probe_get(struct dm_probe_side *side, uint64_t *value_p);
/* Both come here before either goes on; no DAT call is made. */
int dm_probe_barrier(struct dm_probe_side *side);
/* Tell the other process that this one gives up, and why. */
void dm_probe_report_error(int fd, const char *text);

/* ---- transfers ---- */

/*
 * A copy of triplets, which are the provider's until their request has completed: it stays as long as
 * any request may.
 */
void *dm_probe_keep(struct dm_probe_side *side, const void *triplets, size_t len);
DAT_LMR_TRIPLET dm_probe_local(const struct dm_probe_mem *mem, size_t offset, size_t len);
DAT_RMR_TRIPLET dm_probe_remote(const struct dm_probe_remote *remote, size_t offset, size_t len);
/* Post one; request errors are returned with a detail. len may be 0. */
int dm_probe_write(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t from,
                   const struct dm_probe_remote *remote, size_t to, size_t len, int flags);
int dm_probe_read(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t to,
                  const struct dm_probe_remote *remote, size_t from, size_t len);
int dm_probe_send(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t from,
                  size_t len);
int dm_probe_recv(struct dm_probe_side *side, const struct dm_probe_mem *mem, size_t to,
                  size_t len);

/*
 * The next event of evd, by polling; DM_ETIMEOUT, with "what" in the detail, or why the other
 * process has failed in the meantime. Connection
 * and request dispatchers are waited for, since some providers only feed waiters.
 */
int dm_probe_next(struct dm_probe_side *side, DAT_EVD_HANDLE evd, unsigned us, const char *what,
                  DAT_EVENT *event_p);
/* n completions, each of which has to be a success. */
int dm_probe_done(struct dm_probe_side *side, DAT_EVD_HANDLE evd, int n, const char *what);
/* True when evd has nothing to say for so long. */
bool dm_probe_is_silent(struct dm_probe_side *side, DAT_EVD_HANDLE evd, unsigned us);
/* Words for a completion status. */
const char *dm_probe_status_text(DAT_DTO_COMPLETION_STATUS status);

/* ---- reports ---- */

void dm_probe_say(struct dm_probe_env *env, const char *key, bool is_yes, const char *fmt, ...)
    DM_PRINTF(4, 5);
void dm_probe_say_value(struct dm_probe_env *env, const char *key, double value, const char *unit,
                        const char *fmt, ...) DM_PRINTF(5, 6);
void dm_probe_say_untested(struct dm_probe_env *env, const char *key, const char *fmt, ...)
    DM_PRINTF(3, 4);

/* ---- the probes, by file; dm_probe_table names what they answer ---- */

int dm_probe_run_open(struct dm_probe_env *env);
int dm_probe_run_events(struct dm_probe_env *env);
int dm_probe_run_memory(struct dm_probe_env *env);
int dm_probe_run_regcost(struct dm_probe_env *env);
int dm_probe_run_memlock(struct dm_probe_env *env);
int dm_probe_run_connect(struct dm_probe_env *env);
int dm_probe_run_private(struct dm_probe_env *env);
int dm_probe_run_first(struct dm_probe_env *env);
int dm_probe_run_owner(struct dm_probe_env *env);
int dm_probe_run_order(struct dm_probe_env *env);
int dm_probe_run_progress(struct dm_probe_env *env);
int dm_probe_run_reuse(struct dm_probe_env *env);
int dm_probe_run_segments(struct dm_probe_env *env);
int dm_probe_run_reads(struct dm_probe_env *env);
int dm_probe_run_sizes(struct dm_probe_env *env);
int dm_probe_run_late(struct dm_probe_env *env);
int dm_probe_run_suppress(struct dm_probe_env *env);
int dm_probe_run_overflow(struct dm_probe_env *env);
int dm_probe_run_srq(struct dm_probe_env *env);
int dm_probe_run_rmr(struct dm_probe_env *env);
int dm_probe_run_immediate(struct dm_probe_env *env);
int dm_probe_run_atomics(struct dm_probe_env *env);
int dm_probe_run_fork(struct dm_probe_env *env);
int dm_probe_run_child(struct dm_probe_env *env);
int dm_probe_run_latency(struct dm_probe_env *env);
int dm_probe_run_bandwidth(struct dm_probe_env *env);
int dm_probe_run_wakeup(struct dm_probe_env *env);

#endif
