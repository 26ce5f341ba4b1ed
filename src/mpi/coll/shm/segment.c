/*
 * Making segments, and what communicators they fit.
 *
 * The lowest rank of each node makes the memory and offers it over a binomial tree of messages; then all
 * ranks of the communicator agree: everybody has mapped it, or nobody uses it. A process
 * is in SEGMENTS_MAX segments at most, so that their memory grows with the ranks of the node and
 * not with communicators; when it is in so many the communicator works with messages, and asks again later.
 */
#include "mpi/coll/shm/coll_shm.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/coll/alg/alg.h"
#include "mpi/coll/coll_state.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"

#define SEGMENTS_MAX 32
#define FIRST_TRY    2 /* blocking collective that makes the segment */
#define TRY_FACTOR   8
#define SPACE_MAX    ((size_t)64 << 10)
#define SPACE_MIN    DM_COLL_SHM_PIECE
#define DATA_MAX     ((size_t)16 << 20) /* bytes of all slots, unless they get too small */
#define FLAT_MAX     8                  /* ranks that look at each other */
#define PAGE         ((size_t)4 << 10)

/* The memory file as its maker knows it; len 0: there is none. */
struct offer {
    uint64_t len;
    uint64_t dev;
    uint64_t ino;
    int32_t pid;
    int32_t fd;
};

/* What a rank thinks of it; the least of all counts. */
enum { VERDICT_NEVER, VERDICT_LATER, VERDICT_READY };

/* ---- the nodes of a communicator ---- */

/* Number of the node that a rank is on among those that were seen; n: a new one. */
static int find_node(const struct dm_comm *comm, const int *leaders, int n, int rank)
{
    int node = dm_chan_node(dm_world.chan, dm_comm_proc(comm, rank));

    for (int i = n - 1; i >= 0; i--)
        if (dm_chan_node(dm_world.chan, dm_comm_proc(comm, leaders[i])) == node)
            return i;
    return n;
}

static void find_nodes(const struct dm_comm *comm, struct dm_coll_shm *b)
{
    bool is_ordered = true;

    b->n_nodes = 0;
    for (int i = 0; i < comm->size; i++) {
        b->node_of[i] = find_node(comm, b->leaders, b->n_nodes, i);
        if (b->node_of[i] == b->n_nodes)
            b->leaders[b->n_nodes++] = i;
        is_ordered = is_ordered && b->node_of[i] == b->n_nodes - 1;
    }
    b->node = b->node_of[comm->rank];
    for (int i = 0; i < comm->size; i++) {
        if (b->node_of[i] != b->node)
            continue;
        if (i == comm->rank)
            b->me = b->n;
        b->ranks[b->n++] = i;
    }
    if (b->n_nodes == 1)
        b->fits = DM_COLL_SHARED | DM_COLL_ORDERED;
    else if (b->n_nodes < comm->size)
        b->fits = DM_COLL_NODES | (is_ordered ? DM_COLL_ORDERED : 0);
}

static struct dm_coll_shm *coll_shm_new(const struct dm_comm *comm)
{
    size_t n = (size_t)comm->size;
    struct dm_coll_shm *b = calloc(1, sizeof(*b) + 3 * n * sizeof(int));

    if (b == NULL)
        return NULL;
    b->next_try = FIRST_TRY;
    b->ranks = (int *)(void *)(b + 1);
    b->leaders = b->ranks + n;
    b->node_of = b->leaders + n;
    find_nodes(comm, b);
    return b;
}

/* ---- memory ---- */

static void segment_lay_out(struct dm_coll_shm *b)
{
    size_t n = (size_t)b->n, mids = (size_t)DM_COLL_SHM_SLOTS * DM_COLL_SHM_MID;
    size_t lranks = sizeof(*b->shared) + n * sizeof(b->shared->lranks[0]);
    size_t left = DATA_MAX / n > mids ? DATA_MAX / n - mids : 0;

    b->space = left / DM_COLL_SHM_BIG / PAGE * PAGE;
    b->space = b->space < SPACE_MAX ? b->space : SPACE_MAX;
    b->space = b->space > SPACE_MIN ? b->space : SPACE_MIN;
    b->data_at = (lranks + PAGE - 1) / PAGE * PAGE;
    b->shared_len = b->data_at + n * (mids + DM_COLL_SHM_BIG * b->space);
}

