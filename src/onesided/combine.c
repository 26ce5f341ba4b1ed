/*
 * Combining data into a window's memory, by whichever process can address it.
 *
 * Where several processes address one part, an element of 1, 2, 4 or 8 bytes, naturally aligned, is
 * updated by a compare and swap of the machine, by its owner too. Everything else is combined by
 * the owner alone, inside its global lock.
 *
 * Compare and swap is slow where there is much to combine. So a process that has many elements
 * takes the exclusive lock of the part for a moment and combines with plain loops: it sets the word
 * excl_lock and waits for those that are inside; they have said so in their own rank slots, which
 * costs them no access to a shared line. Both sides write, then read, and one of them sees the
 * other.
 *
 * The same words guard a part that only its process can address. Others update it by get-modify-put
 * and hold the lock meanwhile; so nobody waits for it for long without making progress and letting
 * other threads in, and a packet's handler, which cannot wait, defers the packet (target.c).
 */
#include <string.h>

#include "onesided/combine.h"
#include "onesided/flush.h"
#include "onesided/state.h"
#include "util/copy.h"
#include "util/glock.h"

#define STAGE_BYTES 1024
#define PIECE_BYTES 8192 /* of old values and their updates: what stays in the cache */
#define BULK_MIN    4    /* elements that are worth the exclusive lock, and for each process */
#define BULK_LRANK  2
#define BULK_MAX    65536 /* bytes until others get a chance */

/* Do others update such elements at this place by themselves? */
static bool is_raced(const struct dm_win *win, int basic, const char *dst)
{
    return win->is_mapped && dm_op_is_atomic(basic) &&
           (uintptr_t)dst % (size_t)dm_type_get(basic)->extent == 0;
}

static bool is_lost(const struct dm_win *win, int lrank)
{
    return dm_rma_state.n_lost > 0 && dm_world_is_gone(dm_rma_proc(win, win->node->ranks[lrank]));
}

/* The word names its holder: a lost process does not hold the lock for ever. */
static void excl_lock_free_lost(const struct dm_win *win, int lrank)
{
    uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t who = dm_atomic_load(excl_lock);

    if (who != 0 && is_lost(win, (int)who - 1))
        (void)dm_atomic_cas(excl_lock, &who, 0);
}

/* Packets and other threads of the program: somebody else may wait for one of them. */
static void combine_progress(void)
{
    dm_chan_progress_test(dm_world.chan);
    dm_glock_yield();
}

/*
 * Once more in a loop that waits for another process to end its work on a lrank's part, in a call
 * of the program. It may have been stopped: after a while progress is made, and lost processes are
 * found.
 */
static void wait_inside(const struct dm_win *win, int lrank, uint32_t *n)
{
    dm_wait_short(n);
    if (dm_likely(*n % DM_WAIT_STOPPED_LOOKS != 0))
        return;
    combine_progress();
    excl_lock_free_lost(win, lrank);
}

/* Before elements of a lrank's part are updated one by one. */
static inline void combine_enter(const struct dm_win *win, int lrank)
{
    struct dm_rma_rank_slot *own = dm_rma_my_slot(win);
    const uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t n = 0;

    dm_atomic_swap(&own->combines, (uint32_t)lrank + 1);
    while (dm_unlikely(dm_atomic_load(excl_lock) != 0)) {
        dm_atomic_store(&own->combines, 0);
        while (dm_atomic_load(excl_lock) != 0)
            wait_inside(win, lrank, &n);
        dm_atomic_swap(&own->combines, (uint32_t)lrank + 1);
    }
}

static inline void combine_leave(const struct dm_win *win)
{
    dm_atomic_store(&dm_rma_my_slot(win)->combines, 0);
}

static void excl_lock_release(const struct dm_win *win, int lrank)
{
    dm_atomic_store(&dm_rma_slot(win, lrank)->excl_lock, 0);
}

