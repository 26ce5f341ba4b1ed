/*
 * Memory of other devices, of which none can be used.
 */
#include "api/api.h"

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
