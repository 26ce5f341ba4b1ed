/*
 * Names and types are the interface's: debuggers look for them.
 */
#include "tools/mpiexec/debugger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mpiexec/node.h"
#include "util/port.h"

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

extern MPIR_PROCDESC *MPIR_proctable;
extern int MPIR_proctable_size;
extern volatile int MPIR_debug_state;
extern volatile int MPIR_being_debugged;
extern const char *MPIR_debug_abort_string;
void MPIR_Breakpoint(void);

/* The debugger sets MPIR_being_debugged, and a breakpoint. */
MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_debug_state = MPIR_NULL;
volatile int MPIR_being_debugged;
const char *MPIR_debug_abort_string;

DM_NOINLINE void MPIR_Breakpoint(void)
{
    dm_cpu_relax(); /* something that the compiler cannot leave out */
}

/* The program that a rank runs, found by PATH or not; as it was called, if that cannot be seen. */
static char *debugger_program(const struct dm_launch_rank *rank)
{
    char link[64];
    char path[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)rank->pid);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0)
        return strdup(rank->node->options->apps[rank->app].argv[0]);
    path[n] = '\0';
    return strdup(path);
}

void dm_launch_debugger_show(const struct dm_launch_node *node)
{
    MPIR_PROCDESC *table = calloc((size_t)node->n_ranks, sizeof(*table));

    if (table == NULL)
        return;
    for (int i = 0; i < node->n_ranks; i++) {
        const struct dm_launch_rank *rank = &node->ranks[i];

        table[rank->rank] =
            (MPIR_PROCDESC){strdup(node->host_name), debugger_program(rank), (int)rank->pid};
    }
    MPIR_proctable = table;
    MPIR_proctable_size = node->n_ranks;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    if (MPIR_being_debugged != 0)
        MPIR_Breakpoint();
}

void dm_launch_debugger_aborts(const char *why)
{
    MPIR_debug_abort_string = why;
    MPIR_debug_state = MPIR_DEBUG_ABORTING;
    if (MPIR_being_debugged != 0)
        MPIR_Breakpoint();
}
