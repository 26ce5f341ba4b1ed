/*
 * A hostile peer, driven by a byte string: it connects to our service point or
 * answers our requests, and then writes into our control ring, with messages that
 * are right, nearly right or noise, with descriptors of every kind, and with a
 * segment whose contents lie. Between its steps the consumer uses its side.
 *
 * The provider is the real one, sockets and progress thread included. Only
 * epoll_wait() is ours, so that the thread works when it is told to and a byte
 * string always does the same; the clock, so that nothing is waited for; and
 * process_vm, as the peer is this process.
 *
 * LLVMFuzzerTestOneInput() serves libFuzzer, AFL++ and tests/unit/fuzz_cm.c.
 * It aborts when something is left behind.
 */
#include "lockstep.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "providers/shm/cm.h"
#include "providers/shm/conn.h"
#include "providers/shm/wire.h"

#include <dat2/dat_ib_extensions.h>

extern void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define DIE(...)                                                                                   \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), abort())
#define MUST(cond) ((cond) ? (void)0 : DIE("not true: %s\n", #cond))

enum {
    EVIL_LEN = (int)sizeof(struct dm_shm_hdr) + (64 << 10),
    EVIL_EP = (int)sizeof(struct dm_shm_hdr),
    EVIL_RECVS = EVIL_EP + 4096,
    EVIL_RING = EVIL_EP + 16384,
    EVIL_RING_N = 16,
    EVIL_KEYS = 64,
    MEM_LEN = 65536,
    MAX_STEPS = 64,
    EVIL_ID = 77,
    LIFE = 2000, /* inputs until the instance is opened anew */
};

static const char name[] = "fuzz-shm";

/* ---- the input ---- */

struct in {
    const uint8_t *at;
    size_t len;
};

static uint64_t take(struct in *in, size_t len)
{
    uint64_t value = 0;

    if (len > in->len)
        len = in->len;
    memcpy(&value, in->at, len);
    in->at += len;
    in->len -= len;
    return value;
}

/* Mostly values on the edge of something. */
static uint64_t take_value(struct in *in)
{
    static const uint64_t edge[] = {0,          1,          EVIL_EP,      EVIL_RING,
                                    EVIL_RECVS, EVIL_LEN,   EVIL_LEN - 8, 0x7fffffff,
                                    UINT32_MAX, 1ull << 63, UINT64_MAX,   UINT64_MAX - 63};
    unsigned how = (unsigned)take(in, 1);

    if (how < 0x80)
        return edge[how % (sizeof(edge) / sizeof(edge[0]))] + (uint64_t)(how >> 4 & 1) * 64;
    return take(in, 1u << (how & 3));
}

/* ---- our side ---- */

static struct dm_shm_ia *ia;
static DAT_EVD_HANDLE async_evd, cr_evd, conn_evd, dto_evd;
static DAT_PZ_HANDLE pz;
static DAT_PSP_HANDLE psp;
static DAT_EP_HANDLE ep;
static DAT_LMR_HANDLE lmr[2];
static DAT_LMR_CONTEXT lkey[2];
static DAT_CR_HANDLE cr;
static DAT_RMR_HANDLE rmr;
static DAT_SRQ_HANDLE srq;
static bool has_srq; /* the endpoint uses it */
static char *mem[2];
static int mem_fd;
static DAT_RMR_CONTEXT bound;
static DAT_CONN_QUAL qual;
static int n_lives;

#define CALL(slot, ...) (ia->pia.obj.provider->slot##_func(__VA_ARGS__))
#define OK(...)         MUST((__VA_ARGS__) == DAT_SUCCESS)

