/*
 * Words that are changed by a provider's atomic operations and by nothing else.
 *
 * What one provider's atomic operations see of another's, or of the processor's, nobody promises;
 * so all processes, the words' owner included, go through one rail to them: the owner by a
 * connection to itself. Whether a rail can do that is tried, once, with just such a connection.
 *
 * An operation that may have been done cannot be done again. So those that are posted when their
 * connection breaks fail, and none waits in a queue to be taken to another rail: until a request
 * can be posted the caller is told to try again.
 */
#include "dapl_adapt/rma/atomic.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl_adapt/conn/connect.h"
#include "dapl_adapt/conn/exchange.h"
#include "dapl_adapt/conn/link.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/link.h"
#include "dapl_adapt/core/rdmaq.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ext.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/loopback.h"
#include "dapl_adapt/provider/reg_cache.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/peer.h"
#include "dapl_adapt/public/rdma.h"
#include "dapl_adapt/public/words.h"
#include "dapl_adapt/rma/rdmaq.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

#define LOOP_NS UINT64_C(2000000000)  /* to connect to oneself */
#define SELF_NS UINT64_C(10000000000) /* for an operation on one's own word */
#define CELLS   64                    /* operations under way */

struct dm_words {
    struct dm_ia *ia;
    void *at;
    size_t len;
    int fd;
    bool is_own; /* pages of their own, not the caller's memory */
    struct dm_lmr lmr;
};

/* Of a process: where what was fetched lands. */
struct dm_atomics {
    uint64_t *cells;
    struct dm_mr *mr;
    uint64_t used; /* a bit each */
};

static void cell_free(struct dm_atomics *atomics, const uint64_t *cell)
{
    atomics->used &= ~(UINT64_C(1) << (cell - atomics->cells));
}

void dm_atomic_done(struct dm_adapt *adapt, struct dm_rdma *rdma)
{
    uint64_t *cell = (uint64_t *)(uintptr_t)rdma->cell;

    if (rdma->err == DM_OK)
        *rdma->old_p = *(volatile uint64_t *)cell;
    cell_free(adapt->atomics, cell);
}

/* NULL: all are in use. */
static uint64_t *cell_take(struct dm_atomics *atomics)
{
    for (int i = 0; i < CELLS; i++) {
        if ((atomics->used >> i & 1) == 0) {
            atomics->used |= UINT64_C(1) << i;
            return &atomics->cells[i];
        }
    }
    return NULL;
}

static void words_free(struct dm_words *words)
{
    dm_lmr_free(&words->lmr);
    if (words->is_own)
        dm_host_shm_free(words->at, words->len, words->fd);
    free(words);
}

/* Those at that place, registered; NULL: no memory, or they cannot be. */
static struct dm_words *words_at(struct dm_adapt *adapt, struct dm_ia *ia, void *at, size_t len,
                                 int fd)
{
    struct dm_words *words = calloc(1, sizeof(*words));
    int err = DM_OK;

    if (words == NULL)
        return NULL;
    words->ia = ia;
    words->at = at;
    words->len = len;
    words->fd = fd;
    pthread_mutex_lock(&adapt->shared.lock);
    if (len > 0)
        err = dm_lmr_create_atomic(ia, at, len, fd, &words->lmr);
    pthread_mutex_unlock(&adapt->shared.lock);
    if (err == DM_OK)
        return words;
    free(words);
    return NULL;
}

/* Zeroes, on pages of their own; NULL as above. */
static struct dm_words *words_make(struct dm_adapt *adapt, struct dm_ia *ia, size_t n)
{
    size_t len = (n * sizeof(uint64_t) + adapt->mem.page - 1) & ~(adapt->mem.page - 1);
    struct dm_words *words;
    void *ptr;
    int fd;

    if (dm_host_mem_alloc("datum-words", len, &ptr, &fd) != DM_OK)
        return NULL;
    words = words_at(adapt, ia, ptr, len, fd);
    if (words != NULL)
        words->is_own = true;
    else
        dm_host_shm_free(ptr, len, fd);
    return words;
}

