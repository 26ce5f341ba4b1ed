/*
 * Staged transfers, where neither mapping nor process_vm is possible: data go
 * through a buffer in the initiator's segment, and the target's progress
 * thread copies between that buffer and its own memory. One chunk of one
 * request per endpoint is under way at a time.
 */
#include "providers/shm/transport/stage.h"

#include <string.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/dto.h"
#include "providers/shm/ext.h"
#include "providers/shm/key.h"
#include "providers/shm/recv.h"
#include "providers/shm/transport/peer.h"

enum { STAGE_LEN = 256 * 1024, STAGE_MIN = 4096, STAGE_SHARE = 8 };

/* Copy len bytes between the buffer and the local segments from offset on. */
static void stage_copy_local(const struct iovec *vec, uint64_t offset, char *buf, uint64_t len,
                             bool is_gather)
{
    while (offset >= vec->iov_len) {
        offset -= vec->iov_len;
        vec++;
    }
    while (len > 0) {
        uint64_t part = vec->iov_len - offset < len ? vec->iov_len - offset : len;
        char *local = part > 0 ? (char *)vec->iov_base + offset : NULL;

        if (part > 0 && is_gather)
            memcpy(buf, local, part);
        else if (part > 0)
            memcpy(local, buf, part);
        buf += part;
        len -= part;
        offset = 0;
        vec++;
    }
}

/* A buffer: of a fair share of the segment where many endpoints need one, or
 * of whatever size there is left. */
static bool stage_alloc(struct dm_shm_ia *ia, struct dm_shm_ep *ep)
{
    uint64_t n = 0;
    uint32_t fair = STAGE_LEN;

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP])
        n++;
    while (fair > STAGE_MIN && fair * n > ia->seg.size / STAGE_SHARE)
        fair /= 2;
    ep->stage.len = fair;
    ep->stage.buf = dm_shm_seg_alloc(&ia->seg, fair);
    for (uint32_t len = STAGE_LEN; len >= STAGE_MIN && ep->stage.buf == NULL; len /= 2) {
        ep->stage.len = len;
        ep->stage.buf = dm_shm_seg_alloc(&ia->seg, len);
    }
    return ep->stage.buf != NULL;
}

/* The part of the receive in which byte number done falls. */
static bool stage_recv_part(const struct dm_shm_recv *recv, uint64_t done, struct dm_shm_ctrl *msg,
                            uint64_t *space_p)
{
    for (uint32_t i = 0; i < recv->n_seg; i++) {
        const DAT_LMR_TRIPLET *seg = &recv->seg[i];

        if (done < seg->segment_length) {
            msg->key = seg->lmr_context;
            msg->va = seg->virtual_address + done;
            *space_p = seg->segment_length - done;
            return true;
        }
        done -= seg->segment_length;
    }
    return false;
}

bool dm_shm_stage_step(struct dm_shm_ep *ep, struct dm_shm_op *op, struct dm_shm_result *res)
{
    struct dm_shm_ia *ia = dm_shm_ia_of(ep);
    struct dm_shm_ctrl msg = {.type = DM_CTRL_STAGE};
    struct iovec vec[DM_IOV_MAX];
    uint64_t total = 0;
    uint64_t space;

    memset(res, 0, sizeof(*res));
    if (dm_shm_ext_is_remote(op)) {
        dm_shm_ext_request(ep, op);
        return true;
    }
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &total)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return false;
    }
    if (ep->stage.buf == NULL && !stage_alloc(ia, ep)) {
        res->status = DAT_DTO_ERR_LOCAL_EP;
        return false;
    }
    space = total - op->done;
    if (dm_dto_is_send(&op->dto)) {
        struct dm_shm_target_recv t;
        uint64_t left;

        msg.status = DM_STAGE_LOCAL_KEY;
        if (!dm_shm_recv_peek(ep, &t) || !stage_recv_part(t.recv, op->done, &msg, &left)) {
            res->status = DAT_DTO_ERR_REMOTE_RESPONDER;
            return false;
        }
        space = space < left ? space : left;
    } else {
        msg.status = dm_dto_is_read(&op->dto) ? DM_STAGE_READ : 0;
        msg.key = op->dto.remote.rmr_context;
        msg.va = op->dto.remote.virtual_address + op->done;
    }
    op->chunk = (uint32_t)(space < ep->stage.len ? space : ep->stage.len);
    if (!dm_dto_is_read(&op->dto))
        stage_copy_local(vec, op->done, ep->stage.buf, op->chunk, true);
    msg.len = op->chunk;
    msg.offset = dm_shm_seg_offset(&ia->seg, ep->stage.buf);
    ep->stage.is_busy = true;
    dm_shm_ctrl_send(ep->conn, &msg, -1);
    return true;
}

