/*
 * Interface adapters: opening, what they can do (see probe_ia.h), and their shared objects.
 */
#include "dapl_adapt/provider/ia.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/device.h"
#include "dapl_adapt/provider/ep_end.h"
#include "dapl_adapt/provider/lmr.h"
#include "dapl_adapt/provider/source.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/provider/srq.h"
#include "dapl_adapt/public/progress.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/tune.h"

#define ASYNC_QLEN    64
#define QUAL_FIRST    16384 /* connection qualifiers: 16 bits is what every provider takes */
#define QUAL_RANGE    32768
#define QUAL_TRIES    512
#define IOV_WANTED    8
#define READS         16
#define PROBE_DTOS    64
#define PEERS_FIRST   16 /* that the event queue has room for before it is made larger */
#define PEERS_SPARE   3  /* more, so that there is room until it is made larger */
#define PEERS_AT_ONCE 64 /* that may connect at one time; others try again */
#define WAKE_QLEN     16
#define SIW_QLEN      16385 /* see create_queues */
#define RDMA_CHUNK    (UINT64_C(1) << 30)

static int ia_min_pos(int a, int b)
{
    return b > 0 && b < a ? b : a;
}

/* The registry says no more than that it has no such provider: load its library once more to see why. */
static int ia_not_loaded(const struct dm_conf_entry *entry)
{
    void *lib = dlopen(entry->lib, RTLD_LAZY | RTLD_LOCAL);
    bool is_provider;

    if (lib == NULL)
        return DM_FAIL(DM_EPROVIDER, "%s: its library cannot be loaded: %s", entry->name,
                       dlerror());
    is_provider = dlsym(lib, DAT_PROVIDER_INIT_FUNC_STR) != NULL;
    dlclose(lib);
    if (!is_provider)
        return DM_FAIL(DM_EPROVIDER,
                       "%s: its library %s is no DAT provider: it has no dat_provider_init",
                       entry->name, entry->lib);
    return DM_FAIL(DM_EPROVIDER,
                   "%s: its library %s does not serve this name (DAT_DBG_TYPE=0x3 says more)",
                   entry->name, entry->lib);
}

/* Why a provider that the registry knows by name did not open. */
static int ia_open_failed(const struct dm_conf_entry *entry, DAT_RETURN rc)
{
    if (DAT_GET_TYPE(rc) == DAT_PROVIDER_NOT_FOUND)
        return ia_not_loaded(entry);
    /* DAT has no words for which memory; these are what runs out in practice */
    if (rc == (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY))
        return DM_FAIL(
            DM_EPROVIDER,
            "%s: dat_ia_open: no memory; check the address space (ulimit -v), open files "
            "(ulimit -n), the size of files (ulimit -f), shared memory (is memfd_create "
            "refused by the container?) and locked memory (ulimit -l)",
            entry->name);
    if (rc == (DAT_RETURN)(DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_DEVICE))
        return DM_FAIL(
            DM_EPROVIDER,
            "%s: dat_ia_open: its device or interface cannot be used; what it said itself "
            "stands above",
            entry->name);
    if (DAT_GET_TYPE(rc) == DAT_INVALID_PARAMETER)
        return DM_FAIL(DM_EPROVIDER,
                       "%s: dat_ia_open: %s; are its ia_params in the dat.conf right (\"%s\")?",
                       entry->name, dm_dat_text(rc), entry->params);
    return DM_FAIL(DM_EPROVIDER, "%s: dat_ia_open: %s", entry->name, dm_dat_text(rc));
}

/*
 * OFED's providers complain on their own about hardware that is not there. The
 * user asked to hear it when explaining, or by setting the variable himself.
 */
static void ia_hush(void)
{
    if (!dm_cfg()->explain)
        setenv("DAPL_DBG_TYPE", "0", 0);
}

/*
 * A provider that is given a device makes connections by itself, which iWARP leaves to
 * the kernel; such a provider may even crash in dat_ia_open on one. So look first.
 */