static void words_key(const struct dm_words *words, struct dm_word_key *key_p)
{
    key_p->addr = (uint64_t)(uintptr_t)words->at;
    key_p->ctx = words->lmr.rctx;
    key_p->rail = 2166136261u;
    for (const char *p = words->ia->name; *p != '\0'; p++)
        key_p->rail = (key_p->rail ^ (unsigned char)*p) * 16777619u;
    key_p->rail |= 1; /* 0: no words */
}

static bool self_await(struct dm_loopback *loop)
{
    uint64_t until = dm_clock_ns() + SELF_NS;
    DAT_EVENT event;

    while (!dm_loopback_next(loop, &event)) {
        if (dm_clock_ns() > until)
            return false;
        sched_yield();
    }
    return event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* After a failure the connection to oneself is made again. */
static DAT_RETURN self_post(struct dm_ia *ia, const struct dm_desc *desc,
                            const struct dm_word_op *op)
{
    struct dm_loopback *loop = ia->atomics.loopback;
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_RETURN rc = DAT_CLASS_ERROR | DAT_INVALID_STATE;

    for (int i = 0; i < 2 && rc != DAT_SUCCESS; i++) {
        if (ia->atomics.is_down) {
            dm_loopback_close(loop);
            if (!dm_loopback_open(loop, ia, LOOP_NS))
                return rc;
            ia->atomics.is_down = false;
        }
        loop->desc = *desc;
        dm_serial_enter(ia->is_serial);
        rc = op->is_swap ? dm_ext_compare_swap(ia, loop->out, &loop->desc.lmr, cookie,
                                               &loop->desc.rmr, op->compare, op->value)
                         : dm_ext_fetch_add(ia, loop->out, &loop->desc.lmr, cookie, &loop->desc.rmr,
                                            op->value);
        dm_serial_leave(ia->is_serial);
        ia->atomics.is_down = rc != DAT_SUCCESS;
        loop->n_posted += rc == DAT_SUCCESS;
    }
    return rc;
}

/* DM_EPEER: it may have been done or not. */
static int self_do(struct dm_adapt *adapt, struct dm_ia *ia, const struct dm_word_key *key,
                   const struct dm_word_op *op, uint64_t *old_p)
{
    struct dm_atomics *atomics = adapt->atomics;
    uint64_t *cell = cell_take(atomics);
    struct dm_desc desc;
    DAT_RETURN rc;

    if (cell == NULL)
        return DM_EAGAIN;
    desc.lmr.virtual_address = (DAT_VADDR)(uintptr_t)cell;
    desc.lmr.segment_length = sizeof(*cell);
    desc.lmr.lmr_context = atomics->mr->lmr[ia->index].lctx;
    desc.rmr.virtual_address = key->addr + op->which * sizeof(uint64_t);
    desc.rmr.segment_length = sizeof(*cell);
    desc.rmr.rmr_context = key->ctx;
    rc = self_post(ia, &desc, op);
    if (rc == DAT_SUCCESS && !self_await(ia->atomics.loopback)) {
        ia->atomics.is_down = true;
        dm_loopback_close(ia->atomics.loopback); /* nothing comes to the cell any more */
        cell_free(atomics, cell);
        return DM_EPEER;
    }
    if (rc == DAT_SUCCESS)
        *old_p = *(volatile uint64_t *)cell;
    cell_free(atomics, cell);
    return rc == DAT_SUCCESS ? DM_OK
                             : DM_FAIL(DM_EPROVIDER, "%s: atomic operation on the own word: %s",
                                       ia->name, dm_dat_text(rc));
}

static int cells_make(struct dm_adapt *adapt)
{
    struct dm_atomics *atomics;
    void *ptr;
    int err;

    if (adapt->atomics != NULL)
        return DM_OK;
    atomics = calloc(1, sizeof(*atomics));
    if (atomics == NULL)
        return DM_FAIL(DM_ENOMEM, "results of atomic operations");
    err = dm_adapt_mem_alloc(adapt, CELLS * sizeof(uint64_t), &ptr, &atomics->mr);
    if (err == DM_OK && !dm_adapt_is_registered(atomics->mr)) {
        dm_adapt_mem_free(adapt, ptr);
        err = DM_EAGAIN;
    }
    if (err != DM_OK) {
        free(atomics);
        return err;
    }
    atomics->cells = ptr;
    adapt->atomics = atomics;
    return DM_OK;
}

/* Does the word become `want`, and is what comes back what it was? */
static bool self_does(struct dm_adapt *adapt, struct dm_words *words, const struct dm_word_op *op,
                      uint64_t want)
{
    volatile uint64_t *word = (volatile uint64_t *)words->at + op->which;
    uint64_t was = *word, old = ~was;
    struct dm_word_key key;

    words_key(words, &key);
    return self_do(adapt, words->ia, &key, op, &old) == DM_OK && old == was && *word == want;
}

/* Fetch-and-adds; compare-and-swaps that swap and that do not. */
static bool self_try(struct dm_adapt *adapt, struct dm_ia *ia)
{
    static const struct dm_word_op adds[] = {{.which = 1, .value = 5}, {.which = 1, .value = 7}};
    static const struct dm_word_op swaps[] = {
        {.which = 1, .value = 3, .compare = 12, .is_swap = true},
        {.which = 1, .value = 4, .compare = 12, .is_swap = true}};
    struct dm_words *words = words_make(adapt, ia, 2);
    bool can_add;

    if (words == NULL)
        return false;
    can_add = self_does(adapt, words, &adds[0], 5) && self_does(adapt, words, &adds[1], 12);
    ia->atomics.has_swap =
        can_add && self_does(adapt, words, &swaps[0], 3) && self_does(adapt, words, &swaps[1], 3);
    words_free(words);
    return can_add;
}

bool dm_atomic_can(struct dm_adapt *adapt, struct dm_ia *ia)
{
    if (ia->atomics.state != DM_ATOMICS_UNTRIED)
        return ia->atomics.state == DM_ATOMICS_WORK;
    ia->atomics.state = DM_ATOMICS_NONE;
    if (!ia->caps.has_ext || ia->caps.is_late || cells_make(adapt) != DM_OK)
        return false;
    ia->atomics.loopback = malloc(sizeof(*ia->atomics.loopback));
    if (ia->atomics.loopback == NULL)
        return false;
    if (dm_loopback_open(ia->atomics.loopback, ia, LOOP_NS) && self_try(adapt, ia)) {
        ia->atomics.state = DM_ATOMICS_WORK;
    } else {
        dm_loopback_close(ia->atomics.loopback);
        free(ia->atomics.loopback);
        ia->atomics.loopback = NULL;
    }
    DM_TRACE(DAT, "%s: fetch-and-add to itself: %d, compare-and-swap: %d", ia->name,
             ia->atomics.state == DM_ATOMICS_WORK, ia->atomics.has_swap);
    return ia->atomics.state == DM_ATOMICS_WORK;
}

void dm_atomic_free(struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        if (adapt->rails.ias[i]->atomics.loopback == NULL)
            continue;
        dm_loopback_close(adapt->rails.ias[i]->atomics.loopback);
        free(adapt->rails.ias[i]->atomics.loopback);
        adapt->rails.ias[i]->atomics.loopback = NULL;
    }
    if (adapt->atomics != NULL)
        dm_adapt_mem_free(adapt, adapt->atomics->cells);
    free(adapt->atomics);
    adapt->atomics = NULL;
}

