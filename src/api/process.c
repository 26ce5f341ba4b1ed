/*
 * Processes of other jobs, of which there are none yet, and memory of other devices.
 */
#include "api/api.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"

int dm_comm_get_parent(struct dm_comm **parent_p)
{
    *parent_p = NULL;
    return DM_OK;
}

/* What is pending keeps the object until it is done: nobody can tell that from waiting here. */
int dm_comm_disconnect(struct dm_comm *comm)
{
    int err = dm_barrier(comm);

    return err == DM_OK ? dm_comm_free(comm) : err;
}

int dm_gpu_query_support(int gpu_type, int *is_supported)
{
    *is_supported = 0;
    if (gpu_type < MPIX_GPU_SUPPORT_CUDA || gpu_type > MPIX_GPU_SUPPORT_HIP)
        return DM_FAIL(DM_ERR_ARG, "gpu_type is %d, which is none of MPIX_GPU_SUPPORT_*", gpu_type);
    return DM_OK;
}

int dm_query_cuda_support(void)
{
    return 0;
}

int dm_query_ze_support(void)
{
    return 0;
}

int dm_query_hip_support(void)
{
    return 0;
}
