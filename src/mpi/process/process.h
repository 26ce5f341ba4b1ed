/*
 * Processes that connect and part (MPI-4.0 chapter 11): ports, names, spawning, joining, disconnecting.
 * The bodies of the MPI functions.
 *
 * What counts at the root only comes as the program has passed it and is checked there; whatever goes
 * wrong at the root is an error of the same class at all ranks, never a hang.
 */
#ifndef DM_MPI_PROCESS_PROCESS_H
#define DM_MPI_PROCESS_PROCESS_H

#include "mpi/core/core.h"

struct dm_pmi; /* pmi/pmi.h */

/* The launcher's client, which must live as long as the layer: before the start. */
void dm_process_set_launcher(struct dm_pmi *pmi);
int dm_process_start(void);
void dm_process_stop(void);
/*
 * A process that was spawned connects with its parents, collectively over its world, after the start of all
 * layers. DM_ERR_PORT when they cannot be reached.
 */
int dm_process_connect_parent(void);
/*
 * The loss of a process of another job is reported: must this job end, since a communicator of both has
 * an error handler that says so?
 */
bool dm_process_loss_is_fatal(int proc);

/* ---- ports, section 11.9 ---- */

int dm_open_port(struct dm_info *info, char *port_name);
/* DM_ERR_PORT when this process has no such port. Those who wait there get that error, too. */
int dm_close_port(const char *port_name);
/*
 * The info key "timeout" limits the wait in seconds: of accept without it never, of connect by
 * DATUM_TIMEOUT. DM_ERR_PORT for a name that is none, is not open, or was not answered in time.
 */
int dm_comm_accept(const char *port_name, MPI_Info info, int root, struct dm_comm *comm,
                   struct dm_comm **comm_p);
int dm_comm_connect(const char *port_name, MPI_Info info, int root, struct dm_comm *comm,
                    struct dm_comm **comm_p);
/*
 * The processes at both ends of a socket. NULL when they cannot reach each other, DM_ERR_ARG for no
 * socket, DM_ERR_OTHER when the other end talks nonsense or is closed.
 */
int dm_comm_join(int fd, struct dm_comm **comm_p);

/* DM_ERR_SERVICE for a name that cannot be published or is none of this job's, DM_ERR_NAME for an
 * unknown one. */
int dm_publish_name(const char *service, struct dm_info *info, const char *port_name);
int dm_unpublish_name(const char *service, struct dm_info *info, const char *port_name);
int dm_lookup_name(const char *service, struct dm_info *info, char *port_name);

/* ---- spawning, section 11.8 ---- */

/*
 * errcodes has an entry for each process of maxprocs. Fewer are started where the info key "soft"
 * says so: the largest number of its set that there is room for. None at all are no error, and no
 * communicator: NULL.
 */
int dm_comm_spawn(const char *command, char **argv, int maxprocs, MPI_Info info, int root,
                  struct dm_comm *comm, struct dm_comm **comm_p, int *errcodes);
int dm_comm_spawn_multiple(int count, char **commands, char ***argvs, const int *maxprocs,
                           const MPI_Info *infos, int root, struct dm_comm *comm,
                           struct dm_comm **comm_p, int *errcodes);
/* NULL when nobody has spawned this process, or the communicator was freed. */
int dm_comm_get_parent(struct dm_comm **parent_p);

/* ---- parting ---- */

/*
 * Waits for what is pending, with all its processes, then frees. The death of a process that was
 * only in this communicator is no error afterwards.
 */
int dm_comm_disconnect(struct dm_comm *comm);

#endif
