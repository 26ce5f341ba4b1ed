/*
 * Messages that came before their receives, and the memory of their data.
 */
#ifndef DM_MPI_PT2PT_UNEXP_H
#define DM_MPI_PT2PT_UNEXP_H

#include "mpi/pt2pt/req.h"
#include "util/list.h"

/* A message without a receive. */
struct dm_p2p_unexp {
    struct dm_mnode nodes[DM_MATCH_KINDS]; /* the first has its key */
    struct dm_list arriving;               /* in dm_p2p.arriving while data are coming */
    int proc;
    uint32_t id;      /* of the sender's, or 0 */
    uint8_t type;     /* packet type */
    bool is_complete; /* all data are here */
    bool is_broken;   /* and never will be */
    uint8_t space;    /* of data elsewhere: class of size, DM_P2P_N_BUFFERS: of their own */
    size_t len;
    uint64_t sreq;
    struct dm_p2p_req *claimed; /* matched while data were coming */
    char *data;                 /* eager data, or the first of a rendezvous */
    union {
        struct dm_p2p_rts rts; /* of a rendezvous, whose first data are elsewhere */
        char small[64];
    };
};

/* Memory for the data of unexpected messages that is free, by size. */
#define DM_P2P_BUFFER_MIN  ((size_t)512)
#define DM_P2P_N_BUFFERS   8                 /* classes, each twice as long as the one before */
#define DM_P2P_BUFFERS_MAX ((size_t)2 << 20) /* bytes that are kept */
struct dm_p2p_buffer {
    struct dm_p2p_buffer *next;
};
struct dm_p2p_buffers {
    struct dm_p2p_buffer *free[DM_P2P_N_BUFFERS];
    size_t n_bytes;
};

/* A message object and its end; NULL ends the job. */
struct dm_p2p_unexp *dm_p2p_unexp_new(int proc, const struct dm_pkt_eager *h, size_t len);
void dm_p2p_unexp_free(struct dm_p2p_unexp *u);
/* Let u->data have space for len bytes, once; false: no memory. Freed with the object. */
bool dm_p2p_unexp_buffer(struct dm_p2p_unexp *u, size_t len);
/* Free what is kept for further ones. */
void dm_p2p_buffers_free(void);

#endif
