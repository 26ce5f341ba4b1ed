/*
 * Ports that service points listen on, and their names on this host. ia->lock is held.
 */
#ifndef DM_PROVIDERS_NET_LISTENER_H
#define DM_PROVIDERS_NET_LISTENER_H

#include "providers/net/net.h"

/* A port of ours; service points share it. First member of a provider's. */
struct dm_net_listener {
    struct dm_list link;
    struct dm_net *net;
    int sock; /* -1: not known */
    uint16_t port;
    int n_refs;
    uint64_t close_at; /* when there are none */
};

/* Where a service point listens: the port, and the name by which other processes of
 * this host see that the qualifier is taken. */
struct dm_net_sp_port {
    struct dm_net_listener *listener;
    int name_fd;
};

/* Listen on a port (0: any); 0 or an errno. */
int dm_net_listener_new(struct dm_net *net, uint16_t port, struct dm_net_listener **listener_p);
/* Drop a reference; it is closed a while after the last. */
void dm_net_listener_drop(struct dm_net_listener *listener);
/* Close ports that nobody has used for a while; when to look again. */
uint64_t dm_net_listeners_timers(struct dm_net *net, uint64_t now);
/* The name and a port for a qualifier; listener NULL: one of its sequence. */
DAT_RETURN dm_net_sp_port_new(struct dm_net *net, DAT_CONN_QUAL qual,
                              struct dm_net_listener *listener, struct dm_net_sp_port **port_p);
void dm_net_sp_port_free(struct dm_net_sp_port *port);

#endif
