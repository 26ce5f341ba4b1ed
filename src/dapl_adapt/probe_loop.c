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
#include "dapl_adapt/probe_loop.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/dat_ib_extensions.h>

#include "dapl_adapt/mem.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"
#include "util/port.h"

#define AREA_LEN   65536
#define CONNECT_NS UINT64_C(3000000000)
#define END_NS     UINT64_C(1000000000)
#define BUDGET_NS  UINT64_C(4000000)
#define ROUNDS     64
#define N_REQS     8
#define EVD_QLEN   32
#define IMM_NS     UINT64_C(1000000000)
#define IMM_LEN    64
#define IMM_VALUE  0x00c0ffeeu

static const size_t lens[] = {64, 200, 1024, 4096, 5000, 16384, AREA_LEN};
#define N_LENS (sizeof(lens) / sizeof(lens[0]))

struct loop {
    struct dm_ia *ia;
    char *mem; /* the target's area, then the source's */
    struct dm_lmr lmr;
    DAT_EVD_HANDLE cm_evd;
    DAT_EVD_HANDLE dto_evd;
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_EP_HANDLE out;
    DAT_EP_HANDLE in;
    int n_up;
    int n_posted; /* requests that have not completed */
    uint64_t nonce;
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

static void *watch(void *arg)
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

static bool setup(struct loop *loop)
{
    struct dm_ia *ia = loop->ia;
    DAT_EP_ATTR attr;

    loop->mem = aligned_alloc(4096, (size_t)2 * AREA_LEN);
    if (loop->mem == NULL)
        return false;
    memset(loop->mem, 0, (size_t)2 * AREA_LEN);
    if (dm_lmr_try(ia->ia, ia->pz, loop->mem, (size_t)2 * AREA_LEN, -1, &loop->lmr) !=
            DAT_SUCCESS ||
        dat_evd_create(ia->ia, EVD_QLEN, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
                       &loop->cm_evd) != DAT_SUCCESS ||
        dat_evd_create(ia->ia, EVD_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &loop->dto_evd) !=
            DAT_SUCCESS ||
        dm_ia_listen(ia->ia, ia->name, loop->cm_evd, &loop->qual, &loop->psp) != DM_OK)
        return false;
    memset(&attr, 0, sizeof(attr));
    attr.service_type = DAT_SERVICE_TYPE_RC;
    attr.qos = DAT_QOS_BEST_EFFORT;
    attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.max_recv_dtos = N_REQS;
    attr.max_request_dtos = N_REQS;
    attr.max_recv_iov = 1;
    attr.max_request_iov = 1;
    attr.max_rdma_write_iov = 1;
    return dat_ep_create(ia->ia, ia->pz, loop->dto_evd, loop->dto_evd, loop->cm_evd, &attr,
                         &loop->out) == DAT_SUCCESS &&
           dat_ep_create(ia->ia, ia->pz, loop->dto_evd, loop->dto_evd, loop->cm_evd, &attr,
                         &loop->in) == DAT_SUCCESS;
}

/* A request: ours is known by its number; a stranger's goes. False: it cannot be accepted. */
static bool on_request(struct loop *loop, DAT_CR_HANDLE cr)
{
    DAT_CR_PARAM param;
    uint64_t nonce = 0;

    memset(&param, 0, sizeof(param));
    if (dat_cr_query(cr, DAT_CR_FIELD_ALL, &param) == DAT_SUCCESS && param.private_data != NULL &&
        param.private_data_size >= (DAT_COUNT)sizeof(nonce))
        memcpy(&nonce, param.private_data, sizeof(nonce));
    if (nonce == loop->nonce)
        return dat_cr_accept(cr, loop->in, 0, NULL) == DAT_SUCCESS;
    dat_cr_reject(cr, 0, NULL);
    return true;
}

static bool connect_self(struct loop *loop)
{
    uint64_t until = dm_clock_ns() + CONNECT_NS;
    struct sockaddr_in6 addr; /* the largest, aligned */
    DAT_EVENT event;

    memset(&addr, 0, sizeof(addr));
    memcpy(&addr, loop->ia->addr, loop->ia->addr_len);
    loop->nonce = until ^ (uint64_t)(uintptr_t)loop;
    if (dat_ep_connect(loop->out, (DAT_IA_ADDRESS_PTR)&addr, loop->qual,
                       (DAT_TIMEOUT)(CONNECT_NS / 1000), sizeof(loop->nonce), &loop->nonce,
                       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG) != DAT_SUCCESS)
        return false;
    while (loop->n_up < 2 && dm_clock_ns() < until) {
        if (DAT_EVD_DEQUEUE(loop->cm_evd, &event) != DAT_SUCCESS) {
            sched_yield();
            continue;
        }
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
            if (!on_request(loop, event.event_data.cr_arrival_event_data.cr_handle))
                return false;
        } else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
            loop->n_up++;
        } else {
            return false;
        }
    }
    return loop->n_up == 2;
}

/* Take the ends of connections that come before `until`; all of them: there is none left. */
static void await_ends(struct loop *loop, uint64_t until)
{
    DAT_EVENT event;

    while (loop->n_up > 0 && dm_clock_ns() < until) {
        if (DAT_EVD_DEQUEUE(loop->cm_evd, &event) == DAT_SUCCESS)
            loop->n_up -= event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
        else
            sched_yield();
    }
}

/* Wait for what is under way: when it is given up, soft-iWARP completes it after libdapl has forgotten it. */
static void await_requests(struct loop *loop, uint64_t until)
{
    DAT_EVENT event;

    while (loop->n_posted > 0 && dm_clock_ns() < until) {
        if (DAT_EVD_DEQUEUE(loop->dto_evd, &event) == DAT_SUCCESS)
            loop->n_posted--;
        else
            sched_yield();
    }
}

