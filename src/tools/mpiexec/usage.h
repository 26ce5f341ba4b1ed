/*
 * What mpiexec -help prints.
 */
#ifndef DM_TOOLS_MPIEXEC_USAGE_H
#define DM_TOOLS_MPIEXEC_USAGE_H

extern const char dm_launch_usage[];

#endif
