/* test: np=2,3 cfg=RNDV=write,EAGER_LIMIT=4k,FIN=chained|completion,EAGER=rdma|sendrecv timeout=60 */
/*
 * The FIN of a rendezvous by RDMA write never comes before its data, whenever it is posted: more large messages at
 * once than there are receives for FINs behind writes, from everybody to everybody, looked at as soon as they are there.
 */
#include "counter.h"
#include "mp_test.h"

enum { COUNT = 48, ROUNDS = 4, STEP = 3001, MOST = 40000 };

static size_t len_of(int i)
{
    return (size_t)(MOST - (i * STEP) % 20000);
}

static void fill(unsigned char *buf, size_t len, int from, int to, int i)
{
    for (size_t k = 0; k < len; k++)
        buf[k] = (unsigned char)(from * 91 + to * 37 + i * 13 + (int)(k % 241));
}

static int is_filled(const unsigned char *buf, size_t len, int from, int to, int i)
{
    for (size_t k = 0; k < len; k++) {
        if (buf[k] != (unsigned char)(from * 91 + to * 37 + i * 13 + (int)(k % 241)))
            return 0;
    }
    return 1;
}

/* COUNT messages to each peer; receives complete in any order. */
static void all_to_all(unsigned char *in, unsigned char *out, int round)
{
    int n = mp_size * COUNT;
    MPI_Request *reqs = malloc((size_t)(2 * n) * sizeof(*reqs));

    memset(in, 0, (size_t)n * MOST);
    for (int k = 0; k < n; k++) {
        int peer = k / COUNT, i = k % COUNT + round;
        size_t len = len_of(i);

        fill(out + (size_t)k * MOST, len, mp_rank, peer, i);
        MUST(MPI_Irecv(in + (size_t)k * MOST, (int)len, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                       &reqs[k]));
        MUST(MPI_Isend(out + (size_t)k * MOST, (int)len, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                       &reqs[n + k]));
    }
    for (int done = 0; done < n; done++) {
        int k, i;

        MUST(MPI_Waitany(n, reqs, &k, MPI_STATUS_IGNORE));
        i = k % COUNT + round;
        CHECK(is_filled(in + (size_t)k * MOST, len_of(i), k / COUNT, mp_rank, i));
        memset(in + (size_t)k * MOST, 0, len_of(i)); /* a write that is late would show below */
    }
    MUST(MPI_Waitall(n, reqs + n, MPI_STATUSES_IGNORE));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (size_t k = 0; k < (size_t)n * MOST; k++) {
        if (in[k] != 0) {
            CHECK(!"a byte that comes after the end of its message");
            break;
        }
    }
    free(reqs);
}

int main(int argc, char **argv)
{
    const char *fin = getenv("DATUM_FIN");
    unsigned char *in, *out;
    int provided;
    long n_chained;

    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    mp_start(&argc, &argv);
    in = malloc((size_t)mp_size * COUNT * MOST);
    out = malloc((size_t)mp_size * COUNT * MOST);
    for (int round = 0; round < ROUNDS; round++)
        all_to_all(in, out, round);
    n_chained = counter("rendezvous packets: FIN, chained");
    if (n_chained >= 0) {
        CHECK_EQ(n_chained > 0, fin != NULL && strcmp(fin, "chained") == 0);
        CHECK(n_chained <= counter("rendezvous packets: FIN"));
    }
    free(in);
    free(out);
    MUST(MPI_T_finalize());
    return mp_finish();
}