static int ia_check_device(const struct dm_conf_entry *entry)
{
    char device[DM_DEVICE_NAME_MAX];

    if (dm_device_named(DM_DEVICE_ROOT, entry->params, device) != DM_DEVICE_IWARP)
        return DM_OK;
    return DM_FAIL(DM_EPROVIDER,
                   "%s: its dat.conf line names %s, an iWARP device, and %s cannot make iWARP "
                   "connections; they need a provider that is given the network interface",
                   entry->name, device, entry->lib);
}

/* An address that is no IPv4 one, of a provider that was given a device, has the port's LID. */
static int ia_check_address(const struct dm_conf_entry *entry, const struct dm_probe_limits *limits)
{
    char device[DM_DEVICE_NAME_MAX];
    struct sockaddr addr;

    memcpy(&addr, limits->addr, sizeof(addr));
    if (addr.sa_family == AF_INET ||
        dm_device_named(DM_DEVICE_ROOT, entry->params, device) != DM_DEVICE_ROCE)
        return DM_OK;
    return DM_FAIL(DM_EPROVIDER,
                   "%s: %s addresses its peers by InfiniBand LID, and %s is an Ethernet (RoCE) "
                   "device, which has none (LID 0)",
                   entry->name, entry->lib, device);
}

/*
 * libdat2 unloads a provider's library when its last IA is closed, and at exit. Those of OFED do not
 * wait for the end of their threads, which then run into nothing: the library stays. One that
 * cannot be loaded is dat_ia_open's to tell.
 */
static void ia_keep_library(const struct dm_conf_entry *entry)
{
    (void)dlopen(entry->lib, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
}

int dm_ia_open_handle(const struct dm_conf_entry *entry, bool is_safe, DAT_IA_HANDLE *ia_p,
                      DAT_EVD_HANDLE *async_p)
{
    DAT_RETURN rc;
    int err = dm_dat_load();

    if (err == DM_OK && entry->is_builtin)
        err = dm_conf_register(entry);
    if (err == DM_OK)
        err = ia_check_device(entry);
    if (err != DM_OK)
        return err;
    ia_hush();
    ia_keep_library(entry);
    *async_p = DAT_HANDLE_NULL;
    rc = dat_ia_openv(entry->name, ASYNC_QLEN, async_p, ia_p, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
                      is_safe ? DAT_TRUE : DAT_FALSE);
    return rc == DAT_SUCCESS ? DM_OK : ia_open_failed(entry, rc);
}

static int ia_query(struct dm_ia *ia, const struct dm_conf_entry *entry)
{
    struct dm_probe_limits limits;
    int err = dm_probe_limits(ia->ia, ia->name, &limits);

    if (err == DM_OK)
        err = ia_check_address(entry, &limits);
    if (err != DM_OK)
        return err;
    ia->net.addr_len = limits.addr_len;
    memcpy(ia->net.addr, limits.addr, limits.addr_len);
    ia->caps.is_local = limits.is_local;
    ia->is_driven = limits.is_driven;
    ia->caps.is_manual = limits.is_manual;
    ia->is_serial = limits.is_serial;
    if (ia->is_serial)
        dm_ep_end_guard();
    ia->can_wake = limits.can_wake;
    ia->caps.last_byte = limits.last_byte;
    if (limits.can_grow)
        ia->depth.max = limits.max_evd_qlen;
    /* Only iWARP has reads into a single segment, and it is done with a write that is sent. */
    ia->caps.is_late = limits.max_iov_read == 1;
    ia->caps.has_ext = limits.has_ext;
    ia->caps.keeps_iov = limits.keeps_iov;
    ia->caps.has_agents = limits.has_agents;
    ia->caps.has_quals = limits.has_quals;
    ia->caps.has_clock = limits.has_clock;
    ia->caps.needs_sendrecv = limits.last_byte == DM_LAST_IS_EARLY;
    ia->limits.max_taken = limits.max_taken;
    ia->limits.max_req = ia_min_pos(65536, limits.max_req);
    ia->limits.max_recv = ia->limits.max_req;
    ia->limits.max_iov = ia_min_pos(IOV_WANTED, limits.max_iov);
    ia->limits.max_iov = ia_min_pos(ia->limits.max_iov, limits.max_iov_write);
    ia->limits.max_reads_in = ia_min_pos(READS, limits.max_reads_in);
    ia->limits.max_reads_out = ia_min_pos(READS, limits.max_reads_out);
    ia->limits.max_rdma = RDMA_CHUNK;
    if (limits.max_rdma > 0 && limits.max_rdma < ia->limits.max_rdma)
        ia->limits.max_rdma = limits.max_rdma;
    return DM_OK;
}

static void ia_free_side(struct dm_ia *ia, enum dm_side side)
{
    if (ia->wake.evd[side] != DAT_HANDLE_NULL && ia->wake.evd[side] != ia->dto_evd)
        dat_evd_free(ia->wake.evd[side]);
    if (ia->wake.cno[side] != DAT_HANDLE_NULL)
        dat_cno_free(ia->wake.cno[side]);
    ia->wake.cno[side] = DAT_HANDLE_NULL;
    ia->wake.evd[side] = DAT_HANDLE_NULL;
}

/* What a thread sleeps in while others take events off the queues; not every provider has it. */
static bool ia_create_side(struct dm_ia *ia, enum dm_side side)
{
    DAT_RETURN rc = dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &ia->wake.cno[side]);

    if (rc == DAT_SUCCESS)
        rc = dat_evd_create(ia->ia, WAKE_QLEN, ia->wake.cno[side], DAT_EVD_SOFTWARE_FLAG,
                            &ia->wake.evd[side]);
    if (rc == DAT_SUCCESS)
        return true;
    DM_TRACE(DAT, "%s: no notification object: %s", ia->name, dm_dat_text(rc));
    ia_free_side(ia, side);
    return false;
}

