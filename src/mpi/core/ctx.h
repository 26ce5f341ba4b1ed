/*
 * Context ids: which of them the communicators of this process have taken.
 */
#ifndef DM_MPI_CORE_CTX_H
#define DM_MPI_CORE_CTX_H

#include <stdint.h>

/* A communicator has no id yet. */
#define DM_CTX_NONE UINT32_MAX
/* Context ids are in pairs, and those in pages. */
#define DM_CTX_WORDS 64 /* of a page's mask: a bit for each pair */
#define DM_CTX_PAIRS (32 * DM_CTX_WORDS)
#define DM_CTX_PAGES 512
/* A page's mask in this process (bit set: taken), for the agreement in src/mpi/comm. */
void dm_ctx_mask(uint32_t page, uint32_t mask_p[DM_CTX_WORDS]);
/* The lowest page with a free pair; DM_CTX_PAGES: none. */
uint32_t dm_ctx_lowest(void);
/* Both do nothing with DM_CTX_NONE and ids from dm_ctx_alone. */
void dm_ctx_take(uint32_t ctx);
void dm_ctx_put(uint32_t ctx);
/* A new id for a communicator of this process alone: nobody has to agree, and there are plenty. */
uint32_t dm_ctx_alone(void);

#endif
