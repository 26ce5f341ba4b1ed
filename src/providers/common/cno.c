/*
 * Notification objects: one flag, set by the first EVD that notifies and
 * cleared by the one waiter it wakes, or by the agent.
 *
 * An agent is called once; it is armed again by dat_cno_modify_agent(), which
 * it may call itself, as every other call but dat_ia_close(). A modified agent
 * may still be running when that call returns; dat_cno_free() waits for it,
 * unless the agent itself calls it.
 *
 * A CNO with a file descriptor: the descriptor is readable from the moment the
 * CNO triggers until dat_cno_trigger() or dat_cno_wait() has reported which EVD it
 * was (poll() shows a level). Nobody else may read it. Then the EVDs that feed
 * the CNO have to be drained, as the next notification comes with the next
 * event only. Closing it is up to dat_cno_free(). Like an agent, it is served
 * by the provider's thread: peers cannot write to it.
 */
#include "providers/common/provider.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/futex.h"

#define BAD_CNO DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)

static struct dm_cno *cno_get(DAT_CNO_HANDLE handle)
{
    return dm_obj_get(handle, DAT_HANDLE_TYPE_CNO);
}

static void cno_set_agent(struct dm_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
    bool has_agent = agent.proxy_agent_func != NULL || cno->fd >= 0;

    cno->agent = agent;
    atomic_store(&cno->ring->has_agent, has_agent);
    if (has_agent && atomic_load(&cno->ring->evd) != 0)
        cno->obj.ia->ops->ia.kick(cno->obj.ia);
}

static struct dm_cno *cno_create(struct dm_pia *ia, DAT_OS_WAIT_PROXY_AGENT agent, int fd)
{
    struct dm_cno *cno;

    pthread_mutex_lock(&ia->lock);
    cno = dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_CNO, sizeof(*cno));
    if (cno != NULL) {
        cno->ring = ia->ops->ia.mem_alloc(ia, sizeof(*cno->ring));
        if (cno->ring == NULL) {
            dm_obj_free(cno);
            cno = NULL;
        } else {
            cno->fd = fd;
            cno_set_agent(cno, agent);
        }
    }
    pthread_mutex_unlock(&ia->lock);
    return cno;
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
    cno = cno_create(ia, agent, -1);
    if (cno == NULL)
        return DM_DAT_NOMEM;
    *cno_p = (DAT_CNO_HANDLE)cno;
    return DAT_SUCCESS;
}

DAT_RETURN dm_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd_p, DAT_CNO_HANDLE *cno_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_cno *cno;
    int fd;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (fd_p == NULL)
        return DM_DAT_ARG(2);
    if (cno_p == NULL)
        return DM_DAT_ARG(3);
    fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return DM_DAT_NOMEM;
    cno = cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, fd);
    if (cno == NULL) {
        close(fd);
        return DM_DAT_NOMEM;
    }
    *fd_p = fd;
    *cno_p = (DAT_CNO_HANDLE)cno;
    return DAT_SUCCESS;
}

/* Whoever takes the trigger also makes the descriptor quiet. */
static uint64_t cno_take_trigger(struct dm_cno *cno)
{
    struct dm_pia *ia = cno->obj.ia;
    uint64_t count;
    uint64_t evd;

    if (cno->fd < 0)
        return atomic_exchange(&cno->ring->evd, 0);
    pthread_mutex_lock(&ia->lock);
    if (cno->is_signalled && read(cno->fd, &count, sizeof(count)) == sizeof(count))
        cno->is_signalled = false;
    evd = atomic_exchange(&cno->ring->evd, 0);
    pthread_mutex_unlock(&ia->lock);
    return evd;
}

DAT_RETURN dm_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *evd_p)
{
    struct dm_cno *cno = cno_get(handle);
    uint64_t evd;

    if (cno == NULL)
        return BAD_CNO;
    if (evd_p == NULL)
        return DM_DAT_ARG(2);
    evd = cno_take_trigger(cno);
    memcpy(evd_p, &evd, sizeof(evd));
    return evd != 0 ? DAT_SUCCESS : DM_DAT_BARE(DAT_QUEUE_EMPTY);
}

DAT_RETURN dm_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
    struct dm_cno *cno = cno_get(handle);

    if (cno == NULL)
        return BAD_CNO;
    if (cno->fd >= 0) /* its proxy is the descriptor */
        return DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    pthread_mutex_lock(&cno->obj.ia->lock);
    cno_set_agent(cno, agent);
    pthread_mutex_unlock(&cno->obj.ia->lock);
    return DAT_SUCCESS;
}