static int ia_evd_create(struct dm_ia *ia, int qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                         DAT_EVD_HANDLE *evd_p)
{
    DAT_IA_ATTR attr;
    DAT_RETURN rc;

    memset(&attr, 0, sizeof(attr));
    if (dat_ia_query(ia->ia, NULL, DAT_IA_FIELD_IA_MAX_EVD_QLEN, &attr, 0, NULL) == DAT_SUCCESS)
        qlen = ia_min_pos(qlen, attr.max_evd_qlen);
    if ((flags & DAT_EVD_DTO_FLAG) != 0)
        ia->depth.len = ia->depth.space = qlen;
    errno = ENOMEM; /* as in dm_ia_ep_create */
    rc = dat_evd_create(ia->ia, qlen, cno, flags, evd_p);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_evd_create for %d events: %s", ia->name, qlen,
                       dm_dat_text(rc));
    return DM_OK;
}

int dm_ia_listen(DAT_IA_HANDLE ia, const char *name, DAT_EVD_HANDLE evd, bool is_any,
                 DAT_CONN_QUAL *qual_p, DAT_PSP_HANDLE *psp_p)
{
    DAT_RETURN rc = DAT_CONN_QUAL_IN_USE;

    for (unsigned i = 0; i < QUAL_TRIES && !is_any; i++) {
        *qual_p = QUAL_FIRST + ((unsigned)getpid() * 3 + i) % QUAL_RANGE;
        rc = dat_psp_create(ia, *qual_p, evd, DAT_PSP_CONSUMER_FLAG, psp_p);
        if (rc == DAT_SUCCESS)
            return DM_OK;
        if (DAT_GET_TYPE(rc) != DAT_CONN_QUAL_IN_USE)
            break;
    }
    if (DAT_GET_TYPE(rc) == DAT_CONN_QUAL_IN_USE)
        rc = dat_psp_create_any(ia, qual_p, evd, DAT_PSP_CONSUMER_FLAG, psp_p);
    if (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_psp_create: %s; check open files (ulimit -n)", name,
                       dm_dat_text(rc));
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_psp_create: %s", name, dm_dat_text(rc));
    return DM_OK;
}

