/*
 * What the checks share.
 */
#ifndef DM_USAGE_STATE_H
#define DM_USAGE_STATE_H

#include "channel/channel.h"
#include "usage/usage.h"
#include "util/hash.h"
#include "util/list.h"
#include "util/strbuf.h"

#define DM_USAGE_DEPTH 12 /* calls that are remembered of a place */
#define DM_USAGE_LINES 10 /* things of a kind that are printed */

/* Where the program was. */
struct dm_usage_place {
    const char *fn; /* MPI function */
    int n;
    uintptr_t stack[DM_USAGE_DEPTH];
};

struct dm_usage_state {
    unsigned what;   /* of enum dm_usage_what */
    bool is_stopped; /* after MPI_Finalize */
    dm_usage_raise_fn *raise;
    struct dm_chan_hook hook; /* dm_usage_pass */
    struct dm_hash objects;   /* struct usage_object by address, or number */
    struct dm_hash requests;  /* struct dm_usage_request by handle */
    struct dm_list active;    /* of struct dm_usage_active */
    struct dm_list awaits;    /* of struct usage_await */
    struct dm_list rmas;      /* of struct dm_usage_request: one-sided calls */
    int n_rmas;               /* those without a request */
    struct dm_list compares;  /* calls that rank 0 has not compared yet */
    struct dm_list sends;     /* records on their way to a rank 0 */
    unsigned n_made;          /* objects and requests, so far */
    int n_said;               /* messages about buffers */
};
extern struct dm_usage_state dm_usage_state;

static inline bool dm_usage_has(unsigned what)
{
    return (dm_usage_state.what & what) != 0;
}

/* ---- usage.c ---- */

void dm_usage_place_take(struct dm_usage_place *place, const char *fn);
bool dm_usage_place_is_equal(const struct dm_usage_place *a, const struct dm_usage_place *b);
/* The lines of its stack. */
void dm_usage_place_add(struct dm_strbuf *sb, const struct dm_usage_place *place);

/* ---- objects.c ---- */

/* is_late: those that may be freed after MPI_Finalize, or all others. */
void dm_usage_objects_report(bool is_late);
void dm_usage_objects_drop(void);

/* ---- requests.c ---- */

/* A buffer, and its state while the request is active. */
struct dm_usage_active {
    struct dm_list link;      /* in dm_usage_state.active; empty: not active */
    struct dm_usage_buffer b; /* a reference of the type is held */
    const char *low, *high;   /* it lies between these; behind the last byte */
    uint64_t sum;             /* of what is sent, */
    uint64_t *sums;           /* or of its partitions; 0: not ready; NULL: none is */
    const struct dm_usage_request *request;
};

/* A request of the program. */
struct dm_usage_request {
    int handle;
    const struct dm_req *req;
    bool is_active;
    bool is_rma;     /* a one-sided call without a request */
    unsigned number; /* in the order of the calls */
    struct dm_usage_place made;
    struct dm_usage_place started; /* of a persistent one */
    struct dm_list rma_link;       /* in dm_usage_state.rmas, until the program synchronizes with */
    const void *win;               /* the target's part of this window */
    int target;
    int n;
    struct dm_usage_active buffers[];
};

/* One that has no handle, not active; NULL without memory. */
struct dm_usage_request *dm_usage_request_new(const char *fn, const struct dm_usage_buffer *buffers,
                                              int n);
/* One of the program; NULL without memory, or if it is not looked after. */
struct dm_usage_request *dm_usage_request_add(const char *fn, MPI_Request handle,
                                              const struct dm_usage_buffer *buffers, int n);
void dm_usage_request_activate(struct dm_usage_request *request);
/* The program may use the buffers. */
void dm_usage_request_release(struct dm_usage_request *request);
void dm_usage_request_deactivate(struct dm_usage_request *request);
void dm_usage_request_drop(struct dm_usage_request *request);
void dm_usage_requests_report(void);
void dm_usage_requests_drop(void);
/* "to rank 1, tag 5, 4000 bytes" */
void dm_usage_buffer_add(struct dm_strbuf *sb, const struct dm_usage_buffer *b);

