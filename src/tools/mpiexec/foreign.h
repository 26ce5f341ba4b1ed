/*
 * Programs of another MPI.
 */
#ifndef DM_TOOLS_MPIEXEC_FOREIGN_H
#define DM_TOOLS_MPIEXEC_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* Is the program linked to an MPI library that is not of this ABI? Then name gets the library's. */
bool dm_launch_foreign_library(const char *program, char *name, size_t len);

#endif
