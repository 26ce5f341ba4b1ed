/*
 * DATUM_STATS: what a job cost, least, mean and most over its processes, printed by
 * rank 0 in MPI_Finalize. Taken before the numbers are gathered, which itself sends messages.
 */
#include "api/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "mpi/coll/coll.h"
#include "mpi/pt2pt/pt2pt.h"
#include "onesided/onesided.h"
#include "util/clock.h"
#include "util/log.h"

#define FILE_LEN 4096

static struct {
    uint64_t start_ns;
    uint64_t init_us;
    uint64_t init_msgs;
    uint64_t init_bytes;
    uint64_t init_calls;
    uint64_t init_switches;
    uint64_t init_cpu_us;
} at_init;

/* The number behind a word in one of the kernel's files; 0 when it is not there. */
static uint64_t stats_number_in(const char *path, const char *word)
{
    char buf[FILE_LEN];
    const char *line;
    ssize_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    len = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    buf[len > 0 ? len : 0] = '\0';
    line = strstr(buf, word);
    return line != NULL ? strtoull(line + strlen(word), NULL, 10) : 0;
}

/* The kernel counts only calls that read or write. */
static uint64_t stats_io_calls(void)
{
    return stats_number_in("/proc/self/io", "syscr:") + stats_number_in("/proc/self/io", "syscw:");
}

void dm_stats_begin(void)
{
    at_init.start_ns = dm_clock_ns();
}

void dm_stats_started(const struct dm_pmi *pmi)
{
    struct dm_pmi_stats launcher;
    struct rusage use;

    at_init.init_us = (dm_clock_ns() - at_init.start_ns) / 1000;
    dm_pmi_stats(pmi, &launcher);
    at_init.init_msgs = launcher.n_msgs;
    at_init.init_bytes = launcher.n_bytes;
    at_init.init_calls = stats_io_calls();
    if (getrusage(RUSAGE_SELF, &use) == 0) {
        at_init.init_switches = (uint64_t)(use.ru_nvcsw + use.ru_nivcsw);
        at_init.init_cpu_us = (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
                              (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    }
}

#define PROGRESS_THREAD_STATS 6

/* DATUM_PROGRESS=thread and threads2; all 0 without. */
static int progress_thread_stats(struct dm_adapt_stat *stats)
{
    static const char *const head[DM_SIDES] = {"progress thread: times woken",
                                               "second progress thread: times woken"};
    struct dm_chan_progress_thread_counts counts = {0, 0, 0};
    int n = 0;

    for (int side = 0; side < DM_SIDES; side++) {
        if (dm_world.chan != NULL)
            counts = dm_chan_progress_thread_stats(dm_world.chan, (enum dm_side)side);
        stats[n++] = (struct dm_adapt_stat){head[side], "", counts.n_wakes};
        stats[n++] = (struct dm_adapt_stat){"  passes", "", counts.n_passes};
        stats[n++] = (struct dm_adapt_stat){"  that found something", "", counts.n_useful};
    }
    return n;
}

int dm_stats_collect(struct dm_adapt *adapt, struct dm_adapt_stat *stats)
{
    int n = 0;

    stats[n++] = (struct dm_adapt_stat){"MPI_Init", "us", at_init.init_us};
    stats[n++] = (struct dm_adapt_stat){"  processor time until then", "us", at_init.init_cpu_us};
    stats[n++] = (struct dm_adapt_stat){"  context switches", "", at_init.init_switches};
    stats[n++] = (struct dm_adapt_stat){"  calls that read or write", "", at_init.init_calls};
    stats[n++] = (struct dm_adapt_stat){"  messages to the launcher", "", at_init.init_msgs};
    stats[n++] = (struct dm_adapt_stat){"  their bytes", "bytes", at_init.init_bytes};
    stats[n++] = (struct dm_adapt_stat){"memory of the process (PSS)", "bytes",
                                        stats_number_in("/proc/self/smaps_rollup", "Pss:") * 1024};
    n += dm_adapt_stats(adapt, stats + n, DM_STATS_MAX - PROGRESS_THREAD_STATS - n);
    n += dm_p2p_stats(stats + n, DM_STATS_MAX - PROGRESS_THREAD_STATS - n);
    n += dm_p2p_flow_stats(stats + n, DM_STATS_MAX - PROGRESS_THREAD_STATS - n);
    n += dm_onesided_stats(stats + n, DM_STATS_MAX - PROGRESS_THREAD_STATS - n);
    n += dm_io_stats(stats + n, DM_STATS_MAX - PROGRESS_THREAD_STATS - n);
    return n + progress_thread_stats(stats + n);
}

static int stats_reduce(const uint64_t *mine, uint64_t *all, int n, MPI_Op op)
{
    return dm_reduce(mine, all, (size_t)n, dm_type_get(MPI_UINT64_T), dm_op_get(op), 0,
                     dm_world.comm_world);
}

/* Is there nothing to tell of row i, nor of those below that belong to it? */
static bool stats_is_empty(const struct dm_adapt_stat *stats, const uint64_t *most, int n, int i)
{
    bool is_head = stats[i].name[0] != ' ';

    if (most[i] != 0)
        return false;
    for (i++; is_head && i < n && stats[i].name[0] == ' '; i++) {
        if (most[i] != 0)
            return false;
    }
    return true;
}

static uint64_t stats_sum_of(const char *name, const struct dm_adapt_stat *stats,
                             const uint64_t *sum, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(stats[i].name, name) == 0)
            return sum[i];
    }
    return 0;
}

