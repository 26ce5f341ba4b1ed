/* test: kind=dat prov=datum-shm san=no timeout=30 params=copy=auto */
/*
 * Where the kernel refuses things: process_vm by a system call filter, as in
 * many containers, and address space for the segment. The first must work all
 * the same, the second must fail cleanly.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "dat_pair.h"

enum { LEN = 700000 };

static void refuse_process_vm(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    struct iovec vec = {.iov_base = code, .iov_len = 1};

    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
    CHECK_EQ(process_vm_readv(getpid(), &vec, 1, &vec, 1, 0), -1);
    CHECK_EQ(errno, EPERM);
}

static int one(struct dt *t, const char *name)
{
    struct dt_mem mem[2];
    DAT_LMR_TRIPLET seg;

    refuse_process_vm();
    dt_open(t, name);
    for (int i = 0; i < 2; i++)
        dt_alloc(t, &mem[i], LEN, i == 1);
    dt_join(t, true);
    for (int i = 0; i < 2; i++) {
        dt_tell(t, &mem[i], sizeof(mem[i]));
        seg = dt_seg(&mem[i], LEN / 2, 100);
        OK(dat_ep_post_recv(t->ep, 1, &seg, dt_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
        dt_meet(t);
        CHECK_EQ(dt_want_dto(t->recv_evd, 1, DAT_DTO_SUCCESS), 100);
        for (int at = 0; at < LEN; at++)
            if (mem[i].buf[at] != (char)(at >= LEN / 2 && at < LEN / 2 + 100 ? 5 : 4))
                DT_FAIL("byte %d is %d", at, mem[i].buf[at]);
        dt_meet(t);
    }
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_close(t);
    return 0;
}

static int two(struct dt *t, const char *name)
{
    struct dt_mem mem;
    struct dt_mem peer;

    refuse_process_vm();
    dt_open(t, name);
    dt_alloc(t, &mem, LEN, false);
    dt_join(t, false);
    for (int i = 0; i < 2; i++) {
        DAT_LMR_TRIPLET seg = dt_seg(&mem, 0, LEN);
        DAT_LMR_TRIPLET msg = dt_seg(&mem, 0, 100);
        DAT_RMR_TRIPLET to;

        dt_hear(t, &peer, sizeof(peer));
        to = dt_remote(&peer, 0, LEN);
        dt_meet(t);
        memset(mem.buf, 4, LEN);
        OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(2), &to, DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_dto(t->req_evd, 2, DAT_DTO_SUCCESS), LEN);
        memset(mem.buf, 5, LEN);
        OK(dat_ep_post_send(t->ep, 1, &msg, dt_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
        dt_want_dto(t->req_evd, 3, DAT_DTO_SUCCESS);
        OK(dat_ep_post_rdma_read(t->ep, 1, &seg, dt_cookie(4), &to, DAT_COMPLETION_DEFAULT_FLAG));
        CHECK_EQ(dt_want_dto(t->req_evd, 4, DAT_DTO_SUCCESS), LEN);
        CHECK_EQ(mem.buf[0], 4);
        CHECK_EQ(mem.buf[LEN / 2], 5);
        dt_meet(t);
    }
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_close(t);
    return 0;
}

/* No room for a segment: an error, and the process goes on. */
static void no_room(const char *name)
{
    struct rlimit limit = {.rlim_cur = 64u << 20, .rlim_max = 64u << 20};
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
        CHECK_RC(dat_ia_open((DAT_NAME_PTR)name, 8, &evd, &ia), DAT_INSUFFICIENT_RESOURCES);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
    no_room(dt_name(argc, argv));
    return dt_pair(dt_name(argc, argv), one, two, false);
}
