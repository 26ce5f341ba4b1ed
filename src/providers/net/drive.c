/*
 * Driving the network from within a call: consumers that poll, calls that wait for peers.
 */
#include "providers/net/net.h"

#include <unistd.h>

enum { THOROUGH_EVERY = 64, WAIT_MS = 1 };

#define STUCK_NS 5000000000u /* with peers that stand still */

void dm_net_timer_at(struct dm_net *net, uint64_t when)
{
    if (when >= net->next_timer)
        return;
    net->next_timer = when;
    dm_net_kick(&net->pia);
}

void dm_net_progress_wait(struct dm_net *net)
{
    struct pollfd fds[DM_NET_FDS];

    for (int i = 0; i < DM_NET_FDS; i++)
        fds[i] = (struct pollfd){.fd = net->fds[i], .events = POLLIN};
    if (net->ops->round(net, true) == 0 && net->ops->can_sleep(net))
        (void)poll(fds, DM_NET_FDS, WAIT_MS);
}

bool dm_net_wait_over(struct dm_net *net, const struct dm_pz *pz, uint32_t key,
                      dm_net_is_over *is_over)
{
    uint64_t until = 0;

    while (!is_over(net, pz, key)) {
        uint64_t now = dm_futex_now();

        if (until == 0)
            until = now + STUCK_NS;
        if (now >= until)
            return false;
        dm_net_progress_wait(net);
    }
    return true;
}

/* Without a thread, agents of CNOs run in whoever drives. */
void dm_net_run_agents(struct dm_net *net)
{
    if (!net->pia.has_thread &&
        atomic_load_explicit(&net->progress.has_agents, memory_order_relaxed) &&
        atomic_exchange(&net->progress.has_agents, false))
        dm_cno_run_agents(&net->pia);
}

void dm_net_poll(struct dm_pia *pia)
{
    struct dm_net *net = (struct dm_net *)pia;
    uint32_t n;

    if (pthread_mutex_trylock(&pia->lock) != 0)
        return; /* somebody drives it */
    n = atomic_load_explicit(&net->progress.n_polls, memory_order_relaxed) + 1;
    atomic_store_explicit(&net->progress.n_polls, n, memory_order_relaxed);
    if (dm_unlikely(net->progress.poller_id == 0 ||
                    !pthread_equal(net->progress.poller, pthread_self()))) {
        net->progress.poller = pthread_self();
        net->progress.poller_id = gettid();
    }
    (void)net->ops->round(net, n % THOROUGH_EVERY == 0);
    pthread_mutex_unlock(&pia->lock);
    dm_net_run_agents(net);
}
