/* test: kind=dat prov=datum-tcp timeout=120 net=progress=auto|progress=thread */
/*
 * A peer that is let in and then says what it likes: bytes without sense, frames with one or two
 * fields wrong, good frames in the wrong order. It loses its own connection, with one event; memory
 * that is not its does not change, and another connection of the same instance works all the time.
 */
#include "dat_pair.h"

#include <errno.h>

#include "providers/tcp/wire.h"

enum { ROUNDS = 600, FRAMES = 24, LEN = 4096, EVERY = 20 };

static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 16) % n;
}

/* ---- the peer ---- */

static int dial(struct dt *t, uint16_t port)
{
    struct sockaddr_in to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 20};

    memcpy(&to, &t->addr, sizeof(to));
    to.sin_port = htons(port);
    CHECK(fd >= 0);
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* The peer may have hung up. */
static void say(int fd, const void *data, size_t len)
{
    if (send(fd, data, len, MSG_NOSIGNAL) < 0)
        CHECK(errno == EPIPE || errno == ECONNRESET);
}

/* As a good peer does; the tag of frames to it. */
static uint16_t enter(int fd, uint16_t port)
{
    struct dm_tcp_handshake handshake = {.magic = DM_TCP_MAGIC,
                                         .version = DM_TCP_VERSION,
                                         .type = DM_HANDSHAKE_REQUEST,
                                         .tag = 7,
                                         .qual = port};
    struct dm_tcp_handshake answer;

    say(fd, &handshake, sizeof(handshake));
    CHECK_EQ(recv(fd, &answer, sizeof(answer), MSG_WAITALL), (ssize_t)sizeof(answer));
    CHECK_EQ(answer.type, DM_HANDSHAKE_ACCEPT);
    handshake.type = DM_HANDSHAKE_READY;
    say(fd, &handshake, sizeof(handshake));
    return answer.tag;
}

static void say_frame(int fd, uint16_t tag)
{
    struct dm_tcp_head head = {.type = (uint8_t)dice(DM_TCP_N),
                               .flags = (uint8_t)dice(8),
                               .tag = tag,
                               .len = dice(3) == 0 ? dice(64) : 0,
                               .va = dice(2) == 0 ? dice(64) : seed,
                               .key = dice(4) == 0 ? (uint32_t)seed : 0x10001u + dice(8),
                               .value = dice(200)};
    unsigned char bytes[sizeof(head)];
    char data[64] = "";

    if (head.type == DM_TCP_FETCH_ADD || head.type == DM_TCP_CMP_SWAP)
        head.len = DM_TCP_OPERANDS_LEN;
    if (head.type == DM_TCP_ATOMIC_DATA)
        head.len = DM_TCP_OLD_LEN;
    memcpy(bytes, &head, sizeof(bytes));
    if (dice(4) == 0)
        bytes[dice(sizeof(bytes))] = (unsigned char)seed;
    say(fd, bytes, sizeof(bytes));
    if (head.len > 0)
        say(fd, data, dice(8) == 0 ? dice(head.len) + 1 : head.len);
}

static void attack(struct dt *t, uint16_t port)
{
    int fd = dial(t, port);
    uint16_t tag = enter(fd, port);
    uint32_t n = dice(FRAMES);

    if (dice(8) == 0) {
        uint64_t noise[16];

        for (int i = 0; i < 16; i++)
            noise[i] = seed + dice(2);
        say(fd, noise, sizeof(noise));
    }
    for (uint32_t i = 0; i < n; i++)
        say_frame(fd, tag);
    close(fd);
}

static int peer(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;
    DAT_CONN_QUAL qual;

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    dt_swap_mem(t, &mine, &theirs);
    dt_join(t, false);
    dt_hear(t, &qual, sizeof(qual));
    for (int i = 0; i < ROUNDS; i++) {
        attack(t, (uint16_t)qual);
        if (i % EVERY == 0) {
            DAT_LMR_TRIPLET seg = dt_seg(&mine, 0, LEN / 2);
            DAT_RMR_TRIPLET to = dt_remote(&theirs, 0, LEN / 2);

            memset(mine.buf, i / EVERY, LEN);
            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie((uint64_t)i), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
            dt_want_dto(t->req_evd, (uint64_t)i, DAT_DTO_SUCCESS);
        }
    }
    dt_want_none(t->conn_evd, 10);
    dt_meet(t);
    dt_close(t);
    return 0;
}

/* ---- who lets it in ---- */

/* Its own zone has some memory, which it may write to and read. */
static DAT_EP_HANDLE ep_in(struct dt *t, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE conn_evd)
{
    DAT_EP_HANDLE ep;

    OK(dat_ep_create(t->ia, pz, t->recv_evd, t->req_evd, conn_evd, NULL, &ep));
    return ep;
}

static void let_in(struct dt *t, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE conn_evd)
{
    DAT_EVENT event = dt_wait(t->cr_evd);
    DAT_EP_HANDLE ep = ep_in(t, pz, conn_evd);

    CHECK_EQ(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
    OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep, 0, NULL));
    event = dt_wait(conn_evd);
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
    event = dt_wait(conn_evd);
    CHECK(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
          event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(ep));
    dt_want_none(conn_evd, 0);
    while (dat_evd_dequeue(t->async_evd, &event) == DAT_SUCCESS)
        CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
}

static int host(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;
    DAT_EVD_HANDLE conn_evd;
    DAT_PZ_HANDLE pz;
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    memset(mine.buf, 0xa5, LEN);
    dt_swap_mem(t, &mine, &theirs);
    dt_join(t, true);
    OK(dat_pz_create(t->ia, &pz));
    OK(dat_evd_create(t->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    dt_tell(t, &qual, sizeof(qual));
    for (int i = 0; i < ROUNDS; i++)
        let_in(t, pz, conn_evd);
    dt_meet(t);
    for (size_t i = 0; i < LEN; i++)
        CHECK_EQ((unsigned char)mine.buf[i], i < LEN / 2 ? (ROUNDS - 1) / EVERY : 0xa5);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), host, peer, false);
}
