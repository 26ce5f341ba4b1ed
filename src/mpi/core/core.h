/*
 * The objects that every part of the MPI layer needs: handles, the world,
 * groups, communicators, requests, error handlers, info.
 *
 * Invariants: an object's first member is struct dm_obj; an MPI handle maps to it
 * and back (handle.c is the only place that knows how). Objects are reference counted; freeing a
 * handle drops the user's reference, pending operations hold their own. Everything
 * here is used inside the thread gate.
 */
#ifndef DM_MPI_CORE_CORE_H
#define DM_MPI_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel/channel.h"
#include "mpi.h"
#include "util/err.h"
#include "util/list.h"
#include "util/port.h"

struct dm_type; /* mpi/datatype/datatype.h */
struct dm_op;   /* mpi/op/op.h */
struct dm_win;  /* onesided/onesided.h */

/* ---- handles ---- */

/* MPICH's object kinds: bits 26-29 of a handle. */
enum dm_kind {
    DM_KIND_COMM = 1,
    DM_KIND_GROUP = 2,
    DM_KIND_TYPE = 3,
    DM_KIND_FILE = 4,
    DM_KIND_ERRHANDLER = 5,
    DM_KIND_OP = 6,
    DM_KIND_INFO = 7,
    DM_KIND_WIN = 8,
    DM_KIND_KEYVAL = 9,
    DM_KIND_ATTR = 10,
    DM_KIND_REQUEST = 11,
    DM_KIND_SESSION = 14,
    DM_KIND_N = 16
};

struct dm_obj {
    int handle; /* as the program sees it; 0 while it has none */
    int refs;
};

/*
 * The object of a handle, NULL when it is null, of another kind, or not in use. Predefined
 * objects (MPI_COMM_WORLD, MPI_INT, MPI_SUM, ...) resolve like any other.
 */
static inline void *dm_handle_get(enum dm_kind kind, int handle);
/* Give obj a new handle (stored in obj->handle); refs becomes 1 if it was 0. DM_ENOMEM. */
int dm_handle_new(enum dm_kind kind, struct dm_obj *obj);
/* Bind a predefined handle value to an object (start-up only). */
int dm_handle_bind(enum dm_kind kind, int handle, struct dm_obj *obj);
/*
 * The handle becomes invalid; the object is not freed. Without effect on predefined handles
 * and on an object that has none.
 */
void dm_handle_drop(enum dm_kind kind, struct dm_obj *obj);

/* ---- the world ---- */

/* What one process knows; the only global of the MPI layer (world_state.c). */
struct dm_world {
    struct dm_chan *chan;
    struct dm_comm *comm_world;
    struct dm_comm *comm_self;
    struct dm_comm *comm_hidden; /* like the world, for agreements among groups; has no handle */
    int rank;                    /* process number in the job */
    int size;
    int state; /* enum dm_world_state */
    int thread_level;
    int appnum;        /* MPI_APPNUM, -1 when the launcher does not say */
    int universe_size; /* MPI_UNIVERSE_SIZE, likewise */
    const char *(*host_of)(void *arg, int proc);
    void *host_arg;
    void (*abort)(void *arg, int code, const char *text); /* ends the job, does not return */
    void *abort_arg;
};
/* Idle: up, but neither the world model nor a session is there to use it. */
enum dm_world_state { DM_WORLD_BEFORE, DM_WORLD_UP, DM_WORLD_IDLE, DM_WORLD_DONE };
extern struct dm_world dm_world;

/*
 * A body whose MPI function names no communicator or window (MPI_Wait, ...) failed on behalf of
 * this one: its error handler is the one to call. Reset by the API layer.
 */
void dm_core_blame(struct dm_comm *comm, struct dm_win *win);
void dm_core_blamed(struct dm_comm **comm_p, struct dm_win **win_p);
/*
 * fn runs when a communicator loses its last reference, before its memory goes: for layers that keep
 * something in it (coll, topo). A few may register, at start.
 */
void dm_core_on_comm_free(void (*fn)(struct dm_comm *comm));

/* Create what may be used at any time: predefined error handlers and MPI_INFO_ENV. */
int dm_core_early(void);
/* Create the predefined objects of core (world and self communicators, groups, error handlers). */
int dm_core_start(void);
void dm_core_stop(void);

