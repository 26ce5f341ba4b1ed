/*
 * Making segments, and what communicators they fit.
 *
 * The lowest rank of each node makes the memory, or claims what a communicator of the same group has
 * left (mpi/node/kept.h), and describes it over a binomial tree of messages; then all ranks of the
 * communicator agree: everybody has mapped it, or nobody uses it.
 * A process is in SEGMENTS_MAX segments at most, so that their memory grows with the ranks of the
 * node and not with communicators; when it is in so many the communicator works with messages,
 * and asks again later.
 */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/coll/alg/alg.h"
#include "mpi/coll/coll_state.h"
#include "mpi/coll/shm/rounds.h"
#include "mpi/node/kept.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"

#define SEGMENTS_MAX 32
#define FIRST_TRY    16 /* blocking collective that makes the segment: it costs as much as so many */
#define FIRST_FORCED 2  /* with DATUM_COLL_SHM=yes */
#define TRY_FACTOR   8
#define SPACE_MAX    ((size_t)64 << 10)
#define SPACE_MIN    DM_COLL_SHM_PIECE
#define SPACE_RANK   ((size_t)16)       /* for each rank: a span, or the least part of a vector */
#define DATA_MAX     ((size_t)16 << 20) /* bytes of all slots, unless they get too small */
#define READ_MAX     2                  /* ranks that a rank tries to read: itself, the next */
#define FEW          16 /* ranks that slots are not populated for before they are used */
#define FLAT_MAX     8  /* ranks that look at each other */
#define PAGE         ((size_t)4 << 10)

/* What a rank thinks of it; the least of all counts. */
enum { VERDICT_NEVER, VERDICT_LATER, VERDICT_READY };

static uint32_t segment_first_try(void)
{
    return dm_cfg()->coll_shm == DM_COLL_SHM_YES ? FIRST_FORCED : FIRST_TRY;
}

static struct dm_coll_shm *coll_shm_new(const struct dm_comm *comm)
{
    const struct dm_node_map *nodes = dm_node_map(comm->group);
    struct dm_coll_shm *shm = nodes != NULL ? calloc(1, sizeof(*shm)) : NULL;

    if (shm == NULL)
        return NULL;
    shm->next_try = segment_first_try();
    shm->segment.fd = -1;
    shm->nodes = nodes;
    shm->n = nodes->n_local;
    shm->me = nodes->lrank;
    shm->ranks = nodes->ranks;
    if (nodes->n_nodes == 1)
        shm->fits = DM_COLL_SHARED | DM_COLL_ORDERED;
    else if (nodes->n_nodes < comm->size)
        shm->fits = DM_COLL_NODES | (nodes->is_ordered ? DM_COLL_ORDERED : 0);
    return shm;
}

/* ---- memory ---- */

static size_t segment_lay_out(struct dm_coll_shm *shm)
{
    size_t n = (size_t)shm->n;
    size_t ranks =
        sizeof(*shm->shared) + n * (sizeof(shm->shared->ranks[0]) +
                                    DM_COLL_SHM_MORE * sizeof(shm->shared->ranks[0].heads[0]));
    size_t left = DATA_MAX / n > DM_COLL_SHM_MIDS ? DATA_MAX / n - DM_COLL_SHM_MIDS : 0;

    shm->space = left / DM_COLL_SHM_BIG / PAGE * PAGE;
    shm->space = shm->space < SPACE_MAX ? shm->space : SPACE_MAX;
    shm->space = shm->space > SPACE_MIN ? shm->space : SPACE_MIN;
    if (shm->space < n * SPACE_RANK)
        shm->space = (n * SPACE_RANK + PAGE - 1) / PAGE * PAGE;
    shm->data_at = (ranks + PAGE - 1) / PAGE * PAGE;
    shm->n_populated = shm->n > FEW ? DM_COLL_SHM_INLINE : shm->space;
    return shm->data_at + n * dm_coll_shm_data_len(shm);
}

static void segment_drop(struct dm_coll_shm *shm)
{
    if (shm->shared != NULL)
        dm_coll_state.n_segments--;
    shm->shared = NULL;
    dm_node_segment_free(&shm->segment);
}

/* ---- set-up ---- */

static bool segment_is_allowed(void)
{
    int want = dm_cfg()->coll_shm;

    if (want == DM_COLL_SHM_AUTO)
        return dm_adapt_can_map(dm_chan_adapt(dm_world.chan));
    return want == DM_COLL_SHM_YES;
}

