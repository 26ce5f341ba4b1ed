/*
 * What processes that want to connect say to each other: packets, and the lists that they change.
 */
#ifndef DM_MPI_PROCESS_HANDSHAKE_PKT_H
#define DM_MPI_PROCESS_HANDSHAKE_PKT_H

#include "mpi/core/core.h"
#include "util/list.h"

/* A port of this process. */
struct dm_handshake_port {
    struct dm_list link;
    struct dm_list requests; /* oldest first */
    uint64_t token;
    int n_users; /* accepts that look at it */
    bool is_closed;
};

/* Somebody waits at a port. */
struct dm_handshake_request {
    struct dm_list link;
    int proc;     /* a reference is held */
    uint32_t ctx; /* how to speak to it */
    uint32_t id;  /* its number there */
};

enum dm_handshake_word { DM_HANDSHAKE_NOTHING, DM_HANDSHAKE_YES, DM_HANDSHAKE_NO };

/* A packet about a bridge is awaited. */
struct dm_handshake_awaited {
    struct dm_list link;
    int proc;
    uint32_t id;
    uint32_t ctx; /* of the other one, from its answer */
    enum dm_handshake_word said;
};

/* Changed under the global lock, by packets, too. */
struct dm_handshake_lists {
    struct dm_list ports;
    struct dm_list connecting; /* struct dm_handshake_awaited: an answer */
    struct dm_list accepting;  /* struct dm_handshake_awaited: the end */
};

/* Register the handlers of packets. */
void dm_handshake_listen(void);
/* This process want to connect at the port with that token, and is spoken to by ctx. DM_ENOMEM. */
int dm_handshake_send_request(int proc, uint64_t token, uint32_t ctx, uint32_t id);
/* An answer to a request (DM_PKT_PORT_ANSWER), or the end of a wait for one (DM_PKT_PORT_END). */
void dm_handshake_reply(enum dm_pkt_type type, int proc, uint32_t ctx, uint32_t id,
                        enum dm_handshake_word word);
/* An open port of this process; NULL: there is none. */
struct dm_handshake_port *dm_handshake_find_port(uint64_t token);
struct dm_handshake_awaited *dm_handshake_find_awaited(struct dm_list *list, int proc, uint32_t id);
/* Out of the queue, with its reference. */
void dm_handshake_drop_request(struct dm_handshake_request *request);

#endif