struct dm_ia *dm_atomic_rail(struct dm_adapt *adapt, bool is_remote, bool is_any, bool swaps)
{
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        struct dm_ia *ia = adapt->rails.ias[i];

        if (!(is_remote && ia->caps.is_local) && !ia->caps.is_manual &&
            (is_any || !ia->is_driven) && dm_atomic_can(adapt, ia) &&
            (ia->atomics.has_swap || !swaps))
            return ia;
    }
    return NULL;
}

/* They are told others, if there are any. */
static struct dm_words *words_offer(struct dm_adapt *adapt, struct dm_words *words,
                                    struct dm_word_key *key_p)
{
    memset(key_p, 0, sizeof(*key_p));
    if (words == NULL)
        return NULL;
    words_key(words, key_p);
    adapt->n_words++;
    return words;
}

struct dm_words *dm_adapt_words_new(struct dm_adapt *adapt, size_t n, bool is_remote, bool is_any,
                                    struct dm_word_key *key_p)
{
    struct dm_ia *ia = dm_atomic_rail(adapt, is_remote, is_any, false);

    return words_offer(adapt, ia != NULL ? words_make(adapt, ia, n) : NULL, key_p);
}

struct dm_words *dm_adapt_words_at(struct dm_adapt *adapt, void *at, size_t len, bool is_remote,
                                   bool is_any, struct dm_word_key *key_p)
{
    struct dm_ia *ia = dm_atomic_rail(adapt, is_remote, is_any, true);

    return words_offer(adapt, ia != NULL ? words_at(adapt, ia, at, len, -1) : NULL, key_p);
}

