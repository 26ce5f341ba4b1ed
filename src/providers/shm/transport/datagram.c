/*
 * Datagrams.
 */
#include "providers/shm/transport/datagram.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "providers/common/evd.h"
#include "providers/shm/transport/sock.h"
#include "providers/shm/wire.h"
#include "util/arena.h"
#include "util/datagram.h"
#include "util/futex.h"
#include "util/port.h"

enum { WORD_BITS = 64, WORDS = DM_ARENA_SLOTS / WORD_BITS };
enum { SHORT_WORDS = DM_ARENA_SHORT_SLOTS / WORD_BITS };
enum { SPARE_WORDS = DM_ARENA_SPARE_SLOTS / WORD_BITS };
#define WAKE_SLOTS 64 /* free ones for each that is woken */

/* How the owner of a box sleeps: to be woken by its thread; or on the word that says so. */
enum { BOX_AWAKE, BOX_BY_THREAD, BOX_BY_WORD };

/* Numbers below DM_ARENA_SLOTS. */
struct number_set {
    DM_ALIGNED(64) _Atomic uint64_t which; /* words that are not 0, perhaps */
    DM_ALIGNED(64) _Atomic uint64_t words[WORDS];
};

/* In the arena. */
struct dm_shm_box {
    DM_ALIGNED(64) _Atomic uint64_t owner; /* id of the instance; 0: nobody's */
    _Atomic uint64_t job;
    uint32_t number;                           /* the consumer's, of the box, too */
    DM_ALIGNED(64) _Atomic uint32_t is_asleep; /* the owner, BOX_; taken back by who wakes it, */
    _Atomic uint32_t is_rung;                  /* who says so to its thread by this */
    struct number_set full;                    /* slots to be read */
    struct number_set waiting;                 /* boxes of owners that have found no free slot */
    DM_ALIGNED(64) _Atomic uint64_t claimed[WORDS]; /* slots in use */
    /* Words of it to look at first for a short slot and a long one: those before are full, probably. */
    _Atomic uint32_t first[2];
};

static_assert(WORDS == WORD_BITS, "a bit for each word");
static_assert(DM_ARENA_NOTES <= DM_ARENA_SLOTS, "a number for each box");
static_assert(sizeof(struct dm_shm_box) <= DM_ARENA_BOX_LEN, "a box has its place");
static_assert(offsetof(struct dm_datagram, data) + DM_DATAGRAM_MAX == DM_ARENA_LONG_LEN,
              "and a datagram");

static const struct {
    uint32_t word; /* the first of these slots */
    uint32_t cap;
} slots[] = {{0, DM_ARENA_SHORT_LEN - offsetof(struct dm_datagram, data)},
             {SHORT_WORDS, DM_DATAGRAM_MAX}};

static uint64_t number_bit(uint32_t number)
{
    return UINT64_C(1) << number % WORD_BITS;
}

/* Whoever takes the word out of `which` later finds the number in it. */
static void set_add(struct number_set *set, uint32_t number)
{
    uint64_t word = number_bit(number / WORD_BITS);

    atomic_fetch_or(&set->words[number / WORD_BITS], number_bit(number));
    if ((atomic_load(&set->which) & word) == 0)
        atomic_fetch_or(&set->which, word);
}

static void set_clear(struct number_set *set)
{
    for (uint32_t i = 0; i < WORDS; i++)
        atomic_store(&set->words[i], 0);
    atomic_store(&set->which, 0);
}

static void *datagram_find(void *arg, uint32_t number)
{
    const struct dm_shm_ia *ia = arg;
    struct dm_shm_box *box = dm_arena_box(&ia->seg.arena, number);

    if (box == NULL || atomic_load(&box->owner) == 0 ||
        atomic_load(&box->job) != atomic_load(&ia->datagrams.box->job))
        return NULL;
    return box;
}

static struct dm_datagram *box_slot(const struct dm_shm_ia *ia, const struct dm_shm_box *box,
                                    uint32_t slot)
{
    void *at = dm_arena_slot(&ia->seg.arena, box->number, slot);

    dm_arena_touch(&ia->seg.arena, at);
    return at;
}

/* The lowest one that is free below that word, so that few are touched. */
static struct dm_datagram *box_find_slot(const struct dm_shm_ia *ia, struct dm_shm_box *box,
                                         bool is_long, uint32_t end)
{
    uint32_t first = atomic_load_explicit(&box->first[is_long], memory_order_relaxed), i;

    first = first < end ? first : slots[is_long].word;
    i = first;
    do {
        uint64_t taken = atomic_load_explicit(&box->claimed[i], memory_order_relaxed);

        while (taken != UINT64_MAX) {
            uint32_t slot = i * WORD_BITS + (uint32_t)dm_lowest_bit(~taken);

            taken = atomic_fetch_or(&box->claimed[i], number_bit(slot));
            if ((taken & number_bit(slot)) != 0)
                continue;
            if (i != first)
                atomic_store_explicit(&box->first[is_long], i, memory_order_relaxed);
            return box_slot(ia, box, slot);
        }
        i = i + 1 < end ? i + 1 : slots[is_long].word;
    } while (i != first);
    return NULL;
}

