/*
 * The word of a segment: how many processes have left it, its maker not counted; with KEPT_CLAIMED how many have
 * not found it yet, and zero again when all have.
 */
#include "mpi/node/kept.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_LEN     ((size_t)64 << 20)
#define KEPT_CLAIMED (UINT32_C(1) << 31)

static uint32_t *kept_word(const struct dm_node_kept *k)
{
    return (uint32_t *)(void *)((char *)k->segment.at + k->word_at);
}

static bool kept_is_own(const struct dm_node_kept *k)
{
    return dm_node_map(k->group)->lrank == 0;
}

static void kept_free(struct dm_node_kept *k)
{
    dm_list_del(&k->link);
    dm_group_unref(k->group);
    free(k);
}

static void kept_unmap(struct dm_node_kept *k)
{
    dm_node_segment_free(&k->segment);
    free(k->own);
    kept_free(k);
}

/* Unmap it; not if its maker is about to ask for it. */
static void kept_forget(struct dm_node_kept *k)
{
    uint32_t n = dm_atomic_load(kept_word(k));

    while (!kept_is_own(k) && (n & KEPT_CLAIMED) == 0)
        if (dm_atomic_cas(kept_word(k), &n, n - 1))
            break;
    if (kept_is_own(k) || (n & KEPT_CLAIMED) == 0)
        kept_unmap(k);
}

static void kept_limit(struct dm_list *store, int most)
{
    size_t len = 0;
    int n = 0;

    dm_list_for_each_safe (it, next, store) {
        struct dm_node_kept *k = dm_container_of(it, struct dm_node_kept, link);

        len += k->segment.len;
        if (++n > most || len > KEPT_LEN)
            kept_forget(k);
    }
}

/* The group, which is kept, too, must not hold processes of other jobs. */
static bool kept_is_worth_it(const struct dm_node_kept *what)
{
    const struct dm_node_map *map = dm_node_map(what->group);

    return map != NULL && map->n_local > 1 && !what->segment.is_private &&
           what->segment.len <= KEPT_LEN && dm_group_is_own(what->group);
}

void dm_node_keep(struct dm_list *store, int most, const struct dm_node_kept *what)
{
    struct dm_node_kept *k = kept_is_worth_it(what) ? malloc(sizeof(*k)) : NULL;

    if (k == NULL) {
        struct dm_node_segment segment = what->segment;

        dm_node_segment_free(&segment);
        free(what->own);
        return;
    }
    *k = *what;
    dm_group_ref(k->group);
    dm_list_add_head(store, &k->link);
    if (!kept_is_own(k))
        (void)dm_atomic_add(kept_word(k), 1);
    kept_limit(store, most);
}

static bool kept_is_of(const struct dm_node_kept *k, const struct dm_group *group)
{
    const struct dm_group *g = k->group;

    if (g == group)
        return true;
    if (g->size != group->size || (g->procs == NULL) != (group->procs == NULL))
        return false;
    return g->procs == NULL ||
           memcmp(g->procs, group->procs, (size_t)g->size * sizeof(*g->procs)) == 0;
}

static void kept_give(struct dm_node_kept *k, struct dm_node_kept *what_p)
{
    *what_p = *k;
    kept_free(k);
}

bool dm_node_kept_claim(struct dm_list *store, struct dm_group *group, size_t len,
                        struct dm_node_kept *what_p)
{
    dm_list_for_each (it, store) {
        struct dm_node_kept *k = dm_container_of(it, struct dm_node_kept, link);
        uint32_t n = (uint32_t)dm_node_map(k->group)->n_local - 1;

        if (k->segment.len == len && kept_is_own(k) && kept_is_of(k, group) &&
            dm_atomic_cas(kept_word(k), &n, n | KEPT_CLAIMED)) {
            kept_give(k, what_p);
            return true;
        }
    }
    return false;
}

bool dm_node_kept_find(struct dm_list *store, const struct dm_node_file *file,
                       struct dm_node_kept *what_p)
{
    dm_list_for_each (it, store) {
        struct dm_node_kept *k = dm_container_of(it, struct dm_node_kept, link);
        uint32_t last = KEPT_CLAIMED;

        if (k->file.ino == file->ino && k->file.block == file->block && k->file.dev == file->dev &&
            k->file.pid == file->pid) {
            kept_give(k, what_p);
            (void)dm_atomic_add(kept_word(what_p), UINT32_MAX);
            (void)dm_atomic_cas(kept_word(what_p), &last, 0);
            return true;
        }
    }
    return false;
}

void dm_node_kept_stop(struct dm_list *store)
{
    while (!dm_list_is_empty(store))
        kept_unmap(dm_container_of(store->next, struct dm_node_kept, link));
}
