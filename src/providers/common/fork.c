/*
 * fork(): a forked child is no peer of anybody. It closes its copies of the sockets, so that the
 * connections end with the process that has made them.
 *
 * The locks of all instances are held while the process forks, so that the child finds them in order.
 * A thread that forks in a signal handler may hold one itself: then the child keeps its copies.
 */
#include "providers/common/fork.h"

#include <time.h>

#include "providers/common/prov_state.h"
#include "providers/common/provider.h"

enum { LOCK_WAIT_S = 1 };

static struct dm_pia *fork_ia(struct dm_list *at)
{
    return dm_container_of(at, struct dm_pia, fork_link);
}

static void prov_fork_prepare(void)
{
    struct timespec until;

    pthread_mutex_lock(&dm_prov_state.fork_lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_WAIT_S;
    dm_list_for_each (it, &dm_prov_state.ias)
        fork_ia(it)->is_fork_locked = pthread_mutex_timedlock(&fork_ia(it)->lock, &until) == 0;
}

static void prov_fork_parent(void)
{
    dm_list_for_each (it, &dm_prov_state.ias)
        if (fork_ia(it)->is_fork_locked)
            pthread_mutex_unlock(&fork_ia(it)->lock);
    pthread_mutex_unlock(&dm_prov_state.fork_lock);
}

static void prov_fork_child(void)
{
    while (!dm_list_is_empty(&dm_prov_state.ias)) {
        struct dm_pia *ia = fork_ia(dm_prov_state.ias.next);

        dm_list_del(&ia->fork_link); /* the child's own children have nothing to give up */
        if (!ia->is_fork_locked)
            continue;
        if (ia->ops->ia.forked != NULL)
            ia->ops->ia.forked(ia);
        pthread_mutex_unlock(&ia->lock);
    }
    pthread_mutex_unlock(&dm_prov_state.fork_lock);
}

bool dm_prov_fork_add(struct dm_pia *ia)
{
    bool is_ok = true;

    pthread_mutex_lock(&dm_prov_state.fork_lock);
    if (!dm_prov_state.is_fork_ready) {
        dm_list_init(&dm_prov_state.ias);
        is_ok = pthread_atfork(prov_fork_prepare, prov_fork_parent, prov_fork_child) == 0;
        dm_prov_state.is_fork_ready = is_ok;
    }
    if (is_ok)
        dm_list_add_tail(&dm_prov_state.ias, &ia->fork_link);
    pthread_mutex_unlock(&dm_prov_state.fork_lock);
    return is_ok;
}

void dm_prov_fork_del(struct dm_pia *ia)
{
    pthread_mutex_lock(&dm_prov_state.fork_lock);
    dm_list_del(&ia->fork_link);
    pthread_mutex_unlock(&dm_prov_state.fork_lock);
}