/* One of some long ones for what is short, when there is no short one. */
static struct dm_datagram *box_find_any(const struct dm_shm_ia *ia, struct dm_shm_box *box,
                                        uint32_t *cap_p)
{
    struct dm_datagram *slot = NULL;
    bool is_long = *cap_p > slots[0].cap;
    uint32_t end = is_long ? WORDS : SHORT_WORDS + SPARE_WORDS;

    if (!is_long)
        slot = box_find_slot(ia, box, false, SHORT_WORDS);
    if (slot == NULL) {
        is_long = true;
        slot = box_find_slot(ia, box, true, end);
    }
    if (slot != NULL)
        *cap_p = slots[is_long].cap;
    return slot;
}

/* Without one, be woken when there are some; they may have come until this was said. */
static struct dm_datagram *box_claim(void *arg, void *any, uint32_t *cap_p)
{
    const struct dm_shm_ia *ia = arg;
    struct dm_shm_box *box = any;
    struct dm_datagram *slot = box_find_any(ia, box, cap_p);

    if (dm_likely(slot != NULL))
        return slot;
    set_add(&box->waiting, ia->datagrams.box->number);
    return box_find_any(ia, box, cap_p);
}

static void box_reset_first(struct dm_shm_box *box)
{
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(&box->first[i], slots[i].word, memory_order_relaxed);
}

static void datagram_ring(const struct dm_shm_ia *ia, struct dm_shm_box *box)
{
    struct dm_shm_ctrl ring = {.type = DM_CTRL_DOORBELL};
    struct dm_shm_name name;

    dm_shm_sock_doorbell_name(atomic_load(&box->owner), &name);
    atomic_store(&box->is_rung, 1);
    if (dm_shm_sock_send(ia->doorbell.src.fd, &name, &ring, -1) == 0)
        /* no space: the next one rings, or its sleep ends */
        atomic_store(&box->is_asleep, BOX_BY_THREAD);
}

static void box_wake(const struct dm_shm_ia *ia, struct dm_shm_box *box)
{
    uint32_t how = atomic_load(&box->is_asleep);

    if (how != BOX_AWAKE)
        how = atomic_exchange(&box->is_asleep, BOX_AWAKE);
    if (how == BOX_BY_WORD)
        dm_futex_wake(&box->is_asleep, INT32_MAX);
    else if (how == BOX_BY_THREAD)
        datagram_ring(ia, box);
}

static void box_send(void *arg, void *any, const struct dm_datagram *at)
{
    const struct dm_shm_ia *ia = arg;
    struct dm_shm_box *box = any;

    set_add(&box->full, dm_arena_slot_number(&ia->seg.arena, box->number, at));
    box_wake(ia, box);
}

/*
 * Wake as many of those that wait as are likely to find a slot. Each that has been woken and has none says again that
 * it waits; the others come next time, as those that find one make something due here.
 */
static void datagram_wake_waiting(const struct dm_shm_ia *ia, int n_free)
{
    struct number_set *waiting = &ia->datagrams.box->waiting;
    int n = 1 + n_free / WAKE_SLOTS;

    for (uint64_t which = atomic_exchange(&waiting->which, 0); which != 0; which &= which - 1) {
        uint32_t i = (uint32_t)dm_lowest_bit(which);
        uint64_t left = atomic_exchange(&waiting->words[i], 0);

        for (; left != 0 && n > 0; left &= left - 1, n--) {
            uint32_t number = i * WORD_BITS + (uint32_t)dm_lowest_bit(left);
            struct dm_shm_box *box = dm_arena_box(&ia->seg.arena, number);

            if (box != NULL) {
                atomic_fetch_or(&box->full.which, 1); /* it is not there, but looked for */
                box_wake(ia, box);
            }
        }
        if (left != 0) {
            atomic_fetch_or(&waiting->words[i], left);
            atomic_fetch_or(&waiting->which, number_bit(i));
        }
    }
}

static int datagram_receive(void *arg, void (*take)(void *, const struct dm_datagram *),
                            void *take_arg)
{
    const struct dm_shm_ia *ia = arg;
    struct dm_shm_box *box = ia->datagrams.box;
    int n = 0;

    for (uint64_t which = atomic_exchange(&box->full.which, 0); which != 0; which &= which - 1) {
        uint32_t i = (uint32_t)dm_lowest_bit(which);
        uint64_t full = atomic_exchange(&box->full.words[i], 0), read = full;

        for (; full != 0; full &= full - 1, n++) {
            uint32_t slot = i * WORD_BITS + (uint32_t)dm_lowest_bit(full);

            take(take_arg, dm_arena_slot(&ia->seg.arena, box->number, slot));
        }
        atomic_fetch_and(&box->claimed[i], ~read);
    }
    box_reset_first(box);
    if (dm_unlikely(atomic_load(&box->waiting.which) != 0))
        datagram_wake_waiting(ia, n);
    return n;
}

