/*
 * The adaptation layer: the only code of the MPI that calls DAT.
 *
 * It gives every process of the job a connection (struct dm_conn) that carries
 * an ordered byte pipe in both directions (the eager path, with credits) and
 * RDMA to registered memory, over whichever DAT provider reaches it. It knows
 * processes by their number in the job ("proc"), not by rank in a communicator,
 * and nothing of MPI. Nothing above this header knows a provider's name or
 * includes a DAT header.
 *
 * Threads: every function is called inside the thread gate (util/glock.h), one
 * thread at a time. The connection server is the layer's own thread.
 */
#ifndef DM_DAPL_ADAPT_DAPL_ADAPT_H
#define DM_DAPL_ADAPT_DAPL_ADAPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/kv.h"
#include "util/tune.h"

struct dm_adapt; /* one per process */
struct dm_conn;  /* one per peer process */
struct dm_mr;    /* a registered range of local memory, reference counted */

#define DM_RAILS_MAX 4

/* What a peer needs to reach registered memory: one key per rail. Plain bytes, sent in packets. */
struct dm_rkey {
    uint32_t ctx[DM_RAILS_MAX];
};

/* The job as the launcher describes it; pointers must live as long as the layer. */
struct dm_adapt_job {
    int rank;
    int size;
    int n_local;                                 /* processes on this host */
    const int *node_of;                          /* host number of each process */
    const char *name;                            /* unique name of the job */
    struct dm_kv_ops kv;                         /* to exchange addresses */
    const char *(*host_of)(void *arg, int proc); /* for messages */
    void *host_arg;
    /*
     * Told the tuned values of the provider that reaches all processes (NULL: none); gives a number that
     * processes have alike that choose the same algorithms of collectives. NULL: nobody wants to know.
     */
    int (*choose_coll)(const struct dm_tune_rail *tuned,
                       uint32_t *hash_p); /* an error ends the start */
};

/* Upcalls; made only from inside dm_adapt_poll, dm_adapt_eager_* and dm_adapt_rdma_*. */
struct dm_adapt_events {
    void *arg;
    /* conn has unread bytes in its pipe; called again on the next poll while any are left. */
    void (*input)(void *arg, int proc, struct dm_conn *conn);
    /* conn became ready, or credits came back after a put took less than offered. */
    void (*writable)(void *arg, int proc, struct dm_conn *conn);
    /* conn is lost: no more input, every put fails. Once per connection. */
    void (*failed)(void *arg, int proc, struct dm_conn *conn, int err);
};

/* ---- start and stop ---- */

/*
 * Open the providers (rails), publish own address through the kv operations
 * (one fence), start the connection server. Collective. When DATUM_CONNECT says
 * so, all connections are made before it returns.
 */
int dm_adapt_open(const struct dm_adapt_job *job, const struct dm_adapt_events *ev,
                  struct dm_adapt **adapt_p);
/*
 * Disconnect and free. Collective: the caller has made sure (barrier) that nobody
 * needs the pipes any more; a peer that disconnects first is not a failure then.
 */
int dm_adapt_close(struct dm_adapt *adapt);
/*
 * From now on a lost connection is expected (the job is finalizing) and `failed`
 * is not called any more.
 */
void dm_adapt_quiesce(struct dm_adapt *adapt);
/* Print what DATUM_EXPLAIN promises (call on one process). */
void dm_adapt_explain(struct dm_adapt *adapt);

/* ---- connections ---- */

/* The connection object of a process other than oneself, made at first use; NULL: out of memory. */
struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc);
/* Start connecting if that has not happened yet (on demand); returns at once. */
int dm_adapt_connect(struct dm_conn *conn);
/* True when puts can be taken. */
bool dm_adapt_is_ready(const struct dm_conn *conn);
/*
 * How a large message to this peer is offered, a value of DATUM_RNDV: what that says, or instead of
 * DM_RNDV_AUTO DM_RNDV_READ or, if a tuning file wants it, DM_RNDV_PIPE. Both are measured at the first call on
 * a rail (under a millisecond).
 */
