/* test: np=1,3 timeout=60 */
/*
 * Hints with values that make sense or none, at random: they are followed or left out, as
 * docs/FILES.md says, and transfers work with whatever is in force.
 *
 *     IO_HINTS_SEED=7 mpiexec -n 3 tests/mp/io_hints
 */
#include <time.h>

#include "io_test.h"

#define NAME   "hints.dat"
#define ROUNDS 60
#define BLOCK  40
#define BLOCKS 500
#define LEN    (BLOCK * BLOCKS)

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static const struct key {
    const char *name;
    long long least,
        most; /* of a number; most 0: one of three words; -1: true or false; -3: "*:N" */
} keys[] = {
    {"cb_buffer_size", 4096, 1ll << 31},
    {"cb_nodes", 1, 1ll << 31},
    {"ind_rd_buffer_size", 4096, 1ll << 31},
    {"ind_wr_buffer_size", 4096, 1ll << 31},
    {"striping_unit", 1, 1ll << 40},
    {"striping_factor", 1, 1ll << 31},
    {"cb_gather", 0, 0},
    {"romio_cb_read", 0, 0},
    {"romio_cb_write", 0, 0},
    {"romio_ds_read", 0, 0},
    {"romio_ds_write", 0, 0},
    {"romio_no_indep_rw", 0, -1},
    {"romio_filesystem_type", 0, -2},
    {"filename", 0, -2},
    {"cb_config_list", 0, -3},
    {"access_style", 0, -2},
    {"no_such_hint", 0, -2},
};
#define N_KEYS ((int)(sizeof(keys) / sizeof(keys[0])))

static void value_make(char value[MPI_MAX_INFO_VAL])
{
    static const char *const odd[] = {" ",
                                      "-1",
                                      "0",
                                      "18446744073709551616",
                                      "-9223372036854775809",
                                      "1e9",
                                      "enable ",
                                      " disable",
                                      "ENABLE",
                                      "4096x",
                                      "0x1000",
                                      "nan",
                                      "%s%n%s",
                                      "../../etc/passwd",
                                      "4096,4096",
                                      "4 096",
                                      "",
                                      "+4096",
                                      "true",
                                      "*:1",
                                      "*:2",
                                      "*:*",
                                      "*:0",
                                      "host:1"};
    static const char *const good[] = {"enable", "disable", "automatic", "true", "false",
                                       "4096",   "65536",   "1000001",   "1",    "2147483648"};
    int kind = (int)rnd(4), len;

    if (kind == 0) {
        snprintf(value, MPI_MAX_INFO_VAL, "%s", odd[rnd(sizeof(odd) / sizeof(odd[0]))]);
    } else if (kind == 1) {
        len = 1 + (int)rnd(rnd(2) ? MPI_MAX_INFO_VAL - 1 : 12);
        for (int i = 0; i < len; i++)
            value[i] = (char)(1 + rnd(255));
        value[len] = '\0';
    } else if (kind == 2) {
        snprintf(value, MPI_MAX_INFO_VAL, "%llu", 1ull << rnd(24) | rnd(5000));
    } else {
        snprintf(value, MPI_MAX_INFO_VAL, "%s", good[rnd(sizeof(good) / sizeof(good[0]))]);
    }
}

static int on_host[64]; /* ranks of each host */

static void hosts_count(void)
{
    MPI_Comm host;
    int rank, size, mine, sizes[64];

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Comm_free(&host);
    mine = rank == 0 ? size : 0;
    MPI_Allgather(&mine, 1, MPI_INT, sizes, 1, MPI_INT, MPI_COMM_WORLD);
    memcpy(on_host, sizes, (size_t)mp_size * sizeof(int));
}

/* How many processes may aggregate where "*:N" of each host may. */
static int processes_listed(const char *value)
{
    long long each = atoll(value + 2);
    int listed = 0;

    CHECK(strncmp(value, "*:", 2) == 0 && each >= 1);
    for (int r = 0; r < mp_size; r++)
        listed += on_host[r] < each ? on_host[r] : (int)each;
    return listed;
}

