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

static uint32_t taken[DM_CTX_WORDS];

void dm_ctx_init(void)
{
    memset(taken, 0, sizeof(taken));
    for (uint32_t ctx = 0; ctx < CTX_RESERVED; ctx += 2)
        dm_ctx_take(ctx);
}

void dm_ctx_mask(uint32_t mask_p[DM_CTX_WORDS])
{
    memcpy(mask_p, taken, sizeof(taken));
}

void dm_ctx_take(uint32_t ctx)
{
    if (ctx < 64 * DM_CTX_WORDS)
        taken[ctx / 64] |= 1u << (ctx / 2 % 32);
}

void dm_ctx_put(uint32_t ctx)
{
    if (ctx >= CTX_RESERVED && ctx < 64 * DM_CTX_WORDS)
        taken[ctx / 64] &= ~(1u << (ctx / 2 % 32));
}

uint32_t dm_ctx_alone(void)
{
    static uint32_t n;

    return CTX_ALONE + 2 * (n++ % N_ALONE);
}
