/*
 * What a provider over a network supplies beside transport.h. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_NET_OPS_H
#define DM_PROVIDERS_NET_OPS_H

#include "providers/common/common.h"
#include "providers/net/handshake.h"

struct dm_net;
struct dm_net_conn;
struct dm_net_ep;
struct dm_net_listener;
struct dm_net_region;

/* Is something over for a region? */
typedef bool dm_net_is_over(struct dm_net *net, const struct dm_pz *pz, uint32_t key);

/* The last words on a connection: an orderly end, an error, or an answer that has been given. */
enum dm_net_last { DM_NET_LAST_DISCONNECT, DM_NET_LAST_TERMINATE, DM_NET_LAST_ANSWER };

struct dm_net_ops {
    const char *name; /* in names on this host that show which qualifiers are taken */
    /* Of the provider's structs, the one of net first. */
    size_t conn_size, listener_size, op_size;
    size_t seg_size; /* of what an op of many segments has behind them, for each */

    /* ---- driving ---- */

    /* Drive the network once. is_thorough: look at connections and clocks, too. The number of
     * things that came. */
    int (*round)(struct dm_net *net, bool is_thorough);
    /* May somebody sleep on the descriptors? */
    bool (*can_sleep)(struct dm_net *net);

    /* ---- memory ---- */

    /* Optional. Show it to the transport, if peers may use it: set region->mr. False: it cannot. */
    bool (*region_open)(struct dm_net *net, struct dm_net_region *region);
    /* Where is_reported is ever set: peers know a region that is hidden now. */
    void (*region_hidden)(struct dm_net *net, const struct dm_net_region *region);
    /* Where mr is ever set: end it. */
    void (*region_close)(struct dm_net_region *region);
    /* Is no request under way in a hidden region, and no peer's in a hidden window? */
    dm_net_is_over *region_is_left;
    dm_net_is_over *window_is_left;

    /* ---- endpoints ---- */

    /* Optional. It is new. */
    void (*ep_init)(struct dm_net_ep *ep);
    /* It has waited (dm_net_ep_wait): go on with it. */
    void (*ep_push)(struct dm_net_ep *ep);
    /* Its connection is closed: complete requests and receives as flushed. */
    void (*ep_flush)(struct dm_net_ep *ep);
    /* A request finds no slot: give back those whose requests are over. */
    void (*ep_reclaim)(struct dm_net_ep *ep);

    /* ---- connections ---- */

    /* It is new, without a socket. False: out of memory. */
    bool (*conn_init)(struct dm_net_conn *conn);
    void (*conn_free)(struct dm_net_conn *conn);
    /* Connect to active.to, with a new socket: under way (0), or an errno. ECONNREFUSED: nobody
     * listens at this port. */
    int (*connect)(struct dm_net_conn *conn);
    /* Close the socket, if there is one. */
    void (*conn_close)(struct dm_net_conn *conn);
    /* Send a message of the handshake; status and qual as in struct dm_net_greeting. */
    bool (*handshake)(struct dm_net_conn *conn, enum dm_net_handshake_type type, uint32_t status,
                      DAT_CONN_QUAL qual, const void *data, uint32_t len);
    /* It is up; and optional: it is not any more. */
    void (*conn_up)(struct dm_net_conn *conn);
    void (*conn_down)(struct dm_net_conn *conn);
    /* Send this, and have the peer close. */
    void (*conn_last)(struct dm_net_conn *conn, enum dm_net_last last);
    /* Optional. Its deadline has come: send again what has found no space. */
    void (*conn_retry)(struct dm_net_conn *conn);

    /* ---- listeners ---- */

    /* Listen on a port (0: any), set listener->port; 0 or an errno. */
    int (*listen)(struct dm_net_listener *listener, uint16_t port);
    void (*unlisten)(struct dm_net_listener *listener);
    /* Optional. Do what is due; when to look again. */
    uint64_t (*listener_timer)(struct dm_net_listener *listener, uint64_t now);
};

/* The provider's, in its init.c. */
const struct dm_net_ops *dm_net_ops_get(void);

#endif
