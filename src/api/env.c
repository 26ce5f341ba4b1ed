/*
 * Facts about the library, the machine and the clock (MPI-4.0 chapter 9), addresses.
 */
#include "api/api.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "util/clock.h"
#include "util/host.h"

double dm_wtime(void)
{
    return dm_clock_s();
}

double dm_wtick(void)
{
    return dm_clock_tick();
}

int dm_get_version(int *version, int *subversion)
{
    if (version == NULL || subversion == NULL)
        return MPI_ERR_ARG;
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int dm_get_library_version(char *version, int *resultlen)
{
    if (version == NULL || resultlen == NULL)
        return MPI_ERR_ARG;
    *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                          "Datum %s: MPI %d.%d over uDAPL (DAT 2.0), MPICH ABI %d (as MPICH %s)\n"
                          "compiled by %s %s %s",
                          DM_VERSION, MPI_VERSION, MPI_SUBVERSION, MPICH_NAME, MPICH_VERSION, DM_CC,
                          DM_CFLAGS, DM_SANITIZE);
    return MPI_SUCCESS;
}

int dm_get_processor_name(char *name, int *resultlen)
{
    *resultlen = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", dm_host_name());
    if (*resultlen >= MPI_MAX_PROCESSOR_NAME)
        *resultlen = MPI_MAX_PROCESSOR_NAME - 1;
    return DM_OK;
}

int dm_pcontrol(int level)
{
    /* For profiling libraries, which replace it. */
    (void)level;
    return MPI_SUCCESS;
}

int dm_get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)(intptr_t)location;
    return DM_OK;
}

MPI_Aint dm_aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint dm_aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
