/*
 * Which context ids this process has taken. A communicator's processes agree on an id that is
 * free in all of them (src/mpi/comm); the pair ctx, ctx + 1 is index ctx / 2 here.
 */
#include "mpi/core/core_priv.h"

#include <string.h>

#define CTX_ALONE 0x40000000u /* and N_ALONE pairs from there on, in turn */
#define N_ALONE   0x10000000u

/* The world's, self's, the hidden one's, and that of hidden ones of several jobs: for ever. */
#define CTX_RESERVED 8

#define CTX_END (2 * DM_CTX_PAGES * DM_CTX_PAIRS)

static struct {
    uint32_t taken[DM_CTX_PAGES][DM_CTX_WORDS];
    uint32_t n_taken[DM_CTX_PAGES];
    uint32_t lowest; /* all pages below are full */
} ctxs;

void dm_ctx_init(void)
{
    for (uint32_t page = 0; page < DM_CTX_PAGES; page++) {
        if (ctxs.n_taken[page] > 0) /* by what was not freed before the library was stopped */
            memset(ctxs.taken[page], 0, sizeof(ctxs.taken[page]));
        ctxs.n_taken[page] = 0;
    }
    ctxs.lowest = 0;
    for (uint32_t ctx = 0; ctx < CTX_RESERVED; ctx += 2)
        dm_ctx_take(ctx);
}

void dm_ctx_mask(uint32_t page, uint32_t mask_p[DM_CTX_WORDS])
{
    memcpy(mask_p, ctxs.taken[page], sizeof(ctxs.taken[page]));
}

uint32_t dm_ctx_lowest(void)
{
    while (ctxs.lowest < DM_CTX_PAGES && ctxs.n_taken[ctxs.lowest] == DM_CTX_PAIRS)
        ctxs.lowest++;
    return ctxs.lowest;
}

void dm_ctx_take(uint32_t ctx)
{
    uint32_t page = ctx / 2 / DM_CTX_PAIRS, bit = 1u << (ctx / 2 % 32);
    uint32_t *word;

    if (ctx >= CTX_END)
        return;
    word = &ctxs.taken[page][ctx / 64 % DM_CTX_WORDS];
    ctxs.n_taken[page] += (*word & bit) == 0;
    *word |= bit;
}

void dm_ctx_put(uint32_t ctx)
{
    uint32_t page = ctx / 2 / DM_CTX_PAIRS, bit = 1u << (ctx / 2 % 32);
    uint32_t *word;

    if (ctx < CTX_RESERVED || ctx >= CTX_END)
        return;
    word = &ctxs.taken[page][ctx / 64 % DM_CTX_WORDS];
    ctxs.n_taken[page] -= (*word & bit) != 0;
    *word &= ~bit;
    if (page < ctxs.lowest)
        ctxs.lowest = page;
}

uint32_t dm_ctx_alone(void)
{
    static uint32_t n;

    return CTX_ALONE + 2 * (n++ % N_ALONE);
}
