#include "onesided/ctl_cache.h"

#include <stdlib.h>

#include "onesided/state.h"

/* Blocks that a process keeps: their number, and their bytes in all, which include those never touched. */
enum { KEPT_MOST = 8 };
#define KEPT_LEN ((size_t)32 << 20)
/* In n_kept: its maker wants it. */
#define CLAIMED UINT32_MAX

struct kept {
    struct dm_list link; /* in dm_rma_state.kept, the one kept last in front */
    struct dm_group *group;
    struct dm_node_segment segment;
    struct dm_node_file file;
    int n;       /* processes */
    bool is_own; /* made by this process */
};

static uint32_t *kept_count(const struct kept *k)
{
    return &((struct dm_rma_shared *)k->segment.at)->n_kept;
}

static void kept_free(struct kept *k)
{
    dm_list_del(&k->link);
    dm_group_unref(k->group);
    free(k);
}

/* Unmap it; not if its maker is about to ask for it. */
static void kept_forget(struct kept *k)
{
    uint32_t n = dm_atomic_load(kept_count(k));

    while (!k->is_own && n != CLAIMED && !dm_atomic_cas(kept_count(k), &n, n - 1))
        ;
    if (!k->is_own && n == CLAIMED)
        return;
    dm_node_segment_free(&k->segment);
    kept_free(k);
}

static void kept_limit(void)
{
    size_t len = 0;
    int n = 0;

    dm_list_for_each_safe (it, next, &dm_rma_state.kept) {
        struct kept *k = dm_container_of(it, struct kept, link);

        len += k->segment.len;
        if (++n > KEPT_MOST || len > KEPT_LEN)
            kept_forget(k);
    }
}

/* The group, which is kept, too, must not hold processes of other jobs. */
static bool is_worth_keeping(const struct dm_win *win)
{
    const struct dm_rma_node *node = win->node;

    return node->is_agreed && node->n > 1 && node->segment.len <= KEPT_LEN &&
           dm_group_is_own(win->group);
}

void dm_rma_ctl_keep(struct dm_win *win)
{
    struct dm_rma_node *node = win->node;
    struct kept *k = is_worth_keeping(win) ? malloc(sizeof(*k)) : NULL;

    if (k == NULL) {
        dm_node_segment_free(&node->segment);
        return;
    }
    *k = (struct kept){.group = win->group,
                       .segment = node->segment,
                       .file = node->file,
                       .n = node->n,
                       .is_own = node->me == 0};
    dm_group_ref(k->group);
    node->segment.at = NULL;
    dm_list_add_head(&dm_rma_state.kept, &k->link);
    if (!k->is_own)
        (void)dm_atomic_add(kept_count(k), 1);
    kept_limit();
}

/* It is the block of this window now. */
static void kept_give(struct kept *k, struct dm_rma_node *node)
{
    node->segment = k->segment;
    node->file = k->file;
    kept_free(k);
}

bool dm_rma_ctl_claim(struct dm_win *win, size_t len)
{
    dm_list_for_each (it, &dm_rma_state.kept) {
        struct kept *k = dm_container_of(it, struct kept, link);
        uint32_t n = (uint32_t)k->n - 1;

        if (k->is_own && k->group == win->group && k->segment.len == len &&
            dm_atomic_cas(kept_count(k), &n, CLAIMED)) {
            kept_give(k, win->node);
            return true;
        }
    }
    return false;
}

void dm_rma_ctl_agreed(struct dm_win *win)
{
    if (win->node->me == 0)
        dm_atomic_store(&win->node->ctl->n_kept, 0);
}

bool dm_rma_ctl_find(struct dm_win *win, const struct dm_node_file *file)
{
    dm_list_for_each (it, &dm_rma_state.kept) {
        struct kept *k = dm_container_of(it, struct kept, link);

        if (k->file.ino == file->ino && k->file.dev == file->dev && k->file.pid == file->pid) {
            kept_give(k, win->node);
            return true;
        }
    }
    return false;
}

void dm_rma_ctl_cache_stop(void)
{
    while (!dm_list_is_empty(&dm_rma_state.kept)) {
        struct kept *k = dm_container_of(dm_rma_state.kept.next, struct kept, link);

        dm_node_segment_free(&k->segment);
        kept_free(k);
    }
}
