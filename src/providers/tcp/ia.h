/*
 * The DAT provider over TCP sockets: an adapter instance of one process.
 *
 * RDMA in the manner of iWARP, by processors: a frame says where its data belong, and they go from
 * the socket to there. The sockets do not block. Who drives the instance (net.h) reads what has
 * come, carries it out and sends what waits.
 *
 * Locks: net.pia.lock guards everything. What arrives is handled with the lock held; there a
 * connection must not be freed: what ends it calls dm_net_conn_fail(), and the rest is done after
 * the round.
 *
 * ia_params: those of net.h, and
 *   buffer=4m      bytes that the kernel buffers for a connection, each way; else it decides
 */
#ifndef DM_PROVIDERS_TCP_IA_H
#define DM_PROVIDERS_TCP_IA_H

#include "providers/net/net.h"
#include "providers/tcp/ops.h"

struct dm_tcp_conn;

struct dm_tcp_ia {
    struct dm_net net;
    int epoll_fd;
    uint64_t buffer;         /* of a socket; 0: what the kernel gives */
    struct dm_list blocked;  /* connections whose socket was full: link_blocked */
    struct dm_list held;     /* those that hold requests back until the next round: link_held */
    uint32_t round;          /* number of the next round, */
    bool was_idle;           /* the last one brought nothing, and no receive was posted since, */
    uint32_t read_round;     /* and of the one in which the last read was over: */
    bool is_read_over;       /* nothing short has been posted since */
    struct dm_list late;     /* those that may have an acknowledgement to send: link_late */
    struct dm_tcp_conn *hot; /* up; data came from it last; NULL: not known */
    uint32_t n_calm;         /* reads of it since data came from another */
    uint32_t n_rounds;
    uint32_t n_up;        /* connections */
    struct dm_list pipes; /* that are idle; n_pipes in all */
    uint32_t n_pipes;
    bool is_splice_off; /* the system refuses pipes */
    char *stage;        /* where headers and short data are received */
    char *sink;         /* where data go that nobody wants */
};

#endif
