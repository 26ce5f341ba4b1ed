/*
 * Two questions to a provider, by connections of the process to itself. Do writes with an immediate value arrive?
 *
 * Is the last byte of a write the last to appear? Asked of a provider that says nothing about
 * it, by writes from the process to itself over a connection of its own, while a second thread
 * looks at the target. A few milliseconds; everything made for it is gone afterwards.
 *
 * One round that shows an old byte behind a new last one is proof; rounds that do not are none,
 * but rings have been relied upon without any such question until here.
 */
#include "dapl_adapt/provider/probe_loop.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/loopback.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"
#include "util/port.h"

#define AREA_LEN   65536
#define CONNECT_NS UINT64_C(3000000000)
#define BUDGET_NS  UINT64_C(4000000)
#define ROUNDS     64
#define IMM_NS     UINT64_C(1000000000)
#define IMM_LEN    64
#define IMM_VALUE  0x00c0ffeeu

static const size_t lens[] = {64, 200, 1024, 4096, 5000, 16384, AREA_LEN};

#define N_LENS (sizeof(lens) / sizeof(lens[0]))

struct loop {
    struct dm_loopback self;
    char *mem; /* the target's area, then the source's */
    struct dm_lmr lmr;
    /* the watcher */
    pthread_t watcher;
    atomic_uint asked; /* rounds */
    atomic_uint looking;
    atomic_uint answered;
    atomic_bool stop;
    size_t len;
    unsigned char mark;
    bool is_early; /* an old byte was seen behind a new last one */
};

/* ---- the watcher ---- */

DM_UNTRACKED static bool sees_old(const volatile unsigned char *area, size_t len,
                                  unsigned char mark, const atomic_bool *stop)
{
    while (area[len - 1] != mark) {
        if (atomic_load_explicit(stop, memory_order_relaxed))
            return false;
    }
    if (area[0] != mark || area[len / 2] != mark)
        return true;
    for (size_t i = len - 1; i > 0; i--) {
        if (area[i - 1] != mark)
            return true;
    }
    return false;
}

static void *probe_watch(void *arg)
{
    struct loop *loop = arg;
    unsigned n = 0;

    while (!atomic_load_explicit(&loop->stop, memory_order_acquire)) {
        if (atomic_load_explicit(&loop->asked, memory_order_acquire) == n) {
            sched_yield();
            continue;
        }
        atomic_store_explicit(&loop->looking, n + 1, memory_order_release);
        if (sees_old((unsigned char *)loop->mem, loop->len, loop->mark, &loop->stop))
            loop->is_early = true;
        atomic_store_explicit(&loop->answered, ++n, memory_order_release);
    }
    return NULL;
}

/* ---- the connection ---- */

static void loop_free(struct loop *loop)
{
    dm_loopback_close(&loop->self);
    dm_lmr_free(&loop->lmr);
    free(loop->mem);
    free(loop);
}

static bool setup(struct loop *loop)
{
    struct dm_ia *ia = loop->self.ia;

    loop->mem = aligned_alloc(4096, (size_t)2 * AREA_LEN);
    if (loop->mem == NULL)
        return false;
    memset(loop->mem, 0, (size_t)2 * AREA_LEN);
    return dm_lmr_try(ia->ia, ia->pz, loop->mem, (size_t)2 * AREA_LEN, -1, &loop->lmr) ==
           DAT_SUCCESS;
}

/* NULL: no memory, or no connection came about. */
static struct loop *loop_new(struct dm_ia *ia)
{
    struct loop *loop = calloc(1, sizeof(*loop));

    if (loop == NULL)
        return NULL;
    if (dm_loopback_open(&loop->self, ia, CONNECT_NS) && setup(loop))
        return loop;
    loop_free(loop);
    return NULL;
}

/* ---- rounds ---- */