/* ---- groups ---- */

/* An ordered set of processes. Immutable once made. */
struct dm_group {
    struct dm_obj obj;
    int size;
    int rank;   /* mine, or MPI_UNDEFINED */
    int *procs; /* process number of each rank; NULL: the identity */
};

static inline int dm_group_proc(const struct dm_group *g, int rank)
{
    return g->procs == NULL ? rank : g->procs[rank];
}
/* A new group holding a copy of procs (size may be 0); one reference, no handle yet. */
int dm_group_new(int size, const int *procs, struct dm_group **group_p);
void dm_group_ref(struct dm_group *group);
void dm_group_unref(struct dm_group *group);
/* Rank of a process in a group, or MPI_UNDEFINED. */
int dm_group_rank_of(const struct dm_group *group, int proc);

/* ---- error handlers ---- */

enum dm_errhandler_kind { DM_EH_FATAL, DM_EH_RETURN, DM_EH_ABORT, DM_EH_THROW, DM_EH_USER };
/* Calls a C++ handler: object is 0 for a communicator, 1 for a file, 2 for a window. */
typedef void(dm_errhandler_cxx)(int object, void *handle_p, int *code, void (*fn)(void));
struct dm_errhandler {
    struct dm_obj obj;
    enum dm_errhandler_kind kind;
    int object; /* enum dm_kind: DM_KIND_COMM, WIN, FILE, SESSION: what a user handler takes */
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } fn;
    dm_errhandler_cxx *cxx; /* fn is a function of C++ for this to call; NULL: of C or Fortran */
};
void dm_errhandler_ref(struct dm_errhandler *eh);
void dm_errhandler_unref(struct dm_errhandler *eh);
enum { DM_EH_N_BUILTIN = DM_EH_USER };
extern struct dm_errhandler dm_errhandlers[DM_EH_N_BUILTIN]; /* predefined: by kind */
#define dm_errhandler_fatal  dm_errhandlers[DM_EH_FATAL]
#define dm_errhandler_return dm_errhandlers[DM_EH_RETURN]
#define dm_errhandler_abort  dm_errhandlers[DM_EH_ABORT]

