/*
 * Probes of one process. Attributes are believed where all providers fill them in, and named ones
 * where a provider has them; the rest is found by trying it (shared memory, endpoints) or
 * measuring it (pinning, time).
 */
#include "dapl_adapt/provider/probe_ia.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/lmr.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/host.h"

#define PIN_LEN   (256 * 1024)
#define SHARE_LEN 4096

static bool probe_is_loopback(const struct dm_probe_limits *limits)
{
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    memcpy(&in, limits->addr, sizeof(in));
    memcpy(&in6, limits->addr, sizeof(in6));
    if (in.sin_family == AF_INET)
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    return in.sin_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

/* A word that the provider says about itself under a name; "" when it says nothing. */
static const char *own_word(const DAT_PROVIDER_ATTR *attr, const char *name)
{
    for (int i = 0; attr->provider_specific_attr != NULL && i < attr->num_provider_specific_attr;
         i++) {
        if (attr->provider_specific_attr[i].name != NULL &&
            attr->provider_specific_attr[i].value != NULL &&
            strcmp(attr->provider_specific_attr[i].name, name) == 0)
            return attr->provider_specific_attr[i].value;
    }
    return "";
}

static void own_words(const DAT_PROVIDER_ATTR *attr, struct dm_probe_limits *limits)
{
    const char *last = own_word(attr, "last_byte_last");

    limits->max_taken = strtoul(own_word(attr, "write_taken"), NULL, 10);
    limits->keeps_iov = attr->iov_ownership_on_return != DAT_IOV_CONSUMER;
    limits->is_safe_line = attr->is_thread_safe == DAT_TRUE;
    limits->is_serial = !limits->is_safe_line && strcmp(own_word(attr, "threads"), "objects") != 0;
    limits->is_local = strcmp(own_word(attr, "reach"), "host") == 0;
    limits->is_manual = strcmp(own_word(attr, "progress"), "manual") == 0;
    limits->is_driven = strcmp(own_word(attr, "progress"), "auto") == 0 || limits->is_manual;
    limits->has_agents = strcmp(own_word(attr, "agents"), "thread") == 0;
    limits->has_quals = strcmp(own_word(attr, "qualifiers"), "find") == 0;
    limits->has_clock = strcmp(own_word(attr, "clock"), "virtual") == 0;
    limits->can_grow = strcmp(own_word(attr, "evd_resize"), "yes") == 0;
    limits->can_wake = strcmp(own_word(attr, "evd_post_se"), "yes") == 0;
    if (strcmp(last, "yes") == 0)
        limits->last_byte = DM_LAST_IS_LAST;
    else if (strcmp(last, "no") == 0)
        limits->last_byte = DM_LAST_IS_EARLY;
}

int dm_probe_limits(DAT_IA_HANDLE ia, const char *name, struct dm_probe_limits *limits_p)
{
    DAT_PROVIDER_ATTR *pattr = calloc(1, sizeof(*pattr));
    struct dm_probe_limits *limits = limits_p;
    const struct sockaddr *addr;
    DAT_IA_ATTR attr;
    DAT_RETURN rc;

    if (pattr == NULL)
        return DM_FAIL(DM_ENOMEM, "provider attributes");
    memset(&attr, 0, sizeof(attr));
    memset(limits, 0, sizeof(*limits));
    rc = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, pattr);
    if (rc == DAT_SUCCESS)
        own_words(pattr, limits);
    free(pattr);
    if (rc != DAT_SUCCESS)
        return DM_FAIL(DM_EPROVIDER, "%s: dat_ia_query: %s", name, dm_dat_text(rc));
    addr = (const void *)attr.ia_address_ptr;
    if (addr == NULL)
        return DM_FAIL(DM_EPROVIDER, "%s: the provider has no address", name);
    limits->addr_len =
        addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : (size_t)DM_PROBE_ADDR_MAX;
    memcpy(limits->addr, addr, limits->addr_len);
    limits->is_local = limits->is_local || probe_is_loopback(limits);
    limits->has_ext = attr.extension_supported == DAT_EXTENSION_IB;
    limits->max_req = attr.max_dto_per_ep;
    limits->max_iov = attr.max_iov_segments_per_dto;
    limits->max_iov_write = attr.max_iov_segments_per_rdma_write;
    limits->max_iov_read = attr.max_iov_segments_per_rdma_read;
    limits->max_reads_in = attr.max_rdma_read_per_ep_in;
    limits->max_reads_out = attr.max_rdma_read_per_ep_out;
    limits->max_evd_qlen = attr.max_evd_qlen;
    limits->max_rdma = attr.max_rdma_size;
    limits->max_msg = attr.max_message_size;
    return DM_OK;
}

