/* test: kind=dat timeout=120 params=copy=auto stderr=allowed */
/*
 * A flood of requests from several processes at one service point: each is
 * accepted or rejected, with private data of every length both ways. Where the
 * queue of the service point is smaller than the flood, what does not fit is
 * refused by the provider (NON_PEER), the overflow is reported once, and the
 * service point goes on. Requests while it goes away, and descriptors running
 * out on either side.
 */
#include "dat_pair.h"

#include <sys/resource.h>

enum { PROCS = 4, EACH = 250, PRIVATE = 512, SMALL = 16 };

static const char *name;

static int length_of(int proc, int i)
{
    return (proc * EACH + i) % (PRIVATE + 1);
}

static void fill(unsigned char *data, int len)
{
    for (int i = 0; i < len; i++)
        data[i] = (unsigned char)(len * 7 + i);
}

static void want(const void *data, int len, int real)
{
    unsigned char buf[PRIVATE];

    CHECK_EQ(real, len);
    fill(buf, len);
    CHECK(len == 0 || memcmp(buf, data, (size_t)len) == 0);
}

/* Events for one endpoint at a time, since all of them look alike. */
static DAT_EVD_HANDLE new_evd(struct dt *t, DAT_EVD_FLAGS flags, int qlen)
{
    DAT_EVD_HANDLE evd;

    OK(dat_evd_create(t->ia, qlen, DAT_HANDLE_NULL, flags, &evd));
    return evd;
}

