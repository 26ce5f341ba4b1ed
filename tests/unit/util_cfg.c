/* test: layers=util timeout=10 */
/* Settings: every type, wrong values, unknown names. */
#include "util/cfg.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "test.h"
#include "util/err.h"

static int load(const char *name, const char *value)
{
    int err;

    setenv(name, value, 1);
    err = dm_cfg_load(true);
    unsetenv(name);
    return err;
}

static void defaults(void)
{
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    CHECK_STR(dm_cfg()->provider, "");
    CHECK(!dm_cfg()->explain);
    CHECK_EQ(dm_cfg()->connect, DM_CONNECT_AUTO);
    CHECK_EQ(dm_cfg()->ring_slots, 64);
    CHECK_EQ(dm_cfg()->ring_slot_size, DM_CFG_AUTO_SIZE);
    CHECK_EQ(dm_cfg()->reg_cache_size, 256 << 20);
    CHECK(dm_cfg()->spin == DM_CFG_AUTO);
    CHECK_EQ(dm_cfg()->timeout, 30000000);
    /* A second load changes nothing. */
    CHECK_EQ(load("DATUM_RING_SLOTS", "8"), DM_OK);
    CHECK_EQ(dm_cfg()->ring_slots, 64);
    dm_cfg_unload();
    CHECK_EQ(load("DATUM_RING_SLOTS", ""), DM_OK);
    CHECK_EQ(dm_cfg()->ring_slots, 64);
    dm_cfg_unload();
}

/* Variables of MPICH that mean the same, unless ours says something. */
static void mpich_names(void)
{
    struct dm_cfg_row_info info;

    setenv("MPIR_CVAR_ASYNC_PROGRESS", "1", 1);
    setenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "-1", 1);
    setenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "binomial", 1);
    setenv("MPIR_CVAR_REDUCE_INTRA_ALGORITHM", "smp", 1);
    setenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "reduce_scatter_allgather", 1);
    CHECK_EQ(dm_cfg_load(true), DM_OK);
    CHECK_EQ(dm_cfg()->progress, DM_PROGRESS_THREAD);
    CHECK_EQ(dm_cfg()->eager_limit, DM_CFG_AUTO_SIZE);
    CHECK_STR(dm_cfg()->coll, "bcast=binomial,allreduce=halving");
    for (size_t i = 0; dm_cfg_row(i, &info); i++)
        if (strcmp(info.name, "DATUM_COLL") == 0)
            CHECK_STR(info.origin, "MPIR_CVAR_BCAST_INTRA_ALGORITHM");
    dm_cfg_unload();
    setenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "4096", 1);
    setenv("DATUM_PROGRESS", "poll", 1);
    CHECK_EQ(load("DATUM_COLL", ""), DM_OK);
    CHECK_EQ(dm_cfg()->progress, DM_PROGRESS_POLL);
    CHECK_EQ(dm_cfg()->eager_limit, 4096);
    CHECK_STR(dm_cfg()->coll, "");
    dm_cfg_unload();
    unsetenv("DATUM_PROGRESS");
    CHECK_EQ(load("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "4096x"), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE is '4096x'") != NULL);
    unsetenv("MPIR_CVAR_ASYNC_PROGRESS");
    unsetenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM");
    unsetenv("MPIR_CVAR_REDUCE_INTRA_ALGORITHM");
    unsetenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM");
}

#define GOOD(name, text, field, val)                                                               \
    do {                                                                                           \
        CHECK_EQ(load(name, text), DM_OK);                                                         \
        CHECK_EQ(dm_cfg()->field, val);                                                            \
        dm_cfg_unload();                                                                           \
    } while (0)

