/*
 * Names of ports: who has opened it, how to reach that process, and the token that proves that the
 * name was not made up.
 */
#ifndef DM_MPI_PROCESS_PORT_NAME_H
#define DM_MPI_PROCESS_PORT_NAME_H

#include "mpi/core/core.h"

struct dm_port_name {
    struct dm_proc_info info;
    uint64_t token;
};

/*
 * Printable, without blanks, at most MPI_MAX_PORT_NAME - 1 characters. Of the address the last rails
 * are left out if need be. DM_EINTERN when not even one fits.
 */
int dm_port_name_write(const struct dm_port_name *port, char name[MPI_MAX_PORT_NAME]);
/*
 * DM_ERR_PORT for a name of another library, or one that was cut or changed. White space behind it does not count: programs
 * read names as lines of a file.
 */
int dm_port_name_read(const char *name, struct dm_port_name *port_p);

#endif
