/*
 * Combining data into a window's memory, by whichever process can address it.
 *
 * Where several processes address one part, an element of 1, 2, 4 or 8 bytes, naturally aligned, is
 * updated by a compare and swap of the machine, by its owner too. Everything else is combined by
 * the owner alone, inside its global lock.
 *
 * Compare and swap is slow where there is much to combine. So whoever has many elements keeps all
 * others off that part for a moment and combines with plain loops: it sets the word excl_lock of
 * the part and waits for those that are inside; they have said so in their own lranks, which costs
 * them no access to a shared line. Both sides write, then look, and one of them sees the other.
 *
 * The same words guard a part that only its process can address. Others update it by a read and a
 * write (get_modify_put.c) and may have to wait for these; so nobody waits for long without making
 * progress and letting other threads in, and where that cannot be, in a packet's handler, the
 * packet is put off (target.c).
 */
#include <string.h>

#include "onesided/combine.h"
#include "onesided/flush.h"
#include "onesided/state.h"
#include "util/glock.h"

#define STAGE_BYTES 1024
#define PIECE_BYTES 8192 /* of old values and their updates: what stays in the cache */
#define BULK_MIN    4    /* elements that are worth keeping others off, and for each process */
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
    return dm_rma_state.n_lost > 0 &&
           dm_chan_is_lost(dm_world.chan, dm_rma_proc(win, win->node->ranks[lrank]));
}

/* The word names its holder: who was lost does not keep others off for ever. */
static void free_lost(const struct dm_win *win, int lrank)
{
    uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t who = dm_atomic_load(excl_lock);

    if (who != 0 && is_lost(win, (int)who - 1))
        (void)dm_atomic_cas(excl_lock, &who, 0);
}

/* Packets and other threads of the program: one of them may be what lets somebody else go on. */
static void let_in(void)
{
    dm_chan_progress_test(dm_world.chan);
    dm_glock_yield();
}

/*
 * Once more in a loop that waits for another's work on a lrank's part, in a call of the program.
 * Somebody may have stopped it dead: after a while others are let in, and it is heard that a
 * process was lost.
 */
static void wait_inside(const struct dm_win *win, int lrank, uint32_t *n)
{
    dm_wait_short(n);
    if (dm_likely(*n % DM_WAIT_STOPPED_LOOKS != 0))
        return;
    let_in();
    free_lost(win, lrank);
}

/* Before elements of a lrank's part are updated one by one. */
static inline void combine_enter(const struct dm_win *win, int lrank)
{
    struct dm_rma_rank_slot *mine = dm_rma_my_slot(win);
    const uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t n = 0;

    dm_atomic_swap(&mine->combines, (uint32_t)lrank + 1);
    while (dm_unlikely(dm_atomic_load(excl_lock) != 0)) {
        dm_atomic_store(&mine->combines, 0);
        while (dm_atomic_load(excl_lock) != 0)
            wait_inside(win, lrank, &n);
        dm_atomic_swap(&mine->combines, (uint32_t)lrank + 1);
    }
}

static inline void combine_leave(const struct dm_win *win)
{
    dm_atomic_store(&dm_rma_my_slot(win)->combines, 0);
}

static void leave_bulk(const struct dm_win *win, int lrank)
{
    dm_atomic_store(&dm_rma_slot(win, lrank)->excl_lock, 0);
}

/* Has nobody said that it is inside? False: somebody stays there. */
static bool are_outside(const struct dm_win *win, int lrank)
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

/* Keep all others off. */
static void enter_bulk(const struct dm_win *win, int lrank)
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
        if (dm_likely(are_outside(win, lrank)))
            return;
        /* packets that are let in may be for this part */
        leave_bulk(win, lrank);
        let_in();
    }
}

/*
 * The same for a short time on my own part, where I am inside already; not if that takes any
 * waiting.
 */
static bool try_bulk(const struct dm_win *win)
{
    uint32_t lrank = (uint32_t)win->node->me, nobody = 0;

    if (!dm_atomic_cas(&dm_rma_my_slot(win)->excl_lock, &nobody, lrank + 1))
        return false;
    dm_atomic_fence();
    for (int i = 0; i < win->node->n; i++) {
        if (i != (int)lrank && dm_atomic_load(&dm_rma_slot(win, i)->combines) == lrank + 1) {
            leave_bulk(win, (int)lrank);
            return false;
        }
    }
    return true;
}

/* ---- my own part, without waiting ---- */