static void good_values(void)
{
    GOOD("DATUM_RING_SLOTS", "8", ring_slots, 8);
    GOOD("DATUM_RING_SLOTS", "4", ring_slots, 4);
    GOOD("DATUM_RING_SLOTS", "4096", ring_slots, 4096);
    GOOD("DATUM_RAILS", "4294967295", rails, 4294967295U);
    GOOD("DATUM_CHUNK", "1m", chunk, 1 << 20);
    GOOD("DATUM_EAGER_LIMIT", "0", eager_limit, 0);
    GOOD("DATUM_EAGER_LIMIT", "100B", eager_limit, 100);
    GOOD("DATUM_EAGER_LIMIT", "8K", eager_limit, 8192);
    GOOD("DATUM_EAGER_LIMIT", "3m", eager_limit, 3 << 20);
    GOOD("DATUM_EAGER_LIMIT", "5g", eager_limit, 5LL << 30);
    GOOD("DATUM_EAGER_LIMIT", "Auto", eager_limit, DM_CFG_AUTO_SIZE);
    GOOD("DATUM_SPIN", "0", spin, 0);
    GOOD("DATUM_SPIN", "00", spin, 0);
    GOOD("DATUM_TIMEOUT", "1us", timeout, 1);
    GOOD("DATUM_SPIN", "7us", spin, 7);
    GOOD("DATUM_SPIN", "7MS", spin, 7000);
    GOOD("DATUM_SPIN", "2s", spin, 2000000);
    GOOD("DATUM_SPIN", "Auto", spin, (long long)DM_CFG_AUTO);
    GOOD("DATUM_EXPLAIN", "1", explain, true);
    GOOD("DATUM_EXPLAIN", "TRUE", explain, true);
    GOOD("DATUM_REG_CACHE", "off", reg_cache, DM_REG_CACHE_NO);
    GOOD("DATUM_REG_CACHE", "1", reg_cache, DM_REG_CACHE_YES);
    GOOD("DATUM_REG_CACHE", "Exact", reg_cache, DM_REG_CACHE_EXACT);
    GOOD("DATUM_REG_CACHE", "dme", reg_cache, DM_REG_CACHE_DME);
    GOOD("DATUM_REG_CACHE", "interval", reg_cache, DM_REG_CACHE_INTERVAL);
    GOOD("DATUM_CONNECT", "start", connect, DM_CONNECT_START);
    GOOD("DATUM_CONNECT", "Demand", connect, DM_CONNECT_DEMAND);
    GOOD("DATUM_RNDV", "pipe", rndv, DM_RNDV_PIPE);
}

static void bad(const char *name, const char *text, const char *allowed)
{
    CHECK_EQ(load(name, text), DM_ECONFIG);
    CHECK(strstr(dm_err_detail(), name) != NULL);
    CHECK(strstr(dm_err_detail(), text) != NULL);
    CHECK(strstr(dm_err_detail(), allowed) != NULL);
    dm_cfg_unload();
}

static void bad_values(void)
{
    bad("DATUM_RING_SLOTS", "-1", "whole number");
    bad("DATUM_RING_SLOTS", "8k", "whole number");
    bad("DATUM_RING_SLOTS", "4294967296", "whole number");
    bad("DATUM_RING_SLOTS", " 1", "whole number");
    bad("DATUM_EAGER_LIMIT", "1x", "number of bytes");
    bad("DATUM_EAGER_LIMIT", "1kk", "number of bytes");
    bad("DATUM_EAGER_LIMIT", "k", "number of bytes");
    bad("DATUM_EAGER_LIMIT", "99999999999999999999", "number of bytes");
    bad("DATUM_EAGER_LIMIT", "18446744073709551615k", "number of bytes");
    bad("DATUM_RING_SLOTS", "3",
        "(from the environment), but must be a whole number from 4 to 4096");
    bad("DATUM_RING_SLOTS", "4097", "from 4 to 4096");
    bad("DATUM_RAILS", "x", "from 0 on");
    bad("DATUM_RING_SLOT_SIZE", "63", "from 64 to 1m");
    bad("DATUM_CHUNK", "1025k", "from 64 to 1m");
    bad("DATUM_TIMEOUT", "0", "a time from 1us on");
    bad("DATUM_TIMEOUT", "0s", "or auto");
    bad("DATUM_SPIN", "7", "a time without its unit; say 7us, 7ms or 7s");
    bad("DATUM_SPIN", "1h", "time");
    bad("DATUM_SPIN", "18446744073709551615", "time");
    bad("DATUM_EXPLAIN", "2", "yes or no");
    bad("DATUM_EXPLAIN", "y es", "yes or no");
    bad("DATUM_CONNECT", "sta", "auto|start|demand");
    bad("DATUM_CONNECT", "startx", "auto|start|demand");
    bad("DATUM_CONNECT", "|", "auto|start|demand");
    bad("DATUM_TRACE", "nothing", "there are");
}

