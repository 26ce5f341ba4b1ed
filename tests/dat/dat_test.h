/*
 * Helpers for tests and benches that speak DAT only: checks, a set of objects,
 * registered memory, waiting for one event.
 *
 * A test is a program: DAT_OVERRIDE names the dat.conf, the first argument the
 * provider ("datum-shm" by default). It ends with 0 or says what went wrong,
 * where, and ends with 1. A helper that fails ends the program.
 */
#ifndef DM_TESTS_DAT_DAT_TEST_H
#define DM_TESTS_DAT_DAT_TEST_H

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dat2/udat.h>

/*
 * For functions that look at data which a peer placed through this process's helper thread
 * (staged copies): the order comes from the peer, where a thread checker cannot see it, and a
 * report for every byte takes for ever.
 */
#define ORDERED_BY_PEER __attribute__((no_sanitize_thread))

#define DT_FAIL(...)                                                                               \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: pid %d: ", __FILE__, __LINE__, (int)getpid());                     \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        exit(1);                                                                                   \
    } while (0)
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            DT_FAIL("not true: %s", #cond);                                                        \
    } while (0)
#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_)                                                                              \
            DT_FAIL("%s is %lld (0x%llx), not %lld (0x%llx)", #a, a_, a_, b_, b_);                 \
    } while (0)
/* The type of a return code. */
#define CHECK_RC(rc, type) CHECK_EQ(DAT_GET_TYPE(rc), type)
#define OK(rc)             CHECK_EQ((rc), DAT_SUCCESS)

#define DT_WAIT_US 10000000 /* longest wait for something that must happen */

/* One side's objects. */
struct dt {
    DAT_IA_HANDLE ia;
    DAT_EVD_HANDLE async_evd;
    DAT_EVD_HANDLE cr_evd;
    DAT_EVD_HANDLE conn_evd;
    DAT_EVD_HANDLE recv_evd;
    DAT_EVD_HANDLE req_evd;
    DAT_PZ_HANDLE pz;
    DAT_EP_HANDLE ep;
    struct sockaddr_in6 addr; /* or a sockaddr_in: as the provider has it */
    int pipe;                 /* to the other process */
};

/* Registered memory. */
struct dt_mem {
    char *buf;
    DAT_VLEN len;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lkey;
    DAT_RMR_CONTEXT rkey;
    int fd; /* of the memfd, -1 when private */
};

static inline double dt_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static inline void dt_sleep_ms(int ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&ts, NULL);
}

static inline const char *dt_name(int argc, char **argv)
{
    return argc > 1 ? argv[1] : "datum-shm";
}

static inline void dt_open_as(struct dt *t, const char *name, DAT_BOOLEAN is_safe)
{
    DAT_IA_ATTR attr;

    t->async_evd = DAT_HANDLE_NULL;
    OK(dat_ia_openv((DAT_NAME_PTR)name, 16, &t->async_evd, &t->ia, 2, 0, is_safe));
    OK(dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
    memcpy(&t->addr, attr.ia_address_ptr, sizeof(t->addr));
    OK(dat_pz_create(t->ia, &t->pz));
    OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &t->cr_evd));
    OK(dat_evd_create(t->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &t->conn_evd));
    OK(dat_evd_create(t->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &t->recv_evd));
    OK(dat_evd_create(t->ia, 1024, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &t->req_evd));
}

static inline DAT_COUNT dt_least(DAT_COUNT a, DAT_COUNT b)
{
    return a < b ? a : b;
}

/* What the tests need; less where an adapter has less. */
static inline DAT_EP_HANDLE dt_ep(struct dt *t)
{
    DAT_EP_ATTR attr;
    DAT_EP_HANDLE ep;
    DAT_IA_ATTR ia;

    OK(dat_ia_query(t->ia, NULL, DAT_IA_FIELD_ALL, &ia, 0, NULL));
    memset(&attr, 0, sizeof(attr));
    attr.max_message_size = ia.max_message_size < 1u << 30 ? ia.max_message_size : 1u << 30;
    attr.max_rdma_size = ia.max_rdma_size < 1u << 30 ? ia.max_rdma_size : 1u << 30;
    attr.max_recv_dtos = 256;
    attr.max_request_dtos = 256;
    attr.max_recv_iov = 4;
    attr.max_request_iov = 4;
    attr.max_rdma_read_in = 4;
    attr.max_rdma_read_out = 4;
    attr.max_rdma_read_iov = dt_least(4, ia.max_iov_segments_per_rdma_read);
    attr.max_rdma_write_iov = dt_least(4, ia.max_iov_segments_per_rdma_write);
    OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &ep));
    return ep;
}

/* Does the provider say this of itself? */
static inline bool dt_says(const DAT_PROVIDER_ATTR *attr, const char *name)
{
    for (DAT_COUNT i = 0; i < attr->num_provider_specific_attr; i++)
        if (strcmp(attr->provider_specific_attr[i].name, name) == 0)
            return true;
    return false;
}

/* Does it stand on a fabric of connections? Then requests end when the peer has
 * answered, and there is no control segment that could be full. */
