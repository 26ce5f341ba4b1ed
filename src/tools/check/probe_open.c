/*
 * Probes of opening, of the attributes, and of events.
 */
#include <string.h>

#include "tools/check/probe_side.h"
#include "util/clock.h"
#include "util/err.h"

#define N_POLLS             20000
#define OPEN_TRIES          3
#define UNREACHABLE_ADDRESS 0xc0000201 /* 192.0.2.1 */
#define UNREACHABLE_US      100000

/* The threadsafe line of the same name. */
static void try_threads(struct dm_probe_env *env)
{
    struct dm_conf_entry entry;
    struct dm_probe_provider found;
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    memset(&entry, 0, sizeof(entry));
    if (dm_probe_provider(env->provider, &found) != DM_OK)
        return;
    entry.name = found.name;
    entry.lib = found.library;
    entry.params = found.params;
    if (dm_ia_open_handle(&entry, true, &ia, &async) != DM_OK) {
        dm_probe_say(env, "thread_safe", false, "no threadsafe line of this name opens");
        return;
    }
    dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
    dm_probe_say(env, "thread_safe", true, "its threadsafe line opens");
}

/*
 * An address of the block for documentation (RFC 5737), which no host has: a provider that has
 * a network looks for it a while, one that has none knows at once.
 */
static void try_unreachable(struct dm_probe_side *side)
{
    static const struct dm_probe_ep modest;
    struct sockaddr_in addr;
    DAT_EVENT event;
    DAT_RETURN rc;

    if (side->limits.is_local) {
        dm_probe_say(side->env, "local_only", true, "its address is a loopback address");
        return;
    }
    if (dm_probe_ep_create(side, &modest, &side->ep) != DM_OK) {
        dm_probe_say_untested(side->env, "local_only", "%s", dm_err_detail());
        return;
    }
    memset(&addr, 0, sizeof(addr));
    addr.sin_family = AF_INET;
    addr.sin_addr.s_addr = htonl(UNREACHABLE_ADDRESS);
    rc = dat_ep_connect(side->ep, (DAT_IA_ADDRESS_PTR)(void *)&addr, 1, UNREACHABLE_US, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    if (rc != DAT_SUCCESS)
        dm_probe_say(side->env, "local_only", true, "a connection to 192.0.2.1 is refused: %s",
                     dm_dat_text(rc));
    else if (dm_probe_next(side, side->conn_evd, UNREACHABLE_US / 20, "event", &event) == DM_OK &&
             event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE)
        dm_probe_say(side->env, "local_only", true,
                     "a connection to 192.0.2.1 is unreachable at once");
    else
        dm_probe_say(side->env, "local_only", false,
                     "a connection to 192.0.2.1 is being tried after %d ms",
                     UNREACHABLE_US / 20000);
}

static void say_limits(struct dm_probe_side *side)
{
    const struct dm_probe_limits *limits = &side->limits;
    struct dm_probe_env *env = side->env;

    try_unreachable(side);
    dm_probe_say_value(env, "max_requests", limits->max_req, "requests", "attribute");
    dm_probe_say_value(env, "max_events", limits->max_evd_qlen, "events", "attribute");
    dm_probe_say(env, "extensions", limits->has_ext, "attribute");
}

int dm_probe_run_open(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    uint64_t best = UINT64_MAX;
    uint64_t start;
    uint64_t took;
    int err;

    for (int i = 0; i < OPEN_TRIES; i++) {
        start = dm_clock_ns();
        err = dm_probe_open(env, &side);
        took = dm_clock_ns() - start;
        if (err != DM_OK) {
            dm_probe_close(&side);
            return err;
        }
        if (took < best)
            best = took;
        if (i == 0) {
            dm_probe_say(env, "opens", true, "%s", "");
            say_limits(&side);
        }
        dm_probe_close(&side);
    }
    dm_probe_say_value(env, "open_time", (double)best / 1000, "us",
                       "dat_ia_open and four event dispatchers, best of %d", OPEN_TRIES);
    try_threads(env);
    return DM_OK;
}

/* What dat_evd_dequeue costs when there is nothing, and dat_evd_wait without waiting. */
static void time_polling(struct dm_probe_side *side)
{
    DAT_EVENT event;
    uint64_t start = dm_clock_ns();

    for (int i = 0; i < N_POLLS; i++)
        dat_evd_dequeue(side->recv_evd, &event);
    dm_probe_say_value(side->env, "poll_cost", (double)(dm_clock_ns() - start) / N_POLLS, "ns",
                       "dat_evd_dequeue of an empty dispatcher");
}

/* Does a dispatcher keep the order and say when it is full? */
static void try_software(struct dm_probe_side *side)
{
    DAT_EVD_HANDLE evd;
    DAT_EVENT event;
    DAT_RETURN rc;
    int n = 0;

    rc = dat_evd_create(side->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd);
    if (rc != DAT_SUCCESS) {
        dm_probe_say_untested(side->env, "software_events", "dat_evd_create: %s", dm_dat_text(rc));
        return;
    }
    memset(&event, 0, sizeof(event));
    event.event_number = DAT_SOFTWARE_EVENT;
    while (n < 100000 && (rc = dat_evd_post_se(evd, &event)) == DAT_SUCCESS)
        n++;
    if (n == 0)
        dm_probe_say(side->env, "software_events", false, "dat_evd_post_se: %s", dm_dat_text(rc));
    else
        dm_probe_say(side->env, "software_events", true, "asked for 4 places, took %d, then %s", n,
                     rc == DAT_SUCCESS ? "still no refusal" : dm_dat_text(rc));
    dat_evd_free(evd);
}

/* How late a wait with a time-out returns. */
static void time_timeout(struct dm_probe_side *side)
{
    DAT_EVENT event;
    DAT_COUNT n_more;
    uint64_t best = UINT64_MAX;
    uint64_t start;
    uint64_t took;

    for (int i = 0; i < 5; i++) {
        start = dm_clock_ns();
        dat_evd_wait(side->recv_evd, 2000, 1, &event, &n_more);
        took = dm_clock_ns() - start;
        if (took < best)
            best = took;
    }
    if (best < 1900000)
        dm_probe_say(side->env, "timeouts", false, "a wait of 2000 us returns after %.0f us",
                     (double)best / 1000);
    else
        dm_probe_say(side->env, "timeouts", true, "a wait of 2000 us takes %.0f us",
                     (double)best / 1000);
}

int dm_probe_run_events(struct dm_probe_env *env)
{
    struct dm_probe_side side;
    int err = dm_probe_open(env, &side);

    if (err == DM_OK) {
        time_polling(&side);
        time_timeout(&side);
        try_software(&side);
    }
    dm_probe_close(&side);
    return err;
}
