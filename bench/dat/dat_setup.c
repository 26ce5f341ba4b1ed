/*
 * What setting up costs: a connection from dat_ep_create to dat_ep_free on the
 * active side, and the registration of memory.
 *
 * The floors: a Unix socket connected, accepted, a message each way, closed;
 * for memory that peers can map, mapping the file and unmapping it; for private
 * memory there is none, since nothing has to happen.
 */
#include "dat_bench.h"

#include <stddef.h>
#include <sys/un.h>

enum { N_CONNECTS = 20, N_REGISTERS = 200, HELLO = 64 };

static DAT_PSP_HANDLE psp;
static DAT_CONN_QUAL qual;
static int listener = -1;
static struct sockaddr_un name = {.sun_family = AF_UNIX};

static double us_per(double start, int n)
{
    return (dt_now() - start) * 1e6 / n;
}

static void gone(struct bn *b)
{
    dt_want_conn(b->t.conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static double dat_connects(struct bn *b, size_t size)
{
    double start = dt_now();

    (void)size;
    for (int i = 0; i < N_CONNECTS; i++) {
        DAT_EP_HANDLE ep = dt_ep(&b->t);

        if (b->is_first) {
            dt_connect(&b->t, ep, qual);
            OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        } else {
            dt_accept(&b->t, ep);
        }
        gone(b);
        OK(dat_ep_free(ep));
    }
    return us_per(start, N_CONNECTS);
}

static socklen_t name_len(void)
{
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name.sun_path + 1));
}

static void exchange(int fd, bool is_active)
{
    char hello[HELLO] = {0};

    if (is_active)
        CHECK_EQ(send(fd, hello, HELLO, 0), HELLO);
    CHECK_EQ(recv(fd, hello, HELLO, 0), HELLO);
    if (!is_active)
        CHECK_EQ(send(fd, hello, HELLO, 0), HELLO);
    else
        shutdown(fd, SHUT_RDWR);
    CHECK_EQ(recv(fd, hello, HELLO, 0), 0);
    close(fd);
}

static double bare_connects(struct bn *b, size_t size)
{
    double start = dt_now();

    (void)size;
    for (int i = 0; i < N_CONNECTS; i++) {
        int fd;

        if (b->is_first) {
            fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
            CHECK(connect(fd, (struct sockaddr *)&name, name_len()) == 0);
        } else {
            fd = accept(listener, NULL, NULL);
            CHECK(fd >= 0);
        }
        exchange(fd, b->is_first);
    }
    return us_per(start, N_CONNECTS);
}

static double registers(struct bn *b, size_t size, const struct dt_mem *like)
{
    int n = b->is_first ? N_REGISTERS : 0;
    struct dt_mem mem = *like;
    double start = dt_now();

    mem.len = size;
    for (int i = 0; i < n; i++) {
        dt_reg(&b->t, &mem, DAT_MEM_PRIV_ALL_FLAG);
        OK(dat_lmr_free(mem.lmr));
    }
    return us_per(start, N_REGISTERS);
}

static double register_private(struct bn *b, size_t size)
{
    return registers(b, size, &b->src.mine);
}

static double register_shared(struct bn *b, size_t size)
{
    return registers(b, size, &b->shared.mine);
}

static double bare_map(struct bn *b, size_t size)
{
    int n = b->is_first ? N_REGISTERS : 0;
    double start = dt_now();

    for (int i = 0; i < n; i++) {
        void *at =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bn_main_state.files[1].fd, 0);

        CHECK(at != MAP_FAILED);
        munmap(at, size);
    }
    return us_per(start, N_REGISTERS);
}

static void listen_bare(struct bn *b)
{
    pid_t pid = getpid();

    if (b->is_first) {
        dt_hear(&b->t, &pid, sizeof(pid));
    } else {
        dt_tell(&b->t, &pid, sizeof(pid));
        listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    }
    snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "datum-bench-%d", (int)pid);
    if (!b->is_first) {
        CHECK(bind(listener, (struct sockaddr *)&name, name_len()) == 0);
        CHECK(listen(listener, N_CONNECTS) == 0);
    }
}

static void rows(struct bn *b)
{
    if (b->is_first)
        dt_hear(&b->t, &qual, sizeof(qual));
    else
        psp = dt_listen(&b->t);
    listen_bare(b);
    bn_row(b, "connect", 0, "us", dat_connects, "unix_socket", bare_connects);
    for (size_t size = 4096; size <= BN_LEN; size *= 32)
        bn_row(b, "register_private", size, "us", register_private, "none", NULL);
    for (size_t size = 4096; size <= BN_LEN; size *= 32)
        bn_row(b, "register_shared", size, "us", register_shared, "mmap_munmap", bare_map);
    if (!b->is_first)
        OK(dat_psp_free(psp));
}

int main(int argc, char **argv)
{
    return bn_run(argc, argv, rows);
}