/* Go on with the segment that a freed communicator has left; only what names this communicator stays. */
static void segment_take(struct dm_coll_shm *shm, const struct dm_node_kept *kept)
{
    struct dm_coll_shm *old = kept->own, own = *shm;

    *shm = *old;
    shm->state = own.state;
    shm->fits = own.fits;
    shm->next_try = own.next_try;
    shm->nodes = own.nodes;
    shm->ranks = own.ranks;
    shm->segment = kept->segment;
    free(old);
}

/* The first rank of the node claims one that is kept, or makes one. Its file is open until all have agreed. */
static int segment_offer(struct dm_coll_shm *shm, struct dm_group *group, size_t len,
                         struct dm_node_file *file_p)
{
    struct dm_node_kept kept;
    int err;

    if (dm_node_kept_claim(&dm_coll_state.kept, group, len, &kept)) {
        segment_take(shm, &kept);
        *file_p = shm->file;
        file_p->fd = DM_NODE_KEPT;
        return DM_OK;
    }
    err = dm_node_segment_make(&shm->segment, "datum-coll", len, file_p);
    shm->file = *file_p;
    return err;
}

static int segment_accept(struct dm_coll_shm *shm, const struct dm_node_file *file, size_t len)
{
    struct dm_node_kept kept;

    if (file->fd != DM_NODE_KEPT) {
        shm->file = *file;
        return dm_node_segment_map(&shm->segment, file, len);
    }
    if (!dm_node_kept_find(&dm_coll_state.kept, file, &kept))
        return DM_FAIL(DM_ESYS, "the one that is kept is not here");
    segment_take(shm, &kept);
    return DM_OK;
}

/* Who this process is, for segment_can_read. */
static void segment_say_id(struct dm_coll_shm *shm)
{
    struct dm_coll_shm_id *id = &shm->shared->ranks[shm->me].id;

    id->pid = getpid();
    id->probe = shm->probe = dm_clock_ns();
    id->probe_at = (uint64_t)(uintptr_t)&shm->probe;
}

/* Memory for the node's ranks. Is it one that was kept? */
static bool segment_share(struct dm_run *run, struct dm_coll_shm *shm)
{
    struct dm_node_file file = {.len = 0};
    struct dm_coll_args a = {
        .rbuf = &file, .rcount = sizeof(file), .rtype = dm_coll_byte(), .root = 0};
    size_t len = segment_lay_out(shm);
    int err = DM_OK;

    if (shm->me == 0)
        err = segment_offer(shm, run->comm->group, len, &file);
    dm_coll_among(run, shm->ranks, shm->n, shm->me);
    dm_coll_bcast_binomial(run, &a);
    dm_coll_among(run, NULL, 0, 0);
    if (shm->me != 0)
        err = segment_accept(shm, &file, len);
    if (err != DM_OK) {
        DM_TRACE(COLL, "no segment: %s", dm_err_detail());
        return false;
    }
    dm_coll_state.n_segments++;
    if (file.fd == DM_NODE_KEPT)
        return true;
    shm->shared = shm->segment.at;
    shm->data = (char *)shm->shared + shm->data_at;
    segment_say_id(shm);
    return false;
}

/*
 * Everybody has said who it is: can everybody read everybody's memory? Who cannot read another one
 * cannot read any of that one's kind (user, container), so in a ring some neighbours of different
 * kinds find out.
 */
static bool segment_can_read(struct dm_run *run, struct dm_coll_shm *shm)
{
    bool can = true;

    for (int i = 0; i < shm->n && i < READ_MAX && can; i++) {
        const struct dm_coll_shm_id *id = &shm->shared->ranks[(shm->me + i) % shm->n].id;
        uint64_t probe = 0;

        can = dm_host_vm_read((int)id->pid, id->probe_at, &probe, sizeof(probe)) == DM_OK &&
              probe == id->probe;
    }
    dm_coll_shm_next(shm);
    if (!dm_coll_shm_claim(run, shm, 0) || !dm_coll_shm_barrier(run, shm, 0, can))
        return false;
    for (int i = 0; i < shm->n; i++)
        can = can && dm_coll_shm_head(shm, i)->total;
    dm_coll_shm_finish(run, shm);
    return can;
}

/* The least that anybody has for each of n words, to everybody. */
static void segment_agree(struct dm_run *run, int *words, size_t n)
{
    struct dm_coll_args a = {.sbuf = words,
                             .rbuf = words,
                             .rcount = n,
                             .rtype = dm_type_get(MPI_INT),
                             .op = dm_op_get(MPI_MIN),
                             .is_in_place = true};

    dm_coll_allreduce_tree(run, &a);
}

/*
 * A segment for those who all have memory for it and may have it; false: they do not. shm may be
 * NULL.
 */
