/*
 * Making, mapping and freeing the control block of a window; waiting for its words.
 */
#include "onesided/assist.h"
#include "onesided/flush.h"
#include "onesided/region.h"
#include "onesided/shared.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"
#include "onesided/win.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll.h"
#include "mpi/node/kept.h"
#include "util/cfg.h"
#include "util/host.h"
#include "util/log.h"

#define ASSIST_BYTES (UINT64_C(16) << 20) /* of all rows, unless they are shorter than */
#define ASSIST_LEAST 512
#define PLACES       64 /* of so many processes all are looked up, of more when they are targets */

/* Blocks made at a time: as many as windows have already, as the heads fill this, and no more than that. */
#define BATCH_LEN  ((size_t)16 << 10)
#define BATCH_MOST 16
#define BATCH_FILE ((size_t)512 << 20) /* bytes, most of them never touched */
#define KEPT_MOST  64
#define CLEAR_LEN  ((size_t)1 << 20) /* longer heads are given back instead of cleared */

/* The lranks' arrays begin on lines of their own. */
static size_t ctl_lines(size_t len)
{
    return (len + DM_CACHE_LINE - 1) / DM_CACHE_LINE * DM_CACHE_LINE;
}

static size_t ctl_posts_len(const struct dm_rma_node *node)
{
    return ctl_lines((size_t)node->n * (size_t)node->n * sizeof(uint32_t));
}

static size_t ctl_waiters_len(const struct dm_rma_node *node)
{
    return ctl_lines((size_t)node->n * (node->mask + 1) * sizeof(uint32_t));
}

static size_t ctl_splits_len(const struct dm_rma_node *node)
{
    return (size_t)node->n * sizeof(struct dm_rma_split);
}

/* In jobs of many processes rows are shorter: nobody has many targets that wait. */
static size_t ctl_assist_len(const struct dm_rma_node *node)
{
    size_t len = ASSIST_BYTES / ((size_t)node->n * (size_t)node->n * DM_RMA_ASSIST_SLOTS);
    size_t most =
        dm_rma_assist_item_len(DM_RMA_ASSIST_BYTES, 0) + sizeof(struct dm_rma_assist_slot);

    len = len < most ? len : most;
    return ctl_lines(len > ASSIST_LEAST ? len : ASSIST_LEAST);
}

/* Nobody assists itself. */
static size_t ctl_assists_len(const struct dm_rma_node *node)
{
    return node->n < 2 ? 0
                       : (size_t)node->n * (size_t)node->n * DM_RMA_ASSIST_SLOTS * node->assist_len;
}

static size_t ctl_regions_len(const struct dm_win *win, const struct dm_rma_node *node)
{
    return win->flavor == MPI_WIN_FLAVOR_DYNAMIC
               ? (size_t)node->n * DM_RMA_REGIONS * sizeof(struct dm_rma_region)
               : 0;
}

/* A table of all parts, where this host has all. */
static size_t ctl_parts_len(const struct dm_win *win, const struct dm_rma_node *node)
{
    return node->n_leaders == 1 ? (size_t)win->comm->size * sizeof(struct dm_win_part) : 0;
}

static struct dm_node_blocks ctl_blocks(const struct dm_win *win, const struct dm_rma_node *node,
                                        uint32_t n)
{
    struct dm_node_blocks blocks = {.n = n, .tail_len = ctl_assists_len(node)};

    blocks.head_len = sizeof(struct dm_rma_shared) +
                      (size_t)node->n * sizeof(struct dm_rma_rank_slot) + ctl_posts_len(node) +
                      ctl_waiters_len(node) + ctl_splits_len(node) + ctl_regions_len(win, node) +
                      ctl_parts_len(win, node);
    (void)dm_node_blocks_len(&blocks);
    return blocks;
}

/* As a new one is: its words. The table of parts is written before it is read, the tail is empty. */
static void ctl_clear(const struct dm_win *win, struct dm_rma_node *node)
{
    char *at = (char *)node->ctl->lranks;
    size_t len = (size_t)((char *)node->regions + ctl_regions_len(win, node) - at);

    if (node->ctl->is_used == 0)
        return;
    node->ctl->n_arrived = 0;
    node->ctl->n_fences = 0;
    if (len < CLEAR_LEN)
        memset(at, 0, len);
    else
        dm_host_shm_drop(at, len);
}

