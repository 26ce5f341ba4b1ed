/*
 * Making, mapping and freeing the control block of a window; waiting for its words.
 */
#include "onesided/assist.h"
#include "onesided/flush.h"
#include "onesided/region.h"
#include "onesided/shared.h"
#include "onesided/split_copy.h"
#include "onesided/state.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/coll/coll.h"
#include "util/cfg.h"
#include "util/host.h"
#include "util/log.h"

#define ASSIST_BYTES (UINT64_C(16) << 20) /* of all rows, unless they are shorter than */
#define ASSIST_LEAST 512

/* The lranks' arrays begin on lines of their own. */
static size_t lines(size_t len)
{
    return (len + DM_CACHE_LINE - 1) / DM_CACHE_LINE * DM_CACHE_LINE;
}

static size_t posts_len(const struct dm_rma_node *node)
{
    return lines((size_t)node->n * (size_t)node->n * sizeof(uint32_t));
}

static size_t waiters_len(const struct dm_rma_node *node)
{
    return lines((size_t)node->n * (node->mask + 1) * sizeof(uint32_t));
}

static size_t shares_len(const struct dm_rma_node *node)
{
    return (size_t)node->n * sizeof(struct dm_rma_split);
}

/* In jobs of many processes rows are shorter: nobody has many targets that wait. */
static size_t assist_len(const struct dm_rma_node *node)
{
    size_t len = ASSIST_BYTES / ((size_t)node->n * (size_t)node->n * DM_RMA_ASSIST_SLOTS);
    size_t most =
        dm_rma_assist_item_len(DM_RMA_ASSIST_BYTES, 0) + sizeof(struct dm_rma_assist_slot);

    len = len < most ? len : most;
    return lines(len > ASSIST_LEAST ? len : ASSIST_LEAST);
}

static size_t assists_len(const struct dm_rma_node *node)
{
    return (size_t)node->n * (size_t)node->n * DM_RMA_ASSIST_SLOTS * node->assist_len;
}

static size_t regions_len(const struct dm_win *win, const struct dm_rma_node *node)
{
    return win->flavor == MPI_WIN_FLAVOR_DYNAMIC
               ? (size_t)node->n * DM_RMA_REGIONS * sizeof(struct dm_rma_region)
               : 0;
}

static size_t ctl_len(const struct dm_win *win, const struct dm_rma_node *node)
{
    return sizeof(struct dm_rma_shared) + (size_t)node->n * sizeof(struct dm_rma_rank_slot) +
           posts_len(node) + waiters_len(node) + shares_len(node) + assists_len(node) +
           regions_len(win, node);
}

static void node_free(struct dm_rma_node *node)
{
    if (node->ctl != NULL)
        munmap(node->ctl, node->len);
    if (node->fd >= 0)
        close(node->fd);
    free(node->ranks);
    free(node->leaders);
    free(node->posts_seen);
    free(node->n_served);
    free(node->helps);
    free(node);
}

/* Who is on my host, and who is the first of each; false when memory is out. */
static bool find_lranks(const struct dm_win *win, struct dm_rma_node *node)
{
    int size = win->comm->size;
    int mine = dm_chan_node(dm_world.chan, dm_world.rank);
    int n_nodes = 0;
    char *is_seen;

    for (int i = 0; i < size; i++) {
        int at = dm_chan_node(dm_world.chan, dm_rma_proc(win, i));

        n_nodes = at >= n_nodes ? at + 1 : n_nodes;
    }
    is_seen = calloc((size_t)n_nodes, 1);
    node->ranks = malloc((size_t)size * sizeof(*node->ranks));
    node->leaders = malloc((size_t)size * sizeof(*node->leaders));
    for (int i = 0; i < size && is_seen != NULL && node->ranks != NULL && node->leaders != NULL;
         i++) {
        int at = dm_chan_node(dm_world.chan, dm_rma_proc(win, i));

        if (at == mine && i == win->comm->rank)
            node->me = node->n;
        if (at == mine)
            node->ranks[node->n++] = i;
        if (at == mine && !is_seen[at])
            node->leader = node->n_leaders;
        if (!is_seen[at])
            node->leaders[node->n_leaders++] = i;
        is_seen[at] = 1;
    }
    free(is_seen);
    if (node->n > 0) {
        node->posts_seen = calloc((size_t)node->n, sizeof(*node->posts_seen));
        node->n_served = calloc((size_t)node->n, sizeof(*node->n_served));
        node->assist_len = assist_len(node);
    }
    for (node->mask = 1; node->mask < (uint32_t)size; node->mask *= 2)
        ;
    node->mask--;
    return node->posts_seen != NULL && node->n_served != NULL;
}

