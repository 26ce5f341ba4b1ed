/*
 * The lock of a file: a ticket lock whose waiters are told.
 *
 * Nobody looks at a remote word again and again. Who has to wait writes who it is beside its ticket, then looks
 * once more whether its turn has come. Who gives the lock back passes the turn on, then looks who is beside the
 * next ticket, and sends it a packet. Of two that do so at the same time one sees what the other has done.
 *
 * A process has one ticket at a time, so that there is a place for each: others of its calls wait behind it here.
 * A file that is open at one process needs no tickets: its threads' calls wait here only.
 *
 * Where an operation on the lock may have been done or not, or a process is lost, nobody knows whose turn it is.
 * Whoever finds that counts DM_WORD_LOST up, then tells all that wait.
 */
#include "io/lock.h"

#include <stdio.h>

#include "channel/channel.h"
#include "channel/wait.h"
#include "io/file.h"
#include "io/job.h"

/*
 * DM_WORD_LOCK: tickets that were given in the lower half, whose turn it is in the upper one, modulo 2^31. Who
 * gets the first ticket after GUARD was reached takes that away again: so nothing is carried to the upper half.
 */
#define GUARD   (UINT64_C(1) << 31)
#define TICKETS ((uint32_t)GUARD - 1)
#define TURN    (UINT64_C(1) << 32)

struct pkt_file_turn {
    struct dm_pkt pkt;
    int32_t file; /* its handle at the receiver */
    uint32_t ticket;
    int32_t is_lost;
    uint64_t stamp; /* of the file's words */
};

static uint64_t n_operations;
static int n_lost; /* processes */

uint64_t dm_file_lock_operations(void)
{
    return n_operations;
}

static uint32_t lock_next_ticket(uint64_t lock)
{
    return (uint32_t)lock & TICKETS;
}

static uint32_t lock_turn(uint64_t lock)
{
    return (uint32_t)(lock >> 32) & TICKETS;
}

/* Beside that ticket. */
static uint32_t lock_waiter(const struct dm_file *f, uint32_t ticket)
{
    return DM_WORD_WAITERS + (ticket & (f->words.n_waiters - 1));
}

/* This process, for others. */
static uint64_t lock_self(const struct dm_file *f)
{
    return (uint64_t)(f->rank + 1) << 32 | (uint32_t)f->obj.handle;
}

static int lock_add(struct dm_file *f, uint32_t word, uint64_t n, uint64_t *old_p)
{
    char why[256];
    int err = dm_file_word_add(f, word, n, old_p);

    n_operations++;
    if (err == DM_OK)
        return DM_OK;
    snprintf(why, sizeof(why), "%s", dm_err_detail());
    return DM_FAIL(err, "an operation on the lock of \"%s\" has failed: %s", f->disk.path, why);
}

/* ---- telling ---- */

/* Tell the waiter that a word names; nobody if it is 0. This process may compute next: the packet has gone then. */
static void lock_notify(const struct dm_file *f, uint64_t waiter, uint32_t ticket, bool is_lost)
{
    struct pkt_file_turn p = {
        .pkt = {.type = DM_PKT_FILE_TURN, .version = DM_PKT_VERSION, .hdr_len = sizeof(p)},
        .file = (int32_t)(uint32_t)waiter,
        .ticket = ticket,
        .is_lost = is_lost,
        .stamp = f->words.stamp};
    int rank = (int)(waiter >> 32) - 1;

    if (rank >= 0 && rank < f->size)
        (void)dm_chan_send_out(dm_world.chan, dm_group_proc(f->group, rank), &p.pkt);
}

static int lock_fail_lost(const struct dm_file *f)
{
    return DM_FAIL(DM_EPEER,
                   "the lock of \"%s\" is lost: one of its processes, or a connection during an "
                   "operation on it",
                   f->disk.path);
}

/* One that is late may be of an earlier file, or an earlier turn. */
static void lock_on_turn(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                         size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_file_turn *p = (const void *)pkt;
    struct dm_file *f = dm_handle_get(DM_KIND_FILE, p->file);
    struct dm_lock_turn *turn = f != NULL ? f->turns : NULL;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    if (turn == NULL || !turn->is_waiting || turn->ticket != p->ticket ||
        f->words.stamp != p->stamp)
        return;
    turn->is_notified = true;
    if (p->is_lost)
        turn->err = DM_EPEER;
}

static void lock_on_lost(void *arg, int proc, int err)
{
    (void)arg;
    (void)proc;
    (void)err;
    n_lost++;
}

void dm_file_lock_start(void)
{
    n_lost = 0;
    dm_chan_on_packet(dm_world.chan, DM_PKT_FILE_TURN, lock_on_turn, NULL);
    dm_chan_on_lost(dm_world.chan, lock_on_lost, NULL);
}

/* Returns err, which has just been noted. */
static int lock_lose(struct dm_file *f, int err)
{
    struct dm_io_result result;
    uint64_t old, lock, waiter;
    uint32_t ticket;

    dm_io_result_set(&result, err);
    if (lock_add(f, DM_WORD_LOST, 1, &old) == DM_OK &&
        lock_add(f, DM_WORD_LOCK, 0, &lock) == DM_OK) {
        ticket = lock_next_ticket(lock);
        for (uint32_t i = 0; i < f->words.n_waiters; i++) {
            ticket = (ticket - 1) & TICKETS;
            if (lock_add(f, lock_waiter(f, ticket), 0, &waiter) == DM_OK)
                lock_notify(f, waiter, ticket, true);
        }
    }
    return dm_io_result_get(&result);
}

/* ---- one turn ---- */