static void rows_tell_the_origin(void)
{
    struct dm_cfg_row_info info;
    size_t n = 0;

    CHECK_EQ(load("DATUM_PROVIDER", "a,b"), DM_OK);
    CHECK_STR(dm_cfg()->provider, "a,b");
    for (; dm_cfg_row(n, &info); n++) {
        CHECK(strncmp(info.name, "DATUM_", 6) == 0);
        CHECK(info.help[0] != '\0');
        if (strcmp(info.name, "DATUM_PROVIDER") == 0) {
            CHECK_STR(info.value, "a,b");
            CHECK_STR(info.origin, "environment");
        } else {
            CHECK_STR(info.value, info.dflt);
            CHECK_STR(info.origin, "default");
        }
    }
    CHECK(n > 5);
    dm_cfg_unload();
}

/* Loads with stderr in a pipe; returns what was written there. */
static const char *warnings(bool quiet)
{
    static char text[4096];
    int real = fcntl(2, F_DUPFD_CLOEXEC, 10);
    int fds[2];
    ssize_t n;

    if (pipe(fds) != 0)
        abort();
    dup2(fds[1], 2);
    close(fds[1]);
    CHECK_EQ(dm_cfg_load(quiet), DM_OK);
    dup2(real, 2);
    close(real);
    n = read(fds[0], text, sizeof(text) - 1);
    close(fds[0]);
    text[n > 0 ? n : 0] = '\0';
    dm_cfg_unload();
    return text;
}

static void unknown_names(void)
{
    setenv("DATUM_HYDRA", "x", 1);
    CHECK_STR(warnings(false), "");
    setenv("DATUM_EAGERLIMIT", "1", 1);
    CHECK_STR(warnings(true), "");
    CHECK_STR(warnings(false), "datum: warning: the variable DATUM_EAGERLIMIT is no setting and is "
                               "ignored; did you mean DATUM_EAGER_LIMIT?\n");
    unsetenv("DATUM_EAGERLIMIT");
    setenv("DATUM_QQQQQQQQQQQQQQ", "1", 1);
    CHECK(strstr(warnings(false), "QQ is no setting and is ignored; datum-info") != NULL);
    unsetenv("DATUM_QQQQQQQQQQQQQQ");
    CHECK_STR(warnings(false), "");
    setenv("MPIR_CVAR_ASYNC_PROGRESS", "0", 1);
    setenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "-1", 1);
    setenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "nb", 1);
    CHECK_STR(warnings(false), "");
    setenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "bogus", 1);
    CHECK_STR(warnings(true), "");
    CHECK_STR(warnings(false),
              "datum: warning: MPIR_CVAR_BCAST_INTRA_ALGORITHM is 'bogus', which means nothing "
              "here, and is ignored; datum-info --settings lists what does\n");
    unsetenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM");
    setenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "x", 1);
    CHECK(strstr(warnings(false), "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE is 'x'") != NULL);
    unsetenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE");
    unsetenv("MPIR_CVAR_ASYNC_PROGRESS");
}

int main(void)
{
    unsetenv("DATUM_BUILD");
    defaults();
    mpich_names();
    good_values();
    bad_values();
    rows_tell_the_origin();
    unknown_names();
    return test_result();
}
