/* test: np=1,2,3 timeout=120 san=no */
/*
 * Parts of 5 GiB, of which only few pages are used: displacements, displacement units, types and
 * counts beyond 2^31 and 2^32, in windows made in every way. Where there is memory enough also
 * one transfer of more than 2^31 bytes in each direction; over TCP with TEST_FULL=yes.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "mp_test.h"

#define GIB  ((MPI_Aint)1 << 30)
#define PART (5 * GIB)
#define LONG (((MPI_Count)1 << 31) + 5) /* bytes of a long transfer */

enum { CREATE, ALLOCATE, SHARED, DYNAMIC, N_WAYS };

static const MPI_Aint places[] = {0,           2 * GIB - 8, 2 * GIB,        2 * GIB + 8,
                                  4 * GIB - 8, 4 * GIB,     4 * GIB + 4096, PART - 8};
#define N_PLACES ((int)(sizeof(places) / sizeof(places[0])))

static MPI_Win win;
static char *mem;
static MPI_Aint base;    /* displacement of the target's first byte */
static int unit, target; /* unit of the window */

/* Memory that takes no room until it is used. */
static char *sparse(MPI_Aint len)
{
    char *at = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        perror("mmap");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* The same for a buffer that will be used whole: a page fault for 2 MiB, not for 4 KiB. */
static char *sparse_whole(MPI_Aint len)
{
    char *at = sparse(len);

    (void)madvise(at, (size_t)len, MADV_HUGEPAGE);
    return at;
}

static MPI_Aint disp(MPI_Aint at)
{
    return base + at / unit;
}

static long word(const char *at)
{
    long x;

    memcpy(&x, at, sizeof(x));
    return x;
}

/* Others' writes are done and seen. */
static void all_done(void)
{
    MUST(MPI_Win_flush_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Win_sync(win));
}

static void single_words(void)
{
    long x, old, sum = 5, swap, got[N_PLACES], from = (mp_rank + mp_size - 1) % mp_size;

    for (int i = 0; i < N_PLACES; i++) {
        x = 1000 * (mp_rank + 1) + i;
        MUST(MPI_Put(&x, 1, MPI_LONG, target, disp(places[i]), 1, MPI_LONG, win));
        MUST(MPI_Win_flush(target, win));
        MUST(MPI_Accumulate(&sum, 1, MPI_LONG, target, disp(places[i]), 1, MPI_LONG, MPI_SUM, win));
        MUST(MPI_Fetch_and_op(&sum, &old, MPI_LONG, target, disp(places[i]), MPI_SUM, win));
        MUST(MPI_Win_flush(target, win));
        CHECK_EQ(old, x + 5);
        old += 5;
        swap = x + 100;
        MUST(MPI_Compare_and_swap(&swap, &old, &got[i], MPI_LONG, target, disp(places[i]), win));
        MUST(MPI_Win_flush(target, win));
        CHECK_EQ(got[i], x + 10);
        MUST(MPI_Get(&got[i], 1, MPI_LONG, target, disp(places[i]), 1, MPI_LONG, win));
        MUST(MPI_Win_flush(target, win));
        CHECK_EQ(got[i], x + 100);
    }
    all_done();
    for (int i = 0; i < N_PLACES; i++)
        CHECK_EQ(word(mem + places[i]), 1000 * (from + 1) + i + 100);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One call for all places, by a type that reaches over the part; then a stride of a GiB. */
static void wide_types(void)
{
    long data[N_PLACES], back[N_PLACES], from = (mp_rank + mp_size - 1) % mp_size;
    int ones[N_PLACES];
    MPI_Aint first = 4 * GIB;
    MPI_Aint from_first[N_PLACES];
    MPI_Datatype all, every_gib;

    for (int i = 0; i < N_PLACES; i++) {
        ones[i] = 1;
        data[i] = 7000 * (mp_rank + 1) + i;
        from_first[i] = places[i] - first; /* to both sides */
    }
    MUST(MPI_Type_create_hindexed(N_PLACES, ones, from_first, MPI_LONG, &all));
    MUST(MPI_Type_commit(&all));
    MUST(MPI_Put(data, N_PLACES, MPI_LONG, target, disp(first), 1, all, win));
    MUST(MPI_Win_flush(target, win));
    memset(back, 0, sizeof(back));
    MUST(MPI_Get(back, N_PLACES, MPI_LONG, target, disp(first), 1, all, win));
    MUST(MPI_Win_flush(target, win));
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    MUST(MPI_Get_accumulate(data, N_PLACES, MPI_LONG, back, N_PLACES, MPI_LONG, target, disp(first),
                            1, all, MPI_SUM, win));
    all_done();
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    for (int i = 0; i < N_PLACES; i++)
        CHECK_EQ(word(mem + places[i]), 2 * (7000 * (from + 1) + i));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Type_free(&all));
    MUST(MPI_Type_create_hvector(5, 1, GIB, MPI_LONG, &every_gib));
    MUST(MPI_Type_commit(&every_gib));
    MUST(MPI_Put(data, 5, MPI_LONG, target, disp(512), 1, every_gib, win));
    all_done();
    for (int i = 0; i < 5; i++)
        CHECK_EQ(word(mem + 512 + i * GIB), 7000 * (from + 1) + i);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Type_free(&every_gib));
}

