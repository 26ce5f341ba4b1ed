/*
 * Reports on ranks.
 */
#include "tools/mpiexec/report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/jobs.h"
#include "tools/where.h"
#include "util/log.h"

static void report_job(const struct dm_where_list *list, const struct dm_launch_node *node,
                       bool is_last)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int n;

    if (out == NULL)
        return;
    dm_where_get_stacks(list, node->kvs_name, is_last);
    n = dm_where_print(out, list, node->kvs_name, true);
    if (fclose(out) == 0) {
        dm_log_info("mpiexec: what the ranks on host %s are doing, %d of %d have called MPI_Init:",
                    node->host_name, n, node->n_ranks);
        (void)fwrite(text, 1, len, stderr);
    }
    free(text);
}

void dm_launch_report_ranks(const struct dm_launch_jobs *jobs, bool is_last)
{
    struct dm_where_list list;

    if (dm_where_find(&list))
        for (const struct dm_launch_node *node = jobs->first; node != NULL; node = node->kin.next)
            if (!node->kin.is_over)
                report_job(&list, node, is_last);
    dm_where_free(&list);
}

bool dm_launch_report_is_fatal(pid_t pid, int signo)
{
    char path[64];
    char line[256];
    uint64_t kept = 0;
    bool is_seen = false;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    while (fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, "SigIgn:", 7) == 0 || strncmp(line, "SigCgt:", 7) == 0) {
            kept |= strtoull(line + 7, NULL, 16);
            is_seen = true;
        }
    fclose(f);
    return is_seen && (kept >> (signo - 1) & 1) == 0;
}