static void open_side(void)
{
    DAT_IA_HANDLE handle;

    atomic_store(&is_free, false);
    async_evd = DAT_HANDLE_NULL;
    OK(dm_ia_open((DAT_NAME_PTR)name, 64, &async_evd, &handle));
    ia = dm_obj_get(handle, DAT_HANDLE_TYPE_IA);
    MUST(ia != NULL);
    while (sem_wait(&is_idle) != 0)
        continue;
    OK(CALL(evd_create, handle, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd));
    OK(CALL(evd_create, handle, 64, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
    OK(CALL(evd_create, handle, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto_evd));
    OK(CALL(pz_create, handle, &pz));
    OK(CALL(psp_create, handle, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void close_side(void)
{
    atomic_store(&is_free, true);
    sem_post(&may_go);
    OK(dm_ia_close((DAT_IA_HANDLE)ia, DAT_CLOSE_ABRUPT_FLAG));
    ia = NULL;
}

static void reg(int i)
{
    DAT_REGION_DESCRIPTION region = {.for_va = mem[i]};
    DAT_RMR_CONTEXT rkey;
    DAT_VLEN len;
    DAT_VADDR va;
    char cookie[40];

    if (lmr[i] != DAT_HANDLE_NULL)
        return;
    if (i == 1) {
        snprintf(cookie, sizeof(cookie), "fd:%d+0", mem_fd);
        region.for_shared_memory.virtual_address = mem[i];
        region.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&cookie;
    }
    OK(CALL(lmr_create, (DAT_IA_HANDLE)ia,
            i == 1 ? DAT_MEM_TYPE_SHARED_VIRTUAL : DAT_MEM_TYPE_VIRTUAL, region, MEM_LEN, pz,
            DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr[i], &lkey[i], &rkey, &len, &va));
}

static void drain_evd(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    while (CALL(evd_dequeue, evd, &event) == DAT_SUCCESS) {
        if (event.event_number != DAT_CONNECTION_REQUEST_EVENT)
            continue;
        if (cr != DAT_HANDLE_NULL)
            (void)CALL(cr_reject, cr, 0, NULL);
        cr = event.event_data.cr_arrival_event_data.cr_handle;
    }
}

static void drain_all(void)
{
    drain_evd(cr_evd);
    drain_evd(conn_evd);
    drain_evd(dto_evd);
    drain_evd(async_evd);
}

/* ---- the peer ---- */

static int evil_fd;
static char *evil;      /* its segment */
static int evil_listen; /* where we connect to */
static int evil_sock;   /* of a handshake */
static int evil_door;   /* what is sent there, and what writes to ours */
static uint64_t evil_id;
static uint64_t last_serial;
static int odd_fds[4]; /* descriptors that are no segment */

static void evil_reset(void)
{
    struct dm_shm_hdr *hdr = (void *)evil;
    struct dm_shm_link_ep *link = (void *)(evil + EVIL_EP);
    uint64_t size;

    memset(evil, 0, 4096 + EVIL_KEYS * sizeof(struct dm_shm_key));
    memset(evil + EVIL_EP, 0, EVIL_LEN - EVIL_EP);
    last_serial = 1u << 20;
    hdr->magic = DM_SHM_MAGIC;
    hdr->version = DM_SHM_VERSION;
    hdr->size = EVIL_LEN;
    hdr->id = evil_id;
    hdr->nonce = 0x5a5a5a5a5a5a5a5aull;
    hdr->has_membarrier = 1;
    link->link = DM_LINK_UP;
    link->pz = 1;
    link->recvs = EVIL_RECVS;
    link->recv_mask = 7;
    link->recv_stride = sizeof(struct dm_shm_recv) + 4 * sizeof(DAT_LMR_TRIPLET);
    link->recv_ring = EVIL_RING;
    link->conn_ring = EVIL_RING;
    (void)dm_evd_ring_len(EVIL_RING_N, &size);
    dm_evd_ring_init((struct dm_evd_ring *)(void *)(evil + EVIL_RING), size, 1);
    for (uint32_t i = 1; i < EVIL_KEYS; i++) {
        hdr->keys[i].serial = i;
        hdr->keys[i].key = 1u << 16 | i;
        hdr->keys[i].va = 0x100000;
        hdr->keys[i].len = MEM_LEN;
        hdr->keys[i].priv = DAT_MEM_PRIV_ALL_FLAG;
        hdr->keys[i].pz = 1;
        hdr->keys[i].addr = 0x100000;
        hdr->keys[i].base_key = i & 1 ? hdr->keys[i].key : 0;
        hdr->keys[i].base_serial = i;
    }
}

/* Its process is there, or is not. */
static void evil_live(bool is_alive)
{
    struct dm_shm_name name;

    if (is_alive == (evil_door >= 0))
        return;
    dm_shm_sock_doorbell_name(evil_id, &name);
    if (!is_alive)
        close(evil_door);
    evil_door = is_alive ? dm_shm_sock_doorbell(&name) : -1;
    MUST((evil_door >= 0) == is_alive);
}

static void evil_close(void)
{
    if (evil_sock >= 0)
        close(evil_sock);
    evil_sock = -1;
}

static void evil_send(const void *data, size_t len, const int *fd, size_t n);

/* It ends the handshake or, when that is over, dies, and somebody tells. */
static void evil_hang_up(void)
{
    const struct dm_shm_conn *conn = ep != NULL ? ((struct dm_shm_ep *)ep)->conn : NULL;
    struct dm_shm_ctrl msg = {.type = DM_CTRL_DEATH, .id = evil_id};

    evil_close();
    if (conn != NULL && conn->was_up) {
        evil_send(&msg, offsetof(struct dm_shm_ctrl, data), NULL, 0);
        evil_live(false);
    }
}

static void evil_connect_to(const struct dm_shm_name *to)
{
    evil_close();
    evil_live(true);
    evil_sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    MUST(evil_sock >= 0);
    if (connect(evil_sock, (const struct sockaddr *)&to->addr, to->len) != 0)
        evil_close();
}

static void evil_connect(void)
{
    struct dm_shm_name to;

    dm_shm_sock_name(qual, &to);
    evil_connect_to(&to);
}

static void evil_accept(void)
{
    int fd = accept4(evil_listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    evil_close();
    evil_live(true);
    evil_sock = fd;
}

/* A control message, and a notification; not with descriptors. */
static bool evil_write(const struct dm_shm_ctrl *msg, size_t n_fds)
{
    struct dm_shm_ep *to = (struct dm_shm_ep *)ep;
    struct dm_shm_ctrl notification = {.type = DM_CTRL_DOORBELL};
    struct dm_shm_ctrl_slot *slot;

    if (n_fds > 0 || to == NULL || to->conn == NULL || !to->conn->was_up)
        return false;
    slot = &to->sh->ctrl[to->sh->n_ctrl % DM_SHM_CTRL_SLOTS];
    *slot = (struct dm_shm_ctrl_slot){.type = msg->type,
                                      .status = msg->status,
                                      .key = msg->key,
                                      .len = msg->len,
                                      .serial = msg->serial,
                                      .va = msg->va,
                                      .offset = msg->offset,
                                      .size = msg->size};
    /* Now and then one that is none, or writes over others. */
    to->sh->n_ctrl += msg->owner == 5 ? 1 : msg->owner;
    notification.conn = msg->conn;
    evil_send(&notification, offsetof(struct dm_shm_ctrl, data), NULL, 0);
    return true;
}

/* Send bytes with n descriptors: to our doorbell if we are connected. */
static void evil_send(const void *data, size_t len, const int *fd, size_t n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};
    struct dm_shm_name to;

    if (n > 0) {
        struct cmsghdr *cmsg;

        memset(&control, 0, sizeof(control));
        hdr.msg_control = control.buf;
        hdr.msg_controllen = CMSG_SPACE(n * sizeof(int));
        cmsg = CMSG_FIRSTHDR(&hdr);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fd, n * sizeof(int));
    }
    if (ep != NULL && ((struct dm_shm_ep *)ep)->conn != NULL &&
        ((struct dm_shm_ep *)ep)->conn->was_up) {
        dm_shm_sock_doorbell_name(ia->seg.hdr->id, &to);
        hdr.msg_name = &to.addr;
        hdr.msg_namelen = to.len;
        (void)sendmsg(evil_door, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
    } else if (evil_sock >= 0) {
        (void)sendmsg(evil_sock, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

/* Our id of the connection, as the peer has been told. */
static uint64_t evil_conn(void)
{
    const struct dm_shm_conn *conn = ep != NULL ? ((struct dm_shm_ep *)ep)->conn : NULL;

    return conn != NULL ? conn->id : 0;
}

static size_t pick_fds(struct in *in, int *fd)
{
    unsigned how = (unsigned)take(in, 1);
    size_t n = how >> 4 & 7;

    if (how < 0x80)
        n = how & 3 ? 1 : 0;
    for (size_t i = 0; i < n; i++)
        fd[i] = how < 0x80 && (how & 3) < 3 ? evil_fd : odd_fds[(how + i) & 3];
    return n;
}

/* A right message, but for some fields. */
static void evil_message(struct in *in)
{
    unsigned type = (unsigned)take(in, 1);
    unsigned n_wrong = type >> 5;
    struct dm_shm_ctrl msg = {.type = type & 31,
                              .status = 1,
                              .version = DM_SHM_VERSION,
                              .id = evil_id,
                              .conn = evil_conn(),
                              .ep = EVIL_EP,
                              .owner = 5,
                              .addr = 0x0100007f,
                              .key = lkey[0],
                              .len = 100,
                              .va = (uint64_t)(uintptr_t)mem[0],
                              .offset = EVIL_RECVS,
                              .size = MEM_LEN};
    int fd[8];
    size_t n;
    size_t len = offsetof(struct dm_shm_ctrl, data);

    if (msg.type == DM_CTRL_MAP)
        msg.key = lkey[1];
    if (msg.type == DM_CTRL_MAP_FD || msg.type == DM_CTRL_UNMAP) {
        msg.serial = take(in, 1) & 7;
        msg.offset = 0;
        msg.va = 0x100000;
        /* A region that is withdrawn must not be shown any more. */
        if (msg.type == DM_CTRL_UNMAP)
            ((struct dm_shm_hdr *)(void *)evil)->keys[msg.serial].serial = 0;
    }
    n = pick_fds(in, fd);
    for (; n_wrong > 0; n_wrong--) {
        size_t at = take(in, 1) % len / 4 * 4;
        uint64_t value = take_value(in);

        memcpy((char *)&msg + at, &value, at % 8 == 0 && at + 8 <= len ? 8 : 4);
    }
    if (msg.data_len <= sizeof(msg.data))
        len += msg.data_len;
    if (!evil_write(&msg, n))
        evil_send(&msg, len, fd, n);
}

static void evil_noise(struct in *in)
{
    uint8_t buf[sizeof(struct dm_shm_ctrl) + 64];
    size_t len = (size_t)take(in, 2) % sizeof(buf);
    int fd[8];
    size_t n = pick_fds(in, fd);

    memset(buf, (int)len, sizeof(buf));
    for (size_t i = 0; i < len && in->len > 0; i++)
        buf[i] = (uint8_t)take(in, 1);
    evil_send(buf, len, fd, n);
}

/* Change its segment. */
static void evil_notice(struct in *in)
{
    static const uint32_t base[] = {0, offsetof(struct dm_shm_hdr, keys), EVIL_EP, EVIL_RING,
                                    EVIL_RECVS};
    uint64_t at = base[take(in, 1) % 5] + take(in, 1) * 4;
    uint64_t value = take_value(in);

    /* Serials are never used again. */
    if (at >= base[1] && at < EVIL_EP && at % 64 < 8)
        value = ++last_serial;
    memcpy(evil + at, &value, at % 8 == 0 ? 8 : 4);
}

/* Post receives in its ring. */
static void evil_recv(struct in *in)
{
    struct dm_shm_link_ep *link = (void *)(evil + EVIL_EP);
    struct dm_shm_recv *recv =
        (void *)(evil + EVIL_RECVS +
                 (link->recv_tail & 7) * (sizeof(*recv) + 4 * sizeof(DAT_LMR_TRIPLET)));

    recv->n_seg = (uint32_t)take(in, 1);
    for (int i = 0; i < 4; i++) {
        recv->seg[i].lmr_context = 1u << 16 | ((uint32_t)take(in, 1) & 7);
        recv->seg[i].virtual_address = 0x100000;
        recv->seg[i].segment_length = (uint32_t)take(in, 1) * 16;
    }
    link->recv_tail++;
}

static void evil_listen_do(struct in *in)
{
    char buf[4096];

    (void)in;
    evil_accept();
    while (evil_sock >= 0 && recv(evil_sock, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        continue;
    ((struct dm_shm_link_ep *)(void *)(evil + EVIL_EP))->n_ctrl_read =
        ((struct dm_shm_link_ep *)(void *)(evil + EVIL_EP))->n_ctrl;
    while (evil_door >= 0 && recv(evil_door, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        continue;
}

/* ---- the consumer ---- */

static void ep_new(struct in *in)
{
    DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 4, .low_watermark = 0};
    DAT_EP_ATTR ep_attr = {.max_request_dtos = 16,
                           .max_request_iov = 4,
                           .max_rdma_read_iov = 4,
                           .max_rdma_write_iov = 4};

    (void)in;
    if (ep != DAT_HANDLE_NULL)
        return;
    if (has_srq && srq == DAT_HANDLE_NULL)
        OK(CALL(srq_create, (DAT_IA_HANDLE)ia, pz, &attr, &srq));
    if (has_srq)
        OK(CALL(ep_create_with_srq, (DAT_IA_HANDLE)ia, pz, dto_evd, dto_evd, conn_evd, srq,
                &ep_attr, &ep));
    else
        OK(CALL(ep_create, (DAT_IA_HANDLE)ia, pz, dto_evd, dto_evd, conn_evd, NULL, &ep));
}

static void do_accept(struct in *in)
{
    char data[DM_PRIVATE_MAX] = "yes";

    drain_all();
    if (cr != DAT_HANDLE_NULL &&
        CALL(cr_accept, cr, ep, (DAT_COUNT)take(in, 1), data) == DAT_SUCCESS)
        cr = DAT_HANDLE_NULL;
}

static void do_reject(struct in *in)
{
    char data[DM_PRIVATE_MAX] = "no";

    drain_all();
    if (cr != DAT_HANDLE_NULL)
        OK(CALL(cr_reject, cr, (DAT_COUNT)take(in, 1), data));
    cr = DAT_HANDLE_NULL;
}

static void do_connect(struct in *in)
{
    char data[DM_PRIVATE_MAX] = "please";

    (void)CALL(ep_connect, ep, (DAT_IA_ADDRESS_PTR)&ia->pia.addr, qual + 1, 100000000,
               (DAT_COUNT)take(in, 1), data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    evil_accept();
}

static void do_disconnect(struct in *in)
{
    (void)CALL(ep_disconnect, ep,
               take(in, 1) & 1 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG);
    (void)CALL(ep_reset, ep);
}

static void do_free(struct in *in)
{
    if (CALL(ep_free, ep) == DAT_SUCCESS)
        ep = DAT_HANDLE_NULL;
    ep_new(in);
}

static void do_post(struct in *in)
{
    unsigned what = (unsigned)take(in, 1);
    unsigned which = what >> 7;
    DAT_LMR_TRIPLET seg[3];
    DAT_RMR_TRIPLET to = {.virtual_address = 0x100000 + take(in, 1) * 512,
                          .segment_length = 1,
                          .rmr_context = 1u << 16 | ((uint32_t)take(in, 1) & 7)};
    DAT_DTO_COOKIE cookie = {.as_64 = what};
    DAT_COUNT n = (DAT_COUNT)(what >> 3 & 3);
    DAT_COMPLETION_FLAGS flags = (DAT_COMPLETION_FLAGS)(what >> 5 & 1);

    for (int i = 0; i < 3; i++)
        seg[i] = (DAT_LMR_TRIPLET){.virtual_address = (uint64_t)(uintptr_t)mem[which],
                                   .segment_length = (DAT_SEG_LENGTH)take(in, 1) * 64,
                                   .lmr_context = lkey[which]};
    switch (what & 3) {
    case 0:
        (void)CALL(ep_post_send, ep, n, seg, cookie, flags);
        break;
    case 1:
        (void)CALL(ep_post_rdma_write, ep, n, seg, cookie, &to, flags);
        break;
    case 2:
        (void)CALL(ep_post_rdma_read, ep, n, seg, cookie, &to, flags);
        break;
    default:
        if (has_srq)
            (void)CALL(srq_post_recv, srq, n, seg, cookie);
        else
            (void)CALL(ep_post_recv, ep, n, seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
        break;
    }
}

static void extended(DAT_EXTENDED_OP op, ...)
{
    va_list args;

    va_start(args, op);
    (void)CALL(handle_extendedop, ep, op, args);
    va_end(args);
}

static void do_extended(struct in *in)
{
    unsigned what = (unsigned)take(in, 1);
    DAT_LMR_TRIPLET seg = {.virtual_address = (uint64_t)(uintptr_t)mem[0],
                           .segment_length = 8,
                           .lmr_context = lkey[0]};
    DAT_RMR_TRIPLET to = {.virtual_address = 0x100000 + take(in, 1) * 8,
                          .segment_length = 8,
                          .rmr_context = 1u << 16 | ((uint32_t)take(in, 1) & 7)};
    DAT_DTO_COOKIE cookie = {.as_64 = what};

    switch (what & 3) {
    case 0:
        extended(DAT_IB_FETCH_AND_ADD_OP, (uint64_t)1, &seg, cookie, &to, 0);
        break;
    case 1:
        extended(DAT_IB_CMP_AND_SWAP_OP, (uint64_t)1, (uint64_t)2, &seg, cookie, &to, 0);
        break;
    case 2:
        extended(DAT_IB_RDMA_WRITE_IMMED_OP, 1, &seg, cookie, &to, 3, 0);
        break;
    default:
        (void)CALL(ep_post_send_with_invalidate, ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG,
                   DAT_TRUE, to.rmr_context);
        break;
    }
}

static void do_bind(struct in *in)
{
    DAT_LMR_TRIPLET seg = {.virtual_address = (uint64_t)(uintptr_t)mem[0],
                           .segment_length = (DAT_SEG_LENGTH)take(in, 2),
                           .lmr_context = lkey[0]};
    DAT_RMR_COOKIE cookie = {.as_64 = 3};

    (void)CALL(rmr_bind, rmr, lmr[0], &seg, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, ep, cookie,
               DAT_COMPLETION_DEFAULT_FLAG, &bound);
}

/* Both sides of a meeting point. */
static void do_common(struct in *in)
{
    struct sockaddr_in addr = ia->pia.addr.in;
    DAT_EP_PARAM param;
    DAT_COMM comm = {.domain = AF_INET, .type = SOCK_STREAM, .protocol = (int)qual};
    struct dm_shm_name to;

    addr.sin_port = htons(7);
    memset(&param, 0, sizeof(param));
    param.comm = comm;
    (void)CALL(ep_modify, ep, DAT_EP_FIELD_COMM, &param);
    (void)CALL(ep_common_connect, ep, (DAT_IA_ADDRESS_PTR)&addr, 100000000, (DAT_COUNT)take(in, 1),
               mem[0]);
    dm_shm_sock_common_name(&comm, 7, &to);
    evil_connect_to(&to);
}

static void do_handoff(struct in *in)
{
    drain_all();
    if (cr != DAT_HANDLE_NULL && CALL(cr_handoff, cr, qual + (take(in, 1) & 1)) == DAT_SUCCESS)
        cr = DAT_HANDLE_NULL;
    evil_accept();
}

static void do_lmr(struct in *in)
{
    int i = (int)(take(in, 1) & 1);

    if (lmr[i] != DAT_HANDLE_NULL && CALL(lmr_free, lmr[i]) == DAT_SUCCESS)
        lmr[i] = DAT_HANDLE_NULL; /* else an RMR is bound to it */
    if (i == 1)
        reg(i);
}

static void do_rounds(struct in *in)
{
    rounds((int)(take(in, 1) & 3) + 1);
}

static void do_drain(struct in *in)
{
    (void)in;
    drain_all();
}

static void do_status(struct in *in)
{
    DAT_EP_STATE state;
    DAT_BOOLEAN idle[2];

    (void)in;
    OK(CALL(ep_get_status, ep, &state, &idle[0], &idle[1]));
}

static void evil_hang_up_do(struct in *in)
{
    (void)in;
    evil_hang_up();
}

static void evil_connect_do(struct in *in)
{
    (void)in;
    evil_connect();
}

/* Get to an established connection the right way. */
static void honest(struct in *in)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_REQUEST,
                              .version = DM_SHM_VERSION,
                              .id = evil_id,
                              .ep = EVIL_EP,
                              .owner = 5};

    if (take(in, 1) & 1) {
        evil_connect();
        evil_send(&msg, offsetof(struct dm_shm_ctrl, data), &evil_fd, 1);
        rounds(2);
        do_accept(in);
        if (((struct dm_shm_ep *)ep)->conn != NULL)
            atomic_store(&((struct dm_shm_ep *)ep)->sh->link,
                         dm_shm_link_word(((struct dm_shm_ep *)ep)->conn->id, DM_LINK_UP));
        evil_close();
    } else {
        do_connect(in);
        msg.type = DM_CTRL_ACCEPT;
        evil_send(&msg, offsetof(struct dm_shm_ctrl, data), &evil_fd, 1);
    }
    rounds(1);
}

static void (*const steps[])(struct in *in) = {
    evil_message, evil_message,   evil_message,    evil_noise, evil_notice,     evil_notice,
    evil_recv,    evil_listen_do, evil_hang_up_do, do_accept,  evil_connect_do, do_reject,
    do_connect,   do_disconnect,  do_free,         do_post,    do_post,         do_lmr,
    do_rounds,    do_rounds,      do_drain,        do_status,  honest,          evil_message,
    do_extended,  do_bind,        do_common,       do_handoff, honest,
};

/* ---- one input ---- */

static void start(void)
{
    static const DAT_PROVIDER_INFO info = {
        .dapl_version_major = 2, .is_thread_safe = DAT_FALSE, .ia_name = "fuzz-shm"};
    struct dm_shm_name at;

    signal(SIGPIPE, SIG_IGN);
    MUST(sem_init(&is_idle, 0, 0) == 0 && sem_init(&may_go, 0, 0) == 0);
    dat_provider_init(&info, "segment=8m");
    qual = 0xf0220000000000u + (DAT_CONN_QUAL)getpid() * 2;
    mem_fd = memfd_create("fuzz", MFD_CLOEXEC);
    MUST(ftruncate(mem_fd, MEM_LEN) == 0);
    mem[0] = malloc(MEM_LEN);
    mem[1] = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, mem_fd, 0);
    MUST(mem[0] != NULL && mem[1] != MAP_FAILED);
    memset(mem[0], 1, MEM_LEN);
    evil_fd = memfd_create("evil", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    MUST(ftruncate(evil_fd, EVIL_LEN) == 0);
    MUST(fcntl(evil_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    evil = mmap(NULL, EVIL_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, evil_fd, 0);
    MUST(evil != MAP_FAILED);
    evil_listen = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    dm_shm_sock_name(qual + 1, &at);
    MUST(bind(evil_listen, (struct sockaddr *)&at.addr, at.len) == 0 &&
         listen(evil_listen, 64) == 0);
    odd_fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
    odd_fds[1] = memfd_create("empty", MFD_CLOEXEC);
    odd_fds[2] = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    MUST(ftruncate(odd_fds[2], EVIL_LEN) == 0);
    odd_fds[3] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    evil_sock = -1;
    evil_door = -1;
    evil_id = EVIL_ID + ((uint64_t)getpid() << 16);
}

static int count(struct dm_list *list)
{
    int n = 0;

    dm_list_for_each (it, list)
        n++;
    return n;
}

/* Undo all that an input has done; nothing may be left. */
static void clean(void)
{
    int fd;

    /* First, as an endpoint stays while its peer is in the middle of a transfer. */
    evil_hang_up();
    evil_live(false);
    while ((fd = accept4(evil_listen, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(fd);
    drain_all();
    if (cr != DAT_HANDLE_NULL)
        OK(CALL(cr_reject, cr, 0, NULL));
    cr = DAT_HANDLE_NULL;
    OK(CALL(ep_free, ep));
    ep = DAT_HANDLE_NULL;
    OK(CALL(rmr_free, rmr));
    if (srq != DAT_HANDLE_NULL)
        OK(CALL(srq_free, srq));
    srq = DAT_HANDLE_NULL;
    for (int i = 0; i < 2; i++) {
        if (lmr[i] != DAT_HANDLE_NULL)
            OK(CALL(lmr_free, lmr[i]));
        lmr[i] = DAT_HANDLE_NULL;
    }
    rounds(3);
    drain_all();
    if (cr != DAT_HANDLE_NULL)
        OK(CALL(cr_reject, cr, 0, NULL));
    cr = DAT_HANDLE_NULL;
    drain_all();
    MUST(cr == DAT_HANDLE_NULL);
    MUST(count(&ia->srcs) == 1); /* the listener */
    MUST(count(&ia->peers) == 0);
    MUST(ia->doorbell.conns.n_used == 0);
    MUST(dm_obj_count(&ia->pia, DAT_HANDLE_TYPE_CR) == 0);
    MUST(dm_obj_count(&ia->pia, DAT_HANDLE_TYPE_EP) == 0);
    MUST(dm_obj_count(&ia->pia, DAT_HANDLE_TYPE_LMR) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool is_started;
    struct in in = {data, len};
    unsigned how;
    int fd;

    if (!is_started)
        start();
    is_started = true;
    if (ia == NULL)
        open_side();
    fd = dup(0); /* the lowest free one: the same again in the end */
    close(fd);
    how = (unsigned)take(&in, 1);
    is_cma_refused = how & 1;
    has_srq = how & 2;
    evil_reset();
    OK(CALL(rmr_create, pz, &rmr));
    reg(0);
    reg(1);
    ep_new(&in);
    for (int i = 0; i < MAX_STEPS && in.len > 0; i++)
        steps[take(&in, 1) % (sizeof(steps) / sizeof(steps[0]))](&in);
    clean();
    MUST(dup(0) == fd);
    close(fd);
    if (++n_lives % LIFE == 0)
        close_side();
    return 0;
}