/* A chunk has been copied; sets *is_over_p when the request is done. */
static void stage_chunk_done(struct dm_shm_ep *ep, struct dm_shm_op *op, struct dm_shm_result *res,
                             bool *is_over_p)
{
    struct iovec vec[DM_IOV_MAX];
    uint64_t total = 0;

    *is_over_p = true;
    if (!dm_shm_rdma_local_check(ep->keys, ep->pz_id, op, vec, &total)) {
        res->status = DAT_DTO_ERR_LOCAL_PROTECTION;
        return;
    }
    if (dm_dto_is_read(&op->dto))
        stage_copy_local(vec, op->done, ep->stage.buf, op->chunk, false);
    op->done += op->chunk;
    res->len = total;
    *is_over_p = op->done == total;
}

void dm_shm_stage_response(struct dm_shm_ep *ep, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_result res = {.status = DAT_DTO_SUCCESS};
    struct dm_shm_op *op;
    bool is_over = true;

    if (!ep->stage.is_busy || dm_list_is_empty(&ep->queue))
        return;
    ep->stage.is_busy = false;
    op = dm_container_of(ep->queue.next, struct dm_shm_op, link);
    if (dm_shm_ext_is_remote(op)) {
        if (!dm_shm_ext_response(ep, op, msg, &res) || dm_shm_dto_finish_head(ep, &res))
            dm_shm_dto_push(ep);
        return;
    }
    if (msg->status == DAT_DTO_SUCCESS)
        stage_chunk_done(ep, op, &res, &is_over);
    else if (dm_dto_is_send(&op->dto))
        op->recv_status = (DAT_DTO_COMPLETION_STATUS)msg->status; /* to be reported */
    else
        res.status = DAT_DTO_ERR_REMOTE_ACCESS;
    if (!is_over && dm_shm_stage_step(ep, op, &res))
        return;
    if (is_over && res.status == DAT_DTO_SUCCESS && dm_dto_is_send(&op->dto))
        op->is_copied = true; /* executing it again completes the receive */
    is_over =
        (op->dto.kind != DM_OP_WRITE_IMMED && !op->is_copied) || res.status != DAT_DTO_SUCCESS;
    if (!is_over || dm_shm_dto_finish_head(ep, &res))
        dm_shm_dto_push(ep); /* the next, or the immediate data */
}

/* Check a request against our own table, as the initiator has not. */
static char *stage_check(struct dm_shm_ep *ep, const struct dm_shm_ctrl *msg)
{
    const struct dm_shm_key *entry = &ep->keys[msg->key & DM_SHM_KEY_IDX];
    uint64_t offset = msg->va - entry->va;
    uint32_t priv;
    char *at;

    if ((msg->status & DM_STAGE_LOCAL_KEY) != 0)
        priv = DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
    else
        priv = (msg->status & DM_STAGE_READ) != 0 ? DAT_MEM_PRIV_REMOTE_READ_FLAG
                                                  : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
    if (!dm_shm_key_is_allowed(ep, entry, msg->key) || (entry->priv & priv) == 0 ||
        offset > entry->len || msg->len > entry->len - offset)
        return NULL;
    offset += entry->addr;
    memcpy(&at, &offset, sizeof(at));
    return at;
}

void dm_shm_stage_execute(struct dm_shm_conn *conn, const struct dm_shm_ctrl *msg)
{
    struct dm_shm_ctrl answer = {.type = DM_CTRL_STAGED};
    struct dm_shm_bulk bulk = {0}; /* the endpoint's is the poster's */
    char *at = stage_check(conn->ep, msg);
    char *stage = (char *)conn->peer->hdr;

    if (msg->len > STAGE_LEN || msg->offset > conn->peer->size ||
        msg->len > conn->peer->size - msg->offset)
        at = NULL;
    else
        stage += msg->offset;
    DM_DMA_BEGIN();
    if (at == NULL)
        answer.status = DAT_DTO_ERR_LOCAL_PROTECTION;
    else if ((msg->status & DM_STAGE_READ) != 0)
        memcpy(stage, at, msg->len);
    else if (msg->len > 0)
        dm_shm_copy_last(&bulk, at, stage, msg->len);
    DM_DMA_END();
    dm_shm_ctrl_send(conn, &answer, -1);
}
