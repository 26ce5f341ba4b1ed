/* test: kind=dat prov=datum-shm san=no timeout=120 params=copy=auto */
/*
 * A hostile process of the same user on the connection socket and at the doorbell, while another,
 * honest peer keeps talking: noise, requests with every kind of descriptor, a
 * flood of connections that say nothing, messages for connections of others, a peer that never
 * reads, a peer that is stopped, and processes of another user. The honest connection never
 * suffers, and nothing is left behind.
 */
#include "../self.h"
#include "dat_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/un.h>

#include "providers/shm/wire.h"

enum { NOISE = 400, FLOOD = 400, STRAYS = 2000, ALICE = 65534, BOB = 65533 };

static DAT_CONN_QUAL qual;
static uint64_t victim_id; /* of the instance, by this its doorbell is found */
static struct dm_shm_hdr *evil;
static int evil_fd;

static int call_up(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int len = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "datum-shm.%016llx",
                       (unsigned long long)qual);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
             0);
    return fd;
}

static ssize_t say(int sock, const void *data, size_t len, const int *fd, size_t n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(16 * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

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
    return sendmsg(sock, &hdr, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A message for the victim's doorbell. */
static ssize_t write_to(int door, const void *data, size_t len, const int *fd)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int name_len = snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "datum-ctrl.%016llx",
                            (unsigned long long)victim_id);

    if (connect(door, (struct sockaddr *)&to,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name_len)) != 0)
        return -1;
    return say(door, data, len, fd, fd != NULL ? 1 : 0);
}

static struct dm_shm_ctrl request(void)
{
    struct dm_shm_ctrl msg;

    memset(&msg, 0, sizeof(msg));
    msg.type = DM_CTRL_REQUEST;
    msg.version = DM_SHM_VERSION;
    msg.id = evil->id;
    msg.ep = sizeof(*evil);
    msg.owner = 1;
    return msg;
}

/* A segment like an honest one: an endpoint and a ring for its events. */
static int segment(int is_sealed, size_t len)
{
    int fd = memfd_create("evil", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct dm_shm_link_ep *link;

    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, (off_t)len), 0);
    if (len >= sizeof(*evil) + 65536) {
        evil = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(evil != MAP_FAILED);
        evil->magic = DM_SHM_MAGIC;
        evil->version = DM_SHM_VERSION;
        evil->id = 4711;
        evil->size = len;
        link = (void *)(evil + 1);
        link->link = DM_LINK_UP;
    }
    if (is_sealed)
        CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static uint32_t next_random(uint32_t n)
{
    static uint64_t seed = 5;

    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void noise(void)
{
    unsigned char buf[2048];

    for (int i = 0; i < NOISE; i++) {
        size_t len = i < 20 ? (size_t)i : next_random(sizeof(buf));
        struct dm_shm_ctrl msg = request();
        int fd = call_up();

        for (size_t at = 0; at < sizeof(buf); at++)
            buf[at] = (unsigned char)next_random(256);
        if (i % 2 == 1) /* half right */
            memcpy(buf, &msg, next_random(sizeof(msg)));
        (void)say(fd, buf, len, &evil_fd, next_random(2));
        if (i % 5 == 0)
            (void)say(fd, &msg, offsetof(struct dm_shm_ctrl, data), &evil_fd, 1);
        close(fd);
    }
}

static void descriptors(void)
{
    int fds[16];
    struct dm_shm_ctrl msg = request();
    size_t len = offsetof(struct dm_shm_ctrl, data);

    fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
    fds[1] = segment(0, sizeof(*evil) + 65536); /* could shrink */
    fds[2] = segment(1, 4096);
    fds[3] = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    fds[4] = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 5; i < 16; i++)
        fds[i] = evil_fd;
    for (int i = 0; i < 100; i++) {
        int sock = call_up();
        char buf[2048];

        if (i % 7 == 6)
            (void)say(sock, &msg, len, fds + 5, 11); /* many at once */
        else
            (void)say(sock, &msg, len, fds + i % 7, i % 7 == 5 ? 0 : 1);
        if (i % 7 < 5)
            (void)recv(sock, buf, sizeof(buf), 0); /* refused */
        close(sock);
    }
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

static void flood(void)
{
    static int fd[FLOOD];

    for (int i = 0; i < FLOOD; i++)
        fd[i] = call_up();
    dt_sleep_ms(50);
    for (int i = 0; i < FLOOD; i++)
        close(fd[i]);
}

/* To the doorbell: noise, and messages of every kind for connections that are none, or others'. */
static void strays(void)
{
    unsigned char buf[2048];
    int door = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    CHECK(door >= 0);
    for (int i = 0; i < STRAYS; i++) {
        struct dm_shm_ctrl msg = request();

        for (size_t at = 0; at < sizeof(buf); at++)
            buf[at] = (unsigned char)next_random(256);
        msg.type = (uint32_t)i % 24;
        msg.conn = (uint64_t)next_random(4);
        msg.id = i % 3 == 0 ? victim_id : msg.id;
        if (i % 2 == 0)
            memcpy(buf, &msg, offsetof(struct dm_shm_ctrl, data));
        while (write_to(door, buf,
                        i % 2 == 0 ? offsetof(struct dm_shm_ctrl, data) : next_random(2048),
                        i % 5 == 0 ? &evil_fd : NULL) < 0 &&
               errno == EAGAIN)
            sched_yield();
    }
    close(door);
}

/* Hear the acceptance, and confirm it in the victim's memory; its endpoint and id of the connection. */
static struct dm_shm_link_ep *confirm(int sock, uint64_t *conn_p)
{
    char control[CMSG_SPACE(sizeof(int))];
    struct dm_shm_ctrl msg;
    struct iovec iov = {.iov_base = &msg, .iov_len = sizeof(msg)};
    struct msghdr hdr = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    struct dm_shm_link_ep *link;
    char *base;
    int fd;

    CHECK(recvmsg(sock, &hdr, MSG_CMSG_CLOEXEC) > 0);
    CHECK_EQ(msg.type, DM_CTRL_ACCEPT);
    CHECK_EQ(msg.id, victim_id);
    *conn_p = msg.conn;
    CHECK(CMSG_FIRSTHDR(&hdr) != NULL);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&hdr)), sizeof(fd));
    base = mmap(NULL, msg.ep + sizeof(*link), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(base != MAP_FAILED);
    link = (void *)(base + msg.ep);
    atomic_store(&link->link, dm_shm_link_word(msg.conn, DM_LINK_UP));
    close(sock);
    return link;
}

