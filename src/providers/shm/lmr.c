/*
 * Memory regions.
 *
 * Registering remembers an address range (and a descriptor of its own, if
 * peers may map it); it pins nothing. So a region made from another one
 * (DAT_MEM_TYPE_LMR) stands for itself: either may be freed first. Only the
 * RMRs bound to a region need that very region, which cannot be freed then.
 */
#include "providers/shm/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/key.h"
#include "providers/shm/msg.h"

#define NO_REGION DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)

/* "fd:<N>+<offset>" in a cookie of 40 bytes. */
static bool parse_cookie(DAT_LMR_COOKIE cookie, int *fd_p, uint64_t *offset_p)
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
    *offset_p = strtoull(end + 1, &end, 10);
    *fd_p = (int)fd;
    return *end == '\0' && errno == 0;
}

static DAT_RETURN shared_open(struct dm_lmr *lmr)
{
    struct stat st;
    int fd;

    if (!parse_cookie(lmr->region.for_shared_memory.shared_memory_id, &fd, &lmr->fd_offset))
        return DM_DAT_ARG(3);
    if (fstat(fd, &st) != 0 || st.st_size < 0 || lmr->fd_offset + lmr->len < lmr->len || /* wraps */
        (uint64_t)st.st_size < lmr->fd_offset + lmr->len)
        return DM_DAT_ARG(3);
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
        return DM_DAT_ARG(3);
    lmr->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return lmr->fd >= 0 ? DAT_SUCCESS : NO_REGION;
}

/* The region of another one: the same memory, from its beginning. */
static DAT_RETURN lmr_open(struct dm_lmr *lmr, DAT_VLEN len)
{
    const struct dm_lmr *from = dm_obj_get(lmr->region.for_lmr_handle, DAT_HANDLE_TYPE_LMR);

    if (from == NULL || from->obj.ia != lmr->obj.ia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    if (len > from->len)
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    lmr->len = len != 0 ? len : from->len;
    lmr->addr = from->addr;
    if (from->fd < 0)
        return DAT_SUCCESS;
    lmr->fd_offset = from->fd_offset;
    lmr->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
    return lmr->fd >= 0 ? DAT_SUCCESS : NO_REGION;
}

/* Enter the region into the table; its fields are complete. */
static DAT_RETURN publish(struct dm_shm_ia *ia, struct dm_lmr *lmr)
{
    struct dm_shm_key entry = {
        .va = lmr->va, .len = lmr->len, .addr = lmr->addr, .pz = lmr->pz->id};

    lmr->key = dm_shm_key_new(ia);
    if (lmr->key == 0)
        return NO_REGION;
    /* As on InfiniBand, whoever can register memory may send from it; the
     * stock tests send from regions that have nothing but LOCAL_WRITE. */
    entry.priv = (uint32_t)lmr->priv | DAT_MEM_PRIV_LOCAL_READ_FLAG;
    entry.base_key = lmr->fd >= 0 ? lmr->key : 0;
    dm_shm_key_publish(ia, lmr->key, &entry);
    return DAT_SUCCESS;
}

static DAT_RETURN region_open(struct dm_lmr *lmr)
{
    DAT_RETURN ret = DAT_SUCCESS;

    if (lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL)
        ret = shared_open(lmr);
    else if (lmr->mem_type == DAT_MEM_TYPE_LMR)
        ret = lmr_open(lmr, lmr->len);
    lmr->va = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : lmr->addr;
    return ret;
}

static DAT_RETURN create_locked(struct dm_shm_ia *ia, const struct dm_lmr *want,
                                struct dm_lmr **lmr_p)
{
    struct dm_lmr *lmr;
    DAT_RETURN ret;

    lmr = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_LMR, sizeof(*lmr));
    if (lmr == NULL)
        return DM_DAT_NOMEM;
    lmr->mem_type = want->mem_type;
    lmr->region = want->region;
    lmr->len = want->len;
    lmr->va_type = want->va_type;
    lmr->addr = want->addr;
    lmr->pz = want->pz;
    lmr->priv = want->priv;
    lmr->fd = -1;
    ret = region_open(lmr);
    if (ret == DAT_SUCCESS)
        ret = publish(ia, lmr);
    if (ret != DAT_SUCCESS) {
        if (lmr->fd >= 0)
            close(lmr->fd);
        dm_obj_free(lmr);
        return ret;
    }
    lmr->pz->n_refs++;
    *lmr_p = lmr;
    return DAT_SUCCESS;
}

