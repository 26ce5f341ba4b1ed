/*
 * Memory regions.
 *
 * Registering remembers an address range, and shows it to the fabric if peers
 * may use it. So a region made from another one (DAT_MEM_TYPE_LMR) stands for
 * itself: either may be freed first. Only the RMRs bound to a region need that
 * very region, which cannot be freed then.
 */
#include "providers/ofi/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "providers/ofi/dto.h"

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

/* The descriptor is of no use here: the memory is the caller's, as any. */
static DAT_RETURN shared_check(const struct dm_lmr *lmr)
{
    uint64_t offset;
    struct stat st;
    int fd;

    if (!parse_cookie(lmr->region.for_shared_memory.shared_memory_id, &fd, &offset))
        return DM_DAT_ARG(3);
    if (fstat(fd, &st) != 0 || st.st_size < 0 || offset + lmr->len < lmr->len || /* wraps */
        (uint64_t)st.st_size < offset + lmr->len)
        return DM_DAT_ARG(3);
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR ? DAT_SUCCESS : DM_DAT_ARG(3);
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
    return DAT_SUCCESS;
}

/* Give it a context; its fields are complete. */
static DAT_RETURN publish(struct dm_ofi_ia *ia, struct dm_lmr *lmr)
{
    struct dm_ofi_region region = {
        .pz = lmr->pz, .va = lmr->va, .len = lmr->len, .addr = lmr->addr};

    region.key = dm_ofi_key_new(ia);
    if (region.key == 0)
        return NO_REGION;
    /* As on InfiniBand, whoever can register memory may send from it; the
     * stock tests send from regions that have nothing but LOCAL_WRITE. */
    region.priv = (uint32_t)lmr->priv | DAT_MEM_PRIV_LOCAL_READ_FLAG;
    if (!dm_ofi_key_open(ia, &region)) {
        dm_ofi_key_free(ia, region.key);
        return NO_REGION;
    }
    lmr->key = region.key;
    return DAT_SUCCESS;
}

static DAT_RETURN region_open(struct dm_lmr *lmr)
{
    DAT_RETURN ret = DAT_SUCCESS;

    if (lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL)
        ret = shared_check(lmr);
    else if (lmr->mem_type == DAT_MEM_TYPE_LMR)
        ret = lmr_open(lmr, lmr->len);
    lmr->va = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : lmr->addr;
    return ret;
}

static DAT_RETURN create_locked(struct dm_ofi_ia *ia, const struct dm_lmr *want,
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
    ret = region_open(lmr);
    if (ret == DAT_SUCCESS)
        ret = publish(ia, lmr);
    if (ret != DAT_SUCCESS) {
        dm_obj_free(lmr);
        return ret;
    }
    lmr->pz->n_refs++;
    *lmr_p = lmr;
    return DAT_SUCCESS;
}

/* The arguments that can be checked without the lock; fills want. */
static DAT_RETURN create_check(struct dm_ofi_ia *ia, DAT_PZ_HANDLE pz, struct dm_lmr *want)
{
    const unsigned priv_ok = DAT_MEM_PRIV_ALL_FLAG | (unsigned)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

    if (want->mem_type != DAT_MEM_TYPE_VIRTUAL && want->mem_type != DAT_MEM_TYPE_LMR &&
        want->mem_type != DAT_MEM_TYPE_SHARED_VIRTUAL)
        return DM_DAT_ARG(2);
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

DAT_RETURN dm_ofi_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type,
                             DAT_REGION_DESCRIPTION region, DAT_VLEN len, DAT_PZ_HANDLE pz,
                             DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr_p,
                             DAT_LMR_CONTEXT *lmr_context_p, DAT_RMR_CONTEXT *rmr_context_p,
                             DAT_VLEN *len_p, DAT_VADDR *va_p)
{
    struct dm_ofi_ia *ia = dm_obj_get(ia_handle, DAT_HANDLE_TYPE_IA);
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

DAT_RETURN dm_ofi_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
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

/* Nobody may begin to use its memory, and receives are taken back. */
static void withdraw(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    dm_ofi_key_hide(ia, lmr->key);
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_oep *ep = dm_container_of(it, struct dm_oep, ep.obj.link);

        if (ep->conn != NULL && ep->ep.pz == lmr->pz)
            dm_ofi_recvs_forget(ep, lmr->key);
    }
    dm_ofi_conns_end(ia);
}

static void fence_over(struct dm_ofi_ctx *ctx, const struct dm_ofi_done *done)
{
    struct dm_ofi_conn *conn = dm_container_of(ctx, struct dm_ofi_conn, fence_ctx);

    (void)done; /* after an error the fabric has dropped the rest, too */
    conn->is_lent = false;
    conn->is_fenced = false;
}

/* A write of nothing, which leaves this side after everything that was untracked. */
static void fence(struct dm_ofi_conn *conn)
{
    struct iovec vec = {.iov_base = conn->mailbox};
    struct fi_rma_iov remote = {.addr = conn->peer_mail, .key = conn->peer_mail_key};
    struct fi_msg_rma msg = {.msg_iov = &vec,
                             .iov_count = 1,
                             .rma_iov = &remote,
                             .rma_iov_count = 1,
                             .context = &conn->fence_ctx};
    ssize_t ret;

    conn->fence_ctx.done = fence_over;
    ret = fi_writemsg(conn->fid, &msg, FI_COMPLETION);
    conn->is_fenced = ret == 0;
    if (ret != 0 && ret != -FI_EAGAIN)
        conn->is_lent = false; /* not connected: the fabric holds nothing */
}

/* Has the fabric sent what it was lent? */
static bool is_returned(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key)
{
    bool is_any = false;

    (void)key; /* it is not known which regions */
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        const struct dm_oep *ep = dm_container_of(it, struct dm_oep, ep.obj.link);
        struct dm_ofi_conn *conn = ep->conn;

        if (ep->ep.pz != pz || conn == NULL || conn->fid == NULL || !conn->is_lent)
            continue;
        if (!conn->is_fenced)
            fence(conn);
        is_any = is_any || conn->is_lent;
    }
    return !is_any;
}

static void destroy(struct dm_lmr *lmr)
{
    struct dm_ofi_ia *ia = (struct dm_ofi_ia *)lmr->obj.ia;

    dm_ofi_key_shut(ia, lmr->key);
    dm_ofi_key_free(ia, lmr->key);
    lmr->pz->n_refs--;
    dm_obj_free(lmr);
}

void dm_ofi_lmr_destroy(struct dm_lmr *lmr)
{
    withdraw(lmr);
    destroy(lmr);
}

DAT_RETURN dm_ofi_lmr_free(DAT_LMR_HANDLE handle)
{
    struct dm_lmr *lmr = dm_obj_get(handle, DAT_HANDLE_TYPE_LMR);
    struct dm_pia *ia;
    DAT_RETURN ret = DAT_SUCCESS;

    if (lmr == NULL)
        return DM_DAT(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
    ia = lmr->obj.ia;
    pthread_mutex_lock(&ia->lock);
    if (lmr->n_binds > 0) {
        ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    } else {
        withdraw(lmr);
        if (dm_ofi_wait((struct dm_ofi_ia *)ia, lmr->pz, lmr->key, is_returned) &&
            dm_ofi_far_wait((struct dm_ofi_ia *)ia, lmr->pz, lmr->key))
            destroy(lmr);
        else /* a peer that stands still may be in the middle of it */
            ret = DM_DAT(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    }
    pthread_mutex_unlock(&ia->lock);
    return ret;
}