/* Wait until nobody is inside. False: somebody stays there. */
static bool are_all_outside(const struct dm_win *win, int lrank)
{
    for (int i = 0; i < win->node->n; i++) {
        uint32_t n = 0;

        while (dm_atomic_load(&dm_rma_slot(win, i)->combines) == (uint32_t)lrank + 1 &&
               !is_lost(win, i)) {
            dm_wait_short(&n);
            if (n % DM_WAIT_STOPPED_LOOKS == 0)
                return false;
        }
    }
    return true;
}

/* The exclusive lock of a lrank's part, in a call of the program. */
static void excl_lock_take(const struct dm_win *win, int lrank)
{
    uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t n = 0;

    for (;;) {
        uint32_t nobody = 0;

        while (dm_atomic_load(excl_lock) != 0 ||
               !dm_atomic_cas(excl_lock, &nobody, (uint32_t)win->node->me + 1)) {
            nobody = 0;
            wait_inside(win, lrank, &n);
        }
        if (dm_likely(are_all_outside(win, lrank)))
            return;
        /* packets that arrive meanwhile may be for this part */
        excl_lock_release(win, lrank);
        combine_progress();
    }
}

/* The same on the own part, which this process has entered; not if that takes any waiting. */
static bool excl_lock_try(const struct dm_win *win)
{
    uint32_t lrank = (uint32_t)win->node->me, nobody = 0;

    if (!dm_atomic_cas(&dm_rma_my_slot(win)->excl_lock, &nobody, lrank + 1))
        return false;
    dm_atomic_fence();
    for (int i = 0; i < win->node->n; i++) {
        if (i != (int)lrank && dm_atomic_load(&dm_rma_slot(win, i)->combines) == lrank + 1) {
            excl_lock_release(win, (int)lrank);
            return false;
        }
    }
    return true;
}

/* ---- the own part, without waiting ---- */

bool dm_rma_try_enter(const struct dm_win *win)
{
    int me = win->comm->rank;

    if (!dm_rma_is_guarded(win, me) && !(win->is_mapped && dm_rma_is_local(win, me)))
        return true;
    dm_atomic_swap(&dm_rma_my_slot(win)->combines, (uint32_t)win->node->me + 1);
    win->node->is_inside = dm_atomic_load(&dm_rma_my_slot(win)->excl_lock) == 0;
    if (!win->node->is_inside) {
        dm_atomic_store(&dm_rma_my_slot(win)->combines, 0);
        excl_lock_free_lost(win, win->node->me);
    }
    return win->node->is_inside;
}

void dm_rma_leave(const struct dm_win *win)
{
    if (win->node == NULL || !win->node->is_inside)
        return;
    win->node->is_inside = false;
    dm_atomic_store(&dm_rma_my_slot(win)->combines, 0);
}

/* ---- guarded parts ---- */

/* A wait, with progress, until a word is a value, or (is_equal is false) is it no more. */
struct guard_wait {
    struct dm_wait_word word;
    const struct dm_win *win;
    const uint32_t *at;
    uint32_t value;
    bool is_equal;
    int err;
};

static bool guard_has_come(const struct dm_wait_word *word)
{
    const struct guard_wait *w = dm_container_of(word, const struct guard_wait, word);

    return (dm_atomic_load(w->at) == w->value) == w->is_equal;
}

static bool guard_is_over(struct dm_wait_word *word)
{
    struct guard_wait *w = dm_container_of(word, struct guard_wait, word);

    if (guard_has_come(word))
        return true;
    w->err = dm_rma_check_lost(w->win, -1);
    return w->err != DM_OK;
}

static int guard_wait(const struct dm_win *win, const uint32_t *at, uint32_t value, bool is_equal)
{
    struct guard_wait w = {
        .word = {.is_over = guard_is_over, .has_come = guard_has_come, .is_untold = true},
        .win = win,
        .at = at,
        .value = value,
        .is_equal = is_equal};

    dm_wait_until(dm_world.chan, &w.word);
    return w.err;
}