/*
 * The connector ends the connection, the other end only if it hears nothing of that: a provider
 * may not stand both at once (an assertion of libdapl's fails).
 */
static void take_down(struct loop *loop)
{
    await_requests(loop, dm_clock_ns() + END_NS);
    if (loop->n_up > 0) {
        dat_ep_disconnect(loop->out, DAT_CLOSE_ABRUPT_FLAG);
        await_ends(loop, dm_clock_ns() + END_NS);
    }
    if (loop->n_up > 0) {
        dat_ep_disconnect(loop->in, DAT_CLOSE_ABRUPT_FLAG);
        await_ends(loop, dm_clock_ns() + END_NS);
    }
    if (loop->out != DAT_HANDLE_NULL)
        dat_ep_free(loop->out);
    if (loop->in != DAT_HANDLE_NULL)
        dat_ep_free(loop->in);
    if (loop->psp != DAT_HANDLE_NULL)
        dat_psp_free(loop->psp);
    if (loop->dto_evd != DAT_HANDLE_NULL)
        dat_evd_free(loop->dto_evd);
    if (loop->cm_evd != DAT_HANDLE_NULL)
        dat_evd_free(loop->cm_evd);
    dm_lmr_free(&loop->lmr);
    free(loop->mem);
}

/* ---- rounds ---- */

/* One write, when the watcher is at it; false when it does not arrive. */
static bool write_once(struct loop *loop, size_t len, unsigned char mark, uint64_t limit)
{
    char *src = loop->mem + AREA_LEN;
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;
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
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)src;
    lmr.segment_length = (DAT_SEG_LENGTH)len;
    lmr.lmr_context = loop->lmr.lctx;
    rmr.virtual_address = (DAT_VADDR)(uintptr_t)loop->mem;
    rmr.segment_length = (DAT_SEG_LENGTH)len;
    rmr.rmr_context = loop->lmr.rctx;
    if (DAT_EP_POST_RDMA_WRITE(loop->out, 1, &lmr, cookie, &rmr, DAT_COMPLETION_DEFAULT_FLAG) !=
        DAT_SUCCESS)
        return false;
    loop->n_posted++;
    while (!is_done || atomic_load_explicit(&loop->answered, memory_order_acquire) != n) {
        if (DAT_EVD_DEQUEUE(loop->dto_evd, &event) == DAT_SUCCESS) {
            loop->n_posted--;
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

    if (pthread_create(&loop->watcher, NULL, watch, loop) != 0)
        return DM_LAST_UNKNOWN;
    limit += dm_clock_ns();
    while (is_ok && n < ROUNDS && (n < 2 * N_LENS || dm_clock_ns() < until)) {
        is_ok = write_once(loop, lens[n % N_LENS], (unsigned char)(n % 250 + 1), limit);
        n++;
    }
    atomic_store_explicit(&loop->stop, true, memory_order_release);
    pthread_join(loop->watcher, NULL);
    DM_TRACE(DAT, "%s: %u writes to itself, early last bytes: %d", loop->ia->name, n,
             loop->is_early);
    if (loop->is_early)
        return DM_LAST_IS_EARLY;
    return n > N_LENS ? DM_LAST_IS_LAST : DM_LAST_UNKNOWN;
}

enum dm_last_byte dm_probe_last_byte(struct dm_ia *ia, uint64_t limit_ns)
{
    enum dm_last_byte found = DM_LAST_UNKNOWN;
    struct loop *loop;

    if (dm_host_cores() < 2) /* the watcher would see nothing while the writer runs */
        return DM_LAST_UNKNOWN;
    loop = calloc(1, sizeof(*loop));
    if (loop == NULL)
        return DM_LAST_UNKNOWN;
    loop->ia = ia;
    if (setup(loop) && connect_self(loop))
        found = run_rounds(loop, limit_ns);
    take_down(loop);
    free(loop);
    return found;
}

/* ---- immediate values ---- */

static bool post_immediate(struct loop *loop)
{
    DAT_DTO_COOKIE cookie = {.as_64 = 1};
    DAT_LMR_TRIPLET lmr;
    DAT_RMR_TRIPLET rmr;

    memset(loop->mem + AREA_LEN, 'i', IMM_LEN);
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)(loop->mem + AREA_LEN - IMM_LEN);
    lmr.segment_length = IMM_LEN;
    lmr.lmr_context = loop->lmr.lctx;
    if (DAT_EP_POST_RECV(loop->in, 1, &lmr, cookie, DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS)
        return false;
    lmr.virtual_address = (DAT_VADDR)(uintptr_t)(loop->mem + AREA_LEN);
    rmr.virtual_address = (DAT_VADDR)(uintptr_t)loop->mem;
    rmr.segment_length = IMM_LEN;
    rmr.rmr_context = loop->lmr.rctx;
    return dat_ib_post_rdma_write_immed(loop->out, 1, &lmr, cookie, &rmr, IMM_VALUE,
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
        if (DAT_EVD_DEQUEUE(loop->dto_evd, &event) != DAT_SUCCESS) {
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

    if (!ia->has_ext || ia->is_late)
        return false;
    loop = calloc(1, sizeof(*loop));
    if (loop == NULL)
        return false;
    loop->ia = ia;
    has_come = setup(loop) && connect_self(loop) && post_immediate(loop) && await_immediate(loop);
    take_down(loop);
    free(loop);
    return has_come;
}
