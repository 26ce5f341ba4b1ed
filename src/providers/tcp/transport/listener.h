/*
 * Ports that service points listen on, and their names on this host. ia->lock is held.
 */
#ifndef DM_PROVIDERS_TCP_TRANSPORT_LISTENER_H
#define DM_PROVIDERS_TCP_TRANSPORT_LISTENER_H

#include "providers/tcp/conn.h"

/* Of the names that show which qualifiers are taken on this host. */
#define DM_TCP_NAME "datum-tcp"

/* A port of ours; service points share it. */
struct dm_tcp_listener {
    enum dm_tcp_source source;
    int fd;
    struct dm_list link;
    uint16_t port;
    int n_refs;
    uint64_t close_at;  /* when there are none */
    uint64_t resume_at; /* 0: not paused, for want of descriptors */
    struct dm_tcp_ia *ia;
};

/* Where a service point listens: the port, and the name by which other processes of
 * this host see that the qualifier is taken. */
struct dm_tcp_sp_port {
    struct dm_tcp_listener *listener;
    int name_fd;
};

/* Listen on a port (0: any); 0 or an errno. */
int dm_tcp_listener_new(struct dm_tcp_ia *ia, uint16_t port, struct dm_tcp_listener **listener_p);
/* Drop a reference; it is closed a while after the last. */
void dm_tcp_listener_drop(struct dm_tcp_listener *listener);
/* Somebody has connected, or more. */
void dm_tcp_listener_accept(struct dm_tcp_listener *listener);
/* Close ports that nobody has used for a while; when to look again. */
uint64_t dm_tcp_listeners_timers(struct dm_tcp_ia *ia, uint64_t now);
/* The name and a port for a qualifier; listener NULL: one of its sequence. */
DAT_RETURN dm_tcp_sp_port_new(struct dm_tcp_ia *ia, DAT_CONN_QUAL qual,
                              struct dm_tcp_listener *listener, struct dm_tcp_sp_port **port_p);
void dm_tcp_sp_port_free(struct dm_tcp_sp_port *port);

#endif
