/*
 * Adapter instances: opening the segment and the progress thread.
 */
#include "providers/shm/ia.h"

#include <string.h>

#include "providers/shm/key.h"
#include "providers/shm/transport/datagram.h"
#include "providers/shm/transport/quiesce.h"

enum { SEGMENT_MB = 128, SEGMENT_MIN_MB = 8 };

void *dm_shm_mem_alloc(struct dm_pia *pia, size_t len)
{
    return dm_shm_seg_alloc(&((struct dm_shm_ia *)pia)->seg, len);
}

void dm_shm_mem_free(struct dm_pia *pia, void *mem)
{
    dm_shm_seg_free(&((struct dm_shm_ia *)pia)->seg, mem);
}

bool dm_shm_ia_quiesce(struct dm_pia *pia)
{
    return dm_shm_quiesce((struct dm_shm_ia *)pia, NULL);
}

/* False if ia_params asks for something that does not exist. */
static bool shm_ia_read_params(struct dm_shm_ia *ia, const char *params, size_t *size_p)
{
    char copy[16] = "auto";

    if (!dm_prov_params_known(ia->pia.obj.provider->device_name, params, dm_shm_preset_keys()))
        return false;
    (void)dm_prov_param(params, "copy", copy, sizeof(copy));
    if (strcmp(copy, "auto") == 0)
        ia->copy = DM_COPY_AUTO;
    else if (strcmp(copy, "cma") == 0)
        ia->copy = DM_COPY_CMA;
    else if (strcmp(copy, "staged") == 0)
        ia->copy = DM_COPY_STAGED;
    else
        return false;
    if (!dm_shm_model_open(ia, params))
        return false;
    *size_p = (size_t)dm_prov_param_size(params, "segment", (uint64_t)SEGMENT_MB << 20);
    *size_p = (*size_p + 4095) / 4096 * 4096;
    return *size_p >= (size_t)SEGMENT_MIN_MB << 20;
}

DAT_RETURN dm_shm_ia_open(struct dm_pia *pia, const char *params)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;
    size_t size;

    dm_list_init(&ia->peers);
    dm_hash_init(&ia->peers_by_id);
    dm_hash_init(&ia->peers_by_qual);
    dm_list_init(&ia->free_keys);
    dm_ia_local_addr(&pia->addr.in);
    if (!shm_ia_read_params(ia, params, &size))
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    if (!dm_shm_seg_open(&ia->seg, size))
        return DM_DAT_NOMEM;
    pia->due = &ia->seg.hdr->inbox.is_due;
    return DAT_SUCCESS;
}

bool dm_shm_ia_start(struct dm_pia *pia)
{
    return dm_shm_progress_start((struct dm_shm_ia *)pia);
}

void dm_shm_ia_stop(struct dm_pia *pia)
{
    dm_shm_model_close((struct dm_shm_ia *)pia);
    dm_shm_progress_stop((struct dm_shm_ia *)pia);
}

void dm_shm_ia_forked(struct dm_pia *pia)
{
    dm_shm_srcs_forked((struct dm_shm_ia *)pia);
}

void dm_shm_ia_close(struct dm_pia *pia)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    dm_shm_keys_close(ia);
    dm_hash_fini(&ia->peers_by_id);
    dm_hash_fini(&ia->peers_by_qual);
    pia->due = NULL;
    dm_shm_datagram_close(ia);
    dm_shm_seg_close(&ia->seg);
}