/* What a message cost, all of the job taken together: the designs differ in it (docs/TUNING.md). */
static void stats_print_per_message(const struct dm_adapt_stat *stats, const uint64_t *sum, int n)
{
    static const char *const names[] = {
        "  RDMA writes",       "  RDMA reads",       "  sends",           "copies into rings",
        "copies out of rings", "rendezvous packets", "registrations made"};
    uint64_t n_msgs = stats_sum_of("messages sent", stats, sum, n);

    if (n_msgs == 0)
        return;
    dm_log_info("for each of %llu messages, whatever else there was:", (unsigned long long)n_msgs);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        dm_log_info("  %-30s %14.2f", names[i] + strspn(names[i], " "),
                    (double)stats_sum_of(names[i], stats, sum, n) / (double)n_msgs);
}

int dm_stats_print(struct dm_adapt *adapt)
{
    struct dm_adapt_stat stats[DM_STATS_MAX];
    uint64_t mine[DM_STATS_MAX];
    uint64_t least[DM_STATS_MAX];
    uint64_t most[DM_STATS_MAX];
    uint64_t sum[DM_STATS_MAX];
    int n = dm_stats_collect(adapt, stats);
    int err;

    for (int i = 0; i < n; i++)
        mine[i] = least[i] = most[i] = sum[i] = stats[i].value;
    /* What follows makes connections: all have counted theirs before. */
    err = dm_barrier(dm_world.comm_world);
    if (err == DM_OK)
        err = stats_reduce(mine, least, n, MPI_MIN);
    if (err == DM_OK)
        err = stats_reduce(mine, most, n, MPI_MAX);
    if (err == DM_OK)
        err = stats_reduce(mine, sum, n, MPI_SUM);
    if (err != DM_OK || dm_world.rank != 0)
        return err;
    dm_log_info("%-32s %14s %14s %14s  (%d processes)", "statistics", "least", "mean", "most",
                dm_world.size);
    for (int i = 0; i < DM_RAILS_MAX && dm_adapt_rail_name(adapt, i)[0] != '\0'; i++)
        dm_log_info("rail %d of rank 0: %s", i, dm_adapt_rail_name(adapt, i));
    for (int i = 0; i < n; i++) {
        if (stats_is_empty(stats, most, n, i))
            continue;
        dm_log_info("%-32s %14llu %14.1f %14llu %s", stats[i].name, (unsigned long long)least[i],
                    (double)sum[i] / dm_world.size, (unsigned long long)most[i], stats[i].unit);
    }
    stats_print_per_message(stats, sum, n);
    return DM_OK;
}