static bool datagram_has_died(void *arg, void *any)
{
    struct dm_shm_box *box = any;
    uint64_t owner = atomic_load(&box->owner);
    struct dm_shm_name name;

    (void)arg;
    if (owner == 0)
        return false;
    dm_shm_sock_doorbell_name(owner, &name);
    return !dm_shm_sock_is_there(&name, SOCK_DGRAM) && atomic_load(&box->owner) == owner;
}

static void datagram_sleep(void *arg, bool is_asleep)
{
    const struct dm_shm_ia *ia = arg;

    atomic_store(&ia->datagrams.box->is_asleep, is_asleep ? BOX_BY_THREAD : BOX_AWAKE);
}

/* Take the box with the consumer's number; false: somebody has it. */
static bool datagram_take_box(struct dm_shm_ia *ia, const struct dm_datagrams *datagrams)
{
    struct dm_shm_box *box = dm_arena_box(&ia->seg.arena, datagrams->me);
    uint64_t nobody = 0;

    if (box == NULL || !atomic_compare_exchange_strong(&box->owner, &nobody, ia->seg.hdr->id))
        return false;
    set_clear(&box->full); /* of an earlier owner */
    set_clear(&box->waiting);
    for (uint32_t i = 0; i < WORDS; i++)
        atomic_store(&box->claimed[i], 0);
    box_reset_first(box);
    box->number = datagrams->me;
    atomic_store(&box->job, datagrams->job);
    ia->datagrams.box = box;
    return true;
}

bool dm_shm_datagrams(struct dm_pia *pia, struct dm_datagrams *datagrams)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    bool is_there;

    if (ia->model.is_on || ia->seg.part == NULL || datagrams->me >= DM_ARENA_NOTES)
        return false;
    pthread_mutex_lock(&pia->lock);
    is_there = ia->datagrams.box != NULL || datagram_take_box(ia, datagrams);
    ia->datagrams.evd = datagrams->wake_evd;
    pthread_mutex_unlock(&pia->lock);
    if (!is_there)
        return false;
    datagrams->arg = ia;
    datagrams->due = &ia->datagrams.box->full.which;
    datagrams->find = datagram_find;
    datagrams->claim = box_claim;
    datagrams->send = box_send;
    datagrams->receive = datagram_receive;
    datagrams->has_died = datagram_has_died;
    datagrams->sleep = datagram_sleep;
    return true;
}

static void datagram_post(struct dm_shm_ia *ia)
{
    const DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

    if (ia->datagrams.evd != DAT_HANDLE_NULL) /* full: it is awake anyway */
        (void)dm_evd_post_se(ia->datagrams.evd, &event);
}

void dm_shm_datagram_wake(struct dm_shm_ia *ia)
{
    struct dm_shm_box *box = ia->datagrams.box;

    if (box == NULL || atomic_load(&box->is_rung) == 0)
        return;
    atomic_store(&box->is_rung, 0);
    datagram_post(ia);
}

int dm_shm_datagram_wait(struct dm_pia *pia, _Atomic uint32_t *word, uint32_t value,
                         uint64_t deadline)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    struct dm_shm_box *box = ia->datagrams.box;
    uint32_t how = BOX_BY_THREAD;
    int err;

    if (box == NULL || ia->datagrams.cannot_wait ||
        (!atomic_compare_exchange_strong(&box->is_asleep, &how, BOX_BY_WORD) && how == BOX_AWAKE))
        return dm_futex_wait(word, value, deadline);
    err = dm_futex_wait_two(word, value, &box->is_asleep, BOX_BY_WORD, deadline);
    ia->datagrams.cannot_wait = err == ENOSYS;
    how = BOX_BY_WORD;
    if (atomic_compare_exchange_strong(&box->is_asleep, &how, BOX_BY_THREAD))
        return err == ENOSYS ? dm_futex_wait(word, value, deadline) : err;
    if (how == BOX_AWAKE) {
        pthread_mutex_lock(&pia->lock);
        datagram_post(ia);
        pthread_mutex_unlock(&pia->lock);
    }
    return 0;
}

void dm_shm_datagram_close(struct dm_shm_ia *ia)
{
    if (ia->datagrams.box == NULL)
        return;
    atomic_store(&ia->datagrams.box->job, 0);
    atomic_store(&ia->datagrams.box->owner, 0);
    ia->datagrams.box = NULL;
}
