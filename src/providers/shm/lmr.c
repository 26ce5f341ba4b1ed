/*
 * Memory regions and their keys.
 *
 * A key is found by index in the segment's table. Freed indices are reused in
 * order of freeing, with a new generation, so that a stale key is noticed.
 */
#include "providers/shm/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/msg.h"

#define NO_REGION DM_DAT(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)

/* So many indices rest before the oldest is used again. */
enum { REUSE_AFTER = 1024 };

struct dm_shm_free_key {
    struct dm_list link;
    uint32_t index;
};

/* An index for a new region, 0 when all are taken; 0 itself is never used. */
static uint32_t index_get(struct dm_shm_ia *ia)
{
    struct dm_shm_free_key *free_key;
    uint32_t index;

    if (ia->n_free_keys < REUSE_AFTER && ia->n_keys_used + 1 < DM_SHM_N_KEYS)
        return ++ia->n_keys_used;
    if (dm_list_is_empty(&ia->free_keys))
        return 0;
    ia->n_free_keys--;
    free_key = dm_container_of(ia->free_keys.next, struct dm_shm_free_key, link);
    index = free_key->index;
    dm_list_del(&free_key->link);
    free(free_key);
    return index;
}

/* When there is no memory to note it, the index is lost, not reused. */
static void index_put(struct dm_shm_ia *ia, uint32_t index)
{
    struct dm_shm_free_key *free_key = malloc(sizeof(*free_key));

    if (free_key == NULL)
        return;
    free_key->index = index;
    dm_list_add_tail(&ia->free_keys, &free_key->link);
    ia->n_free_keys++;
}

void dm_shm_lmr_keys_free(struct dm_shm_ia *ia)
{
    while (!dm_list_is_empty(&ia->free_keys)) {
        struct dm_shm_free_key *free_key =
            dm_container_of(ia->free_keys.next, struct dm_shm_free_key, link);

        dm_list_del(&free_key->link);
        free(free_key);
    }
}

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

/* Enter the region into the table; its fields are complete. */
static DAT_RETURN publish(struct dm_shm_ia *ia, struct dm_lmr *lmr)
{
    uint32_t index = index_get(ia);
    struct dm_shm_key *entry;

    if (index == 0)
        return NO_REGION;
    entry = &ia->seg.hdr->keys[index];
    lmr->key = ((entry->key >> 16) + 1) << 16 | index;
    entry->key = lmr->key;
    entry->va = lmr->va;
    entry->len = lmr->len;
    /* As on InfiniBand, whoever can register memory may send from it; the
     * stock tests send from regions that have nothing but LOCAL_WRITE. */
    entry->priv = (uint32_t)lmr->priv | DAT_MEM_PRIV_LOCAL_READ_FLAG;
    entry->pz = lmr->pz->id;
    entry->is_shared = lmr->fd >= 0;
    atomic_store_explicit(&entry->serial, ++ia->last_serial, memory_order_release);
    return DAT_SUCCESS;
}

static DAT_RETURN create_locked(struct dm_shm_ia *ia, const struct dm_lmr *want,
                                struct dm_lmr **lmr_p)
{
    struct dm_lmr *lmr;
    DAT_RETURN ret = DAT_SUCCESS;

    lmr = dm_obj_new(ia->pia.obj.provider, &ia->pia, DAT_HANDLE_TYPE_LMR, sizeof(*lmr));
    if (lmr == NULL)
        return DM_DAT_NOMEM;
    lmr->mem_type = want->mem_type;
    lmr->region = want->region;
    lmr->len = want->len;
    lmr->va = want->va;
    lmr->pz = want->pz;
    lmr->priv = want->priv;
    lmr->fd = -1;
    if (lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL)
        ret = shared_open(lmr);
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

DAT_RETURN dm_shm_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type,
                             DAT_REGION_DESCRIPTION region, DAT_VLEN len, DAT_PZ_HANDLE pz_handle,
                             DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p,
                             DAT_LMR_CONTEXT *lmr_context_p, DAT_RMR_CONTEXT *rmr_context_p,
                             DAT_VLEN *len_p, DAT_VADDR *va_p)
{
    struct dm_shm_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
    struct dm_lmr want = {.mem_type = type, .region = region, .len = len, .priv = priv};
    struct dm_lmr *lmr = NULL;
    DAT_RETURN ret;

    if (ia == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
    if (type == DAT_MEM_TYPE_LMR)
        return DM_DAT(DAT_NOT_IMPLEMENTED, 0);
    if (type != DAT_MEM_TYPE_VIRTUAL && type != DAT_MEM_TYPE_SHARED_VIRTUAL)
        return DM_DAT_ARG(2);
    if (len == 0)
        return DM_DAT(DAT_LENGTH_ERROR, 0);
    want.pz = dm_obj_get(pz_handle, DAT_HANDLE_TYPE_PZ);
    if (want.pz == NULL || want.pz->obj.ia != &ia->pia)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
    if (((unsigned)priv & ~(unsigned)DAT_MEM_PRIV_ALL_FLAG) != 0)
        return DM_DAT_ARG(6);
    if (va_type != DAT_VA_TYPE_VA)
        return DM_DAT_BARE(DAT_MODEL_NOT_SUPPORTED);
    if (lmr_p == NULL)
        return DM_DAT_ARG(8);
    want.va = (uint64_t)(uintptr_t)(type == DAT_MEM_TYPE_VIRTUAL
                                        ? region.for_va
                                        : region.for_shared_memory.virtual_address);
    if (want.va == 0 || want.va + len < want.va)
        return DM_DAT_ARG(3);
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
        *len_p = len;
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
    param->va_type = DAT_VA_TYPE_VA;
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

void dm_shm_lmr_destroy(struct dm_lmr *lmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;
    struct dm_shm_key *entry = &ia->seg.hdr->keys[lmr->key & DM_SHM_KEY_IDX];
    uint64_t serial = atomic_exchange(&entry->serial, 0);

    dm_shm_quiesce(ia, NULL);
    if (lmr->fd >= 0)
        close(lmr->fd);
    if (lmr->is_exported)
        tell_unmap(ia, serial);
    index_put(ia, lmr->key & DM_SHM_KEY_IDX);
    lmr->pz->n_refs--;
    dm_obj_free(lmr);
}

DAT_RETURN dm_shm_lmr_free(DAT_LMR_HANDLE handle)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);
    struct dm_pia *ia;

    if (lmr == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    ia = lmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    dm_shm_lmr_destroy(lmr);
    pthread_mutex_unlock(&ia->lock);
    return DAT_SUCCESS;
}