/* Bodies of the MPI functions (MPI-4.0 section 9.3). */
int dm_comm_create_errhandler(MPI_Comm_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_win_create_errhandler(MPI_Win_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_file_create_errhandler(MPI_File_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_session_create_errhandler(MPI_Session_errhandler_function *fn, struct dm_errhandler **eh_p);
int dm_comm_set_errhandler(struct dm_comm *comm, struct dm_errhandler *eh);
int dm_comm_get_errhandler(struct dm_comm *comm, struct dm_errhandler **eh_p);
int dm_errhandler_free(struct dm_errhandler *eh);
/* Replace the handler in *slot_p, which holds a reference (communicators, windows). */
void dm_errhandler_set(struct dm_errhandler **slot_p, struct dm_errhandler *eh);

/* ---- communicators ---- */

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
    uint32_t coll_seq;     /* tags of collectives: all ranks count alike */
    struct dm_attr *attrs; /* cached attributes */
    struct dm_topo *topo;  /* topology (a reference is held), or NULL */
    struct dm_info *info;
    void *coll;          /* private to src/mpi/coll */
    uint32_t n_coll;     /* likewise: blocking collectives until they share memory */
    unsigned int layout; /* likewise: on how many nodes it is; 0: not known yet */
    bool is_freed;       /* MPI_Comm_free was called; waits for pending operations */
    char name[MPI_MAX_OBJECT_NAME];
};
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
 * handle; inherits eh. Called by src/mpi/comm after ids have been agreed, or with DM_CTX_NONE, which
 * is replaced later.
 */
#define DM_CTX_NONE UINT32_MAX
int dm_comm_new(struct dm_group *group, uint32_t ctx, struct dm_errhandler *eh,
                struct dm_comm **comm_p);
void dm_comm_ref(struct dm_comm *comm);
/* Drop a reference; the last one frees (and gives the context id back by dm_ctx_put). */
void dm_comm_unref(struct dm_comm *comm);
/* The mask of context ids of this process (bit set: taken), for the agreement in src/mpi/comm. */
#define DM_CTX_WORDS 64 /* 2048 pairs */
void dm_ctx_mask(uint32_t mask_p[DM_CTX_WORDS]);
/* Both do nothing with DM_CTX_NONE and ids from dm_ctx_alone. */
void dm_ctx_take(uint32_t ctx);
void dm_ctx_put(uint32_t ctx);
/* A new id for a communicator of this process alone: nobody has to agree, and there are plenty. */
uint32_t dm_ctx_alone(void);

/* Bodies of the MPI functions (MPI-4.0 section 7.8). */
int dm_comm_set_name(struct dm_comm *comm, const char *name);
int dm_comm_get_name(struct dm_comm *comm, char *name, int *len);

/* ---- requests ---- */

enum dm_req_kind {
    DM_REQ_SEND,
    DM_REQ_RECV,
    DM_REQ_COLL,
    DM_REQ_RMA,
    DM_REQ_GENERALIZED,
    DM_REQ_PERSISTENT,
    DM_REQ_DONE /* completed at once; shared immutable requests are allowed */
};

/*
 * What MPI_Wait waits for. Layers embed it as their first member. Complete when n_pending is
 * 0; then status and err are final. A request has two holders: the program's
 * handle and the running operation; ops->free runs when both are gone.
 */
struct dm_req {
    struct dm_obj obj;
    enum dm_req_kind kind;
    int n_pending; /* 0: complete */
    int err;       /* enum dm_err */
    bool is_cancelled;
    bool is_started;      /* persistent: between MPI_Start and the report of its completion */
    struct dm_comm *comm; /* for error handlers; may be NULL */
    struct dm_win *win;   /* the same for RMA requests */
    MPI_Status status;    /* of a receive; empty status otherwise */
    const struct dm_req_ops *ops;
};
struct dm_req_ops {
    /* Release the memory. */
    void (*free)(struct dm_req *req);
    /* MPI_Cancel; NULL: has no effect. */
    int (*cancel)(struct dm_req *req);
    /* MPI_Start of a persistent one (see below); NULL for all others. */
    int (*start)(struct dm_req *req);
    /* Called by wait/test just before completion is reported (generalized: query). May be NULL. */
    int (*finish)(struct dm_req *req, MPI_Status *status);
};

/*
 * Persistent requests of every layer have kind DM_REQ_PERSISTENT and ops->start. Made inactive: n_pending 0,
 * is_started false, err DM_OK, empty status, one reference (the program's). MPI_Start (pt2pt) refuses a
 * started one, else sets is_started and calls ops->start, which begins the operation: n_pending becomes what is
 * awaited, or stays 0 when all is done at once; while it is not 0 the operation holds a reference
 * of its own. An error of ops->start is MPI_Start's and leaves the request inactive; later ones go to
 * req->err. The completion calls report status and err, then dm_req_rest(). MPI_Request_free drops
 * the program's reference in any state; MPI_Cancel comes to ops->cancel only of a started one.
 */
static inline bool dm_req_is_inactive(const struct dm_req *req)
{
    return req->kind == DM_REQ_PERSISTENT && !req->is_started;
}
/* Make a persistent request inactive. */
void dm_req_rest(struct dm_req *req);

/* Initialise the common part; no handle yet, refs 1 (the caller's). */
void dm_req_init(struct dm_req *req, enum dm_req_kind kind, const struct dm_req_ops *ops,
                 struct dm_comm *comm);
void dm_req_ref(struct dm_req *req);
void dm_req_unref(struct dm_req *req);
static inline bool dm_req_is_done(const struct dm_req *req)
{
    return req->n_pending == 0;
}
/* The handle for the program, made at first call. */
int dm_req_handle(struct dm_req *req, MPI_Request *handle_p);
/* Wait for completion inside the library (collectives, blocking calls); returns req->err. */
int dm_req_wait(struct dm_req *req);
/* The request of a handle, NULL when it is none (the null handle included). */
static inline struct dm_req *dm_req_get(int handle);
/*
 * A completed request with an empty status (sends to MPI_PROC_NULL and the like). All are one shared
 * object; dm_req_new_done_as gives the handle that is made next a number of DM_REQ_DONE_MASK
 * bits, by which MPI_Cancel may know what it was. 0: none.
 */
#define DM_REQ_DONE_HANDLE 0x6c000001u /* next to MPI_MESSAGE_NO_PROC */
#define DM_REQ_DONE_MASK   0x1ffffffu
static inline bool dm_req_is_done_handle(int handle);
static inline uint32_t dm_req_done_number(int handle)
{
    return (uint32_t)handle >> 1 & DM_REQ_DONE_MASK;
}
int dm_req_new_done(struct dm_req **req_p);
int dm_req_new_done_as(uint32_t number, struct dm_req **req_p);

/* The MPI_Status fields beyond the public ones: 63-bit count and cancelled flag, as MPICH lays them out. */
static inline void dm_status_set_bytes(MPI_Status *status, uint64_t bytes);
static inline uint64_t dm_status_bytes(const MPI_Status *status);
static inline void dm_status_set_cancelled(MPI_Status *status, bool is_cancelled);
static inline bool dm_status_cancelled(const MPI_Status *status);
/* The empty status of the standard: any source, any tag, success, 0 bytes. */
static inline void dm_status_set_empty(MPI_Status *status);
/* Like it with source MPI_PROC_NULL. */
static inline void dm_status_set_proc_null(MPI_Status *status);

/* ---- counts of several widths ---- */

/* An array argument that is int[] in MPI_X and MPI_Count[] (or MPI_Aint[]) in MPI_X_c. */
struct dm_counts {
    const int *narrow;
    const MPI_Count *wide;
};
static inline MPI_Count dm_count_at(struct dm_counts c, size_t i)
{
    return c.narrow != NULL ? c.narrow[i] : c.wide[i];
}
static inline struct dm_counts dm_counts_int(const int *a)
{
    return (struct dm_counts){.narrow = a, .wide = NULL};
}
static inline struct dm_counts dm_counts_wide(const void *a)
{
    return (struct dm_counts){.narrow = NULL, .wide = (const MPI_Count *)a};
}

/* ---- info (kept as pairs; hints are read by those who know them) ---- */

struct dm_info {
    struct dm_obj obj;
    struct dm_list pairs; /* of struct dm_info_pair, in order of first setting */
};
struct dm_info_pair {
    struct dm_list link;
    char *value; /* points behind key */
    char key[];
};
/* Value of a key, NULL when absent; info may be NULL. */
const char *dm_info_value(const struct dm_info *info, const char *key);
/* Set all pairs of another object. DM_ENOMEM. */
int dm_info_merge(struct dm_info *info, const struct dm_info *from);
void dm_info_ref(struct dm_info *info);
void dm_info_unref(struct dm_info *info);

/* Bodies of the MPI functions (MPI-4.0 chapter 10). */
int dm_info_create(struct dm_info **info_p);
/* What the launcher tells, as MPI_INFO_ENV: command, arguments, number of processes, ... */
/* Fill MPI_INFO_ENV, once the job is known. */
int dm_info_env_fill(void);
int dm_info_create_env(int argc, char **argv, struct dm_info **info_p);
int dm_info_dup(struct dm_info *info, struct dm_info **info_p);
int dm_info_free(struct dm_info *info);
int dm_info_set(struct dm_info *info, const char *key, const char *value);
int dm_info_delete(struct dm_info *info, const char *key);
int dm_info_get(struct dm_info *info, const char *key, int valuelen, char *value, int *flag);
int dm_info_get_string(struct dm_info *info, const char *key, int *buflen, char *value, int *flag);
int dm_info_get_nkeys(struct dm_info *info, int *nkeys);
int dm_info_get_nthkey(struct dm_info *info, int n, char *key);
int dm_info_get_valuelen(struct dm_info *info, const char *key, int *valuelen, int *flag);

/* Make progress until *flag is set by some callback: the one waiting loop. */
static inline void dm_wait_for(const int *n_pending)
{
    dm_chan_wait(dm_world.chan, n_pending);
}

#include "mpi/core/attr.h"
#include "mpi/core/core_inl.h"
#include "mpi/core/topo_obj.h"

#endif