static void segment_make(struct dm_coll_shm *b, struct offer *offer)
{
    struct stat st;
    void *ptr;
    int fd;

    if (dm_host_shm_alloc("datum-coll", b->shared_len, &ptr, &fd) != DM_OK) {
        DM_TRACE(COLL, "no segment: %s", dm_err_detail());
        return;
    }
    b->shared = ptr;
    if (fstat(fd, &st) != 0)
        st.st_ino = 0;
    *offer = (struct offer){
        .len = b->shared_len, .dev = st.st_dev, .ino = st.st_ino, .pid = getpid(), .fd = fd};
}

static void segment_map(struct dm_coll_shm *b, const struct offer *offer)
{
    void *ptr;

    if (offer->len != b->shared_len)
        return;
    if (dm_host_shm_open(offer->pid, offer->fd, offer->dev, offer->ino, b->shared_len, &ptr) ==
        DM_OK)
        b->shared = ptr;
    else
        DM_TRACE(COLL, "no segment: %s", dm_err_detail());
}

static void unmap(struct dm_coll_shm *b)
{
    if (b->shared != NULL)
        munmap(b->shared, b->shared_len);
    b->shared = NULL;
}

/* ---- set-up ---- */

static int segment_is_allowed(void)
{
    int want = dm_cfg()->coll_shm;

    if (want == DM_COLL_SHM_AUTO)
        return dm_adapt_can_map(dm_chan_adapt(dm_world.chan));
    return want == DM_COLL_SHM_YES;
}

/* Memory for the node's ranks. The offer is its maker's until all have agreed. */
static void segment_share(struct dm_run *run, struct dm_coll_shm *b, struct offer *offer)
{
    struct dm_coll_args a = {
        .rbuf = offer, .rcount = sizeof(*offer), .rtype = dm_coll_byte(), .root = 0};
    struct dm_coll_shm_id *id;

    segment_lay_out(b);
    if (b->me == 0)
        segment_make(b, offer);
    dm_coll_among(run, b->ranks, b->n, b->me);
    dm_coll_bcast_binomial(run, &a);
    dm_coll_among(run, NULL, 0, 0);
    if (b->me != 0)
        segment_map(b, offer);
    if (b->shared == NULL)
        return;
    dm_coll_state.n_segments++;
    id = &b->shared->lranks[b->me].id;
    id->pid = getpid();
    id->probe = b->probe = dm_clock_ns();
    id->probe_at = (uint64_t)(uintptr_t)&b->probe;
}

/* Everybody has said who it is: can everybody read everybody's memory? */
static bool can_all_read(struct dm_run *run, struct dm_coll_shm *b)
{
    bool can = true;

    for (int i = 0; i < b->n && can; i++) {
        const struct dm_coll_shm_id *id = &b->shared->lranks[i].id;
        uint64_t probe = 0;

        can = dm_host_vm_read((int)id->pid, id->probe_at, &probe, sizeof(probe)) == DM_OK &&
              probe == id->probe;
    }
    dm_coll_shm_next(b);
    if (!dm_coll_shm_claim(run, b, 0) || !dm_coll_shm_barrier(run, b, 0, can))
        return false;
    for (int i = 0; i < b->n; i++)
        can = can && dm_coll_shm_head(b, i)->total;
    dm_coll_shm_finish(run, b);
    return can;
}

/* The least that anybody has for each of n words, to everybody. */
static void agree(struct dm_run *run, int *words, size_t n)
{
    struct dm_coll_args a = {.sbuf = words,
                             .rbuf = words,
                             .rcount = n,
                             .rtype = dm_type_get(MPI_INT),
                             .op = dm_op_get(MPI_MIN),
                             .is_in_place = true};

    dm_coll_allreduce_tree(run, &a);
}