/* ---- buffers.c ---- */

/* Look for an active buffer with the same memory; false: there are no data. */
bool dm_usage_buffer_look(struct dm_usage_active *active);
/* The operation begins: look, and remember what is in it. */
void dm_usage_buffer_begin(struct dm_usage_active *active);
/* A partition is ready. */
void dm_usage_buffer_ready(struct dm_usage_active *active, int partition);
/* It is over: was it changed? */
void dm_usage_buffer_end(struct dm_usage_active *active);

/* ---- signature.c ---- */

/*
 * What the data of a call are: bytes, and a hash of the sequence of basic types, which does not depend on how it is
 * made of counts and derived types. 0: it matches everything (nothing, or MPI_PACKED is in it). C and Fortran types
 * and those of fixed size that are the same in memory are not told apart.
 */
struct dm_usage_length {
    uint64_t bytes;
    uint64_t sum;
};
struct dm_usage_length dm_usage_length_of(size_t count, struct dm_type *type);
bool dm_usage_length_fits(const struct dm_usage_length *a, const struct dm_usage_length *b);

/* ---- lengths.c ---- */

/* What block i of the send side, or the receive side, of a call has: all are alike without arrays. */
struct dm_usage_length dm_usage_length_sent(const struct dm_usage_call *call, int i);
struct dm_usage_length dm_usage_length_received(const struct dm_usage_call *call, int i);
/* What all processes must agree on in a call; 0 where each may have its own. */
struct dm_usage_length dm_usage_length_common(const struct dm_usage_call *call);
/* The only basic type in that; MPI_DATATYPE_NULL: there are several. */
int dm_usage_basic_common(const struct dm_usage_call *call);
/* Does a process that gives itself something expect just that? */
bool dm_usage_length_of_own_fits(const struct dm_usage_call *call);

/* ---- edges.c ---- */

/* A block that this process sends to a peer, or expects of it. */
struct dm_usage_edge {
    struct dm_usage_length length;
    int32_t peer;
};
struct dm_usage_edges {
    struct dm_usage_edge *all; /* first those that it sends, then the others; the holder frees it */
    uint32_t n_out, n_in;
};
/* Those of a call whose blocks may have any lengths; none of other calls. */
int dm_usage_edges_of(const struct dm_usage_call *call, struct dm_usage_edges *e);
/* Do those of all processes, by rank, fit? If not, sb is told what does not. */
bool dm_usage_edges_fit(const struct dm_usage_edges *edges, int size, struct dm_strbuf *sb);

/* ---- call_buffers.c ---- */

/* How many buffers a call may have, and they; how many it has. */
size_t dm_usage_call_most_buffers(const struct dm_usage_call *call);
int dm_usage_call_buffers(const struct dm_usage_call *call, struct dm_usage_buffer *buffers);

/* ---- rma.c ---- */

void dm_usage_rmas_drop(void);

/* ---- compare.c ---- */

/* Below all tags of collectives, and MPI_ANY_TAG. */
#define DM_USAGE_TAG_RECORD  (-2)
#define DM_USAGE_TAG_VERDICT (-3) /* to those who wait for it */
#define DM_USAGE_TAG_EDGES   (-4)
#define DM_USAGE_TAG_LATE    (-5) /* to the others, if calls differ */

#define DM_USAGE_VERDICT_TEXT 480

struct dm_usage_verdict {
    int32_t err;
    char text[DM_USAGE_VERDICT_TEXT];
};

/* Carry on comparing what was not at hand. */
void dm_usage_look(void);
/* The same in a pass of the progress engine, which calls no function of the program. */
int dm_usage_pass(struct dm_chan_hook *hook);
/* At rank 0: are all calls of a communicator compared, or does one differ? The verdict is the caller's then. */
bool dm_usage_compared(struct dm_comm *comm, struct dm_usage_verdict *verdict);
void dm_usage_compares_drop(void);

#endif