/* The block of the window that the group's processes have freed last is this one's. */
static void ctl_take(struct dm_rma_node *node, const struct dm_node_kept *kept)
{
    node->segment = kept->segment;
    node->file = kept->file;
}

static void ctl_keep_block(const struct dm_win *win, const struct dm_node_segment *segment,
                           uint32_t block)
{
    struct dm_node_kept kept = {.group = win->group,
                                .segment = *segment,
                                .file = win->node->file,
                                .word_at = offsetof(struct dm_rma_shared, n_kept)};

    kept.file.block = block;
    dm_node_keep(&dm_rma_state.kept, KEPT_MOST, &kept);
}

/* For the next window. Nobody assists in this one any more. */
static void ctl_keep(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    if (!node->is_agreed)
        return;
    dm_rma_state.n_blocks--;
    if (node->me == 0 && node->ctl->has_assists != 0) {
        dm_node_segment_empty_tail(&node->segment);
        node->ctl->has_assists = 0;
    }
    ctl_keep_block(win, &node->segment, node->file.block);
    node->segment = (struct dm_node_segment){.fd = -1};
}

static void shared_node_free(struct dm_rma_node *node)
{
    dm_node_segment_free(&node->segment);
    free(node->posts_seen);
    free(node->n_executed);
    free(node->split_work);
    free(node);
}

/* Who is on this host, and who is the first of each; false when memory is out. */
static bool shared_find_lranks(const struct dm_win *win, struct dm_rma_node *node)
{
    const struct dm_node_map *map = dm_node_map(win->comm->group);

    if (map == NULL)
        return false;
    node->n = map->n_local;
    node->me = map->lrank;
    node->ranks = map->ranks;
    node->n_leaders = map->n_nodes;
    node->leader = map->node;
    node->leaders = map->leaders;
    node->posts_seen = calloc((size_t)node->n, sizeof(*node->posts_seen));
    node->n_executed = calloc((size_t)node->n, sizeof(*node->n_executed));
    node->assist_len = ctl_assist_len(node);
    for (node->mask = 1; node->mask < (uint32_t)win->comm->size; node->mask *= 2)
        ;
    node->mask--;
    return node->posts_seen != NULL && node->n_executed != NULL;
}

/* The arrays behind the lranks. */
static void shared_layout(const struct dm_win *win, struct dm_rma_node *node)
{
    char *at = (char *)&node->ctl->lranks[node->n];

    node->posts = (uint32_t *)(void *)at;
    node->waiters = (uint32_t *)(void *)(at + ctl_posts_len(node));
    node->splits =
        (struct dm_rma_split *)(void *)(at + ctl_posts_len(node) + ctl_waiters_len(node));
    node->regions = (struct dm_rma_region *)(void *)&node->splits[node->n];
    if (ctl_parts_len(win, node) > 0)
        node->parts =
            (struct dm_win_part *)(void *)((char *)node->regions + ctl_regions_len(win, node));
    node->assists = node->segment.tail;
}

/* ---- making it ---- */

static uint32_t ctl_batch(const struct dm_node_blocks *one)
{
    size_t n = BATCH_LEN / one->head_len, most = BATCH_FILE / (one->head_len + one->tail_len);

    n = n > dm_rma_state.n_blocks ? n : dm_rma_state.n_blocks;
    most = most < BATCH_MOST ? most : BATCH_MOST;
    n = n < most ? n : most;
    return n > 0 ? (uint32_t)n : 1;
}

/* Make several, of which the first one is this window's. */
static int ctl_make(const struct dm_win *win, struct dm_rma_node *node)
{
    struct dm_node_blocks blocks = ctl_blocks(win, node, 1);
    int err;

    if (node->n == 1) /* nobody else is to map it */
        return dm_node_segment_alone(&node->segment, blocks.head_len);
    blocks.n = ctl_batch(&blocks);
    err =
        dm_node_segment_make(&node->segment, "datum-ctl", dm_node_blocks_len(&blocks), &node->file);
    if (err != DM_OK && blocks.n > 1) { /* limits of file length, address space */
        blocks.n = 1;
        err = dm_node_segment_make(&node->segment, "datum-ctl", dm_node_blocks_len(&blocks),
                                   &node->file);
    }
    node->n_made = blocks.n;
    return err == DM_OK ? dm_node_segment_cut(&node->segment, &blocks) : err;
}