bool dm_probe_share(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
    struct dm_lmr lmr;
    bool can_share;
    void *mem;
    int fd;

    if (dm_host_shm_alloc("datum-probe", SHARE_LEN, &mem, &fd) != DM_OK)
        return false;
    can_share = dm_lmr_try(ia, pz, mem, SHARE_LEN, fd, &lmr) == DAT_SUCCESS;
    if (can_share)
        dm_lmr_free(&lmr);
    dm_host_shm_free(mem, SHARE_LEN, fd);
    return can_share;
}

/* Kilobytes that the kernel counts as pinned for this process. */
static long pinned_kb(void)
{
    char buf[4096];
    const char *line;
    ssize_t len;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    len = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (len <= 0)
        return 0;
    buf[len] = '\0';
    line = strstr(buf, "VmPin:");
    return line != NULL ? strtol(line + 6, NULL, 10) : 0;
}

bool dm_probe_pins(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz)
{
    struct dm_lmr lmr;
    bool is_pinning = true; /* who cannot register this much is most likely out of locked memory */
    long before = pinned_kb();
    void *mem = mmap(NULL, PIN_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mem == MAP_FAILED)
        return true;
    if (dm_lmr_try(ia, pz, mem, PIN_LEN, -1, &lmr) == DAT_SUCCESS) {
        is_pinning = pinned_kb() > before;
        dm_lmr_free(&lmr);
    }
    munmap(mem, PIN_LEN);
    return is_pinning;
}

int dm_probe_iov(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto_evd, DAT_EVD_HANDLE cm_evd,
                 int n_recv, int n_req, int most, DAT_RETURN *rc_p)
{
    DAT_RETURN rc = DAT_SUCCESS;
    DAT_EP_HANDLE ep;
    DAT_EP_ATTR attr;
    int n;

    for (n = most; n >= 1; n /= 2) {
        memset(&attr, 0, sizeof(attr));
        attr.service_type = DAT_SERVICE_TYPE_RC;
        attr.qos = DAT_QOS_BEST_EFFORT;
        attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        attr.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        attr.max_recv_dtos = n_recv;
        attr.max_request_dtos = n_req;
        attr.max_recv_iov = n < 2 ? 1 : 2;
        attr.max_request_iov = n;
        attr.max_rdma_read_in = 1;
        attr.max_rdma_read_out = 1;
        attr.max_rdma_read_iov = 1;
        attr.max_rdma_write_iov = n;
        rc = dat_ep_create(ia, pz, dto_evd, dto_evd, cm_evd, &attr, &ep);
        if (rc == DAT_SUCCESS) {
            dat_ep_free(ep);
            break;
        }
    }
    if (rc_p != NULL)
        *rc_p = rc;
    return n;
}

uint64_t dm_probe_time(const struct dm_probe_mover *mover, uint32_t total, uint32_t piece,
                       int rounds)
{
    uint64_t best = 0;
    uint64_t start;
    uint64_t took;
    uint32_t len;

    for (int i = 0; i <= rounds; i++) {
        start = dm_clock_ns();
        for (uint32_t done = 0; done < total; done += len) {
            len = total - done < piece ? total - done : piece;
            if (!mover->post(mover->arg, done, len))
                return 0;
        }
        if (!mover->drain(mover->arg))
            return 0;
        took = dm_clock_ns() - start;
        if (i > 0 && (best == 0 || took < best))
            best = took;
    }
    return best > 0 ? best : 1;
}
