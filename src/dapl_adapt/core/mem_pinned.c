/*
 * The program's memory where a provider pins pages.
 *
 * A registration may be found again while its memory is watched and nothing has been reported of it since before
 * it was made. What cannot be watched is registered for one use, which
 * keeps its pages in place, and for nobody else: another user's memory may be new by then.
 */
#include "dapl_adapt/core/mem_pinned.h"

#include <stdbool.h>
#include <stdio.h>

#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/mem_register.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/watch.h"
#include "dapl_adapt/public/types.h"
#include "util/cfg.h"
#include "util/err.h"

static void pinned_changed(void *arg, uintptr_t start, uintptr_t end)
{
    dm_reg_cache_forget_changed(arg, start, end);
}

/* Does the cache hold nothing stale, and can it be known? */
static bool pinned_drain(struct dm_memory *mem)
{
    return mem->watch != NULL && dm_watch_drain(mem->watch, pinned_changed, &mem->cache);
}

/* Registrations from before are of memory that nobody has watched. */
static bool pinned_keep_own(void *arg, struct dm_mr *mr)
{
    (void)arg;
    return mr->is_alloc;
}

void dm_mem_pinned_begin(struct dm_adapt *adapt)
{
    struct dm_memory *mem = &adapt->mem;

    if (mem->cache.is_guarded)
        return;
    dm_reg_cache_guard(&mem->cache);
    dm_reg_cache_sift(&mem->cache, pinned_keep_own, NULL);
    if (mem->keeps_regs)
        mem->watch = dm_watch_open(mem->no_watch, sizeof(mem->no_watch));
    mem->keeps_regs = mem->watch != NULL;
}

void dm_mem_pinned_end(struct dm_adapt *adapt)
{
    if (adapt->mem.watch != NULL)
        dm_watch_close(adapt->mem.watch);
    adapt->mem.watch = NULL;
}

/* What is watched grows together; the whole may be more than a provider takes, or partly read-only. */
static int pinned_register(struct dm_adapt *adapt, bool is_watched, uintptr_t start, uintptr_t end,
                           struct dm_mr **mr_p)
{
    struct dm_memory *mem = &adapt->mem;
    uintptr_t from = start, to = end;
    int err;

    if (is_watched && mem->cache.match == DM_REG_INTERVAL) {
        dm_reg_cache_union(&mem->cache, &from, &to);
        if ((from < start || to > end) && dm_watch_add(mem->watch, from, to)) {
            err = dm_mem_register(adapt, from, to, mr_p);
            if (err == DM_OK)
                return err;
        }
    }
    return dm_mem_register(adapt, start, end, mr_p);
}

int dm_mem_pinned_reg(struct dm_adapt *adapt, uintptr_t addr, size_t len, struct dm_mr **mr_p)
{
    struct dm_memory *mem = &adapt->mem;
    bool is_exact = mem->cache.match == DM_REG_EXACT;
    uintptr_t mask = mem->page - 1;
    uintptr_t start = addr & ~mask, end = (addr + len + mask) & ~mask;
    bool is_watched = pinned_drain(mem);
    int err;

    *mr_p = dm_reg_cache_find_guarded(&mem->cache, addr, len, is_watched);
    if (*mr_p != NULL)
        return DM_OK;
    mem->cache.n_misses++;
    is_watched = is_watched && dm_watch_add(mem->watch, start, end);
    err = pinned_register(adapt, is_watched, is_exact ? addr : start, is_exact ? addr + len : end,
                          mr_p);
    if (err != DM_OK)
        return err;
    /* it may have changed while it was registered */
    if (is_watched && pinned_drain(mem) &&
        dm_watch_covers(mem->watch, (*mr_p)->start & ~mask, ((*mr_p)->end + mask) & ~mask)) {
        dm_reg_cache_insert(&mem->cache, *mr_p);
        return DM_OK;
    }
    dm_reg_cache_add_single(&mem->cache, *mr_p);
    mem->n_single++;
    return DM_OK;
}

const char *dm_mem_keeps_text(const struct dm_adapt *adapt, char *text, size_t len)
{
    static const char *const match[] = {"cached", "cached, found for the same range only",
                                        "cached, found from the same page on"};

    if (adapt->mem.keeps_regs)
        snprintf(text, len, "%s%s", match[adapt->mem.cache.match],
                 adapt->mem.watch != NULL ? " while userfaultfd reports unmapped memory" : "");
    else
        snprintf(text, len, "freed after use%s%s", adapt->mem.no_watch[0] != '\0' ? ": " : "",
                 adapt->mem.no_watch);
    return text;
}