/* Map what the host's first process has made. */
static int ctl_map(const struct dm_win *win, struct dm_rma_node *node, uint32_t n)
{
    struct dm_node_blocks blocks = ctl_blocks(win, node, n);
    int err;

    node->n_made = n;
    node->file.len = dm_node_blocks_len(&blocks);
    err = dm_node_segment_map(&node->segment, &node->file, node->file.len);
    return err == DM_OK ? dm_node_segment_cut(&node->segment, &blocks) : err;
}

static void ctl_describe(const struct dm_rma_node *node, struct dm_win_part *own)
{
    own->ctl_fd = node->file.fd;
    own->ctl_dev = node->file.dev;
    own->ctl_ino = node->file.ino;
    own->ctl_block = node->file.block;
    own->ctl_n_blocks = node->n_made;
    own->pid = node->file.pid;
}

void dm_rma_shared_offer(struct dm_win *win, struct dm_win_part *own)
{
    struct dm_node_kept kept;
    struct dm_rma_node *node;

    own->ctl_fd = -1;
    if (dm_cfg()->rma == DM_RMA_EMULATED ||
        (!dm_adapt_can_map(dm_chan_adapt(dm_world.chan)) && win->flavor != MPI_WIN_FLAVOR_SHARED))
        return;
    node = calloc(1, sizeof(*node));
    if (node == NULL)
        return;
    node->segment.fd = node->file.fd = -1;
    if (!shared_find_lranks(win, node)) {
        shared_node_free(node);
        return;
    }
    win->node = node;
    if (node->me != 0)
        return;
    if (dm_node_kept_claim(&dm_rma_state.kept, win->group, ctl_blocks(win, node, 1).head_len,
                           &kept)) {
        ctl_take(node, &kept);
        node->file.fd = DM_NODE_KEPT;
    } else if (ctl_make(win, node) != DM_OK) {
        DM_TRACE(RMA, "no control block: %s", dm_err_detail());
        dm_rma_shared_free(win);
        return;
    }
    node->ctl = node->segment.at;
    shared_layout(win, node);
    ctl_clear(win, node);
    node->ctl->is_used = 1;
    if (node->file.fd != -1) /* there are others */
        ctl_describe(node, own);
}

/* Map what the host's first process has made, by its part. */
static void shared_map(struct dm_win *win, const struct dm_win_part *first)
{
    struct dm_rma_node *node = win->node;
    struct dm_node_kept kept;

    if (node->me == 0)
        return;
    node->file = (struct dm_node_file){.dev = first->ctl_dev,
                                       .ino = first->ctl_ino,
                                       .pid = first->pid,
                                       .fd = first->ctl_fd,
                                       .block = first->ctl_block};
    if (node->file.fd == DM_NODE_KEPT) {
        if (dm_node_kept_find(&dm_rma_state.kept, &node->file, &kept))
            ctl_take(node, &kept);
        else
            DM_TRACE(RMA, "no control block: the one that is kept is not here");
    } else if (node->file.fd >= 0 && ctl_map(win, node, first->ctl_n_blocks) != DM_OK) {
        DM_TRACE(RMA, "no control block: %s", dm_err_detail());
        dm_node_segment_free(&node->segment);
    }
    node->ctl = node->segment.at;
    if (node->ctl != NULL)
        shared_layout(win, node);
}

/* All have it: it is used. */
static void shared_start(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;

    node->is_agreed = true;
    dm_rma_state.n_blocks++;
    dm_node_segment_close_file(&node->segment);
    for (uint32_t i = 1; i < node->n_made; i++) { /* the others are for the next windows */
        struct dm_node_segment spare = dm_node_segment_block(&node->segment, i);

        ctl_keep_block(win, &spare, i);
    }
    for (int i = 0; i < win->comm->size && win->comm->size <= PLACES; i++)
        win->peers[i].place = dm_rma_find_place(win, i);
    dm_rma_assist_start(win);
}