/* The arrays behind the lranks. */
static void shared_layout(struct dm_rma_node *node)
{
    char *at = (char *)&node->ctl->lranks[node->n];

    node->posts = (uint32_t *)(void *)at;
    node->waiters = (uint32_t *)(void *)(at + posts_len(node));
    node->shares = (struct dm_rma_split *)(void *)(at + posts_len(node) + waiters_len(node));
    node->assists = (char *)&node->shares[node->n];
    node->regions = (struct dm_rma_region *)(void *)(node->assists + assists_len(node));
}

void dm_rma_shared_offer(struct dm_win *win, struct dm_win_part *mine)
{
    struct dm_rma_node *node;
    struct stat st;
    void *ptr;

    mine->ctl_fd = -1;
    if (dm_cfg()->rma == DM_RMA_EMULATED ||
        (!dm_adapt_can_map(dm_chan_adapt(dm_world.chan)) && win->flavor != MPI_WIN_FLAVOR_SHARED))
        return;
    node = calloc(1, sizeof(*node));
    if (node == NULL)
        return;
    node->fd = -1;
    if (!find_lranks(win, node)) {
        node_free(node);
        return;
    }
    node->len = ctl_len(win, node);
    win->node = node;
    if (node->me != 0)
        return;
    if (dm_host_shm_alloc("datum-ctl", node->len, &ptr, &node->fd) != DM_OK ||
        fstat(node->fd, &st) != 0) {
        DM_TRACE(RMA, "no control block: %s", dm_err_detail());
        dm_rma_shared_free(win);
        return;
    }
    node->ctl = ptr;
    mine->ctl_fd = node->fd;
    mine->ctl_dev = st.st_dev;
    mine->ctl_ino = st.st_ino;
    mine->pid = getpid();
}

/* Map what the host's first process has made. */
static void shared_map(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    const struct dm_win_part *part = &win->parts[node->ranks[0]];
    void *ptr;

    if (node->ctl == NULL && part->ctl_fd >= 0 &&
        dm_host_shm_open(part->pid, part->ctl_fd, part->ctl_dev, part->ctl_ino, node->len, &ptr) ==
            DM_OK)
        node->ctl = ptr;
    if (node->ctl == NULL)
        return;
    shared_layout(node);
    for (int i = 0; i < node->n; i++)
        win->peers[node->ranks[i]].lrank = i;
}

int dm_rma_shared_start(struct dm_win *win)
{
    int has_it, all_have_it = 0;
    int err;

    if (win->node != NULL)
        shared_map(win);
    /* whoever learns the result first may use its words at once: mine are ready */
    has_it = win->node != NULL && win->node->ctl != NULL;
    err =
        dm_allreduce(&has_it, &all_have_it, 1, dm_type_get(MPI_INT), dm_op_get(MPI_MIN), win->comm);
    if (win->node == NULL)
        return err;
    if (err != DM_OK || !all_have_it) {
        dm_rma_shared_free(win);
    } else if (win->node->fd >= 0) {
        close(win->node->fd);
        win->node->fd = -1;
    }
    if (win->node != NULL)
        dm_rma_assist_start(win);
    return err;
}

void dm_rma_shared_free(struct dm_win *win)
{
    if (win->node == NULL)
        return;
    dm_rma_assist_stop(win);
    node_free(win->node);
    win->node = NULL;
    for (int i = 0; i < win->comm->size; i++)
        win->peers[i].lrank = -1;
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
    struct wait w = {.word = {.is_over = shared_is_over, .asleep = &dm_rma_my_slot(win)->asleep},
                     .win = win,
                     .at = at,
                     .want = want,
                     .is_past = is_past};

    if (!shared_has_come(&w))
        dm_wait_for_word(dm_world.chan, &w.word);
    return w.err;
}

void dm_rma_wake(struct dm_win *win, int rank, bool is_sure)
{
    if (is_sure || *(volatile uint32_t *)&dm_rma_slot(win, win->peers[rank].lrank)->asleep != 0) {
        dm_rma_state.counts.n_wakes++;
        dm_rma_note(win, rank, DM_PKT_RMA_WAKE, 0);
    }
}
