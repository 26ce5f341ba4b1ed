/*
 * Ports.
 */
#include "dapl_adapt/conn/port.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "dapl_adapt/conn/proc.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/ops.h"
#include "dapl_adapt/public/proc.h"
#include "util/err.h"
#include "util/list.h"

static struct dm_port *port_find(const struct dm_adapt *adapt, uint64_t token)
{
    const struct dm_list *head = &adapt->procs.ports;
    struct dm_port *port;

    for (const struct dm_list *at = head->next; at != head; at = at->next) {
        port = dm_container_of(at, struct dm_port, node);
        if (port->token == token)
            return port;
    }
    return NULL;
}

bool dm_port_is_open(const struct dm_adapt *adapt, uint64_t token)
{
    return port_find(adapt, token) != NULL;
}

int dm_adapt_port_open(struct dm_adapt *adapt, uint64_t *token_p)
{
    struct dm_port *port;
    int err = adapt->ops->serve(adapt);

    if (err != DM_OK)
        return err;
    port = calloc(1, sizeof(*port));
    if (port == NULL)
        return DM_FAIL(DM_ENOMEM, "a port");
    if (getrandom(&port->token, sizeof(port->token), 0) != (ssize_t)sizeof(port->token)) {
        free(port);
        return DM_FAIL(DM_ESYS, "getrandom: %s", strerror(errno));
    }
    *token_p = port->token;
    pthread_mutex_lock(&adapt->shared.lock);
    dm_list_add_tail(&adapt->procs.ports, &port->node);
    pthread_mutex_unlock(&adapt->shared.lock);
    return DM_OK;
}

void dm_adapt_port_close(struct dm_adapt *adapt, uint64_t token)
{
    struct dm_port *port;
    struct dm_proc *proc;

    pthread_mutex_lock(&adapt->shared.lock);
    port = port_find(adapt, token);
    if (port != NULL)
        dm_list_del(&port->node);
    for (int i = 0; i < adapt->procs.n && port != NULL; i++) {
        proc = adapt->procs.at[i];
        if (proc->state == DM_PROC_GUEST && proc->token == token)
            dm_procs_leave(adapt, proc);
    }
    pthread_mutex_unlock(&adapt->shared.lock);
    free(port);
    adapt->ops->part_hurry(adapt);
}

void dm_adapt_proc_set_token(struct dm_adapt *adapt, int proc, uint64_t token)
{
    struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign == NULL)
        return;
    pthread_mutex_lock(&adapt->shared.lock);
    foreign->token = token;
    foreign->has_token = true;
    pthread_mutex_unlock(&adapt->shared.lock);
}