/* Counts that no int holds, of types without data. */
static void large_counts(void)
{
    const MPI_Count n = ((MPI_Count)1 << 33) + 1;
    MPI_Datatype empty;
    MPI_Request req;
    long x = 77;

    MUST(MPI_Type_contiguous(0, MPI_INT, &empty));
    MUST(MPI_Type_commit(&empty));
    MUST(MPI_Put_c(&x, n, empty, target, disp(0), n, empty, win));
    MUST(MPI_Get_c(&x, n, empty, target, disp(0), n, empty, win));
    MUST(MPI_Accumulate_c(&x, n, empty, target, disp(0), n, empty, MPI_REPLACE, win));
    MUST(MPI_Rput_c(&x, n, empty, target, disp(0), n, empty, win, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Win_flush(target, win));
    CHECK_EQ(x, 77);
    MUST(MPI_Type_free(&empty));
}

/* The kernel copies gigabytes through sockets slowly. */
static int has_time(void)
{
    const char *provider = getenv("DATUM_PROVIDER");

    return getenv("TEST_FULL") != NULL || provider == NULL || strcmp(provider, "datum-tcp") != 0;
}

/* Rank 0's host has that much that nobody uses. */
static int has_memory(MPI_Aint len)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long kib = 0;
    int yes;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "MemAvailable: %ld", &kib) == 1)
            break;
    }
    if (f != NULL)
        fclose(f);
    yes = kib > len >> 10;
    MPI_Bcast(&yes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return yes;
}

/* From rank 0 to the last one and back. */
static void long_transfers(void)
{
    char *out, *in;
    int last = mp_size - 1;
    static const MPI_Aint marks[] = {0, GIB, 2 * GIB - 1, 2 * GIB, LONG - 1};

    if (mp_rank == 0) {
        out = sparse_whole(LONG + 8);
        for (int i = 0; i < 5; i++)
            out[marks[i]] = (char)(i + 1);
        out[LONG] = 99;
        MUST(MPI_Put_c(out, LONG, MPI_BYTE, last, disp(GIB + 8), LONG, MPI_BYTE, win));
        MUST(MPI_Win_flush(last, win));
        munmap(out, LONG + 8);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mp_rank == last) {
        MUST(MPI_Win_sync(win));
        for (int i = 0; i < 5; i++)
            CHECK_EQ(mem[GIB + 8 + marks[i]], i + 1);
        CHECK_EQ(mem[GIB + 8 + LONG], 0);
        CHECK_EQ(mem[GIB + 8 + 12345], 0);
    }
    if (mp_rank == 0) {
        in = sparse_whole(LONG + 8);
        MUST(MPI_Get_c(in, LONG, MPI_BYTE, last, disp(GIB + 8), LONG, MPI_BYTE, win));
        MUST(MPI_Win_flush(last, win));
        for (int i = 0; i < 5; i++)
            CHECK_EQ(in[marks[i]], i + 1);
        CHECK_EQ(in[LONG], 0);
        munmap(in, LONG + 8);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_window(int way, int with_unit)
{
    MPI_Aint here = 0;

    unit = way == DYNAMIC ? 1 : with_unit;
    if (way == CREATE || way == DYNAMIC)
        mem = sparse(PART);
    if (way == CREATE)
        MUST(MPI_Win_create(mem, PART, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else if (way == ALLOCATE)
        MUST(MPI_Win_allocate(PART, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    else if (way == SHARED)
        MUST(MPI_Win_allocate_shared(PART, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win));
    else {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        MUST(MPI_Win_attach(win, mem, PART));
        MPI_Get_address(mem, &here);
    }
    MPI_Sendrecv(&here, 1, MPI_AINT, (mp_rank + mp_size - 1) % mp_size, 0, &base, 1, MPI_AINT,
                 target, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MUST(MPI_Win_lock_all(0, win));
    single_words();
    wide_types();
    large_counts();
    if (way == ALLOCATE && with_unit == 1 && mp_size == 2 && has_time() && has_memory(10 * GIB))
        long_transfers();
    MUST(MPI_Win_unlock_all(win));
    if (way == DYNAMIC)
        MUST(MPI_Win_detach(win, mem));
    MUST(MPI_Win_free(&win));
    if (way == CREATE || way == DYNAMIC)
        munmap(mem, PART);
}

int main(int argc, char **argv)
{
    MPI_Comm host;
    int n_host;

    mp_start(&argc, &argv);
    target = (mp_rank + 1) % mp_size;
    /* Adapters that pin memory need room for all that is registered. */
    if (!has_memory(PART + GIB)) {
        if (mp_rank == 0)
            printf("0 passed, 0 failed, 1 skipped\n");
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n_host);
    MPI_Comm_free(&host);
    MPI_Allreduce(MPI_IN_PLACE, &n_host, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    for (int way = 0; way < N_WAYS && mp_failures == 0; way++) {
        if (way == SHARED && n_host < mp_size)
            continue;
        one_window(way, 1);
        one_window(way, 8);
    }
    return mp_finish();
}
