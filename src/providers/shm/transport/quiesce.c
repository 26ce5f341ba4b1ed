/*
 * Waiting until no peer is in the middle of an operation: until its busy word is even, or has moved.
 */
#include "providers/shm/transport/quiesce.h"

#include <sched.h>
#include <time.h>

#include "providers/shm/conn.h"
#include "providers/shm/transport/peer.h"

enum { N_YIELDS = 100, WAIT_NS = 50000, SHORT_NS = 2000000 };
/* Longer than any transfer takes; a peer that needs more has been stopped. */
#define STUCK_NS 5000000000u

/* Has the peer's process ended? That it has hung up, or closed its doorbell, shows it only where
 * nothing better is known: another thread of it may still be in the middle of a transfer. */
static bool peer_has_ended(struct dm_shm_ep *ep)
{
    const struct dm_shm_ia *ia = dm_shm_ia_of(ep);

    return (ep->conn->is_peer_gone && ep->peer->pid == ia->pia.pid) ||
           dm_shm_guard_has_ended(ia, ep->peer);
}

/* Wait for at most so long; false if time is up. */
static bool busy_wait_even(const _Atomic uint64_t *busy, struct dm_shm_ep *ep, uint64_t ns)
{
    uint64_t value = atomic_load(busy);
    struct timespec wait = {.tv_nsec = WAIT_NS};
    uint64_t deadline = 0;

    for (int i = 0; (value & 1) != 0 && atomic_load(busy) == value; i++) {
        if (i < N_YIELDS) {
            sched_yield();
            continue;
        }
        if (deadline == 0)
            deadline = dm_futex_now() + ns;
        if (ep != NULL && peer_has_ended(ep))
            return true;
        if (dm_futex_now() >= deadline)
            return false;
        nanosleep(&wait, NULL);
    }
    return true;
}

static bool busy_wait_peer(struct dm_shm_ep *ep, uint64_t limit_ns)
{
    struct dm_shm_conn *conn = ep->conn;

    if (conn->is_stuck)
        limit_ns = SHORT_NS; /* no second time for nothing */
    conn->is_stuck = !busy_wait_even(&ep->peer_sh->busy, ep, limit_ns) ||
                     !busy_wait_even(&ep->peer_sh->ctrl_busy, ep, limit_ns);
    return !conn->is_stuck;
}

bool dm_shm_is_quiet(struct dm_shm_ep *ep)
{
    if (ep->conn == NULL || ep->peer_sh == NULL)
        return true;
    dm_shm_barrier_all();
    return busy_wait_even(&ep->peer_sh->busy, ep, SHORT_NS) &&
           busy_wait_even(&ep->peer_sh->ctrl_busy, ep, SHORT_NS);
}

bool dm_shm_quiesce(struct dm_shm_ia *ia, struct dm_shm_ep *only)
{
    bool is_first = true;
    bool is_quiet = true;

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        if (ep->conn == NULL || ep->peer_sh == NULL || (only != NULL && ep != only))
            continue;
        if (is_first)
            dm_shm_barrier_all();
        is_first = false;
        is_quiet = busy_wait_peer(ep, STUCK_NS) && is_quiet;
        if (ia->pia.is_threadsafe && only == NULL) /* other threads of our own */
            (void)busy_wait_even(&ep->sh->busy, NULL, UINT64_MAX / 2);
    }
    return is_quiet;
}
