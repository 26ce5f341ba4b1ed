/*
 * A forked child is no peer of anybody: it closes its copies of the sockets, so
 * that the connections end with the process that has made them.
 */
#include "providers/net/net_state.h"

#include <unistd.h>

#include "providers/net/conn.h"
#include "providers/net/listener.h"

static void fork_prepare(void)
{
    pthread_mutex_lock(&dm_net_state.lock);
    dm_list_for_each (it, &dm_net_state.nets)
        pthread_mutex_lock(&dm_container_of(it, struct dm_net, link)->pia.lock);
}

static void fork_unlock(void)
{
    dm_list_for_each (it, &dm_net_state.nets)
        pthread_mutex_unlock(&dm_container_of(it, struct dm_net, link)->pia.lock);
    pthread_mutex_unlock(&dm_net_state.lock);
}

static void conn_close_sock(const struct dm_list *at)
{
    const struct dm_net_conn *conn = dm_container_of(at, struct dm_net_conn, link);

    if (conn->sock >= 0)
        close(conn->sock);
}

static void sp_close_name(const struct dm_list *at)
{
    const struct dm_net_sp_port *port = dm_container_of(at, struct dm_sp, obj.link)->listener;

    close(port->name_fd);
}

static void net_close_socks(const struct dm_net *net)
{
    dm_list_for_each (it, &net->conns)
        conn_close_sock(it);
    dm_list_for_each (it, &net->ending)
        conn_close_sock(it);
    dm_list_for_each (it, &net->listeners) {
        const struct dm_net_listener *listener = dm_container_of(it, struct dm_net_listener, link);

        if (listener->sock >= 0)
            close(listener->sock);
    }
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_PSP])
        sp_close_name(it);
    dm_list_for_each (it, &net->pia.objs[DAT_HANDLE_TYPE_RSP])
        sp_close_name(it);
}

static void fork_child(void)
{
    dm_list_for_each (it, &dm_net_state.nets)
        net_close_socks(dm_container_of(it, struct dm_net, link));
    fork_unlock();
}

bool dm_net_fork_add(struct dm_net *net)
{
    bool is_ok = true;

    pthread_mutex_lock(&dm_net_state.lock);
    if (!dm_net_state.is_ready) {
        dm_list_init(&dm_net_state.nets);
        is_ok = pthread_atfork(fork_prepare, fork_unlock, fork_child) == 0;
        dm_net_state.is_ready = is_ok;
    }
    if (is_ok)
        dm_list_add_tail(&dm_net_state.nets, &net->link);
    pthread_mutex_unlock(&dm_net_state.lock);
    return is_ok;
}

void dm_net_fork_del(struct dm_net *net)
{
    pthread_mutex_lock(&dm_net_state.lock);
    dm_list_del(&net->link);
    pthread_mutex_unlock(&dm_net_state.lock);
}
