/*
 * What a forked child has copies of: sockets of connections and listeners, and bound names.
 */
#include "providers/net/net.h"

#include <unistd.h>

#include "providers/net/conn.h"
#include "providers/net/listener.h"

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

void dm_net_forked(struct dm_pia *pia)
{
    const struct dm_net *net = (const struct dm_net *)pia;

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