int dm_adapt_rndv(struct dm_conn *conn);
/*
 * How len bytes that the peer offers to be read are to come: DM_RNDV_READ or DM_RNDV_PIPE, whichever is
 * faster now (rndv_select.h), or what dm_adapt_rndv says. When *select_p is set, dm_adapt_rndv_end has to follow, with
 * the way they came and how many of them (0: it failed).
 */
struct dm_rndv_select;
int dm_adapt_rndv_begin(struct dm_conn *conn, size_t len, struct dm_rndv_select **select_p);
void dm_adapt_rndv_end(struct dm_rndv_select *select, int how, size_t len);

/* ---- the eager path: an ordered byte pipe ---- */

/*
 * Offer a gather list; *taken_p gets the bytes taken, from the front, 0 when there
 * is no credit or no connection yet (connecting is then started). The bytes taken
 * may be reused at once, except that large ones may be sent straight from the
 * caller's memory: they are still the library's until dm_adapt_eager_flushed.
 * DM_EPEER when the connection is lost.
 */
int dm_adapt_eager_put(struct dm_conn *conn, const struct iovec *iov, int n_iov, size_t *taken_p);
/*
 * True when every byte taken so far from the caller's own memory may be reused.
 * Providers that copy at once always say true; polling makes it true in the end.
 */
bool dm_adapt_eager_flushed(const struct dm_conn *conn);
/*
 * The fast way for a short record: a place of len bytes to write it to, or NULL
 * when there is no credit, no connection, or len is more than a slot takes. The
 * bytes become part of the pipe with dm_adapt_eager_commit, which must follow before
 * any other call on this connection; at most `len` of them, from the start.
 */
void *dm_adapt_eager_reserve(struct dm_conn *conn, size_t len);
int dm_adapt_eager_commit(struct dm_conn *conn, size_t len);
/* Messages that go without asking to peers of which nothing better is known, bytes: no rail's tuned limit is less. */
size_t dm_adapt_eager_least(const struct dm_adapt *adapt);
/* Length of the pieces that much is best cut into; dm_adapt_eager_reserve takes it. */
size_t dm_adapt_eager_max(const struct dm_conn *conn);
/*
 * Messages up to this length are better copied through the pipe than announced to the peer
 * first; 0: no opinion. Known once the connection is up.
 */
size_t dm_adapt_eager_good(const struct dm_conn *conn);
/* Why the connection is lost, "" while it is not. */
const char *dm_adapt_lost_why(const struct dm_conn *conn);

/*
 * Unread bytes at the front of the pipe, contiguous and in place (0: none). They
 * stay valid until consumed.
 */
size_t dm_adapt_eager_peek(struct dm_conn *conn, const void **data_p);
/* Give back the first len bytes; credits return to the peer with reverse traffic. */
void dm_adapt_eager_consume(struct dm_conn *conn, size_t len);

/* ---- progress ---- */

/*
 * Look once for input, completions, credits, connection events and make the upcalls.
 * Returns the number of things that happened (0: idle). Cost grows with the active
 * connections only.
 */
int dm_adapt_poll(struct dm_adapt *adapt);
/*
 * Block in the provider until something may have happened or timeout_us is over.
 * The thread gate is dropped meanwhile. Returns at once when the eager path cannot
 * wake us by itself and the time-out stands in (then timeout_us is cut to what is safe).
 */
void dm_adapt_wait(struct dm_adapt *adapt, uint64_t timeout_us);
/*
 * The same in two steps for a thread of the library's own that sleeps while the program computes: begin is called inside
 * the gate, with the longest time in timeout_us, dm_adapt_sleep outside of it when begin said so. False: there
 * is something to do, or a thread of the program sleeps already.
 *
 * There are two sides to sleep at where dm_adapt_has_sides() says so: what has come, and what was posted and connections. A thread of the
 * program sleeps at the first one. For the second, begin may be called by one thread on behalf of another, and is
 * not refused because of a thread of the program.
 */
