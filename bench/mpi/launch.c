/*
 * Who has started this process, and starting others in its place.
 */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 4096

const char *launcher_rank(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *rank = getenv(names[i]);

        if (rank != NULL)
            return rank;
    }
    return NULL;
}

/* The file of this process; 0, or -1 with errno. */
static int own_path(char *path)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_LEN - 1);

    if (n < 0)
        return -1;
    path[n] = '\0';
    return 0;
}

int become(const char *name, char *const *argv)
{
    char own[PATH_LEN], path[PATH_LEN + 64];

    if (own_path(own) != 0)
        return -1;
    snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(own, '/') - own), own, name);
    return execv(path, argv);
}

void launch_self(int n_ranks, char **argv)
{
    static char program[PATH_LEN], count[16];
    char **all;
    int n = 0;

    while (argv[n] != NULL)
        n++;
    all = calloc((size_t)n + 5, sizeof(*all));
    if (all == NULL || own_path(program) != 0)
        return;
    snprintf(count, sizeof(count), "%d", n_ranks);
    all[0] = "mpiexec";
    all[1] = "-n";
    all[2] = count;
    all[3] = program;
    for (int i = 1; i < n; i++)
        all[3 + i] = argv[i];
    if (become("mpiexec", all) != 0 && errno != ENOENT)
        fprintf(stderr, "datum-bench: mpiexec cannot be started: %s\n", strerror(errno));
    free(all);
}
