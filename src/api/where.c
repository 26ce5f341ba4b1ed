/*
 * Long waits: they write down what they wait for, and look for deadlocks.
 */
#include "api/where.h"

#include <stdio.h>

#include "mpi/core/core.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/stack.h"
#include "util/where.h"

/* The MPI function is looked for once: that takes some microseconds. */
static void where_describe(struct dm_where_wait *wait)
{
    struct dm_wait_account account;

    dm_wait_report(dm_world.chan, &account);
    snprintf(wait->text, sizeof(wait->text), "%s", account.chars);
    if (dm_p2p_is_leaving())
        snprintf(wait->call, sizeof(wait->call), "MPI_Finalize");
    else if (!dm_stack_find("MPI_", wait->call, sizeof(wait->call)))
        wait->call[0] = '\0';
}

static void where_on_long(void *arg)
{
    static struct dm_where_wait wait;
    static uint32_t described;
    uint32_t number = dm_wait_long_number(dm_world.chan, &wait.since_ns);
    struct dm_p2p_lengths lengths;
    struct dm_strbuf unexpected;

    (void)arg;
    if (number != described)
        where_describe(&wait);
    described = number;
    dm_p2p_queues(&lengths);
    wait.n_posted = lengths.n_posted;
    wait.n_unexpected = lengths.n_unexpected;
    wait.unexpected_bytes = lengths.unexpected_bytes;
    dm_strbuf_init(&unexpected, wait.unexpected, sizeof(wait.unexpected));
    dm_p2p_unexpected_text(&unexpected);
    wait.seen_ns = dm_clock_ns();
    dm_where_write(&wait);
    dm_event_raise(DM_EVENT_LONG_WAIT, DM_EVENT_NO_CTX, 0, 0,
                   (wait.seen_ns - wait.since_ns) / 1000);
    dm_p2p_deadlock_look();
}

void dm_where_start(const char *job)
{
    dm_where_open(dm_world.rank, dm_world.size, job, dm_host_name());
    dm_wait_on_long(dm_world.chan, where_on_long, NULL);
}
