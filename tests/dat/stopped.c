/* test: kind=dat prov=datum-shm timeout=90 params=copy=auto|copy=cma */
/*
 * A peer that is stopped (SIGSTOP) in the middle of its writes into our memory
 * may write on when it is continued: until then the memory and the rings that
 * it uses are not given back, the calls say so after a few seconds instead of
 * waiting for ever, and other connections go on.
 */
#include "dat_pair.h"

enum { LEN = 64 << 20, TRIES = 20 };

/* Write without end, until the connection breaks. */
static int writer(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;
    DAT_EVENT event;
    DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
    pid_t pid = getpid();

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    memset(mine.buf, 'w', LEN);
    dt_join(t, false);
    dt_tell(t, &pid, sizeof(pid));
    for (;;) {
        char more;

        dt_hear(t, &more, 1);
        if (more == 0)
            break;
        dt_hear(t, &theirs, sizeof(theirs));
        status = DAT_DTO_SUCCESS;
        while (status == DAT_DTO_SUCCESS) {
            DAT_LMR_TRIPLET seg = dt_seg(&mine, 0, LEN);
            DAT_RMR_TRIPLET to = dt_remote(&theirs, 0, LEN);

            OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG));
            event = dt_wait(t->req_evd);
            status = event.event_data.dto_completion_event_data.status;
        }
        CHECK_EQ(status, DAT_DTO_ERR_REMOTE_ACCESS);
        dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_BROKEN);
        OK(dat_ep_reset(t->ep));
        dt_join(t, false);
    }
    dt_close(t);
    return 0;
}

/* Stop the writer, free what it writes to; true if it was caught at it. */
static bool stop_and_free(struct dt *t, pid_t pid, bool is_shared)
{
    struct dt_mem mem;
    DAT_RETURN ret;
    double start;
    bool is_caught;
    char more = 1;

    dt_alloc(t, &mem, LEN, is_shared);
    dt_tell(t, &more, 1);
    dt_tell(t, &mem, sizeof(mem));
    dt_sleep_ms(100); /* into the writes; where exactly does not matter */
    CHECK_EQ(kill(pid, SIGSTOP), 0);
    start = dt_now();
    ret = dat_lmr_free(mem.lmr);
    is_caught = ret != DAT_SUCCESS;
    if (is_caught) {
        CHECK_RC(ret, DAT_INVALID_STATE);
        CHECK(dt_now() - start < 30);
        CHECK_RC(dat_lmr_free(mem.lmr), DAT_INVALID_STATE);
        CHECK_RC(dat_evd_resize(t->recv_evd, 8192), DAT_INVALID_STATE);
    }
    CHECK_EQ(kill(pid, SIGCONT), 0);
    start = dt_now();
    while (is_caught && dat_lmr_free(mem.lmr) != DAT_SUCCESS)
        CHECK(dt_now() - start < 30);
    munmap(mem.buf, LEN); /* a write from now on would be seen as a crash or REMOTE_ACCESS */
    if (mem.fd >= 0)
        close(mem.fd);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_reset(t->ep));
    OK(dat_evd_resize(t->recv_evd, 2048));
    dt_join(t, true);
    return is_caught;
}

static int victim(struct dt *t, const char *name)
{
    pid_t pid;
    char more = 0;

    dt_open(t, name);
    dt_join(t, true);
    dt_hear(t, &pid, sizeof(pid));
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        int n = 0;

        while (!stop_and_free(t, pid, is_shared != 0))
            CHECK(++n < TRIES);
    }
    dt_tell(t, &more, 1);
    dt_close(t);
    return 0;
}

int main(int argc, char **argv)
{
    return dt_pair(dt_name(argc, argv), victim, writer, false);
}