/* What is in force is a value that the page allows. */
static void check_info(MPI_File fh)
{
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int flag, listed = mp_size;

    MUST(MPI_File_get_info(fh, &info));
    for (int i = 0; i < N_KEYS; i++) {
        const struct key *k = &keys[i];

        MUST(MPI_Info_get(info, k->name, MPI_MAX_INFO_VAL, value, &flag));
        if (!flag || k->most == -2)
            continue;
        if (k->most == -3)
            listed = processes_listed(value);
        else if (k->most > 0)
            CHECK(atoll(value) >= k->least && atoll(value) <= k->most);
        else if (k->most == 0)
            CHECK(!strcmp(value, "enable") || !strcmp(value, "disable") ||
                  !strcmp(value, "automatic"));
        else
            CHECK(!strcmp(value, "true") || !strcmp(value, "false"));
    }
    MPI_Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && atoi(value) >= 1 && atoi(value) <= listed);
    MPI_Info_get(info, "filename", MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, NAME) == 0);
    MUST(MPI_Info_free(&info));
}

static MPI_Info info_make(void)
{
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;

    MPI_Info_create(&info);
    for (int n = (int)rnd(N_KEYS); n > 0; n--) {
        value_make(value);
        /* an empty value is an error of its own, and changes nothing */
        (void)MPI_Info_set(info, keys[rnd(N_KEYS)].name, value);
    }
    return info;
}

static void transfer(MPI_File fh, int round)
{
    static unsigned char data[LEN], back[LEN];
    MPI_Request req;
    MPI_Status status;

    for (int i = 0; i < LEN; i++)
        data[i] = (unsigned char)(i * 3 + mp_rank * 7 + round);
    MUST(MPI_File_write_at_all(fh, 0, data, LEN, MPI_BYTE, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), LEN);
    memset(back, 0, LEN);
    MUST(MPI_File_iread_at_all(fh, 0, back, LEN, MPI_BYTE, &req));
    MUST(MPI_Wait(&req, &status));
    CHECK_EQ(io_count(&status, MPI_BYTE), LEN);
    CHECK_EQ(memcmp(data, back, LEN), 0);
    memset(back, 0, LEN);
    MUST(MPI_File_read_at(fh, 0, back, LEN, MPI_BYTE, &status));
    CHECK_EQ(memcmp(data, back, LEN), 0);
}

static void one_round(MPI_Datatype part, int round)
{
    MPI_Info info = info_make();
    MPI_File fh;

    if (mp_rank == 0)
        unlink(NAME);
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_File_open(MPI_COMM_WORLD, NAME,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    MUST(MPI_Info_free(&info));
    check_info(fh);
    info = info_make();
    MUST(MPI_File_set_view(fh, (MPI_Offset)BLOCK * mp_rank, MPI_BYTE, part, "native", info));
    MUST(MPI_Info_free(&info));
    check_info(fh);
    transfer(fh, round);
    info = info_make();
    MUST(MPI_File_set_info(fh, info));
    MUST(MPI_Info_free(&info));
    check_info(fh);
    transfer(fh, round + 1);
    MUST(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    MPI_Datatype block, part;
    uint32_t seed;
    int before;

    mp_start(&argc, &argv);
    seed = getenv("IO_HINTS_SEED") ? (uint32_t)atol(getenv("IO_HINTS_SEED")) : (uint32_t)time(NULL);
    MPI_Bcast(&seed, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    /* each rank has hints of its own; those of rank 0 count */
    state = seed * 1000003u + (uint32_t)mp_rank;
    hosts_count();
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)BLOCK * mp_size, &part);
    MPI_Type_commit(&part);
    for (int i = 0; i < ROUNDS; i++) {
        before = mp_failures;
        one_round(part, i);
        if (mp_failures > before)
            fprintf(stderr, "IO_HINTS_SEED=%u, round %d\n", seed, i);
    }
    MPI_Type_free(&part);
    MPI_Type_free(&block);
    return mp_finish();
}
