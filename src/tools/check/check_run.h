/*
 * Running probes so that a provider which crashes or hangs takes nothing with it: every
 * run has processes of its own, and a time limit.
 *
 * Between hosts, the other process is started by a server (datum-check --server) for each
 * connection: one line "datum-check 1 PROVIDER PROBE MAX_LEN", answered by "ok" or "error
 * TEXT", and the connection is the probe's side channel from then on.
 */
#ifndef DM_TOOLS_CHECK_CHECK_RUN_H
#define DM_TOOLS_CHECK_CHECK_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/check/probe.h"

struct dm_check {
    const char *provider;
    const char *host; /* of the server, NULL: both processes are here */
    const char *port;
    const char *peer_provider; /* what the provider is called there */
    uint64_t max_len;
    bool is_verbose; /* let the provider's own messages through */
};

/* How a run ended. */
enum dm_check_end {
    DM_CHECK_OK,
    DM_CHECK_REFUSED, /* an error, in order; some items have no answer */
    DM_CHECK_BROKEN,  /* crashed, or did not end in time */
};

struct dm_check_run {
    enum dm_check_end end;
    struct dm_probe_result results[DM_PROBE_ITEMS_MAX]; /* one for each item, in its order */
    int n_results;
    char why[DM_PROBE_TEXT_LEN]; /* when it did not end well */
};

/* Does the server accept a connection? DM_OK, or an error that names the host. */
int dm_check_reach(const struct dm_check *check);
/* Run one probe; items without an answer get DM_PROBE_UNTESTED and the reason. */
void dm_check_probe(const struct dm_check *check, const struct dm_probe *probe,
                    struct dm_check_run *run_p);
/*
 * Serve the other halves of probes until killed; provider NULL: the one that is asked for.
 * Returns the exit status when it cannot.
 */
int dm_check_serve(const char *port, const char *provider, bool is_verbose);

#endif
