/* test: np=16 timeout=90 */
/*
 * Fifteen processes send to one that looks elsewhere. Short messages cost it their data and a little more,
 * long ones stay with the senders (it prints what it took). Then it receives, the last
 * sender's last message first: all are there.
 */
#include <unistd.h>

#include "mp_test.h"

enum { MAX_LEN = 1 << 20 };

static int buf[MAX_LEN / sizeof(int)], want[MAX_LEN / sizeof(int)];

/* The thread sanitizer keeps several bytes for each that is used. */
#ifdef __SANITIZE_THREAD__
#define BESIDE 6
#else
#define BESIDE 1
#endif

/* KiB of the process that are its own, 0 when the system does not say. */
static long pss(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "Pss:", 4) == 0)
            kib = atol(line + 4);
    if (f != NULL)
        fclose(f);
    return kib;
}

static void fill(int *at, int len, int from, int i)
{
    for (int k = 0; k < len / (int)sizeof(int); k++)
        at[k] = from * 1000000 + i * 300 + k;
}

static void look_elsewhere(void)
{
    double end = MPI_Wtime() + 0.5;
    int flag;

    while (MPI_Wtime() < end) {
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        usleep(100);
    }
}

static void receive_all(int n, int len)
{
    MPI_Status st;
    int count;

    for (int i = n - 1; i >= 0; i--) {
        for (int from = mp_size - 1; from > 0; from--) {
            memset(buf, 0, (size_t)len);
            MUST(MPI_Recv(buf, len, MPI_BYTE, i % 2 ? from : MPI_ANY_SOURCE, from * n + i,
                          MPI_COMM_WORLD, &st));
            MUST(MPI_Get_count(&st, MPI_BYTE, &count));
            CHECK(st.MPI_SOURCE == from && count == len);
            fill(want, len, from, i);
            CHECK(memcmp(buf, want, (size_t)len) == 0);
        }
    }
}

static void send_all(int n, int len)
{
    MPI_Request *reqs = malloc(sizeof(MPI_Request) * (size_t)n);
    char *all = malloc((size_t)n * (size_t)len);

    for (int i = 0; i < n; i++) {
        char *at = all + (size_t)i * (size_t)len;

        fill(buf, len, mp_rank, i);
        memcpy(at, buf, (size_t)len);
        MUST(MPI_Isend(at, len, MPI_BYTE, 0, mp_rank * n + i, MPI_COMM_WORLD, &reqs[i]));
    }
    MUST(MPI_Waitall(n, reqs, MPI_STATUSES_IGNORE));
    free(all);
    free(reqs);
}

/* n messages of len bytes from each; the receiver may take max_mib more while it does not receive. */
static void storm(int n, int len, long max_mib)
{
    long before = pss();

    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == 0) {
        look_elsewhere();
        printf("%d messages of %d bytes: PSS %ld KiB before, %ld KiB unexpected\n",
               n * (mp_size - 1), len, before, pss());
        CHECK(pss() - before < max_mib * 1024 * BESIDE);
        receive_all(n, len);
    } else {
        send_all(n, len);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    storm(600, 1024, 32);
    storm(1000, 8, 24);
    storm(8, MAX_LEN, 24);
    return mp_finish();
}