int dm_rma_excl_lock(const struct dm_win *win, int rank)
{
    int lrank = dm_rma_lrank(win, rank);
    uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t nobody = 0;
    int err = DM_OK;

    while (err == DM_OK && !dm_atomic_cas(excl_lock, &nobody, (uint32_t)win->node->me + 1)) {
        err = guard_wait(win, excl_lock, 0, true);
        nobody = 0;
    }
    if (err != DM_OK)
        return err;
    dm_atomic_fence();
    err = guard_wait(win, &dm_rma_slot(win, lrank)->combines, (uint32_t)lrank + 1, false);
    if (err != DM_OK)
        excl_lock_release(win, lrank);
    return err;
}

void dm_rma_excl_unlock(const struct dm_win *win, int rank)
{
    excl_lock_release(win, dm_rma_lrank(win, rank));
}

/* Elements without holes: nothing is staged. */
static int combine_dense(const struct dm_op *op, char *dst, size_t n, const struct dm_type *type,
                         const char *src, char *old, bool raced)
{
    size_t size = (size_t)type->size, step = PIECE_BYTES / size;
    int err = DM_OK;

    if (old == NULL)
        return dm_op_apply_basic(op, src, dst, n, type->basic, raced);
    if (raced)
        return dm_op_fetch_basic(op, src, dst, old, n, type->basic);
    for (size_t i = 0; i < n && err == DM_OK; i += step) {
        size_t part = n - i < step ? n - i : step;

        dm_copy(old + i * size, dst + i * size, part * size);
        if (src != NULL)
            err = dm_op_apply_basic(op, src + i * size, dst + i * size, part, type->basic, false);
    }
    return err;
}

/* The elements, by compare and swap if raced. */
static int combine_elements(const struct dm_op *op, char *dst, size_t n, const struct dm_type *type,
                            const char *src, char *old, bool raced)
{
    size_t size = (size_t)type->size;
    size_t extent = (size_t)type->extent;
    _Alignas(16) char in[STAGE_BYTES];

    if (size == extent)
        return combine_dense(op, dst, n, type, src, old, raced);
    /* pairs are packed without their holes, which may belong to others: nobody writes them */
    while (n > 0) {
        size_t part = n < STAGE_BYTES / extent ? n : STAGE_BYTES / extent;
        bool is_replace = op->obj.handle == MPI_REPLACE;
        int err = DM_OK;

        if (old != NULL)
            dm_type_pack(dst, part, type, 0, old, part * size);
        if (src != NULL)
            dm_type_unpack(is_replace ? dst : in, part, type, 0, src, part * size);
        if (src != NULL && !is_replace)
            err = dm_op_apply_basic(op, in, dst, part, type->basic, false);
        if (err != DM_OK)
            return err;
        src += src != NULL ? part * size : 0;
        old += old != NULL ? part * size : 0;
        dst += part * extent;
        n -= part;
    }
    return DM_OK;
}

/* The same under the exclusive lock, a piece at a time. */
static int combine_bulk(const struct dm_win *win, int lrank, const struct dm_op *op, char *dst,
                        size_t n, const struct dm_type *type, const char *src, char *old)
{
    int err = DM_OK;

    while (n > 0 && err == DM_OK) {
        size_t most = BULK_MAX / (size_t)type->extent;
        size_t part = n < most ? n : most;
        size_t len = part * (size_t)type->size;

        excl_lock_take(win, lrank);
        err = combine_elements(op, dst, part, type, src, old, false);
        excl_lock_release(win, lrank);
        src += src != NULL ? len : 0;
        old += old != NULL ? len : 0;
        dst += part * (size_t)type->extent;
        n -= part;
    }
    return err;
}

int dm_rma_combine_copy(const struct dm_op *op, char *dst, size_t n, int basic, const char *src,
                        char *old)
{
    return combine_elements(op, dst, n, dm_type_get(basic), src, old, false);
}

/* The own part, in a call of the program. */
static int enter_own(const struct dm_win *win)
{
    int err = DM_OK;

    while (!dm_rma_try_enter(win) && err == DM_OK)
        err = guard_wait(win, &dm_rma_my_slot(win)->excl_lock, 0, true);
    return err;
}