/* Enter this process beside the ticket, then look once more. */
static int lock_enter(struct dm_file *f, struct dm_lock_turn *turn)
{
    uint64_t old, lock = 0, lost = 0;
    int err;

    turn->is_waiting = true;
    err = lock_add(f, lock_waiter(f, turn->ticket), lock_self(f), &old);
    if (err == DM_OK)
        err = lock_add(f, DM_WORD_LOCK, 0, &lock);
    if (err == DM_OK)
        err = lock_add(f, DM_WORD_LOST, 0, &lost);
    if (err != DM_OK)
        return lock_lose(f, err);
    if (lost > 0)
        return lock_fail_lost(f);
    turn->is_notified |= lock_turn(lock) == turn->ticket;
    return DM_OK;
}

static int lock_ticket(struct dm_file *f, struct dm_lock_turn *turn)
{
    uint64_t lock, old;
    int err = lock_add(f, DM_WORD_LOCK, 1, &lock);

    if (err == DM_OK && (uint32_t)lock == GUARD)
        err = lock_add(f, DM_WORD_LOCK, -GUARD, &old);
    if (err != DM_OK)
        return lock_lose(f, err);
    turn->ticket = lock_next_ticket(lock);
    turn->is_ours = lock_turn(lock) == turn->ticket;
    return turn->is_ours ? DM_OK : lock_enter(f, turn);
}

/* A ticket for this process' first turn; mostly its time has come. */
static void lock_draw(struct dm_file *f)
{
    struct dm_lock_turn *turn = f->turns;
    int err;

    if (f->size == 1) {
        turn->is_ours = true;
        return;
    }
    turn->is_drawing = true;
    err = lock_ticket(f, turn);
    if (turn->err == DM_OK)
        turn->err = err;
    turn->is_drawing = false;
}

/* Its turn has come: out of the place beside the ticket, before another one may get it. */
static int lock_take(struct dm_file *f, struct dm_lock_turn *turn)
{
    uint64_t old;
    int err = lock_add(f, lock_waiter(f, turn->ticket), -lock_self(f), &old);

    turn->is_waiting = false;
    turn->is_ours = err == DM_OK;
    return err == DM_OK ? DM_OK : lock_lose(f, err);
}

/* The turn of the one behind, who may not have entered itself yet: then it looks itself. */
static int lock_pass_on(struct dm_file *f, uint32_t ticket)
{
    uint32_t next = (ticket + 1) & TICKETS;
    uint64_t lock, waiter = 0;
    int err = lock_add(f, DM_WORD_LOCK, TURN, &lock);

    if (err == DM_OK && lock_next_ticket(lock) != next)
        err = lock_add(f, lock_waiter(f, next), 0, &waiter);
    if (err != DM_OK)
        return lock_lose(f, err);
    lock_notify(f, waiter, next, false);
    return DM_OK;
}

/* ---- turns of this process ---- */

/* It has been, or has failed: the next one of this process draws. */
static void lock_leave(struct dm_file *f, const struct dm_lock_turn *turn)
{
    struct dm_lock_turn **at = &f->turns;
    bool was_first = f->turns == turn;

    while (*at != turn)
        at = &(*at)->next;
    *at = turn->next;
    if (was_first && f->turns != NULL)
        lock_draw(f);
}

static bool lock_has_gone(const struct dm_file *f)
{
    for (int i = 0; i < f->size; i++)
        if (dm_world_is_gone(dm_group_proc(f->group, i)))
            return true;
    return false;
}

/* Is there something new? */
static bool lock_is_due(const struct dm_file *f, const struct dm_lock_turn *turn)
{
    const volatile struct dm_lock_turn *t = turn;

    return !t->is_drawing &&
           (t->is_ours || t->is_notified || t->err != DM_OK || (n_lost > 0 && lock_has_gone(f)));
}

int dm_file_lock_ask(struct dm_file *f, struct dm_lock_turn *turn)
{
    struct dm_lock_turn **last_p = &f->turns;

    *turn = (struct dm_lock_turn){.next = NULL};
    while (*last_p != NULL)
        last_p = &(*last_p)->next;
    *last_p = turn;
    if (f->turns == turn)
        lock_draw(f);
    if (turn->err != DM_OK)
        lock_leave(f, turn);
    return turn->err;
}

int dm_file_lock_look(struct dm_file *f, struct dm_lock_turn *turn, bool *is_ours_p)
{
    if (!turn->is_ours && lock_is_due(f, turn)) {
        if (turn->err != DM_OK) /* noted meanwhile, perhaps by another thread: said here */
            turn->err = lock_fail_lost(f);
        else
            turn->err = turn->is_notified ? lock_take(f, turn) : lock_lose(f, lock_fail_lost(f));
        if (turn->err != DM_OK)
            lock_leave(f, turn);
    }
    *is_ours_p = turn->is_ours;
    return turn->err;
}

struct lock_wait {
    struct dm_wait_word word;
    const struct dm_file *f;
    const struct dm_lock_turn *turn;
};

static bool lock_wait_is_over(struct dm_wait_word *word)
{
    const struct lock_wait *w = dm_container_of(word, struct lock_wait, word);

    return lock_is_due(w->f, w->turn);
}

int dm_file_lock(struct dm_file *f, struct dm_lock_turn *turn)
{
    struct lock_wait w = {.word = {.is_over = lock_wait_is_over}, .f = f, .turn = turn};
    bool is_ours = false;
    int err = dm_file_lock_ask(f, turn);

    while (err == DM_OK && !is_ours) {
        dm_wait_until(dm_world.chan, &w.word);
        err = dm_file_lock_look(f, turn, &is_ours);
    }
    return err;
}

int dm_file_unlock(struct dm_file *f, struct dm_lock_turn *turn)
{
    int err = f->size > 1 ? lock_pass_on(f, turn->ticket) : DM_OK;

    lock_leave(f, turn);
    return err;
}