/* A segment for those who all have memory for it and may have it; false: they do not. b may be NULL. */
static bool build(struct dm_run *run, struct dm_coll_shm *b, int *verdict_p)
{
    struct offer offer = {.len = 0, .fd = -1};
    int words[2];

    agree(run, verdict_p, 1);
    if (run->is_stopped || *verdict_p != VERDICT_READY)
        return false;
    if (b->n > 1)
        segment_share(run, b, &offer);
    words[0] = b->n == 1 || b->shared != NULL ? VERDICT_READY : VERDICT_NEVER;
    words[1] = !dm_chan_is_oversubscribed(dm_world.chan);
    agree(run, words, 2);
    if (b->me == 0 && offer.fd >= 0)
        close(offer.fd);
    *verdict_p = words[0];
    if (run->is_stopped || words[0] != VERDICT_READY)
        return false;
    b->is_oversubscribed = !words[1];
    b->is_flat = !b->is_oversubscribed && b->n <= FLAT_MAX;
    b->data = (char *)b->shared + b->data_at;
    b->can_read = b->n > 1 && can_all_read(run, b);
    return !run->is_stopped;
}

/* Collective over comm; b is NULL where there was no memory for it, which all must learn. */
static void set_up(struct dm_comm *comm, struct dm_coll_shm *b)
{
    int verdict = VERDICT_READY;
    struct dm_run run;
    bool is_ready;

    if (b == NULL || b->fits == 0 || !segment_is_allowed())
        verdict = VERDICT_NEVER;
    else if (dm_coll_state.n_segments >= SEGMENTS_MAX)
        verdict = VERDICT_LATER;
    dm_coll_run_open(&run, comm);
    is_ready = build(&run, b, &verdict);
    dm_coll_run_close(&run);
    if (b == NULL)
        return;
    if (is_ready) {
        b->state = DM_COLL_SHM_READY;
        DM_TRACE(COLL, "segment of %d ranks, comm %u, %zu bytes%s", b->n, comm->ctx, b->shared_len,
                 b->can_read ? ", memory is read" : "");
        return;
    }
    if (run.err != DM_OK && b->shared != NULL)
        atomic_store(&b->shared->is_broken.value, 1);
    /* Those that could must not wait for those that could not, and a lost peer is found by messages. */
    if (b->shared != NULL)
        dm_coll_state.n_segments--;
    unmap(b);
    if (run.err == DM_OK && verdict == VERDICT_LATER) {
        b->next_try *= TRY_FACTOR;
        return;
    }
    b->fits = 0;
    b->state = DM_COLL_SHM_NEVER;
}

unsigned int dm_coll_shm_look(struct dm_comm *comm)
{
    struct dm_coll_shm *b = comm->coll;

    if (comm->n_coll == UINT32_MAX)
        return 0;
    if (++comm->n_coll != (b != NULL ? b->next_try : FIRST_TRY))
        return 0;
    if (b == NULL)
        comm->coll = b = coll_shm_new(comm);
    set_up(comm, b);
    return b != NULL && b->state == DM_COLL_SHM_READY ? b->fits : 0;
}

/* ---- start and end ---- */

static void on_comm_free(struct dm_comm *comm)
{
    struct dm_coll_shm *b = comm->coll;

    if (b == NULL)
        return;
    if (b->shared != NULL)
        dm_coll_state.n_segments--;
    unmap(b);
    free(b);
    comm->coll = NULL;
}

/* That it has come was its purpose. */
static void segment_on_wake(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                            size_t avail, struct dm_chan_sink *sink)
{
    (void)arg;
    (void)proc;
    (void)pkt;
    (void)data;
    (void)avail;
    (void)sink;
}

void dm_coll_shm_start(void)
{
    dm_core_on_comm_free(on_comm_free);
    dm_chan_on_packet(dm_world.chan, DM_PKT_COLL_WAKE, segment_on_wake, NULL);
}