/* A doorbell with the name that the victim will write to. */
static int own_doorbell(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int len = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "datum-ctrl.%016llx",
                       (unsigned long long)evil->id);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&at,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
             0);
    return fd;
}

/* Accepted, then it asks and asks and never reads an answer, until the victim has had enough. */
static void never_reads(void)
{
    struct dm_shm_ctrl msg = request();
    size_t len = offsetof(struct dm_shm_ctrl, data);
    struct dm_shm_link_ep *link;
    int door = own_doorbell();
    int sock = call_up();
    double end = dt_now() + 60;

    msg.qual = 1; /* by this the victim knows to accept */
    CHECK_EQ(say(sock, &msg, len, &evil_fd, 1), len);
    link = confirm(sock, &msg.conn);
    msg.type = DM_CTRL_DOORBELL;
    while (atomic_load(&link->link) == dm_shm_link_word(msg.conn, DM_LINK_UP) && dt_now() < end) {
        uint32_t n = atomic_load(&link->n_ctrl);

        if (n - atomic_load(&link->n_ctrl_read) < DM_SHM_CTRL_SLOTS) {
            link->ctrl[n % DM_SHM_CTRL_SLOTS].type = DM_CTRL_MAP;
            atomic_store(&link->n_ctrl, n + 1);
        }
        if (write_to(door, &msg, len, NULL) < 0)
            sched_yield();
    }
    CHECK_EQ(atomic_load(&link->link), DM_LINK_DOWN);
    close(door);
}

static void (*const attacks[])(void) = {noise, descriptors, flood, strays, never_reads};
enum { N_ATTACKS = sizeof(attacks) / sizeof(attacks[0]) };

/* Our own doorbell, whose name any process can see. */
static void find_doorbell(void)
{
    for (int fd = 0; fd < 1024 && victim_id == 0; fd++) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        socklen_t len = sizeof(at);
        unsigned long long id;

        if (getsockname(fd, (struct sockaddr *)&at, &len) != 0 || len >= sizeof(at))
            continue;
        ((char *)&at)[len] = '\0';
        if (at.sun_path[0] == '\0' && sscanf(at.sun_path + 1, "datum-ctrl.%16llx", &id) == 1)
            victim_id = id;
    }
    CHECK(victim_id != 0);
}

/* One message there and back. */
static void ping(struct dt *t)
{
    OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS);
    dt_want_dto(t->recv_evd, 1, DAT_DTO_SUCCESS);
}

static void answer_all(struct dt *t, DAT_EP_HANDLE victim)
{
    DAT_EVENT event;
    DAT_CR_PARAM param;

    while (dat_evd_dequeue(t->cr_evd, &event) == DAT_SUCCESS) {
        DAT_CR_HANDLE cr = event.event_data.cr_arrival_event_data.cr_handle;

        OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
        if (param.remote_port_qual == 1)
            OK(dat_cr_accept(cr, victim, 0, NULL));
        else
            OK(dat_cr_reject(cr, 0, NULL));
    }
}

/* All who called before have been heard when the last of them, nonsense, is refused; until
 * then the number of descriptors may be right by accident. */
static void until_heard(void)
{
    int sock = call_up();
    char buf[2048];

    CHECK_EQ(say(sock, "?", 1, NULL, 0), 1);
    (void)recv(sock, buf, sizeof(buf), 0);
    close(sock);
}

