/*
 * Memory regions: the calls.
 */
#include "providers/common/lmr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "providers/common/provider.h"

/* "fd:<N>+<offset>" in a cookie of 40 bytes. */
static bool cookie_parse(DAT_LMR_COOKIE cookie, struct dm_lmr_file *file)
{
    char text[DAT_LMR_COOKIE_SIZE + 1] = {0};
    char *end;
    long fd;

    if (cookie == NULL)
        return false;
    memcpy(text, *cookie, DAT_LMR_COOKIE_SIZE);
    if (strncmp(text, "fd:", 3) != 0 || text[3] < '0' || text[3] > '9')
        return false;
    errno = 0;
    fd = strtol(text + 3, &end, 10);
    if (*end != '+' || end[1] < '0' || end[1] > '9' || fd > INT32_MAX)
        return false;
    file->offset = strtoull(end + 1, &end, 10);
    file->fd = (int)fd;
    return *end == '\0' && errno == 0;
}

static DAT_RETURN lmr_file_open(const struct dm_lmr *lmr, struct dm_lmr_file *file)
{
    struct stat st;

    if (!cookie_parse(lmr->region.for_shared_memory.shared_memory_id, file))
        return DM_DAT_ARG(3);
    if (fstat(file->fd, &st) != 0 || st.st_size < 0 || file->offset + lmr->len < lmr->len ||
        (uint64_t)st.st_size < file->offset + lmr->len)
        return DM_DAT_ARG(3);
    file->dev = st.st_dev;
    file->ino = st.st_ino;
    return (fcntl(file->fd, F_GETFL) & O_ACCMODE) == O_RDWR ? DAT_SUCCESS : DM_DAT_ARG(3);
}

/* The region of another one: the same memory, from its beginning. */
static DAT_RETURN lmr_take_over(struct dm_lmr *lmr, const struct dm_lmr **from_p)
{
    const struct dm_lmr *from = dm_obj_get(lmr->region.for_lmr_handle, DAT_HANDLE_TYPE_LMR);

    if (from == NULL || from->obj.ia != lmr->obj.ia)
        return DM_DAT_BAD(LMR);
    if (lmr->len > from->len)
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    lmr->len = lmr->len != 0 ? lmr->len : from->len;
    lmr->addr = from->addr;
    *from_p = from;
    return DAT_SUCCESS;
}

static DAT_RETURN lmr_register(struct dm_lmr *lmr)
{
    const struct dm_lmr *from = NULL;
    struct dm_lmr_file file;
    bool is_shared = lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL;
    DAT_RETURN ret = DAT_SUCCESS;

    if (is_shared)
        ret = lmr_file_open(lmr, &file);
    else if (lmr->mem_type == DAT_MEM_TYPE_LMR)
        ret = lmr_take_over(lmr, &from);
    if (ret != DAT_SUCCESS)
        return ret;
    lmr->va = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : lmr->addr;
    return lmr->obj.ia->ops->mem.lmr_register(lmr, is_shared ? &file : NULL, from);
}

static DAT_RETURN lmr_create_locked(struct dm_pia *ia, const struct dm_lmr *want,
                                    struct dm_lmr **lmr_p)
{
    struct dm_lmr *lmr =
        dm_obj_new(ia->obj.provider, ia, DAT_HANDLE_TYPE_LMR, ia->ops->mem.lmr_size);
    DAT_RETURN ret;

    if (lmr == NULL)
        return DM_DAT_NOMEM;
    lmr->mem_type = want->mem_type;
    lmr->region = want->region;
    lmr->len = want->len;
    lmr->va_type = want->va_type;
    lmr->addr = want->addr;
    lmr->pz = want->pz;
    lmr->priv = want->priv;
    ret = lmr_register(lmr);
    if (ret != DAT_SUCCESS) {
        dm_obj_free(lmr);
        return ret;
    }
    lmr->pz->n_refs++;
    *lmr_p = lmr;
    return DAT_SUCCESS;
}

