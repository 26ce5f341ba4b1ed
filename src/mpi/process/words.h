/*
 * What processes that want to meet say to each other: packets, and the lists that they change.
 */
#ifndef DM_MPI_PROCESS_WORDS_H
#define DM_MPI_PROCESS_WORDS_H

#include "mpi/core/core.h"
#include "util/list.h"

/* A port of this process. */
struct dm_meet_port {
    struct dm_list link;
    struct dm_list hellos; /* oldest first */
    uint64_t token;
    int n_users; /* accepts that look at it */
    bool is_closed;
};

/* Somebody waits at a port. */
struct dm_meet_hello {
    struct dm_list link;
    int proc;     /* a reference is held */
    uint32_t ctx; /* how to speak to it */
    uint32_t id;  /* its number there */
};

enum dm_meet_word { DM_MEET_NOTHING, DM_MEET_YES, DM_MEET_NO };

/* A packet about a meeting is awaited. */
struct dm_meet_awaited {
    struct dm_list link;
    int proc;
    uint32_t id;
    uint32_t ctx; /* of the other one, from its answer */
    enum dm_meet_word said;
};

/* Changed under the global lock, by packets, too. */
struct dm_meet_lists {
    struct dm_list ports;
    struct dm_list connecting; /* struct dm_meet_awaited: an answer */
    struct dm_list accepting;  /* struct dm_meet_awaited: the end */
};
extern struct dm_meet_lists dm_meet_lists;

/* Register the handlers of packets. */
void dm_meet_listen(void);
/* This process wants to meet at the port with that token, and is spoken to by ctx. DM_ENOMEM. */
int dm_meet_say_hello(int proc, uint64_t token, uint32_t ctx, uint32_t id);
/* An answer to a hello (DM_PKT_PORT_ANSWER), or the end of a wait for one (DM_PKT_PORT_END). */
void dm_meet_reply(enum dm_pkt_type type, int proc, uint32_t ctx, uint32_t id,
                   enum dm_meet_word word);
/* An open port of this process; NULL: there is none. */
struct dm_meet_port *dm_meet_find_port(uint64_t token);
struct dm_meet_awaited *dm_meet_find_awaited(struct dm_list *list, int proc, uint32_t id);
/* Out of the queue, with its reference. */
void dm_meet_drop_hello(struct dm_meet_hello *hello);

#endif
