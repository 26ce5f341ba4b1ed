/*
 * How much memory there is: what is taken beyond ends some process of the host, not necessarily this one.
 */
#include <limits.h>
#include <stdio.h>

#include "bench.h"

/* The number behind this word at the beginning of a line ("": the first one); ULLONG_MAX: there is none. */
static unsigned long long number_in(const char *path, const char *word)
{
    unsigned long long n = ULLONG_MAX;
    char format[64], line[256];
    FILE *file = fopen(path, "r");

    snprintf(format, sizeof(format), "%s%%llu", word);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL && n == ULLONG_MAX)
        if (sscanf(line, format, &n) != 1)
            n = ULLONG_MAX;
    if (file != NULL)
        fclose(file);
    return n;
}

/* Of this host, or of the container. */
static unsigned long long available(void)
{
    unsigned long long kib = number_in("/proc/meminfo", "MemAvailable:");
    unsigned long long most = number_in("/sys/fs/cgroup/memory.max", "");
    unsigned long long used = number_in("/sys/fs/cgroup/memory.current", "");
    unsigned long long bytes = kib < ULLONG_MAX >> 10 ? kib << 10 : ULLONG_MAX;

    if (most != ULLONG_MAX && used != ULLONG_MAX && bytes > (most > used ? most - used : 0))
        bytes = most > used ? most - used : 0;
    return bytes;
}

size_t room_for(MPI_Comm comm)
{
    unsigned long long mine, least = 0;
    MPI_Comm host;
    int n_here;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &n_here);
    MPI_Comm_free(&host);
    mine = available() / (unsigned)n_here;
    MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, comm);
    return least < SIZE_MAX ? (size_t)least : SIZE_MAX;
}

size_t memory_of(MPI_Comm comm)
{
    unsigned long long kib = number_in("/proc/self/smaps_rollup", "Pss:");
    unsigned long long mine = kib < ULLONG_MAX >> 10 ? kib << 10 : 0, most = 0;

    MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, comm);
    return (size_t)most;
}