bool dm_rma_try_enter(const struct dm_win *win)
{
    int me = win->comm->rank;

    if (!dm_rma_is_guarded(win, me) && !(win->is_mapped && dm_rma_is_local(win, me)))
        return true;
    dm_atomic_swap(&dm_rma_my_slot(win)->combines, (uint32_t)win->node->me + 1);
    win->node->is_inside = dm_atomic_load(&dm_rma_my_slot(win)->excl_lock) == 0;
    if (!win->node->is_inside) {
        dm_atomic_store(&dm_rma_my_slot(win)->combines, 0);
        free_lost(win, win->node->me);
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

static int wait_outside(const struct dm_win *win, uint32_t *n)
{
    let_in();
    dm_wait_short(n);
    return dm_rma_check_lost(win, -1);
}

int dm_rma_excl_lock(const struct dm_win *win, int rank)
{
    int lrank = win->peers[rank].lrank;
    uint32_t *excl_lock = &dm_rma_slot(win, lrank)->excl_lock;
    uint32_t nobody = 0, n = 0;

    while (!dm_atomic_cas(excl_lock, &nobody, (uint32_t)win->node->me + 1)) {
        int err = wait_outside(win, &n);

        if (err != DM_OK)
            return err;
        nobody = 0;
    }
    dm_atomic_fence();
    while (dm_atomic_load(&dm_rma_slot(win, lrank)->combines) == (uint32_t)lrank + 1) {
        int err = wait_outside(win, &n);

        if (err != DM_OK) {
            leave_bulk(win, lrank);
            return err;
        }
    }
    return DM_OK;
}

void dm_rma_excl_unlock(const struct dm_win *win, int rank)
{
    leave_bulk(win, win->peers[rank].lrank);
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

        memcpy(old + i * size, dst + i * size, part * size);
        if (src != NULL)
            err = dm_op_apply_basic(op, src + i * size, dst + i * size, part, type->basic, false);
    }
    return err;
}

/* The elements, by compare and swap if raced. */
static int combine_combine(const struct dm_op *op, char *dst, size_t n, const struct dm_type *type,
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

/* The same with nobody else there, a piece at a time. */
static int combine_bulk(const struct dm_win *win, int lrank, const struct dm_op *op, char *dst,
                        size_t n, const struct dm_type *type, const char *src, char *old)
{
    int err = DM_OK;

    while (n > 0 && err == DM_OK) {
        size_t most = BULK_MAX / (size_t)type->extent;
        size_t part = n < most ? n : most;
        size_t len = part * (size_t)type->size;

        enter_bulk(win, lrank);
        err = combine_combine(op, dst, part, type, src, old, false);
        leave_bulk(win, lrank);
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
    return combine_combine(op, dst, n, dm_type_get(basic), src, old, false);
}

/* My own part, in a call of the program. */
static int enter_mine(const struct dm_win *win)
{
    uint32_t n = 0;
    int err = DM_OK;

    while (!dm_rma_try_enter(win) && err == DM_OK)
        err = wait_outside(win, &n);
    return err;
}

static int combine_mine(const struct dm_win *win, const struct dm_op *op, char *dst, size_t n,
                        const struct dm_type *type, const char *src, char *old)
{
    int err = enter_mine(win);

    if (err == DM_OK)
        err = combine_combine(op, dst, n, type, src, old, false);
    dm_rma_leave(win);
    return err;
}

/* Elements of my own part that others may update by themselves. */
static int combine_inside(const struct dm_win *win, const struct dm_op *op, char *dst, size_t n,
                          const struct dm_type *type, const char *src, char *old)
{
    int err;

    if (n < BULK_MIN || !try_bulk(win))
        return combine_combine(op, dst, n, type, src, old, true);
    err = combine_combine(op, dst, n, type, src, old, false);
    leave_bulk(win, win->node->me);
    return err;
}

int dm_rma_combine(const struct dm_win *win, int target, const struct dm_op *op, char *dst,
                   size_t n, int basic, const char *src, char *old)
{
    const struct dm_type *type = dm_type_get(basic);
    int err;

    if (dm_rma_is_guarded(win, target))
        return win->node->is_inside ? combine_combine(op, dst, n, type, src, old, false)
                                    : combine_mine(win, op, dst, n, type, src, old);
    if (!is_raced(win, basic, dst))
        return combine_combine(op, dst, n, type, src, old, false);
    if (!dm_rma_is_local(win, target))
        return combine_combine(op, dst, n, type, src, old, true);
    if (win->node->is_inside)
        return combine_inside(win, op, dst, n, type, src, old);
    if (n >= BULK_MIN && n / BULK_LRANK >= (size_t)win->node->n)
        return combine_bulk(win, win->peers[target].lrank, op, dst, n, type, src, old);
    combine_enter(win, win->peers[target].lrank);
    err = combine_combine(op, dst, n, type, src, old, true);
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
    bool is_mine = dm_rma_is_guarded(win, target);
    bool must_enter = dm_rma_is_local(win, target) && !win->node->is_inside;

    if (!is_mine && is_raced(win, basic, dst)) {
        if (must_enter)
            combine_enter(win, win->peers[target].lrank);
        swap_raced(dst, (size_t)dm_type_get(basic)->size, src, compare, old);
        if (must_enter)
            combine_leave(win);
        return;
    }
    is_mine = is_mine && !win->node->is_inside;
    if (is_mine && enter_mine(win) != DM_OK)
        return; /* whoever was inside is lost, and with it the window */
    dm_rma_swap_copy(dst, basic, src, compare, old);
    if (is_mine)
        dm_rma_leave(win);
}