static inline bool dt_is_fabric(DAT_IA_HANDLE ia)
{
    DAT_PROVIDER_ATTR attr;

    OK(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    return dt_says(&attr, "fabric");
}

/* So many bytes of an RDMA write are read by the post, even if the write waits. */
static inline size_t dt_write_taken(DAT_IA_HANDLE ia)
{
    DAT_PROVIDER_ATTR attr;

    OK(dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
    for (int i = 0; i < attr.num_provider_specific_attr; i++)
        if (strcmp(attr.provider_specific_attr[i].name, "write_taken") == 0)
            return strtoul(attr.provider_specific_attr[i].value, NULL, 10);
    return 0;
}

static inline void dt_open(struct dt *t, const char *name)
{
    dt_open_as(t, name, DAT_FALSE);
    t->ep = dt_ep(t);
}

static inline void dt_close(struct dt *t)
{
    OK(dat_ia_close(t->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static inline void dt_reg(struct dt *t, struct dt_mem *mem, int priv)
{
    DAT_REGION_DESCRIPTION region = {.for_va = mem->buf};
    char cookie[DAT_LMR_COOKIE_SIZE];
    DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL;

    if (mem->fd >= 0) {
        snprintf(cookie, sizeof(cookie), "fd:%d+0", mem->fd);
        type = DAT_MEM_TYPE_SHARED_VIRTUAL;
        region.for_shared_memory.virtual_address = mem->buf;
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    }
    OK(dat_lmr_create(t->ia, type, region, mem->len, t->pz, (DAT_MEM_PRIV_FLAGS)priv,
                      DAT_VA_TYPE_VA, &mem->lmr, &mem->lkey, &mem->rkey, NULL, NULL));
}

/* Zeroed memory, registered for everything; is_shared: peers can map it. */
static inline void dt_alloc(struct dt *t, struct dt_mem *mem, size_t len, bool is_shared)
{
    mem->len = len;
    mem->fd = is_shared ? memfd_create("dat-test", MFD_CLOEXEC) : -1;
    if (is_shared && ftruncate(mem->fd, (off_t)len) != 0)
        DT_FAIL("ftruncate");
    mem->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
                    is_shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, mem->fd, 0);
    CHECK(mem->buf != MAP_FAILED);
    dt_reg(t, mem, DAT_MEM_PRIV_ALL_FLAG);
}

static inline DAT_LMR_TRIPLET dt_seg(const struct dt_mem *mem, size_t offset, size_t len)
{
    DAT_LMR_TRIPLET seg = {.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + offset,
                           .segment_length = (DAT_SEG_LENGTH)len,
                           .lmr_context = mem->lkey};

    return seg;
}

static inline DAT_RMR_TRIPLET dt_remote(const struct dt_mem *mem, size_t offset, size_t len)
{
    DAT_RMR_TRIPLET seg = {.virtual_address = (DAT_VADDR)(uintptr_t)mem->buf + offset,
                           .segment_length = (DAT_SEG_LENGTH)len,
                           .rmr_context = mem->rkey};

    return seg;
}

static inline DAT_DTO_COOKIE dt_cookie(uint64_t value)
{
    DAT_DTO_COOKIE cookie = {.as_64 = value};

    return cookie;
}

/* The waiting helpers name the line that called them. */
#define dt_wait(evd)                     dt_wait_at(evd, __LINE__)
#define dt_want_conn(evd, number)        dt_want_conn_at(evd, number, __LINE__)
#define dt_want_dto(evd, cookie, status) dt_want_dto_at(evd, cookie, status, __LINE__)
#define dt_want_none(evd, ms)            dt_want_none_at(evd, ms, __LINE__)

static inline DAT_EVENT dt_wait_at(DAT_EVD_HANDLE evd, int line)
{
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN ret;

    memset(&event, 0, sizeof(event));
    do
        ret = dat_evd_wait(evd, DT_WAIT_US, 1, &event, &n_more);
    while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
    if (ret != DAT_SUCCESS)
        DT_FAIL("line %d: no event: 0x%x", line, (unsigned)ret);
    return event;
}

/* The next connection event has to be this one. */
static inline DAT_EVENT dt_want_conn_at(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, int line)
{
    DAT_EVENT event = dt_wait_at(evd, line);

    if (event.event_number != number)
        DT_FAIL("line %d: event 0x%x, not 0x%x", line, (unsigned)event.event_number,
                (unsigned)number);
    return event;
}

/* The next completion has to have this cookie and status; its length. */
static inline DAT_SEG_LENGTH dt_want_dto_at(DAT_EVD_HANDLE evd, uint64_t cookie,
                                            DAT_DTO_COMPLETION_STATUS status, int line)
{
    DAT_EVENT event = dt_wait_at(evd, line);
    DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

    CHECK_EQ(event.event_number, DAT_DTO_COMPLETION_EVENT);
    if (dto->user_cookie.as_64 != cookie || dto->status != status)
        DT_FAIL("line %d: cookie %llu status %d, not %llu and %d", line,
                (unsigned long long)dto->user_cookie.as_64, (int)dto->status,
                (unsigned long long)cookie, (int)status);
    return dto->transfered_length;
}

/* Nothing may be there, now and for a while. */
static inline void dt_want_none_at(DAT_EVD_HANDLE evd, int ms, int line)
{
    DAT_EVENT event;
    DAT_COUNT n_more;
    DAT_RETURN ret = dat_evd_wait(evd, (DAT_TIMEOUT)ms * 1000u, 1, &event, &n_more);

    if (ret == DAT_SUCCESS)
        DT_FAIL("line %d: unexpected event 0x%x", line, (unsigned)event.event_number);
    CHECK_RC(ret, DAT_TIMEOUT_EXPIRED);
}

#endif