void dm_adapt_words_free(struct dm_adapt *adapt, struct dm_words *words)
{
    pthread_mutex_lock(&adapt->shared.lock);
    words_free(words);
    pthread_mutex_unlock(&adapt->shared.lock);
    adapt->n_words--;
}

/* The RDMA queue over that rail; NULL: the processes do not have it both. */
static struct dm_rdmaq *words_rdmaq(struct dm_conn *conn, const struct dm_ia *ia)
{
    int rail;

    if (conn->ia == ia)
        return &conn->links->rdmaq[0];
    if (dm_addr_fetch(conn) != DM_OK)
        return NULL;
    rail = dm_conn_rail_of(conn, ia);
    if (rail < 0)
        return NULL;
    return &conn->links->rdmaq[DM_LINK_EXTRA - DM_LINK_RDMA +
                               conn->rails.pair[rail][conn->who.is_higher ? 0 : 1]];
}

/* DM_OK: requests can be posted there. DM_EAGAIN: it is being connected. */
static int rdmaq_make_ready(struct dm_conn *conn, const struct dm_rdmaq *rdmaq)
{
    struct dm_link *link = dm_link_of(conn, rdmaq);

    if (link->may_post)
        return DM_OK;
    if (dm_clock_ns() < rdmaq->rest_until)
        return DM_FAIL(DM_EPEER, "the connection to %s for atomic operations broke",
                       dm_who(conn->adapt, conn->proc).text);
    return dm_conn_start(conn, link->kind) == DM_OK ? DM_EAGAIN : DM_EPEER;
}

int dm_adapt_word_op(struct dm_adapt *adapt, int proc, struct dm_rdma *rdma,
                     const struct dm_words *mine, const struct dm_word_key *key,
                     const struct dm_word_op *op, uint64_t *old_p)
{
    struct dm_rdmaq *rdmaq;
    struct dm_conn *conn;
    uint64_t *cell;
    int err;

    if (proc == adapt->job.rank) {
        err = self_do(adapt, mine->ia, key, op, old_p);
        if (err != DM_OK && err != DM_EPEER)
            return err;
        rdma->done(rdma, err);
        return DM_OK;
    }
    conn = dm_adapt_conn(adapt, proc);
    if (conn == NULL)
        return DM_ENOMEM;
    if (dm_conn_is_lost(conn))
        return DM_FAIL(DM_EPEER, "%s", dm_conn_why(conn));
    if (!conn->was_up)
        return dm_adapt_connect(conn) == DM_OK ? DM_EAGAIN : DM_EPEER;
    if (dm_conn_is_moving(conn))
        return DM_EAGAIN;
    rdmaq = words_rdmaq(conn, mine->ia);
    if (rdmaq == NULL)
        return DM_FAIL(DM_EPEER, "%s is not reached over %s any more", dm_who(adapt, proc).text,
                       mine->ia->name);
    err = rdmaq_make_ready(conn, rdmaq);
    cell = err == DM_OK ? cell_take(adapt->atomics) : NULL;
    if (cell == NULL)
        return err == DM_OK ? DM_EAGAIN : err;
    *rdma = (struct dm_rdma){.done = rdma->done,
                             .conn = conn,
                             .mr = adapt->atomics->mr,
                             .local = (uint64_t)(uintptr_t)cell,
                             .cell = (uint64_t)(uintptr_t)cell,
                             .remote = key->addr + op->which * sizeof(uint64_t),
                             .left = sizeof(uint64_t),
                             .is_read = true,
                             .is_atomic = true,
                             .is_swap = op->is_swap,
                             .operand = op->value,
                             .compare = op->compare,
                             .old_p = old_p};
    rdma->rkey.ctx[rdmaq->peer_rail] = key->ctx;
    dm_rdma_start(conn, rdmaq, rdma);
    return DM_OK;
}