enum dm_side { DM_SIDE_RECV, DM_SIDE_REQUEST, DM_SIDES };
struct dm_adapt_sleep {
    uint64_t timeout_us;
    enum dm_side side;
    /* private to the layer */
    struct dm_adapt *adapt;
    const struct dm_ia *ia;
};
bool dm_adapt_sleep_begin(struct dm_adapt *adapt, struct dm_adapt_sleep *sleep);
/* True when an event ended it. */
bool dm_adapt_sleep(const struct dm_adapt_sleep *sleep);
/* Wake that side; any thread, the gate is not needed. */
void dm_adapt_wake(struct dm_adapt *adapt, enum dm_side side);
/* Does a thread of the program sleep in dm_adapt_wait? */
bool dm_adapt_is_waited_on(const struct dm_adapt *adapt);
/* Is there a provider to sleep in at all? The other: does it wake the thread aside by itself? */
bool dm_adapt_has_rails(const struct dm_adapt *adapt);
bool dm_adapt_has_wakes(const struct dm_adapt *adapt);
/* Have all providers two sides, and does a thread sleep at that one? */
bool dm_adapt_has_sides(const struct dm_adapt *adapt);
bool dm_adapt_is_asleep(const struct dm_adapt *adapt, enum dm_side side);
/* True when processes outnumber cores, so that waiting should block soon. */
bool dm_adapt_is_oversubscribed(const struct dm_adapt *adapt);

/* ---- memory ---- */

/*
 * Register [addr, addr+len) for local and remote reading and writing, from the cache
 * when it covers the range. *mr_p holds a reference. DM_EAGAIN when the provider is out of
 * registrations and nothing can be evicted: use copies instead.
 */
int dm_adapt_reg(struct dm_adapt *adapt, void *addr, size_t len, struct dm_mr **mr_p);
/* Drop the reference; the registration may stay cached. */
void dm_adapt_unreg(struct dm_adapt *adapt, struct dm_mr *mr);
/*
 * Allocate zeroed, page-aligned, registered memory that peers can reach in the
 * fastest way the provider has (mapped, on the same host). For MPI_Alloc_mem,
 * MPI_Win_allocate and the layer's own rings. When the provider refuses to register it,
 * *mr_p has no keys (dm_adapt_is_registered()): use copies.
 */
int dm_adapt_mem_alloc(struct dm_adapt *adapt, size_t len, void **ptr_p, struct dm_mr **mr_p);
void dm_adapt_mem_free(struct dm_adapt *adapt, void *ptr, struct dm_mr *mr);
bool dm_adapt_is_registered(const struct dm_mr *mr);
/* Does a provider reach peers on this host by mapping their memory files? */
bool dm_adapt_can_map(const struct dm_adapt *adapt);
/*
 * The memory file behind memory of dm_adapt_mem_alloc: its descriptor and the address of its
 * first byte. False: there is none, or no provider reaches peers on this host by mapping
 * such files, so nobody else shall either.
 */
bool dm_adapt_mem_file(const struct dm_adapt *adapt, const struct dm_mr *mr, int *fd_p,
                       uintptr_t *start_p);
/* Does a provider reach peers on this host by mapping memory files? If none does, nobody else shall. */
bool dm_adapt_can_map(const struct dm_adapt *adapt);
/* The keys that peers use with addresses inside mr. */
void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p);

/* ---- RDMA, on endpoints of their own ---- */

/*
 * One transfer, embedded in the caller's object; belongs to the layer from the call
 * until done is called (perhaps before the call returns). err is DM_OK, or why not.
 */
struct dm_rdma {
    void (*done)(struct dm_rdma *rdma, int err);
    /* private to the layer */
    struct dm_rdma *next;
    struct dm_conn *conn;
    struct dm_mr *mr;
    uint64_t local;
    uint64_t remote;
    struct dm_rkey rkey;
    uint64_t len;
    uint64_t left;
    uint32_t n_posted;
    int err;
    bool is_read;
    bool is_queued;
    bool is_echo; /* all is written, a read behind it tells that it is placed */
    bool owns_mr;
    bool has_imm; /* the last write carries this: */
    uint32_t imm;
    bool is_atomic; /* a fetch-and-add; is_read, too: */
    uint64_t add;
    uint64_t cell;
    uint64_t *old_p;
    struct dm_stripes *stripes; /* the transfer that this is a share of */
};