int dm_rma_shared_exchange(struct dm_win *win, struct dm_comm *comm, const struct dm_win_part *own,
                           struct dm_win_least *least)
{
    struct dm_win_part first = *own;
    int err = dm_bcast(&first, sizeof(first), dm_type_get(MPI_BYTE), 0, comm);

    if (err == DM_OK && win->node != NULL)
        shared_map(win, &first);
    if (win->node != NULL && win->node->ctl != NULL) {
        least->has_block = 1;
        win->parts = win->node->parts;
        win->parts[win->comm->rank] = *own;
    }
    /* whoever learns the result first may use the block at once: the own part of it is ready */
    if (err == DM_OK)
        err = dm_allreduce(MPI_IN_PLACE, least, sizeof(*least) / sizeof(int32_t),
                           dm_type_get(MPI_INT), dm_op_get(MPI_MIN), comm);
    if (err == DM_OK && least->has_block)
        shared_start(win);
    else
        dm_rma_shared_free(win);
    return err;
}

int dm_rma_find_place(const struct dm_win *win, int rank)
{
    const struct dm_rma_node *node = win->node;
    int low = 0, high = node != NULL && node->ctl != NULL ? node->n : 0;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (node->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    if (node == NULL || node->ctl == NULL)
        return 1;
    return low < node->n && node->ranks[low] == rank ? low + 2 : 1;
}

int dm_rma_shared_start(struct dm_win *win, struct dm_comm *comm)
{
    int has_it, all_have_it = 0, err;

    if (win->node != NULL)
        shared_map(win, &win->parts[win->node->ranks[0]]);
    /* whoever learns the result first may use its words at once: the own ones are ready */
    has_it = win->node != NULL && win->node->ctl != NULL;
    err = dm_allreduce(&has_it, &all_have_it, 1, dm_type_get(MPI_INT), dm_op_get(MPI_MIN), comm);
    if (err == DM_OK && all_have_it)
        shared_start(win);
    else
        dm_rma_shared_free(win);
    return err;
}

void dm_rma_shared_free(struct dm_win *win)
{
    if (win->node == NULL)
        return;
    dm_rma_assist_stop(win);
    if (win->parts == win->node->parts)
        win->parts = NULL;
    ctl_keep(win);
    shared_node_free(win->node);
    win->node = NULL;
}

/* ---- waiting ---- */

struct wait {
    struct dm_wait_word word;
    const struct dm_win *win;
    const uint32_t *at;
    uint32_t want;
    bool is_past;
    int err;
};

static inline bool shared_has_come(const struct wait *w)
{
    uint32_t now = dm_atomic_load(w->at);

    return w->is_past ? (int32_t)(now - w->want) >= 0 : now == w->want;
}

static bool shared_looks_over(const struct dm_wait_word *word)
{
    return shared_has_come(dm_container_of(word, const struct wait, word));
}

static bool shared_is_over(struct dm_wait_word *word)
{
    struct wait *w = dm_container_of(word, struct wait, word);

    if (shared_has_come(w))
        return true;
    w->err = dm_rma_check_lost(w->win, -1);
    return w->err != DM_OK;
}

int dm_rma_wait_word(struct dm_win *win, const uint32_t *at, uint32_t want, bool is_past)
{
    struct wait w = {.word = {.is_over = shared_is_over,
                              .has_come = shared_looks_over,
                              .asleep = &dm_rma_my_slot(win)->asleep},
                     .win = win,
                     .at = at,
                     .want = want,
                     .is_past = is_past};

    if (!shared_has_come(&w)) {
        dm_rma_assist_first(win->node);
        dm_wait_for_word(dm_world.chan, &w.word);
    }
    return w.err;
}

void dm_rma_wake(struct dm_win *win, int rank, bool is_sure)
{
    if (is_sure || dm_rma_is_asleep(win, dm_rma_lrank(win, rank))) {
        dm_rma_state.counts.n_wakes++;
        dm_rma_note(win, rank, DM_PKT_RMA_WAKE, 0);
    }
}
