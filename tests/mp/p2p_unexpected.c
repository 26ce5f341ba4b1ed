/* test: np=2,16 cfg=UNEXPECTED=0|64k,RNDV=auto|zerocopy timeout=120 */
/*
 * Nobody receives what everybody sends to rank 0: it keeps no more than it is allowed to, what else there is to
 * do gets done meanwhile, and everything comes in order afterwards, but for what was cancelled.
 */
#include "p2p.h"

enum {
    N = 1000,
    LEN = 1024,
    N_TAGS = 7,
    TAG_DONE = 100,
    TAG_READY,
    TAG_BUFFERED,
    TAG_GO,
    N_MORE = 50
};
enum { RING = 64, OFTEN = 64 }; /* messages under way when the sender hears of it */

static long long setting; /* DATUM_UNEXPECTED; -1: another library */
static MPI_Request reqs[N];
static int sent[N][LEN / sizeof(int)];
static char gone[N];

static int len_of(int i)
{
    return (int)sizeof(int) + i * 13 % (LEN - (int)sizeof(int));
}

/* ---- what the library says ---- */

static long long counter(const char *name)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle h;
    unsigned long long value = 0;
    int i, count;

    CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &i), MPI_SUCCESS);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, i, NULL, &h, &count);
    MPI_T_pvar_read(session, h, &value);
    MPI_T_pvar_handle_free(session, &h);
    MPI_T_pvar_session_free(&session);
    return (long long)value;
}

static long long limit(void)
{
    MPI_T_cvar_handle h;
    char text[64] = "";
    int i, count;

    if (MPI_T_cvar_get_index("DATUM_UNEXPECTED", &i) != MPI_SUCCESS)
        return -1;
    MPI_T_cvar_handle_alloc(i, NULL, &h, &count);
    MPI_T_cvar_read(h, text);
    MPI_T_cvar_handle_free(&h);
    return atoll(text) * (strchr(text, 'k') != NULL ? 1024 : 1);
}

/* ---- the flood ---- */

/* Everything is on its way, some of it taken back. */
static void flood(void)
{
    int n_gone = 0;

    for (int i = 0; i < N; i++) {
        sent[i][0] = i;
        MPI_Isend(sent[i], len_of(i), MPI_BYTE, 0, i % N_TAGS, MPI_COMM_WORLD, &reqs[i]);
    }
    for (int i = 5; i < N; i += 50) {
        MPI_Status st;
        int flag;

        MPI_Cancel(&reqs[i]);
        MPI_Wait(&reqs[i], &st);
        MPI_Test_cancelled(&st, &flag);
        gone[i] = (char)flag;
        n_gone += flag;
    }
    CHECK(setting < 0 || n_gone == N / 50);
    MPI_Send(gone, N, MPI_CHAR, 0, TAG_DONE, MPI_COMM_WORLD);
}

static void others_work(void)
{
    int one = 1, sum;
    int *all = malloc(sizeof(*all) * (size_t)np);
    MPI_Comm dup;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, np);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, dup);
    for (int i = 0; i < np; i++)
        CHECK_EQ(all[i], i);
    MPI_Comm_free(&dup);
    free(all);
}

/* Sends that may not wait for the receives of the flood. */
static void send_more(void)
{
    for (int i = 0; i < N_MORE; i++)
        MPI_Bsend(&i, 1, MPI_INT, 0, TAG_BUFFERED, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 0, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(&me, 1, MPI_INT, 0, TAG_READY, MPI_COMM_WORLD);
}

static void take_ready(void)
{
    for (int i = 1; i < np; i++) {
        MPI_Request req;
        int value;

        MPI_Irecv(&value, 1, MPI_INT, i, TAG_READY, MPI_COMM_WORLD, &req);
        MPI_Send(NULL, 0, MPI_INT, i, TAG_GO, MPI_COMM_WORLD);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK_EQ(value, i);
    }
}

/* ---- after the flood ---- */

/* Message number i of its sender, as st says it is. */
static void check(const int *buf, const MPI_Status *st, int after)
{
    CHECK(buf[0] > after);
    CHECK_EQ(buf[0] % N_TAGS, st->MPI_TAG);
    CHECK_EQ(count_of(st), len_of(buf[0]));
}

/* One tag by name and by matched probes, then the others by wildcards; left: how many of each sender. */
static void drain(const char (*lost)[N])
{
    int *last = malloc(sizeof(*last) * (size_t)np), buf[LEN / sizeof(int)], left = 0;
    MPI_Status st;

    for (int src = 1; src < np; src++) {
        last[src] = -1;
        for (int i = 3; i < N; i += N_TAGS) {
            MPI_Message msg;

            if (lost[src][i])
                continue;
            if (i % 2 == 0) {
                MPI_Recv(buf, LEN, MPI_BYTE, src, 3, MPI_COMM_WORLD, &st);
            } else {
                MPI_Mprobe(src, 3, MPI_COMM_WORLD, &msg, &st);
                CHECK_EQ(count_of(&st), len_of(i));
                MPI_Mrecv(buf, LEN, MPI_BYTE, &msg, &st);
            }
            check(buf, &st, i - 1);
            CHECK_EQ(buf[0], i);
        }
        for (int i = 0; i < N; i++)
            left += i % N_TAGS != 3 && !lost[src][i];
        for (int i = 0; i < N_MORE; i++) {
            MPI_Recv(buf, 1, MPI_INT, src, TAG_BUFFERED, MPI_COMM_WORLD, &st);
            CHECK_EQ(buf[0], i);
        }
    }
    for (; left > 0; left--) {
        MPI_Recv(buf, LEN, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        check(buf, &st, last[st.MPI_SOURCE]);
        CHECK(!lost[st.MPI_SOURCE][buf[0]]);
        last[st.MPI_SOURCE] = buf[0];
    }
    free(last);
}

/* It may be kept again: short messages go without a receive. */
static void over(void)
{
    int value = 4711;

    if (me == 0) {
        for (int i = 1; i < np; i++)
            MPI_Send(NULL, 0, MPI_INT, i, TAG_GO, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, TAG_GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (setting > 0)
            MPI_Send(&value, 1, MPI_INT, 0, TAG_DONE, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < np && me == 0 && setting > 0; i++)
        MPI_Recv(&value, 1, MPI_INT, i, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receiver(void)
{
    char(*lost)[N] = malloc(sizeof(*lost) * (size_t)np);

    for (int i = 1; i < np; i++)
        MPI_Recv(lost[i], N, MPI_CHAR, i, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    take_ready();
    others_work();
    if (setting >= 0) {
        long long most = counter("unexpected messages: most held");

        CHECK(most <= setting + (np - 1) * (RING + 2LL * OFTEN) * (LEN + 512));
        CHECK(setting == 0 || most > setting / 2);
    }
    drain(lost);
    free(lost);
}

int main(int argc, char **argv)
{
    static char attached[N_MORE * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    void *buf;
    int provided, len;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    begin(&argc, &argv);
    setting = limit();
    if (me == 0) {
        receiver();
    } else {
        MPI_Buffer_attach(attached, sizeof(attached));
        flood();
        send_more();
        others_work();
        for (int i = 0; i < N; i++)
            MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
        MPI_Buffer_detach(&buf, &len);
    }
    over();
    MPI_T_finalize();
    return end();
}