/* The arguments that can be checked without the lock; fills want. */
static DAT_RETURN lmr_create_check(struct dm_pia *ia, DAT_PZ_HANDLE pz, struct dm_lmr *want)
{
    if (want->mem_type != DAT_MEM_TYPE_VIRTUAL && want->mem_type != DAT_MEM_TYPE_LMR &&
        want->mem_type != DAT_MEM_TYPE_SHARED_VIRTUAL)
        return DM_DAT_ARG(2);
    if (want->len == 0 && want->mem_type != DAT_MEM_TYPE_LMR)
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    want->pz = dm_obj_get(pz, DAT_HANDLE_TYPE_PZ);
    if (want->pz == NULL || want->pz->obj.ia != ia)
        return DM_DAT_BAD(PZ);
    if (((unsigned)want->priv & ~DM_PRIV_ALL) != 0)
        return DM_DAT_ARG(6);
    if (want->va_type != DAT_VA_TYPE_VA && want->va_type != DAT_VA_TYPE_ZB)
        return DM_DAT_ARG(7);
    if (want->mem_type == DAT_MEM_TYPE_LMR)
        return DAT_SUCCESS;
    want->addr = (uint64_t)(uintptr_t)(want->mem_type == DAT_MEM_TYPE_VIRTUAL
                                           ? want->region.for_va
                                           : want->region.for_shared_memory.virtual_address);
    if (want->addr == 0 || want->addr + want->len < want->addr)
        return DM_DAT_ARG(3);
    return DAT_SUCCESS;
}

DAT_RETURN dm_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                         DAT_VLEN len, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
                         DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p, DAT_LMR_CONTEXT *lmr_context_p,
                         DAT_RMR_CONTEXT *rmr_context_p, DAT_VLEN *len_p, DAT_VADDR *va_p)
{
    struct dm_pia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_lmr want = {
        .mem_type = type, .region = region, .len = len, .priv = priv, .va_type = va_type};
    struct dm_lmr *lmr = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT_BAD(IA);
    ret = lmr_create_check(ia, pz, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    if (lmr_p == NULL)
        return DM_DAT_ARG(8);
    if (ia->ops->mem.lmr_prepare != NULL)
        ret = ia->ops->mem.lmr_prepare(ia, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    pthread_mutex_lock(&ia->lock);
    ret = lmr_create_locked(ia, &want, &lmr);
    pthread_mutex_unlock(&ia->lock);
    if (ret != DAT_SUCCESS)
        return ret;
    *lmr_p = (DAT_LMR_HANDLE)lmr;
    if (lmr_context_p != NULL)
        *lmr_context_p = lmr->key;
    if (rmr_context_p != NULL)
        *rmr_context_p = lmr->key;
    if (len_p != NULL)
        *len_p = lmr->len;
    if (va_p != NULL)
        *va_p = lmr->va;
    return DAT_SUCCESS;
}

DAT_RETURN dm_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);

    (void)mask;
    if (lmr == NULL)
        return DM_DAT_BAD(LMR);
    if (param == NULL)
        return DM_DAT_ARG(3);
    memset(param, 0, sizeof(*param));
    param->ia_handle = dm_obj_ia_handle(lmr->obj.ia);
    param->mem_type = lmr->mem_type;
    param->region_desc = lmr->region;
    param->length = lmr->len;
    param->pz_handle = lmr->pz;
    param->mem_priv = lmr->priv;
    param->va_type = lmr->va_type;
    param->lmr_context = lmr->key;
    param->rmr_context = lmr->key;
    param->registered_size = lmr->len;
    param->registered_address = lmr->va;
    return DAT_SUCCESS;
}

/* False: a peer that stands still is in the middle of it. */
static bool lmr_hide(struct dm_lmr *lmr)
{
    bool is_unused = lmr->obj.ia->ops->mem.lmr_hide(lmr);

    lmr->is_hidden = true;
    return is_unused;
}

static void lmr_deregister(struct dm_lmr *lmr)
{
    lmr->obj.ia->ops->mem.lmr_deregister(lmr);
    lmr->pz->n_refs--;
    dm_obj_free(lmr);
}

void dm_lmr_destroy(struct dm_lmr *lmr)
{
    (void)lmr_hide(lmr);
    lmr_deregister(lmr);
}

DAT_RETURN dm_lmr_free(DAT_LMR_HANDLE handle)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (lmr == NULL)
        return DM_DAT_BAD(LMR);
    ia = lmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (lmr->n_binds > 0 || !lmr_hide(lmr))
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    else
        lmr_deregister(lmr);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}

DAT_RETURN dm_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
    if (dm_obj_get(ia, DAT_HANDLE_TYPE_IA) == NULL)
        return DM_DAT_BAD(IA);
    if (n > 0 && segments == NULL)
        return DM_DAT_ARG(2);
    return DAT_SUCCESS; /* memory is coherent */
}
