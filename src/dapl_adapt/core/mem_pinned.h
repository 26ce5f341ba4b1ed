/*
 * The program's memory where a provider pins pages: registrations stay with the pages that an address had
 * when they were made. Inside the global lock.
 */
#ifndef DM_DAPL_ADAPT_CORE_MEM_PINNED_H
#define DM_DAPL_ADAPT_CORE_MEM_PINNED_H

#include <stddef.h>
#include <stdint.h>

struct dm_adapt;
struct dm_mr;

/* A provider pins: from now on only registrations of watched memory are found again, if there is a watch. */
void dm_mem_pinned_begin(struct dm_adapt *adapt);
/* When all registrations have gone. */
void dm_mem_pinned_end(struct dm_adapt *adapt);
/* dm_adapt_reg for these providers. */
int dm_mem_pinned_reg(struct dm_adapt *adapt, uintptr_t addr, size_t len, struct dm_mr **mr_p);
/* What becomes of registrations after use, and why, for DATUM_EXPLAIN. */
const char *dm_mem_keeps_text(const struct dm_adapt *adapt, char *text, size_t len);

#endif
