/*
 * A mpiexec of ours that is started to run a spawned job, and reports how that went.
 *
 * It gets the pairs for the job's key-value space in DM_PMI_PARENT_PAIRS, words KEY=VALUE with
 * escaped values, and the number of a pipe to report through in DM_PMI_PARENT_FD: one line, "ok",
 * or "no FAULTS WHY": for each program 1 when it is to blame, with commas between, or - ; the reason,
 * escaped. The pipe stays open until it ends.
 */
#ifndef DM_PMI_PMI_MPIEXEC_H
#define DM_PMI_PMI_MPIEXEC_H

#include <stdbool.h>
#include <sys/types.h>

#include "pmi/pmi_spawn.h"

#define DM_PMI_PARENT_PAIRS "DATUM_PARENT_PAIRS"
#define DM_PMI_PARENT_FD    "DATUM_PARENT_FD"

struct dm_pmi_report {
    bool is_good;
    char faults[4096]; /* "": none in particular */
    char why[1024];
};

/*
 * Start it. exe: its path. pid_p: NULL when it shall not be the caller's child. *fd_p gets the end
 * of the pipe. The preput values are words as the space holds them. DM_ERR_SPAWN: it cannot be
 * started; DM_ENOMEM.
 */
int dm_pmi_mpiexec_start(const char *exe, const struct dm_pmi_spawn *spawn, pid_t *pid_p,
                         int *fd_p);
/* Wait for the report. */
void dm_pmi_mpiexec_report(int fd, struct dm_pmi_report *report_p);
/* Where the mpiexec is that belongs to this library, to be freed; NULL: there is none. */
char *dm_pmi_mpiexec_path(void);

#endif
