/* test: kind=dat prov=datum-shm san=no timeout=60 params=copy=auto */
/*
 * Processes that die in the middle of a handshake through inboxes, played by the test: one while it writes
 * a letter, whose slot is free again; two that say they have the same id, of whose end one message
 * tells. Who has asked them hears of each.
 */
#include "dat_fake.h"

enum { SLOT = 100 };
#define FAKE_ID UINT64_C(0x4721000000000002)

static const char *name;

/* It takes the request, begins to write into another slot, and ends. */
static void die_writing(int pipe)
{
    struct dm_shm_letter request;
    struct fake_seg seg;
    struct fake fake;

    fake_open(&fake, FAKE_ID);
    CHECK_EQ(write(pipe, &fake.qual, sizeof(fake.qual)), sizeof(fake.qual));
    request = fake_read(&fake);
    seg = fake_map(&request);
    atomic_store(&seg.hdr->inbox.from[SLOT], FAKE_ID | DM_SHM_FILLING);
    CHECK_EQ(write(pipe, &request, sizeof(request)), sizeof(request));
    _exit(0);
}

/* It takes the request. When told, nobody finds it any more, though it lives. */
static void vanish(int pipe)
{
    struct fake fake;
    char c;

    fake_open(&fake, FAKE_ID);
    CHECK_EQ(write(pipe, &fake.qual, sizeof(fake.qual)), sizeof(fake.qual));
    (void)fake_read(&fake);
    CHECK_EQ(write(pipe, "r", 1), 1);
    CHECK_EQ(read(pipe, &c, 1), 1);
    close(fake.door);
    CHECK_EQ(write(pipe, "c", 1), 1);
    CHECK_EQ(read(pipe, &c, 1), 1); /* it may end */
    _exit(0);
}

static pid_t start(void (*run)(int pipe), int *pipe_p)
{
    int sv[2];
    pid_t pid;

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(sv[0]);
        run(sv[1]);
    }
    close(sv[1]);
    *pipe_p = sv[0];
    return pid;
}

static void reap(pid_t pid)
{
    int status;

    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void in_the_middle(void)
{
    struct dt t = {.pipe = -1};
    struct dm_shm_letter request;
    struct fake_seg seg;
    DAT_CONN_QUAL qual;
    pid_t pid = start(die_writing, &t.pipe);

    dt_hear(&t, &qual, sizeof(qual));
    dt_open(&t, name);
    fake_ask(&t, t.ep, qual);
    dt_hear(&t, &request, sizeof(request));
    seg = fake_map(&request);
    dt_want_conn(t.conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    reap(pid);
    fake_want_taken(&seg, 0);
    fake_unmap(&seg);
    dt_close(&t);
    close(t.pipe);
}

static void of_one_id(void)
{
    const struct dm_shm_ctrl death = {.type = DM_CTRL_DEATH, .id = FAKE_ID};
    struct dt t[2] = {{.pipe = -1}, {.pipe = -1}};
    struct fake own;
    DAT_CONN_QUAL qual;
    struct dm_shm_letter request;
    pid_t pid[2];
    char c;

    for (int i = 0; i < 2; i++)
        pid[i] = start(vanish, &t[i].pipe);
    dt_open(&t[0], name);
    fake_open(&own, FAKE_ID ^ 4);
    fake_ask(&t[0], dt_ep(&t[0]), own.qual); /* by this we learn who asks */
    request = fake_read(&own);
    for (int i = 0; i < 2; i++) {
        dt_hear(&t[i], &qual, sizeof(qual));
        fake_ask(&t[0], dt_ep(&t[0]), qual);
        dt_hear(&t[i], &c, 1);
    }
    for (int i = 0; i < 2; i++)
        dt_meet(&t[i]);
    fake_ring(&own, request.msg.id, &death);
    for (int i = 0; i < 2; i++)
        dt_want_conn(t[0].conn_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
    for (int i = 0; i < 2; i++) {
        dt_tell(&t[i], "e", 1);
        reap(pid[i]);
        close(t[i].pipe);
    }
    dt_close(&t[0]);
    fake_close(&own);
}

int main(int argc, char **argv)
{
    name = dt_name(argc, argv);
    in_the_middle();
    of_one_id();
    return 0;
}