/* Two queues and nothing that is woken by both. */
static int ia_cannot_split(const struct dm_ia *ia)
{
    return DM_FAIL(DM_EPROVIDER,
                   "%s has no notification object to wait for two queues, as DATUM_CQ=split needs "
                   "unless DATUM_PROGRESS=poll; set DATUM_CQ=shared or DATUM_PROGRESS=poll",
                   ia->name);
}

/*
 * The queues for completions, and what is slept in where that is not the queue. The kernel gives the queues of a
 * process numbers, from 0 up, one for each page. Soft-iWARP's library takes number 144 for "none"
 * and refuses the queue that begins there, again and again. A first queue of more pages covers it:
 * SIW_QLEN is rounded up to 32768 entries of 32 bytes.
 */
static int ia_create_queues(struct dm_ia *ia, int qlen)
{
    int progress = dm_cfg()->progress;
    bool is_split = dm_cfg()->cq == DM_CQ_SPLIT;
    bool has_threads = progress >= DM_PROGRESS_THREAD;
    bool has_side = (has_threads || (is_split && progress != DM_PROGRESS_POLL)) &&
                    ia_create_side(ia, DM_SIDE_RECV);
    bool has_sides =
        has_side && progress == DM_PROGRESS_THREADS2 && ia_create_side(ia, DM_SIDE_REQUEST);
    bool is_merged = ia->can_wake && !has_threads && !has_side;
    int err;

    if (is_split && !has_side && progress != DM_PROGRESS_POLL)
        return ia_cannot_split(ia);
    is_split |= has_sides;
    ia->counts_taken = is_split || dm_cfg()->cq == DM_CQ_SHARED;
    if (ia->caps.is_late && qlen < SIW_QLEN)
        qlen = SIW_QLEN;
    err = ia_evd_create(ia, qlen + is_merged,
                        ia->wake.cno[has_sides ? DM_SIDE_REQUEST : DM_SIDE_RECV],
                        DAT_EVD_DTO_FLAG | (is_merged ? DAT_EVD_SOFTWARE_FLAG : 0), &ia->dto_evd);
    if (is_merged) {
        ia->wake.evd[DM_SIDE_RECV] = ia->dto_evd;
        ia->depth.space--;
    }
    ia->recv_evd = ia->dto_evd;
    if (err == DM_OK && is_split)
        err = ia_evd_create(ia, qlen, ia->wake.cno[DM_SIDE_RECV], DAT_EVD_DTO_FLAG, &ia->recv_evd);
    return err;
}

/* The queue of connection events, with an agent to come where the provider's own thread calls agents. */
static int ia_create_cm(struct dm_ia *ia, int n_peers)
{
    if (!ia->caps.has_agents ||
        dat_cno_create(ia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &ia->cm.cno) != DAT_SUCCESS)
        ia->cm.cno = DAT_HANDLE_NULL;
    return ia_evd_create(ia, ia_min_pos(PEERS_AT_ONCE, n_peers) * 8 + 32, ia->cm.cno,
                         DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG, &ia->cm.evd);
}

static int ia_create_objects(struct dm_ia *ia, int n_peers, int per_peer)
{
    int n_first = ia->depth.max > 0 ? ia_min_pos(PEERS_FIRST, n_peers) : n_peers;
    DAT_RETURN rc;
    int err;

    rc = dat_pz_create(ia->ia, &ia->pz);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_pz_create: %s", ia->name, dm_dat_text(rc));
    err = ia_create_queues(ia, (n_first + PEERS_SPARE) * per_peer);
    if (err == DM_OK)
        err = ia_create_cm(ia, n_peers);
    if (err == DM_OK)
        err = dm_ia_listen(ia->ia, ia->name, ia->cm.evd, ia->caps.has_quals, &ia->cm.qual,
                           &ia->cm.psp);
    if (err == DM_OK && ia->caps.is_late)
        err = dm_lmr_create(ia, ia->memory.echo.bytes, sizeof(ia->memory.echo.bytes), -1,
                            &ia->memory.echo.lmr);
    if (err == DM_EAGAIN)
        err = DM_FAIL(DM_EPROVIDER,
                      "%s: not even %zu bytes can be registered; raise the limit of locked memory "
                      "(ulimit -l)",
                      ia->name, sizeof(ia->memory.echo.bytes));
    return err;
}