static int combine_own(const struct dm_win *win, const struct dm_op *op, char *dst, size_t n,
                       const struct dm_type *type, const char *src, char *old)
{
    int err = enter_own(win);

    if (err == DM_OK)
        err = combine_elements(op, dst, n, type, src, old, false);
    dm_rma_leave(win);
    return err;
}

/* Elements of the own part that others may update by themselves. */
static int combine_inside(const struct dm_win *win, const struct dm_op *op, char *dst, size_t n,
                          const struct dm_type *type, const char *src, char *old)
{
    int err;

    if (n < BULK_MIN || !excl_lock_try(win))
        return combine_elements(op, dst, n, type, src, old, true);
    err = combine_elements(op, dst, n, type, src, old, false);
    excl_lock_release(win, win->node->me);
    return err;
}

int dm_rma_combine(const struct dm_win *win, int target, const struct dm_op *op, char *dst,
                   size_t n, int basic, const char *src, char *old)
{
    const struct dm_type *type = dm_type_get(basic);
    int err;

    if (dm_rma_is_guarded(win, target))
        return win->node->is_inside ? combine_elements(op, dst, n, type, src, old, false)
                                    : combine_own(win, op, dst, n, type, src, old);
    if (!is_raced(win, basic, dst))
        return combine_elements(op, dst, n, type, src, old, false);
    if (!dm_rma_is_local(win, target))
        return combine_elements(op, dst, n, type, src, old, true);
    if (win->node->is_inside)
        return combine_inside(win, op, dst, n, type, src, old);
    if (n >= BULK_MIN && n / BULK_LRANK >= (size_t)win->node->n)
        return combine_bulk(win, dm_rma_lrank(win, target), op, dst, n, type, src, old);
    combine_enter(win, dm_rma_lrank(win, target));
    err = combine_elements(op, dst, n, type, src, old, true);
    combine_leave(win);
    return err;
}

#define SWAP(BITS)                                                                                 \
    case BITS / 8: {                                                                               \
        uint##BITS##_t new, was;                                                                   \
                                                                                                   \
        memcpy(&new, src, sizeof(new));                                                            \
        memcpy(&was, compare, sizeof(was));                                                        \
        (void)dm_atomic_cas((uint##BITS##_t *)(void *)dst, &was, new);                             \
        memcpy(old, &was, sizeof(was));                                                            \
        break;                                                                                     \
    }

static void swap_raced(char *dst, size_t size, const char *src, const char *compare, char *old)
{
    switch (size) {
        SWAP(8)
        SWAP(16)
        SWAP(32)
        SWAP(64)
    default:
        break;
    }
}

void dm_rma_swap_copy(char *dst, int basic, const char *src, const char *compare, char *old)
{
    size_t size = (size_t)dm_type_get(basic)->size;
    char was[16];

    memcpy(was, dst, size);
    if (memcmp(was, compare, size) == 0)
        memcpy(dst, src, size);
    memcpy(old, was, size);
}

void dm_rma_swap(const struct dm_win *win, int target, char *dst, int basic, const char *src,
                 const char *compare, char *old)
{
    bool is_guarded = dm_rma_is_guarded(win, target);
    bool must_enter = dm_rma_is_local(win, target) && !win->node->is_inside;
    bool must_wait;

    if (!is_guarded && is_raced(win, basic, dst)) {
        if (must_enter)
            combine_enter(win, dm_rma_lrank(win, target));
        swap_raced(dst, (size_t)dm_type_get(basic)->size, src, compare, old);
        if (must_enter)
            combine_leave(win);
        return;
    }
    must_wait = is_guarded && !win->node->is_inside;
    if (must_wait && enter_own(win) != DM_OK)
        return; /* the holder of the lock is lost, and with it the window */
    dm_rma_swap_copy(dst, basic, src, compare, old);
    if (must_wait)
        dm_rma_leave(win);
}