static bool segment_build(struct dm_run *run, struct dm_coll_shm *shm, int *verdict_p)
{
    int words[2] = {*verdict_p, !dm_chan_is_oversubscribed(dm_world.chan)};
    bool is_kept = false;

    segment_agree(run, words, 2);
    *verdict_p = words[0];
    if (run->is_stopped || *verdict_p != VERDICT_READY)
        return false;
    if (shm->n > 1)
        is_kept = segment_share(run, shm);
    shm->is_oversubscribed = !words[1];
    shm->is_flat = !shm->is_oversubscribed && shm->n <= FLAT_MAX;
    if (is_kept && shm->nodes->n_nodes == 1) {
        dm_coll_shm_await_barrier(run, shm);
        return !run->is_stopped;
    }
    words[0] = shm->n == 1 || shm->shared != NULL ? VERDICT_READY : VERDICT_NEVER;
    segment_agree(run, words, 1);
    dm_node_segment_close_file(&shm->segment);
    *verdict_p = words[0];
    if (run->is_stopped || words[0] != VERDICT_READY)
        return false;
    if (!is_kept)
        shm->can_read = shm->n > 1 && segment_can_read(run, shm);
    return !run->is_stopped;
}

/* Collective over comm; shm is NULL where there was no memory for it, which all must learn. */
static void segment_set_up(struct dm_comm *comm, struct dm_coll_shm *shm)
{
    int verdict = VERDICT_READY;
    struct dm_run run;
    bool is_ready;

    if (shm == NULL || shm->fits == 0 || !segment_is_allowed())
        verdict = VERDICT_NEVER;
    else if (dm_coll_state.n_segments >= SEGMENTS_MAX)
        verdict = VERDICT_LATER;
    dm_coll_run_open(&run, comm);
    is_ready = segment_build(&run, shm, &verdict);
    dm_coll_run_close(&run);
    if (shm == NULL)
        return;
    if (is_ready) {
        shm->state = DM_COLL_SHM_READY;
        DM_TRACE(COLL, "segment of %d ranks, comm %u, %zu bytes%s", shm->n, comm->ctx,
                 shm->segment.len, shm->can_read ? ", memory is read" : "");
        return;
    }
    if (run.err != DM_OK && shm->shared != NULL)
        atomic_store(&shm->shared->is_broken.value, 1);
    /*
     * Those that could must not wait for those that could not, and a lost peer is found by
     * messages.
     */
    segment_drop(shm);
    if (run.err == DM_OK && verdict == VERDICT_LATER) {
        shm->next_try *= TRY_FACTOR;
        return;
    }
    shm->fits = 0;
    shm->state = DM_COLL_SHM_NEVER;
}

unsigned int dm_coll_shm_try_set_up(struct dm_comm *comm)
{
    struct dm_coll_shm *shm = comm->coll;

    if (comm->n_coll == UINT32_MAX)
        return 0;
    if (++comm->n_coll != (shm != NULL ? shm->next_try : segment_first_try()))
        return 0;
    if (shm == NULL)
        comm->coll = shm = coll_shm_new(comm);
    segment_set_up(comm, shm);
    return shm != NULL && shm->state == DM_COLL_SHM_READY ? shm->fits : 0;
}

/* ---- start and end ---- */

/* For the next communicator, unless a rank has given up in this one. */
static void segment_on_comm_free(struct dm_comm *comm)
{
    struct dm_coll_shm *shm = comm->coll;
    struct dm_node_kept kept;

    if (shm == NULL)
        return;
    comm->coll = NULL;
    if (!dm_coll_state.is_keeping || shm->state != DM_COLL_SHM_READY || shm->shared == NULL ||
        atomic_load(&shm->shared->is_broken.value) != 0) {
        segment_drop(shm);
        free(shm);
        return;
    }
    dm_coll_state.n_segments--;
    kept = (struct dm_node_kept){.group = comm->group,
                                 .segment = shm->segment,
                                 .file = shm->file,
                                 .word_at = offsetof(struct dm_coll_shm_shared, n_kept),
                                 .own = shm};
    dm_node_keep(&dm_coll_state.kept, DM_NODE_KEPT_MOST, &kept);
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
    dm_list_init(&dm_coll_state.kept);
    dm_coll_state.is_keeping = true;
    dm_core_on_comm_free(segment_on_comm_free);
    dm_chan_on_packet(dm_world.chan, DM_PKT_COLL_WAKE, segment_on_wake, NULL);
}

void dm_coll_shm_stop(void)
{
    dm_node_kept_stop(&dm_coll_state.kept);
    dm_coll_state.is_keeping = false;
}
