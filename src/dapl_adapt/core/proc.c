/*
 * The names of processes.
 */
#include "dapl_adapt/core/proc.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "dapl_adapt/core/adapt.h"

struct dm_proc *dm_proc_of(const struct dm_adapt *adapt, int proc)
{
    int i = proc - adapt->job.size;

    return i >= 0 && i < atomic_load_explicit(&adapt->procs.n, memory_order_acquire)
               ? adapt->procs.at[i]
               : NULL;
}

const char *dm_proc_host(const struct dm_adapt *adapt, int proc)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign != NULL)
        return foreign->host[0] != '\0' ? foreign->host : "?";
    if (proc >= adapt->job.size || adapt->job.host_of == NULL)
        return "?";
    return adapt->job.host_of(adapt->job.host_arg, proc);
}

const char *dm_adapt_proc_text(const struct dm_adapt *adapt, int proc, char *buf, size_t len)
{
    const struct dm_proc *foreign = dm_proc_of(adapt, proc);

    if (foreign != NULL)
        snprintf(buf, len, "rank %u of job %08x on host %.60s", foreign->id.rank,
                 (unsigned)(foreign->id.job >> 32), dm_proc_host(adapt, proc));
    else
        snprintf(buf, len, "rank %d on host %.90s", proc, dm_proc_host(adapt, proc));
    return buf;
}

struct dm_who dm_who(const struct dm_adapt *adapt, int proc)
{
    struct dm_who who = {.text = ""};

    dm_adapt_proc_text(adapt, proc, who.text, sizeof(who.text));
    return who;
}