/* One write, when the watcher is at it; false when it does not arrive. */
static bool write_once(struct loop *loop, size_t len, unsigned char mark, uint64_t limit)
{
    char *src = loop->mem + AREA_LEN;
    struct dm_desc *desc = &loop->self.desc;
    DAT_DTO_COOKIE cookie = {.as_64 = mark};
    DAT_EVENT event;
    unsigned n;
    bool is_done = false;

    memset(src, mark, len);
    loop->len = len;
    loop->mark = mark;
    n = atomic_fetch_add_explicit(&loop->asked, 1, memory_order_acq_rel) + 1;
    while (atomic_load_explicit(&loop->looking, memory_order_acquire) != n) {
        if (dm_clock_ns() > limit)
            return false;
        sched_yield();
    }
    desc->lmr.virtual_address = (DAT_VADDR)(uintptr_t)src;
    desc->lmr.segment_length = (DAT_SEG_LENGTH)len;
    desc->lmr.lmr_context = loop->lmr.lctx;
    desc->rmr.virtual_address = (DAT_VADDR)(uintptr_t)loop->mem;
    desc->rmr.segment_length = (DAT_SEG_LENGTH)len;
    desc->rmr.rmr_context = loop->lmr.rctx;
    if (DAT_EP_POST_RDMA_WRITE(loop->self.out, 1, &desc->lmr, cookie, &desc->rmr,
                               DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
        return false;
    loop->self.n_posted++;
    while (!is_done || atomic_load_explicit(&loop->answered, memory_order_acquire) != n) {
        if (dm_loopback_next(&loop->self, &event)) {
            if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
                event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                return false;
            is_done = true;
        }
        if (dm_clock_ns() > limit)
            return false;
    }
    return true;
}

static enum dm_last_byte run_rounds(struct loop *loop, uint64_t limit)
{
    uint64_t until = dm_clock_ns() + BUDGET_NS;
    unsigned n = 0;
    bool is_ok = true;

    if (pthread_create(&loop->watcher, NULL, probe_watch, loop) != 0)
        return DM_LAST_UNKNOWN;
    limit += dm_clock_ns();
    while (is_ok && n < ROUNDS && (n < 2 * N_LENS || dm_clock_ns() < until)) {
        is_ok = write_once(loop, lens[n % N_LENS], (unsigned char)(n % 250 + 1), limit);
        n++;
    }
    atomic_store_explicit(&loop->stop, true, memory_order_release);
    pthread_join(loop->watcher, NULL);
    DM_TRACE(DAT, "%s: %u writes to itself, early last bytes: %d", loop->self.ia->name, n,
             loop->is_early);
    if (loop->is_early)
        return DM_LAST_IS_EARLY;
    return n > N_LENS ? DM_LAST_IS_LAST : DM_LAST_UNKNOWN;
}

static enum dm_last_byte watch_last_byte(struct dm_ia *ia, uint64_t limit_ns)
{
    enum dm_last_byte found;
    struct loop *loop;

    if (dm_host_cores() < 2) /* the watcher would see nothing while the writer runs */
        return DM_LAST_UNKNOWN;
    loop = loop_new(ia);
    if (loop == NULL)
        return DM_LAST_UNKNOWN;
    found = run_rounds(loop, limit_ns);
    loop_free(loop);
    return found;
}

/* A rank that is bound to one core uses others for a moment. */
enum dm_last_byte dm_probe_last_byte(struct dm_ia *ia, uint64_t limit_ns)
{
    enum dm_last_byte found;
    cpu_set_t own, all;
    bool is_bound = sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_COUNT(&own) == 1;

    memset(&all, 0xff, sizeof(all));
    if (is_bound)
        (void)sched_setaffinity(0, sizeof(all), &all);
    found = watch_last_byte(ia, limit_ns);
    if (is_bound)
        (void)sched_setaffinity(0, sizeof(own), &own);
    return found;
}

/* ---- immediate values ---- */

static bool post_immediate(struct loop *loop)
{
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_LMR_TRIPLET *recv = &loop->self.recv.lmr;
    DAT_LMR_TRIPLET *lmr = &loop->self.desc.lmr;
    DAT_RMR_TRIPLET *rmr = &loop->self.desc.rmr;

    memset(loop->mem + AREA_LEN, 'i', IMM_LEN);
    recv->virtual_address = (DAT_VADDR)(uintptr_t)(loop->mem + AREA_LEN - IMM_LEN);
    recv->segment_length = IMM_LEN;
    recv->lmr_context = loop->lmr.lctx;
    if (DAT_EP_POST_RECV(loop->self.in, 1, recv, cookie, DAT_COMPLETION_DEFAULT_FLAG) !=
        DAT_SUCCESS)
        return false;
    lmr->virtual_address = (DAT_VADDR)(uintptr_t)(loop->mem + AREA_LEN);
    lmr->segment_length = IMM_LEN;
    lmr->lmr_context = loop->lmr.lctx;
    rmr->virtual_address = (DAT_VADDR)(uintptr_t)loop->mem;
    rmr->segment_length = IMM_LEN;
    rmr->rmr_context = loop->lmr.rctx;
    return dat_ib_post_rdma_write_immed(loop->self.out, 1, lmr, cookie, rmr, IMM_VALUE,
                                        DAT_COMPLETION_DEFAULT_FLAG) == DAT_SUCCESS;
}

/* Both ends complete, and the receiver's says the value. */
static bool await_immediate(struct loop *loop)
{
    uint64_t until = dm_clock_ns() + IMM_NS;
    DAT_IB_EXTENSION_EVENT_DATA ext;
    bool has_come = false;
    DAT_EVENT event;
    int n = 0;

    while (n < 2 && dm_clock_ns() < until) {
        if (!dm_loopback_next(&loop->self, &event)) {
            sched_yield();
            continue;
        }
        n++;
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
            return false;
        memcpy(&ext, event.event_extension_data, sizeof(ext));
        if (event.event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT &&
            ext.type == DAT_IB_RDMA_WRITE_IMMED_DATA)
            has_come = ext.val.immed.data == IMM_VALUE && loop->mem[IMM_LEN - 1] == 'i';
    }
    return n == 2 && has_come;
}

bool dm_probe_immediate(struct dm_ia *ia)
{
    struct loop *loop;
    bool has_come;

    if (!ia->caps.has_ext || ia->caps.is_late)
        return false;
    loop = loop_new(ia);
    if (loop == NULL)
        return false;
    has_come = post_immediate(loop) && await_immediate(loop);
    loop_free(loop);
    return has_come;
}
