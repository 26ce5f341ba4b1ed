/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Memory that peers can map. The first request maps its file without the owner, who is stopped
 * (SIGSTOP) meanwhile. Who cannot name the owner's process, as it is in a process namespace of its
 * own, has to ask the owner's thread, and gets the same mapping. When the region is freed, the
 * mapping goes.
 */
#include "../self.h"
#include "dat_pair.h"

#include <sched.h>

enum { LEN = 8192 };

static bool is_apart; /* in a process namespace of its own */

/* The owner. */
static int one(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, true);
    dt_join(t, true);
    dt_swap_mem(t, &mine, &theirs);
    dt_meet(t); /* the write is over */
    CHECK_EQ(mine.buf[0], 'x');
    CHECK_EQ(mine.buf[LEN - 1], 'x');
    OK(dat_lmr_free(mine.lmr));
    dt_meet(t);
    dt_meet(t); /* the mapping is gone */
    dt_close(t);
    munmap(mine.buf, LEN); /* the next one that is forked must not have it */
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;
    DAT_LMR_TRIPLET seg;
    DAT_RMR_TRIPLET to;
    double start;

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    memset(mine.buf, 'x', LEN);
    dt_join(t, false);
    dt_swap_mem(t, &mine, &theirs);
    seg = dt_seg(&mine, 0, LEN);
    to = dt_remote(&theirs, 0, LEN);
    CHECK_EQ(self_count_maps("memfd:dat-test"), 0);
    if (!is_apart)
        CHECK_EQ(kill(getppid(), SIGSTOP), 0);
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS), LEN);
    CHECK_EQ(self_count_maps("memfd:dat-test"), 1);
    if (!is_apart)
        CHECK_EQ(kill(getppid(), SIGCONT), 0);
    dt_meet(t);
    dt_meet(t); /* it has freed the region */
    start = dt_now();
    while (self_count_maps("memfd:dat-test") > 0) {
        CHECK(dt_now() - start < 20);
        dt_sleep_ms(1);
    }
    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
    dt_want_dto(t->req_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
    dt_meet(t);
    dt_close(t);
    return 0;
}

static int two_apart(struct dt *t, const char *name)
{
    pid_t pid;
    int status;

    CHECK_EQ(unshare(CLONE_NEWPID), 0); /* of children; this process may have no threads any more */
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        status = two(t, name);
        fflush(NULL);
        _exit(status);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    fflush(NULL);
    /* without what runs at exit: a leak detector cannot have a thread any more */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static bool can_be_apart(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(unshare(CLONE_NEWPID) == 0 ? 0 : 1);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);

    if (dt_pair(name, one, two, false) != 0)
        return 1;
    if (!can_be_apart()) {
        printf("no process namespaces here\n");
        return 77;
    }
    is_apart = true;
    return dt_pair(name, one, two_apart, false);
}
