/*
 * Combining data into a window's memory (combine.c), and the exclusive lock of a part.
 */
#ifndef DM_ONESIDED_COMBINE_H
#define DM_ONESIDED_COMBINE_H

#include "onesided/shared.h"
#include "onesided/update_atomic.h"

/*
 * Bytes from the first to the last of n elements of a basic type; a hole behind that is not its
 * own.
 */
static inline size_t dm_rma_span(const struct dm_type *type, size_t n)
{
    return n > 0 ? (n - 1) * (size_t)type->extent + (size_t)type->true_extent : 0;
}
/*
 * Combine n packed elements of a basic type at src (NULL with MPI_NO_OP) into memory of a part of
 * target that this process can address. What was there before is packed to old unless that is NULL.
 * Where others may do the same (win->is_mapped) and the machine can, each element is updated by a
 * compare and swap, or all under the exclusive lock.
 */
int dm_rma_combine(const struct dm_win *win, int target, const struct dm_op *op, char *dst,
                   size_t n, int basic, const char *src, char *old);
/* The same in a private copy; and a compare and swap of one element. */
int dm_rma_combine_copy(const struct dm_op *op, char *dst, size_t n, int basic, const char *src,
                        char *old);
void dm_rma_swap_copy(char *dst, int basic, const char *src, const char *compare, char *old);
/* Compare and swap one element; the same rules. */
void dm_rma_swap(const struct dm_win *win, int target, char *dst, int basic, const char *src,
                 const char *compare, char *old);
/*
 * May this process combine elements of a basic type at that address by itself, though it belongs to
 * another's part? Otherwise only the owner does, or (dm_rma_is_word) the provider.
 */
static inline bool dm_rma_may_combine(const struct dm_win *win, int target, int basic,
                                      const char *dst)
{
    if (dm_rma_is_word(win, basic, (uint64_t)(uintptr_t)dst))
        return false;
    return target == win->comm->rank ||
           (dm_op_is_atomic(basic) && (uintptr_t)dst % (size_t)dm_type_get(basic)->extent == 0);
}

/*
 * Is this part private memory that others on its host update by get-modify-put, one at a time,
 * under the exclusive lock?
 */
static inline bool dm_rma_is_guarded(const struct dm_win *win, int rank)
{
    return win->flavor == MPI_WIN_FLAVOR_CREATE && dm_rma_is_local(win, rank) &&
           win->parts[rank].fd < 0 && win->parts[rank].is_direct;
}
/*
 * Before elements of this rank's part are updated, until dm_rma_leave, without any waiting in
 * between. False: another process holds the exclusive lock.
 */
bool dm_rma_try_enter(const struct dm_win *win);
void dm_rma_leave(const struct dm_win *win);
/* The exclusive lock of a guarded part; waits, with progress. DM_EPEER. */
int dm_rma_excl_lock(const struct dm_win *win, int rank);
void dm_rma_excl_unlock(const struct dm_win *win, int rank);

#endif