/*
 * Move len bytes (any size; split as the provider needs) between local memory inside
 * mr and remote memory. Write: done means placed in the target's memory. Order among
 * transfers is not promised. len 0 completes at once. mr NULL: the layer registers.
 * DM_EPEER: the connection is lost; DM_EAGAIN: mr is NULL and the memory cannot be
 * registered, use copies. After an error done is not called.
 */
int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len);
int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len);

/*
 * DATUM_RNDV=imm. Expect a write with immediate value from the peer: *value_p is what it has to carry, done is called when it has
 * come, and all that was written before it on the same way. DM_EAGAIN: not now, do without.
 */
int dm_adapt_expect_imm(struct dm_conn *conn, struct dm_rdma *rdma, uint32_t *value_p);
/* dm_adapt_rdma_write that ends with a value which the peer expects. */
int dm_adapt_rdma_write_imm(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                            struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                            size_t len, uint32_t value);

/* ---- atomic operations ---- */

struct dm_words;
/* What others need to reach a process' words; plain bytes. rail: equal for the same rail; 0: there are no words. */
struct dm_word_key {
    uint64_t addr;
    uint32_t ctx;
    uint32_t rail;
};
/*
 * n 64-bit words, 0 at first, that are changed and looked at by dm_adapt_fetch_add only, through one rail, by their
 * owner too: a provider's atomic operations need not know of the processor's. is_far: processes of
 * other hosts do so; is_any: also a rail where processors carry them out. NULL: no rail has such operations, which
 * is tried, or memory is out.
 */
struct dm_words *dm_adapt_words_new(struct dm_adapt *adapt, size_t n, bool is_far, bool is_any,
                                    struct dm_word_key *key_p);
/* Nobody uses them any more. */
void dm_adapt_words_free(struct dm_adapt *adapt, struct dm_words *words);
/*
 * Add to word number `which` of proc, perhaps this process; *old_p gets what was there. `mine` are this process' words, on the
 * same rail. What is added is there when done is called, at the earliest. DM_EAGAIN: not now (it is being
 * connected, or too many are under way), make progress and try again; also told by done: it was not done.
 * DM_EPEER: the process, or that rail to it, is lost; told by done it may have been done or not, since it is not
 * repeated when a connection breaks. DM_EPROVIDER: the own word cannot be reached any more, nothing was done.
 */
int dm_adapt_fetch_add(struct dm_adapt *adapt, int proc, struct dm_rdma *rdma,
                       const struct dm_words *mine, const struct dm_word_key *key, int which,
                       uint64_t add, uint64_t *old_p);

/* ---- introspection ---- */

/* One counter of this process. */
struct dm_adapt_stat {
    const char *name; /* static; two blanks in front: a part of the one before */
    const char *unit; /* "bytes", or "" */
    uint64_t value;
};
/* Fill in at most max counters; how many there are, the same on all processes. */
int dm_adapt_stats(struct dm_adapt *adapt, struct dm_adapt_stat *stats, int max);
/* Bytes that the layer holds whatever the number of peers used. */
uint64_t dm_adapt_fixed_len(const struct dm_adapt *adapt);
/* Name of a rail of this process; "" when it has fewer. */
const char *dm_adapt_rail_name(const struct dm_adapt *adapt, int rail);

struct dm_provider_info {
    const char *name; /* IA name */
    const char *library;
    const char *params;
    const char *verdict; /* "ok", or why it cannot be used and what to do */
    const char *found;   /* what the probes at open found; "" when it cannot be used */
    bool is_usable;
    bool is_builtin; /* carried by the library, not from the user's dat.conf */
};
/* Try to open every provider of the dat.conf in force, then the built-in ones. */
int dm_adapt_list_providers(void (*each)(void *arg, const struct dm_provider_info *info),
                            void *arg);
/* The dat.conf in force: DAT_OVERRIDE, /etc/dat.conf or our own; static storage. */
const char *dm_adapt_conf_path(void);

#endif