/* What no attribute tells, or what attributes may have promised too much of. */
static int ia_probe(struct dm_ia *ia)
{
    DAT_RETURN rc;
    int n_dtos = ia_min_pos(PROBE_DTOS, ia->limits.max_req);

    ia->limits.max_iov = dm_probe_iov(ia->ia, ia->pz, ia->dto_evd, ia->cm.evd, n_dtos, n_dtos,
                                      ia->limits.max_iov, &rc);
    if (ia->limits.max_iov == 0)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ep_create for %d receives and %d requests: %s",
                       ia->name, n_dtos, n_dtos, dm_dat_text(rc));
    ia->caps.can_share = dm_probe_share(ia->ia, ia->pz);
    ia->caps.is_pinning = dm_probe_pins(ia->ia, ia->pz);
    return DM_OK;
}

int dm_ia_open(const struct dm_conf_entry *entry, int n_peers, int per_peer, struct dm_ia **ia_p)
{
    struct dm_ia *ia = calloc(1, sizeof(*ia));
    int err;

    if (ia == NULL)
        return DM_FAIL(DM_ENOMEM, "an interface adapter");
    pthread_mutex_init(&ia->cm.lock, NULL);
    snprintf(ia->name, sizeof(ia->name), "%s", entry->name);
    snprintf(ia->library, sizeof(ia->library), "%s", entry->lib);
    ia->is_builtin = entry->is_builtin;
    ia->tuned = dm_tune_find(entry->name, entry->params != NULL ? entry->params : "");
    if (ia->tuned != NULL) /* the values are those of rma/rndv.c */
        ia->rndv.choice = ia->tuned->rndv;
    err = dm_ia_open_handle(entry, false, &ia->ia, &ia->async_evd);
    if (err != DM_OK) {
        free(ia);
        return err;
    }
    err = ia_query(ia, entry);
    if (err == DM_OK)
        err = ia_create_objects(ia, n_peers, per_peer);
    if (err == DM_OK)
        err = ia_probe(ia);
    if (err != DM_OK) {
        dm_ia_close(ia);
        return err;
    }
    DM_TRACE(DAT, "opened %s, qualifier %llu, pinning %d, local %d", ia->name,
             (unsigned long long)ia->cm.qual, ia->caps.is_pinning, ia->caps.is_local);
    *ia_p = ia;
    return DM_OK;
}

/*
 * False: the provider has failed half-way. The memory of a queue of soft-iWARP is gone then, and libdapl
 * reads it when it closes the instance by force.
 */
static bool ia_free_evd(DAT_EVD_HANDLE evd)
{
    DAT_RETURN rc = evd != DAT_HANDLE_NULL ? dat_evd_free(evd) : DAT_SUCCESS;

    return rc == DAT_SUCCESS || DAT_GET_TYPE(rc) == DAT_INVALID_STATE;
}

void dm_ia_close(struct dm_ia *ia)
{
    bool is_whole;
    DAT_RETURN rc;

    if (ia->is_serial &&
        dm_ep_end_has_left()) /* its queues are read: the end of the process frees them */
        return;
    dm_rail_srq_free(ia);
    if (ia->cm.psp != DAT_HANDLE_NULL)
        dat_psp_free(ia->cm.psp);
    is_whole = ia_free_evd(ia->cm.evd);
    if (ia->cm.cno != DAT_HANDLE_NULL)
        dat_cno_free(ia->cm.cno);
    if (ia->recv_evd != ia->dto_evd)
        is_whole = ia_free_evd(ia->recv_evd) && is_whole;
    is_whole = ia_free_evd(ia->dto_evd) && is_whole;
    ia_free_side(ia, DM_SIDE_RECV);
    ia_free_side(ia, DM_SIDE_REQUEST);
    if (ia->memory.echo.lmr.handle != DAT_HANDLE_NULL)
        dm_lmr_free(&ia->memory.echo.lmr);
    dm_source_free(ia);
    if (ia->pz != DAT_HANDLE_NULL)
        dat_pz_free(ia->pz);
    rc = dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG);
    if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE && is_whole) /* something is left */
        dat_ia_close(ia->ia, DAT_CLOSE_ABRUPT_FLAG);
    pthread_mutex_destroy(&ia->cm.lock);
    free(ia);
}