static void until_fds(struct dt *t, DAT_EP_HANDLE victim, int n)
{
    double end = dt_now() + 10;

    until_heard();

    while (self_count_files() != n && dt_now() < end) {
        answer_all(t, victim);
        dt_sleep_ms(1);
    }
    CHECK_EQ(self_count_files(), n);
}

static void attacked(struct dt *t, int attack, DAT_EP_HANDLE victim, int n_fds)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        evil_fd = segment(1, sizeof(*evil) + 131072);
        attacks[attack]();
        _exit(0);
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        answer_all(t, victim);
        ping(t);
    }
    if (status != 0)
        DT_FAIL("attack %d ended with 0x%x", attack, (unsigned)status);
    until_fds(t, victim, n_fds);
    answer_all(t, victim);
    ping(t);
}

/* The honest peer is stopped: others go on, and it does when it may. */
static void stopped(struct dt *t, pid_t pid)
{
    DAT_EP_HANDLE ep[2] = {dt_ep(t), dt_ep(t)};
    DAT_EVENT event;

    for (int i = 0; i < 20; i++) {
        CHECK_EQ(kill(pid, SIGSTOP), 0);
        OK(dat_ep_connect(ep[0], (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        event = dt_wait(t->cr_evd);
        OK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep[1], 0, NULL));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        OK(dat_ep_disconnect(ep[0], DAT_CLOSE_ABRUPT_FLAG));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        OK(dat_ep_reset(ep[0]));
        OK(dat_ep_reset(ep[1]));
        CHECK_EQ(kill(pid, SIGCONT), 0);
        ping(t);
    }
    OK(dat_ep_free(ep[0]));
    OK(dat_ep_free(ep[1]));
}

/* Processes of other users, both ways; only root can try. */
static void connect_as(const char *name, uid_t uid, DAT_EVENT_NUMBER want)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct dt t;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        CHECK_EQ(setresuid(uid, uid, uid), 0);
        dt_open(&t, name);
        OK(dat_ep_connect(t.ep, (DAT_IA_ADDRESS_PTR)&t.addr, qual, DT_WAIT_US, 0, NULL,
                          DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        dt_want_conn(t.conn_evd, want);
        if (want == DAT_CONNECTION_EVENT_ESTABLISHED) /* until she knows it, too, and ends */
            (void)dt_wait(t.conn_evd);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void other_users(const char *name)
{
    int status;
    int go[2];
    pid_t pid;

    if (getuid() != 0)
        return;
    CHECK_EQ(pipe(go), 0);
    pid = fork();
    if (pid == 0) { /* Alice listens, and takes whoever is let through */
        struct dt t;
        DAT_PSP_HANDLE psp;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        CHECK_EQ(setresuid(ALICE, ALICE, ALICE), 0);
        dt_open(&t, name);
        OK(dat_psp_create_any(t.ia, &qual, t.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
        CHECK_EQ(write(go[1], &qual, sizeof(qual)), sizeof(qual));
        dt_accept(&t, t.ep);
        dt_want_none(t.cr_evd, 5);
        _exit(0);
    }
    CHECK_EQ(read(go[0], &qual, sizeof(qual)), sizeof(qual));
    connect_as(name, BOB, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    connect_as(name, 0, DAT_CONNECTION_EVENT_NON_PEER_REJECTED); /* root trusts nobody */
    connect_as(name, ALICE, DAT_CONNECTION_EVENT_ESTABLISHED);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    close(go[0]);
    close(go[1]);
}

static int one(struct dt *t, const char *name)
{
    DAT_EP_HANDLE victim;
    DAT_PSP_HANDLE psp;
    int n_fds;
    pid_t pid;
    char bye = 'b';

    dt_open(t, name); /* after this the library can be loaded by nobody */
    find_doorbell();
    dt_join(t, true);
    dt_hear(t, &pid, sizeof(pid));
    other_users(name);
    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    victim = dt_ep(t);
    n_fds = self_count_files();
    for (int i = 0; i < N_ATTACKS; i++)
        attacked(t, i, victim, n_fds);
    /* Who never read has lost its connection. */
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    CHECK_EQ(dat_ep_free(victim), DAT_SUCCESS);
    stopped(t, pid);
    ping(t);
    dt_want_none(t->conn_evd, 1);
    dt_tell(t, &bye, 1);
    dt_close(t);
    return 0;
}

/* Honest: answers until it is told to end. */
static int two(struct dt *t, const char *name)
{
    pid_t pid = getpid();
    char c;

    dt_open(t, name);
    for (int i = 0; i < 8; i++)
        OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    dt_join(t, false);
    dt_tell(t, &pid, sizeof(pid));
    while (recv(t->pipe, &c, 1, MSG_DONTWAIT) != 1) {
        DAT_EVENT event;
        DAT_COUNT n_more;

        if (dat_evd_wait(t->recv_evd, 1000, 1, &event, &n_more) != DAT_SUCCESS)
            continue;
        OK(dat_ep_post_recv(t->ep, 0, NULL, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        OK(dat_ep_post_send(t->ep, 0, NULL, dt_cookie(2), DAT_COMPLETION_SUPPRESS_FLAG));
    }
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), one, two, false);
}
