/*
 * Communicators, as every layer sees them; creating them is the business of src/mpi/comm.
 */
#ifndef DM_MPI_CORE_COMM_OBJ_H
#define DM_MPI_CORE_COMM_OBJ_H

#include "mpi/core/ctx.h"
#include "mpi/core/errhandler.h"
#include "mpi/core/group.h"

struct dm_attr;  /* attr.h */
struct dm_bsend; /* mpi/pt2pt/bsend.c */
struct dm_info;  /* info.h */
struct dm_topo;  /* topo_obj.h */

/* Context ids come in pairs: point-to-point, and the next for collectives. */
struct dm_comm {
    struct dm_obj obj;
    uint32_t ctx;      /* what the others put in messages to us; even */
    uint32_t ctx_send; /* what we put in messages to them; differs on intercommunicators only */
    int rank;
    int size; /* of the local group */
    struct dm_group *group;
    struct dm_group *remote; /* intercommunicator: the other group; else NULL */
    struct dm_comm *local;   /* intercommunicator: for collectives inside the local group */
    struct dm_errhandler *eh;
    uint32_t ctx_page;     /* where its children's ids are looked for; all ranks know the same */
    uint32_t coll_seq;     /* tags of collectives: all ranks count alike */
    struct dm_attr *attrs; /* cached attributes */
    struct dm_topo *topo;  /* topology (a reference is held), or NULL */
    struct dm_info *info;
    struct dm_bsend *bsend; /* MPI_Comm_attach_buffer, or NULL */
    void *coll;             /* private to src/mpi/coll */
    uint32_t n_compared;    /* private to src/usage: collective calls so far */
    uint32_t n_coll;        /* of src/mpi/coll: blocking collectives until they share memory */
    unsigned int layout;    /* likewise: what select.c knows of where it is; 0: not known yet */
    bool is_freed;          /* MPI_Comm_free was called; waits for pending operations */
    bool is_parting; /* MPI_Comm_disconnect was called, by all: the loss of a process is none */
    char name[MPI_MAX_OBJECT_NAME];
};
/* The tag of a collective by its number (coll_seq). */
static inline int dm_coll_tag(uint32_t seq)
{
    return (int)(seq & 0x3fffffffu);
}

/* Process number of a rank of the group that messages go to (the remote one if there is one). */
static inline int dm_comm_proc(const struct dm_comm *c, int rank)
{
    return dm_group_proc(c->remote != NULL ? c->remote : c->group, rank);
}
static inline int dm_comm_peer_size(const struct dm_comm *c)
{
    return c->remote != NULL ? c->remote->size : c->size;
}
/*
 * A new intracommunicator over group (a reference is taken) with the agreed context ids; has a
 * handle; inherits eh. Called by src/mpi/comm after ids have been agreed, or with DM_CTX_NONE,
 * which is replaced later.
 */
int dm_comm_new(struct dm_group *group, uint32_t ctx, struct dm_errhandler *eh,
                struct dm_comm **comm_p);
/*
 * For agreements among the members of a group where no communicator is at hand: dm_world.comm_hidden,
 * or, if the group has processes of several jobs, a communicator of just these. It has no handle,
 * and tags tell its agreements from others. The caller drops its reference. DM_ENOMEM.
 */
int dm_comm_hidden_get(struct dm_group *group, struct dm_comm **comm_p);
static inline void dm_comm_ref(struct dm_comm *comm)
{
    comm->obj.refs++;
}
/* The last reference is gone: free it, and give the context id back by dm_ctx_put. */
void dm_comm_destroy(struct dm_comm *comm);
/* Drop a reference; may be NULL. */
static inline void dm_comm_unref(struct dm_comm *comm)
{
    if (comm != NULL && --comm->obj.refs <= 0)
        dm_comm_destroy(comm);
}
/* Make it an intercommunicator; takes a reference. */
void dm_comm_set_remote(struct dm_comm *comm, struct dm_group *remote);
/* Its error handler counts from now on (1), or not any more (-1): see dm_world.count_fatal. */
void dm_comm_count_fatal(const struct dm_comm *comm, int n);
/* Bodies of the MPI functions (MPI-4.0 section 7.8). */
int dm_comm_set_name(struct dm_comm *comm, const char *name);
int dm_comm_get_name(struct dm_comm *comm, char *name, int *len);

#endif