int dm_ia_try(const struct dm_conf_entry *entry, char *found, size_t len)
{
    struct dm_ia *ia;
    int err = dm_ia_open(entry, 1, PROBE_DTOS, &ia);

    found[0] = '\0';
    if (err == DM_OK) {
        dm_ia_found(ia, found, len);
        dm_ia_close(ia);
    }
    return err;
}

static const char *ia_last_byte_text(const struct dm_ia *ia)
{
    switch (ia->caps.last_byte) {
    case DM_LAST_IS_LAST:
        return "; last byte of a write last";
    case DM_LAST_IS_EARLY:
        return "; last byte of a write not last";
    default:
        return "";
    }
}

void dm_ia_found(const struct dm_ia *ia, char *text, size_t len)
{
    char addr[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    memcpy(&in, ia->net.addr, sizeof(in));
    memcpy(&in6, ia->net.addr, sizeof(in6));
    if (in.sin_family == AF_INET)
        inet_ntop(AF_INET, &in.sin_addr, addr, sizeof(addr));
    else if (in.sin_family == AF_INET6)
        inet_ntop(AF_INET6, &in6.sin6_addr, addr, sizeof(addr));
    snprintf(text, len, "%s%s; %d segments, %d requests, %d reads; %s, %s%s%s%s",
             ia->caps.is_local ? "this host only, " : "reaches hosts, ", addr, ia->limits.max_iov,
             ia->limits.max_req, ia->limits.max_reads_out,
             ia->caps.can_share ? "maps shared memory" : "no shared memory",
             ia->caps.is_pinning ? "registration pins pages" : "does not pin",
             ia->caps.is_late ? ", a read tells that writes are placed" : "",
             ia->caps.keeps_iov ? ", keeps triplets until completion" : "", ia_last_byte_text(ia));
}

int dm_ia_ep_create(struct dm_ia *ia, int n_recv, int n_req, bool is_shared, DAT_EP_HANDLE *ep_p)
{
    DAT_EP_ATTR attr;
    DAT_RETURN rc;

    memset(&attr, 0, sizeof(attr));
    attr.service_type = DAT_SERVICE_TYPE_RC;
    attr.max_message_size =
        (DAT_SEG_LENGTH)(ia->limits.max_rdma < (1u << 24) ? ia->limits.max_rdma : 1u << 24);
    attr.max_rdma_size = (DAT_SEG_LENGTH)ia->limits.max_rdma;
    attr.qos = DAT_QOS_BEST_EFFORT;
    attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attr.max_recv_dtos = n_recv;
    attr.max_request_dtos = n_req;
    attr.max_recv_iov = ia->limits.max_iov < 2 ? 1 : 2; /* eager/sr.c */
    attr.max_request_iov = ia->limits.max_iov;
    attr.max_rdma_read_in = ia->limits.max_reads_in;
    attr.max_rdma_read_out = ia->limits.max_reads_out;
    attr.max_rdma_read_iov = 1;
    attr.max_rdma_write_iov = ia->limits.max_iov;
    dm_serial_enter(ia->is_serial);
    /* Its error is errno where libdapl asks libibverbs, and success when that is left at 0. */
    errno = ENOMEM;
    if (is_shared)
        rc = dat_ep_create_with_srq(ia->ia, ia->pz, ia->recv_evd, ia->dto_evd, ia->cm.evd,
                                    ia->memory.srq->handle, &attr, ep_p);
    else
        rc = dat_ep_create(ia->ia, ia->pz, ia->recv_evd, ia->dto_evd, ia->cm.evd, &attr, ep_p);
    dm_serial_leave(ia->is_serial);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ep_create%s for %d receives and %d requests: %s",
                       ia->name, is_shared ? "_with_srq" : "", n_recv, n_req, dm_dat_text(rc));
    return DM_OK;
}
