/*
 * Messages of the handshake: on a new connection, until both sides know of each other.
 *
 * The active side sends REQUEST, and gets ACCEPT, REJECT, HANDOFF (ask there) or NOBODY (nobody
 * listens for the qualifier at this port); it confirms ACCEPT by READY.
 */
#ifndef DM_PROVIDERS_NET_HANDSHAKE_H
#define DM_PROVIDERS_NET_HANDSHAKE_H

enum dm_net_handshake_type {
    DM_HANDSHAKE_REQUEST,
    DM_HANDSHAKE_ACCEPT,
    DM_HANDSHAKE_REJECT, /* status 1: by the consumer */
    DM_HANDSHAKE_READY,
    DM_HANDSHAKE_HANDOFF,
    DM_HANDSHAKE_NOBODY,
    DM_HANDSHAKE_N
};

#endif