static void start(struct dt *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, int len)
{
    unsigned char data[PRIVATE];

    fill(data, len);
    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, 60000000, len, data,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The answer has as many bytes as the request, counted from the other end. */
static void asker(DAT_CONN_QUAL qual, int proc)
{
    static DAT_EP_HANDLE ep[EACH];
    static DAT_EVD_HANDLE evd[EACH];
    struct dt t;

    dt_open(&t, name);
    for (int i = 0; i < EACH; i++) {
        evd[i] = new_evd(&t, DAT_EVD_CONNECTION_FLAG, 4);
        OK(dat_ep_create(t.ia, t.pz, t.recv_evd, t.req_evd, evd[i], NULL, &ep[i]));
        start(&t, ep[i], qual, length_of(proc, i));
    }
    for (int i = 0; i < EACH; i++) {
        int len = length_of(proc, i);
        DAT_EVENT event = dt_want_conn(evd[i], len % 3 == 0 ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                                            : DAT_CONNECTION_EVENT_ESTABLISHED);
        DAT_CONNECTION_EVENT_DATA *conn = &event.event_data.connect_event_data;

        want(conn->private_data, PRIVATE - len, conn->private_data_size);
    }
    dt_close(&t); /* takes all connections along */
    exit(0);
}

/* A program of its own, as a thread checker takes no new threads after a fork. */
static pid_t spawn_asker(DAT_CONN_QUAL qual, int proc)
{
    char qual_text[24];
    char proc_text[12];
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(qual_text, sizeof(qual_text), "%llu", (unsigned long long)qual);
    snprintf(proc_text, sizeof(proc_text), "%d", proc);
    execl("/proc/self/exe", "cm_flood", name, qual_text, proc_text, (char *)NULL);
    _exit(1);
}

static void reap(const pid_t *pid, int n)
{
    for (int i = 0; i < n; i++) {
        int status;

        CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
        CHECK_EQ(status, 0);
    }
}

static void answer(struct dt *t, DAT_CR_HANDLE cr, DAT_EP_HANDLE ep)
{
    unsigned char data[PRIVATE];
    DAT_CR_PARAM param;
    int len;

    OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
    len = param.private_data_size;
    want(param.private_data, len, len);
    fill(data, PRIVATE - len);
    if (len % 3 == 0)
        OK(dat_cr_reject(cr, PRIVATE - len, data));
    else
        OK(dat_cr_accept(cr, ep, PRIVATE - len, data));
    (void)t;
}

static void flood(struct dt *t)
{
    DAT_EVD_HANDLE cr_evd = new_evd(t, DAT_EVD_CR_FLAG, PROCS * EACH);
    DAT_EVD_HANDLE conn_evd = new_evd(t, DAT_EVD_CONNECTION_FLAG, 4 * PROCS * EACH);
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    pid_t pid[PROCS];
    int n_up = 0;

    OK(dat_psp_create_any(t->ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (int i = 0; i < PROCS; i++)
        pid[i] = spawn_asker(qual, i);
    for (int i = 0; i < PROCS * EACH; i++) {
        DAT_EVENT event = dt_wait(cr_evd);
        DAT_EP_HANDLE ep;

        OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, conn_evd, NULL, &ep));
        answer(t, event.event_data.cr_arrival_event_data.cr_handle, ep);
    }
    for (int i = 0; i < PROCS * EACH; i++)
        n_up += length_of(i / EACH, i % EACH) % 3 != 0;
    for (int i = 0; i < 2 * n_up;) { /* up, and down with their process */
        DAT_EVENT event = dt_wait(conn_evd);

        CHECK(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED ||
              event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
        i++;
    }
    reap(pid, PROCS);
    dt_want_none(cr_evd, 1);
    dt_want_none(conn_evd, 1);
    OK(dat_psp_free(psp));
}

/* Wait until one of the two has an event, and take it: requests that came late may be in the one when nothing
 * more comes in the other. True: it is of the first. */
static bool wait_either(DAT_EVD_HANDLE first, DAT_EVD_HANDLE second, DAT_EVENT *event)
{
    double end = dt_now() + 1e-6 * DT_WAIT_US;

    while (dt_now() < end) {
        if (dat_evd_dequeue(first, event) == DAT_SUCCESS)
            return true;
        if (dat_evd_dequeue(second, event) == DAT_SUCCESS)
            return false;
        dt_sleep_ms(1);
    }
    DT_FAIL("no event in either queue");
}

/* More requests than the queue holds, and nobody looks. */
static void overflow(struct dt *t)
{
    enum { N = 300 };
    DAT_EVD_HANDLE cr_evd = new_evd(t, DAT_EVD_CR_FLAG, SMALL);
    DAT_EVD_HANDLE conn_evd = new_evd(t, DAT_EVD_CONNECTION_FLAG, N);
    static DAT_EP_HANDLE ep[N];
    DAT_PSP_HANDLE psp;
    DAT_CONN_QUAL qual;
    DAT_EVENT event;
    int n_refused = 0;
    int n_rejected = 0;
    int n_cr = 0;

    OK(dat_psp_create_any(t->ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (int i = 0; i < N; i++) {
        OK(dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, conn_evd, NULL, &ep[i]));
        start(t, ep[i], qual, 1);
    }
    event = dt_wait(t->async_evd);
    CHECK_EQ(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
    CHECK(event.event_data.asynch_error_event_data.dat_handle == cr_evd);
    while (n_refused + n_rejected < N) {
        if (wait_either(cr_evd, conn_evd, &event)) {
            OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
            n_cr++;
            continue;
        }
        n_rejected += event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED;
        n_refused += event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
    }
    CHECK_EQ(n_cr, n_rejected);
    CHECK(n_cr >= SMALL);
    CHECK(n_refused > 0);
    dt_want_none(t->async_evd, 1); /* once */
    OK(dat_ep_reset(ep[0]));
    start(t, ep[0], qual, 1);
    event = dt_wait(cr_evd);
    OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    dt_want_conn(conn_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    OK(dat_psp_free(psp));
    for (int i = 0; i < N; i++)
        OK(dat_ep_free(ep[i]));
}

/* Requests while the service point comes and goes: some answer, always one. */
static void comes_and_goes(struct dt *t)
{
    enum { N = 200 };
    DAT_EP_HANDLE ep = dt_ep(t);
    DAT_CONN_QUAL qual = 0x123400000000u + (DAT_CONN_QUAL)getpid();
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;

    for (int i = 0; i < N; i++) {
        OK(dat_psp_create(t->ia, qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
        start(t, ep, qual, i);
        if (i % 3 == 0)
            event = dt_wait(t->cr_evd);
        OK(dat_psp_free(psp));
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        while (dat_evd_dequeue(t->cr_evd, &event) == DAT_SUCCESS)
            CHECK_RC(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL),
                     DAT_INVALID_HANDLE); /* gone with the service point */
        OK(dat_ep_reset(ep));
    }
    OK(dat_ep_free(ep));
}

static int used_fds(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* Every call that needs a descriptor, when there is none. */
static void no_descriptors(struct dt *t)
{
    struct rlimit old;
    struct rlimit none;
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_PSP_HANDLE psp;
    DAT_PSP_HANDLE other;
    DAT_CONN_QUAL qual;
    DAT_IA_HANDLE ia;
    DAT_EVENT event;
    DAT_RETURN ret;
    int n_fds = used_fds();

    OK(dat_psp_create_any(t->ia, &qual, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = (rlim_t)used_fds();
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK_RC(dat_ia_open((DAT_NAME_PTR)name, 8, &evd, &ia), DAT_INSUFFICIENT_RESOURCES);
    CHECK_RC(dat_psp_create(t->ia, qual + 999, t->cr_evd, DAT_PSP_CONSUMER_FLAG, &other),
             DAT_INSUFFICIENT_RESOURCES);
    ret = dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, 1000000, 0, NULL,
                         DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
    /* One for the socket that asks, none for the one that would be accepted:
     * the request waits, and its time runs. */
    none.rlim_cur++;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, 100000, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_TIMED_OUT);
    OK(dat_ep_reset(t->ep));
    OK(dat_ep_connect(t->ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_none(t->conn_evd, 30);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    while (wait_either(t->cr_evd, t->conn_evd,
                       &event)) /* the one that has timed out may be shown first */
        OK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
    CHECK_EQ(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
    OK(dat_ep_reset(t->ep));
    OK(dat_psp_free(psp));
    dt_sleep_ms(20);
    CHECK_EQ(used_fds(), n_fds);
}

/* Endpoints until the segment is full; then all of them again. */
static void no_room(struct dt *t)
{
    enum { N = 20000 };
    static DAT_EP_HANDLE ep[N];
    DAT_EP_ATTR attr;
    int n[2];

    memset(&attr, 0, sizeof(attr));
    attr.max_recv_dtos = 4096;
    attr.max_request_dtos = 4;
    attr.max_recv_iov = 32;
    attr.max_request_iov = 1;
    for (int turn = 0; turn < 2; turn++) {
        DAT_RETURN ret = DAT_SUCCESS;
        int i = 0;

        while (i < N && ret == DAT_SUCCESS) {
            ret = dat_ep_create(t->ia, t->pz, t->recv_evd, t->req_evd, t->conn_evd, &attr, &ep[i]);
            i += ret == DAT_SUCCESS;
        }
        CHECK_RC(ret, DAT_INSUFFICIENT_RESOURCES);
        n[turn] = i;
        while (i > 0)
            OK(dat_ep_free(ep[--i]));
    }
    CHECK_EQ(n[0], n[1]);
    CHECK(n[0] > 10);
}

int main(int argc, char **argv)
{
    struct dt t;

    name = dt_name(argc, argv);
    if (argc > 3)
        asker(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    dt_open(&t, name);
    comes_and_goes(&t);
    overflow(&t);
    if (!dt_is_fabric(t.ia)) { /* which takes descriptors as it likes */
        no_descriptors(&t);
        no_room(&t);
    }
    flood(&t);
    dt_close(&t);
    return 0;
}