/* The arguments that can be checked without the lock; fills want. */
static DAT_RETURN create_check(struct dm_shm_ia *ia, DAT_PZ_HANDLE pz, struct dm_lmr *want)
{
    const unsigned priv_ok = DAT_MEM_PRIV_ALL_FLAG | (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

    if (want->mem_type != DAT_MEM_TYPE_VIRTUAL && want->mem_type != DAT_MEM_TYPE_LMR &&
        want->mem_type != DAT_MEM_TYPE_SHARED_VIRTUAL)
        return DM_DAT_ARG(2);
    if (want->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL &&
        ia->model.is_on) /* nobody takes a short cut */
        return DM_DAT(DAT_MODEL_NOT_SUPPORTED, 0);
    if (want->len == 0 && want->mem_type != DAT_MEM_TYPE_LMR)
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    want->pz = dm_obj_get(pz, DAT_HANDLE_TYPE_PZ);
    if (want->pz == NULL || want->pz->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (((unsigned)want->priv & ~priv_ok) != 0)
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

DAT_RETURN dm_shm_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type,
                             DAT_REGION_DESCRIPTION region, DAT_VLEN len, DAT_PZ_HANDLE pz,
                             DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p,
                             DAT_LMR_CONTEXT *lmr_context_p, DAT_RMR_CONTEXT *rmr_context_p,
                             DAT_VLEN *len_p, DAT_VADDR *va_p)
{
    struct dm_shm_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_lmr want = {
        .mem_type = type, .region = region, .len = len, .priv = priv, .va_type = va_type};
    struct dm_lmr *lmr = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    ret = create_check(ia, pz, &want);
    if (ret != DAT_SUCCESS)
        return ret;
    if (lmr_p == NULL)
        return DM_DAT_ARG(8);
    dm_shm_model_register(&ia->model, len);
    pthread_mutex_lock(&ia->pia.lock);
    ret = create_locked(ia, &want, &lmr);
    pthread_mutex_unlock(&ia->pia.lock);
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

DAT_RETURN dm_shm_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);

    (void)mask;
    if (lmr == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
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

struct dm_lmr *dm_shm_lmr_find(struct dm_shm_ia *ia, uint32_t key)
{
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_LMR]) {
        struct dm_lmr *lmr = dm_container_of(it, struct dm_lmr, obj.link);

        if (lmr->key == key)
            return lmr;
    }
    return NULL;
}

static void tell_unmap(struct dm_shm_ia *ia, uint64_t serial)
{
    struct dm_shm_msg msg = {.type = DM_MSG_UNMAP, .serial = serial};

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_sep *ep = dm_container_of(it, struct dm_sep, ep.obj.link);

        if (ep->conn != NULL && ep->conn->state == DM_CONN_UP)
            dm_shm_msg_send(ep->conn, &msg, -1);
    }
}

/* Let nobody begin to use it; false: a stopped peer is in the middle of it. */
static bool hide(struct dm_lmr *lmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;

    if (!lmr->is_hidden)
        lmr->serial = dm_shm_key_hide(ia, lmr->key);
    lmr->is_hidden = true;
    return dm_shm_quiesce(ia, NULL);
}

static void destroy(struct dm_lmr *lmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;

    if (lmr->fd >= 0)
        close(lmr->fd);
    if (lmr->is_exported)
        tell_unmap(ia, lmr->serial);
    dm_shm_key_free(ia, lmr->key);
    lmr->pz->n_refs--;
    dm_obj_free(lmr);
}

void dm_shm_lmr_destroy(struct dm_lmr *lmr)
{
    (void)hide(lmr);
    destroy(lmr);
}

DAT_RETURN dm_shm_lmr_free(DAT_LMR_HANDLE handle)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (lmr == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    ia = lmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (lmr->n_binds > 0 || !hide(lmr))
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    else
        destroy(lmr);
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
