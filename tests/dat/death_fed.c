/* test: kind=dat prov=datum-shm,datum-tcp timeout=60 */
/*
 * A peer that is killed while long writes to it are under way, of which parts may have gone: whoever writes gets one
 * event for the connection and its completions, and no signal.
 */
#include "dat_pair.h"

enum { LEN = 512 << 10, DEPTH = 4, ROUNDS = 60 };

static int victim(struct dt *t, const char *name)
{
    struct dt_mem mem, peer;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    dt_swap_mem(t, &mem, &peer);
    for (;;)
        pause();
    return 0;
}

/* Completions that have come; false: one failed. */
static bool reap(struct dt *t, unsigned *n_done_p)
{
    DAT_EVENT event;
    bool is_well = true;

    while (dat_evd_dequeue(t->req_evd, &event) == DAT_SUCCESS) {
        (*n_done_p)++;
        is_well &= event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    }
    return is_well;
}

/* Write on and on, and kill it after so many writes. */
static void feed(struct dt *t, const char *name, pid_t pid, unsigned n_before)
{
    struct dt_mem mem, peer;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    DAT_EVENT event;
    unsigned n_posted = 0, n_done = 0;

    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, true);
    dt_swap_mem(t, &mem, &peer);
    seg = dt_seg(&mem, 0, LEN);
    to = dt_remote(&peer, 0, LEN);
    while (reap(t, &n_done)) {
        if (n_posted - n_done == DEPTH)
            continue;
        if (n_posted++ == n_before)
            CHECK_EQ(kill(pid, SIGKILL), 0);
        if (dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(n_posted), &to,
                                   DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS) {
            n_posted--;
            break;
        }
    }
    event = dt_wait(t->conn_evd);
    CHECK(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
          event.event_number == DAT_CONNECTION_EVENT_BROKEN);
    while (n_done < n_posted)
        (void)reap(t, &n_done);
    dt_want_none(t->conn_evd, 1);
    OK(dat_lmr_free(mem.lmr));
    OK(dat_ep_reset(t->ep));
    dt_close(t);
}

int main(int argc, char **argv)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct dt t = {.pipe = -1};
        pid_t pid;

        pid = dt_fork(&t, victim, dt_name(argc, argv));
        feed(&t, dt_name(argc, argv), pid, i % 16 + 1);
        CHECK_EQ(waitpid(pid, NULL, 0), pid);
        close(t.pipe);
    }
    return 0;
}