DAT_RETURN dm_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
    struct dm_cno *cno = cno_get(handle);

    (void)mask;
    if (cno == NULL)
        return BAD_CNO;
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(cno->obj.ia);
    pthread_mutex_lock(&cno->obj.ia->lock);
    param->proxy_type = DAT_PROXY_TYPE_NONE;
    if (cno->fd >= 0) {
        param->proxy_type = DAT_PROXY_TYPE_FD;
        param->proxy.fd = cno->fd;
    } else if (cno->agent.proxy_agent_func != NULL) {
        param->proxy_type = DAT_PROXY_TYPE_AGENT;
        param->proxy.agent = cno->agent;
    }
    pthread_mutex_unlock(&cno->obj.ia->lock);
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
    if (cno->fd >= 0)
        close(cno->fd);
    cno->obj.ia->ops->ia.mem_free(cno->obj.ia, cno->ring);
    dm_obj_free(cno);
}

/* A peer may have seen it a moment ago where it was to be triggered. */
static bool cno_is_left(struct dm_cno *cno)
{
    struct dm_pia *ia = cno->obj.ia;

    return ia->ops->ia.quiesce == NULL || ia->ops->ia.quiesce(ia);
}

/* Wait until no agent of it runs in another thread; ia->lock is held, and is
 * released meanwhile. False: somebody else has freed the CNO. */
static bool cno_wait_agent(struct dm_cno *cno)
{
    struct dm_pia *ia = cno->obj.ia;
    uint32_t gen = cno->obj.gen;

    while (cno->is_running && !pthread_equal(cno->runner, pthread_self())) {
        pthread_mutex_unlock(&ia->lock);
        sched_yield();
        pthread_mutex_lock(&ia->lock);
        if (cno->obj.magic != DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CNO) || cno->obj.gen != gen)
            return false;
    }
    return true;
}

DAT_RETURN dm_cno_free(DAT_CNO_HANDLE handle)
{
    struct dm_cno *cno = cno_get(handle);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (cno == NULL)
        return BAD_CNO;
    ia = cno->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (!cno_wait_agent(cno))
        ret = BAD_CNO;
    else if (cno->n_refs > 0 || atomic_load(&cno->n_waiters) > 0 || !cno_is_left(cno))
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
    else
        dm_cno_destroy(cno);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_p)
{
    struct dm_cno *cno = cno_get(handle);
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
        evd = cno_take_trigger(cno);
        if (evd == 0 && err == 0 && timeout != 0)
            err = dm_evd_sleep(cno->obj.ia, &ring->word, word, deadline);
        atomic_fetch_sub(&ring->sleepers, 1);
        if (evd == 0)
            evd = cno_take_trigger(cno);
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

/* Make the descriptor readable if the CNO has triggered. */
static void cno_signal_fd(struct dm_cno *cno)
{
    uint64_t one = 1;

    if (atomic_load(&cno->ring->evd) != 0 && !cno->is_signalled)
        cno->is_signalled = write(cno->fd, &one, sizeof(one)) == sizeof(one);
}

/* Take one triggered CNO that has an agent; the agent is disarmed by it. */
static struct dm_cno *cno_next_agent(struct dm_pia *ia, DAT_OS_WAIT_PROXY_AGENT *agent_p,
                                     uint64_t *evd_p)
{
    struct dm_cno *found = NULL;

    pthread_mutex_lock(&ia->lock);
    dm_list_for_each (it, &ia->objs[DAT_HANDLE_TYPE_CNO]) {
        struct dm_cno *cno = dm_container_of(it, struct dm_cno, obj.link);

        if (cno->fd >= 0)
            cno_signal_fd(cno);
        if (cno->agent.proxy_agent_func == NULL)
            continue;
        *evd_p = atomic_exchange(&cno->ring->evd, 0);
        if (*evd_p == 0)
            continue;
        *agent_p = cno->agent;
        cno->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
        atomic_store(&cno->ring->has_agent, 0);
        cno->is_running = true;
        cno->runner = pthread_self();
        found = cno;
        break;
    }
    pthread_mutex_unlock(&ia->lock);
    return found;
}

/* The agent has returned; it may have freed the CNO. */
static void cno_agent_done(struct dm_pia *ia, struct dm_cno *cno, uint32_t gen)
{
    pthread_mutex_lock(&ia->lock);
    if (cno->obj.magic == DM_OBJ_MAGIC(DAT_HANDLE_TYPE_CNO) && cno->obj.gen == gen)
        cno->is_running = false;
    pthread_mutex_unlock(&ia->lock);
}

void dm_cno_run_agents(struct dm_pia *ia)
{
    DAT_OS_WAIT_PROXY_AGENT agent;
    struct dm_cno *cno;
    uint64_t evd;

    while ((cno = cno_next_agent(ia, &agent, &evd)) != NULL) {
        uint32_t gen = cno->obj.gen;

        agent.proxy_agent_func(agent.instance_data, (DAT_EVD_HANDLE)(uintptr_t)evd);
        cno_agent_done(ia, cno, gen);
    }
}
