/* test: kind=dat prov=datum-shm timeout=60 params=copy=auto */
/*
 * Instances in an arena (util/arena.h) that the processes have inherited: nobody maps a segment of the
 * other, or a region in the arena. Whoever has not inherited it maps what it needs. When nothing is left in
 * it segments are files. The other process is killed in the end, which is noticed; its qualifier leads
 * nowhere then, though its segment is still there. Qualifiers that differ in what the arena makes no use of
 * are told apart by their listener only. What an instance has used of it goes back.
 */
#include "../self.h"
#include "dat_arena.h"
#include "dat_pair.h"

#include <sys/stat.h>

#include "util/arena.h"

enum { LEN = 8192, FD_BIT = 26 /* of a qualifier, see src/providers/shm/transport/near.c */ };

enum { N_EPS = 50, N_RECVS = 200, USED_KIB = 1000 };

static size_t arena_len;
static int arena_fd;
static bool is_apart;           /* the second process has not inherited it */
static DAT_CONN_QUAL last_qual; /* of the owner */

/* An arena of that length, without boxes. */
static void make(size_t len)
{
    arena_len = len;
    arena_fd = dt_arena(len, 0);
}

/* Mappings of the arena by the provider. Ours begin elsewhere. */
static int count_arena(void)
{
    return self_count_maps("memfd:dat-arena");
}

/* Memory at the end of the arena, where no segment is. */
static void alloc_in_arena(struct dt *t, struct dt_mem *mem)
{
    DAT_REGION_DESCRIPTION region;
    char cookie[DAT_LMR_COOKIE_SIZE] = "";
    DAT_VLEN len;
    DAT_VADDR addr;

    mem->len = LEN;
    mem->fd = arena_fd;
    mem->buf =
        mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd, (off_t)(arena_len - LEN));
    CHECK(mem->buf != MAP_FAILED);
    snprintf(cookie, sizeof(cookie), "fd:%d+%zu", arena_fd, arena_len - LEN);
    memset(&region, 0, sizeof(region));
    region.for_shared_memory.virtual_address = mem->buf;
    region.for_shared_memory.shared_memory_id = &cookie;
    OK(dat_lmr_create(t->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, LEN, t->pz, DAT_MEM_PRIV_ALL_FLAG,
                      DAT_VA_TYPE_VA, &mem->lmr, &mem->lkey, &mem->rkey, &len, &addr));
}

/* The owner of the memory, who is killed in the end. */
static int owner(struct dt *t, const char *name)
{
    struct dt_mem mine;
    struct dt_mem theirs;

    dt_open(t, name);
    alloc_in_arena(t, &mine);
    (void)dt_listen(t);
    dt_accept(t, t->ep);
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    dt_accept(t, dt_ep(t));
    dt_swap_mem(t, &mine, &theirs);
    dt_meet(t); /* the write is over */
    CHECK_EQ(mine.buf[0], 'x');
    CHECK_EQ(mine.buf[LEN - 1], 'x');
    dt_meet(t);
    for (;;)
        pause();
}

static void write_all(struct dt *t, struct dt_mem *mine, struct dt_mem *theirs)
{
    DAT_LMR_TRIPLET seg = dt_seg(mine, 0, LEN);
    DAT_RMR_TRIPLET to = dt_remote(theirs, 0, LEN);

    OK(dat_ep_post_rdma_write(t->ep, 1, &seg, dt_cookie(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
    CHECK_EQ(dt_want_dto(t->req_evd, 1, DAT_DTO_SUCCESS), LEN);
}

/* Nobody listens there. */
static void want_none_there(struct dt *t, DAT_CONN_QUAL qual)
{
    DAT_EP_HANDLE ep = dt_ep(t);

    OK(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&t->addr, qual, DT_WAIT_US, 0, NULL,
                      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    OK(dat_ep_free(ep));
}

/* Once, and again after nothing is left of the first connection. */
static void connect_twice(struct dt *t)
{
    dt_hear(t, &last_qual, sizeof(last_qual));
    dt_connect(t, t->ep, last_qual);
    want_none_there(t, last_qual ^ (DAT_CONN_QUAL)1 << FD_BIT);
    OK(dat_ep_disconnect(t->ep, DAT_CLOSE_ABRUPT_FLAG));
    dt_want_conn(t->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    OK(dat_ep_free(t->ep));
    t->ep = dt_ep(t);
    dt_connect(t, t->ep, last_qual);
}

/* n_arena, n_files: mappings of the arena and of segments' files after all. */
static void check_writer(struct dt *t, const char *name, int n_arena, int n_files)
{
    struct dt_mem mine;
    struct dt_mem theirs;

    dt_open(t, name);
    dt_alloc(t, &mine, LEN, false);
    memset(mine.buf, 'x', LEN);
    connect_twice(t);
    dt_swap_mem(t, &mine, &theirs);
    write_all(t, &mine, &theirs);
    CHECK_EQ(count_arena(), n_arena);
    CHECK_EQ(self_count_maps("memfd:datum-shm"), n_files);
    dt_meet(t);
    dt_meet(t);
}

static int run(const char *name, int n_arena, int n_files)
{
    struct dt t = {.pipe = -1};
    int status;
    pid_t pid;

    pid = dt_fork(&t, owner, name);
    if (is_apart)
        CHECK_EQ(unsetenv(DM_ARENA_ENV), 0);
    check_writer(&t, name, n_arena, n_files);
    CHECK_EQ(kill(pid, SIGKILL), 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    dt_want_conn(t.conn_evd, DAT_CONNECTION_EVENT_BROKEN);
    want_none_there(&t, last_qual);
    dt_close(&t);
    CHECK_EQ(count_arena(), 0);
    close(t.pipe);
    close(arena_fd);
    return 0;
}

static long n_kib(void)
{
    struct stat st;

    CHECK_EQ(fstat(arena_fd, &st), 0);
    return (long)st.st_blocks / 2;
}

/* An instance whose endpoints could receive. */
static void open_and_close(const char *name)
{
    struct dt t = {.pipe = -1};
    struct dt_mem mem;
    DAT_LMR_TRIPLET seg;

    dt_open(&t, name);
    dt_alloc(&t, &mem, LEN, false);
    seg = dt_seg(&mem, 0, LEN);
    for (int i = 0; i < N_EPS; i++) {
        DAT_EP_HANDLE ep = dt_ep(&t);

        for (int k = 0; k < N_RECVS; k++)
            OK(dat_ep_post_recv(ep, 1, &seg, dt_cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
    }
    CHECK(n_kib() > USED_KIB);
    dt_close(&t);
    CHECK_EQ(munmap(mem.buf, LEN), 0);
}

/* When it is closed, but for what it has used of its header. */
static void check_given_back(const char *name)
{
    long before;

    make((size_t)1 << 30);
    open_and_close(name);
    before = n_kib();
    open_and_close(name);
    CHECK(n_kib() - before < USED_KIB / 2);
    close(arena_fd);
}

int main(int argc, char **argv)
{
    const char *name = dt_name(argc, argv);

    check_given_back(name);
    make((size_t)1 << 30);
    run(name, 1, 0); /* all of the arena, once */
    make((size_t)1 << 30);
    is_apart = true;
    run(name, 2, 1); /* the other's segment and its memory; the own one is a file */
    is_apart = false;
    make((sizeof(struct dm_arena_head) + LEN + 4095) / 4096 * 4096); /* no segment fits */
    return run(name, 1, 2);
}
