/*
 * Notification objects: one flag, set by the first EVD that notifies and
 * cleared by the one waiter it wakes, or by the agent.
 */
#include "providers/common/evd.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "providers/common/futex.h"

#define BAD_CNO DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)

static struct dm_cno *get(DAT_CNO_HANDLE handle)
{
    return dm_obj_get(handle, DAT_HANDLE_TYPE_CNO);
}

static void set_agent(struct dm_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
    cno->agent = agent;
    atomic_store(&cno->ring->has_agent, agent.proxy_agent_func != NULL);
    if (agent.proxy_agent_func != NULL && atomic_load(&cno->ring->evd) != 0)
        cno->obj.ia->ops->kick(cno->obj.ia);
}

DAT_RETURN dm_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
                         DAT_CNO_HANDLE *cno_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_cno *cno;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (cno_p == NULL)
        return DM_DAT_ARG(3);
    pthread_mutex_lock(&ia->lock);
    cno = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_CNO, sizeof(*cno));
    if (cno != NULL) {
        cno->ring = ia->ops->mem_alloc(ia, sizeof(*cno->ring));
        if (cno->ring == NULL) {
            dm_obj_free(cno);
            cno = NULL;
        } else {
            set_agent(cno, agent);
        }
    }
    pthread_mutex_unlock(&ia->lock);
    if (cno == NULL)
        return DM_DAT_NOMEM;
    *cno_p = (DAT_CNO_HANDLE)cno;
    return DAT_SUCCESS;
}

DAT_RETURN dm_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
    struct dm_cno *cno = get(handle);

    if (cno == NULL)
        return BAD_CNO;
    pthread_mutex_lock(&cno->obj.ia->lock);
    set_agent(cno, agent);
    pthread_mutex_unlock(&cno->obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
    struct dm_cno *cno = get(handle);

    (void)mask;
    if (cno == NULL)
        return BAD_CNO;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(cno->obj.ia);
    param->proxy_type =
        cno->agent.proxy_agent_func != NULL ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE;
    param->proxy.agent = cno->agent;
    return DAT_SUCCESS;
}

void dm_cno_destroy(struct dm_cno *cno)
{
    atomic_store(&cno->is_dead, true);
    while (atomic_load(&cno->n_waiters) > 0) {
        atomic_fetch_add(&cno->ring->word, 1);
        dm_futex_wake(&cno->ring->word, INT32_MAX);
        sched_yield();
    }
    cno->obj.ia->ops->mem_free(cno->obj.ia, cno->ring);
    dm_obj_free(cno);
}

DAT_RETURN dm_cno_free(DAT_CNO_HANDLE handle)
{
    struct dm_cno *cno = get(handle);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (cno == NULL)
        return BAD_CNO;
    ia = cno->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (cno->n_refs > 0 || atomic_load(&cno->n_waiters) > 0)
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    else
        dm_cno_destroy(cno);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_p)
{
    struct dm_cno *cno = get(handle);
    struct dm_cno_ring *ring;
    uint64_t deadline;
    uint64_t evd = 0;
    int err = 0;

    if (cno == NULL)
        return BAD_CNO;
    if (evd_p == NULL)
        return DM_DAT_ARG(3);
    *evd_p = DAT_HANDLE_NULL;
    deadline = timeout != 0 ? dm_futex_deadline(timeout) : 0;
    ring = cno->ring;
    atomic_fetch_add(&cno->n_waiters, 1);
    while (!atomic_load(&cno->is_dead)) {
        uint32_t word = atomic_load(&ring->word);

        atomic_fetch_add(&ring->sleepers, 1);
        evd = atomic_exchange(&ring->evd, 0);
        if (evd == 0 && err == 0 && timeout != 0)
            err = dm_futex_wait(&ring->word, word, deadline);
        atomic_fetch_sub(&ring->sleepers, 1);
        if (evd == 0)
            evd = atomic_exchange(&ring->evd, 0);
        if (evd != 0 || err != 0 || timeout == 0)
            break;
    }
    atomic_fetch_sub(&cno->n_waiters, 1);
    if (evd != 0) {
        memcpy(evd_p, &evd, sizeof(evd));
        return DAT_SUCCESS;
    }
    if (err == EINTR)
        return DM_DAT(DAT_INTERRUPTED_CALL, 0);
    if (err == 0 && timeout != 0)
        return DM_DAT(DAT_ABORT, 0);
    return DM_DAT_BARE(DAT_QUEUE_EMPTY);
}

/* Take one triggered CNO that has an agent; the agent is disarmed by it. */
static bool next_agent(struct dm_pia *ia, DAT_OS_WAIT_PROXY_AGENT *agent_p, uint64_t *evd_p)
{
    bool is_found = false;

    pthread_mutex_lock(&ia->lock);
    dm_list_for_each (it, &ia->objs[DAT_HANDLE_TYPE_CNO]) {
        struct dm_cno *cno = dm_container_of(it, struct dm_cno, obj.link);

        if (cno->agent.proxy_agent_func == NULL)
            continue;
        *evd_p = atomic_exchange(&cno->ring->evd, 0);
        if (*evd_p == 0)
            continue;
        *agent_p = cno->agent;
        cno->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
        atomic_store(&cno->ring->has_agent, 0);
        is_found = true;
        break;
    }
    pthread_mutex_unlock(&ia->lock);
    return is_found;
}

void dm_cno_run_agents(struct dm_pia *ia)
{
    DAT_OS_WAIT_PROXY_AGENT agent;
    uint64_t evd;

    while (next_agent(ia, &agent, &evd))
        agent.proxy_agent_func(agent.instance_data, (DAT_EVD_HANDLE)(uintptr_t)evd);
}
