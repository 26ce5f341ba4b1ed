/*
 * Memory regions: an entry of the key table, and a descriptor of the memory if
 * peers may map it. Nothing is pinned.
 */
#include "providers/shm/lmr.h"

#include <fcntl.h>
#include <unistd.h>

#include "providers/shm/ctrl.h"
#include "providers/shm/key.h"
#include "providers/shm/transport/quiesce.h"

DAT_RETURN dm_shm_lmr_prepare(struct dm_pia *pia, const struct dm_lmr *want)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)pia;

    if (want->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL &&
        ia->model.is_on) /* nobody takes a short cut */
        return DM_DAT(DAT_MODEL_NOT_SUPPORTED, 0);
    dm_shm_model_lock(ia, want->len);
    return DAT_SUCCESS;
}

/* A descriptor of our own of the region's memory, if there is one: that of the arena, which all its regions
 * share, or a duplicate. False: out of them. */
static bool lmr_file_dup(const struct dm_shm_ia *ia, struct dm_shm_lmr *lmr,
                         const struct dm_lmr_file *file, const struct dm_shm_lmr *from)
{
    const struct dm_arena *arena = &ia->seg.arena;
    int fd = file != NULL ? file->fd : from != NULL ? from->fd : -1;
    bool is_shared =
        arena->head != NULL && file != NULL && file->dev == arena->dev && file->ino == arena->ino;

    lmr->fd = -1;
    if (fd < 0)
        return true;
    lmr->fd_offset = file != NULL ? file->offset : from->fd_offset;
    if (is_shared || (arena->head != NULL && fd == arena->fd))
        lmr->fd = arena->fd;
    else
        lmr->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return lmr->fd >= 0;
}

/* Show peers the file. Without the memory for that they have to ask. */
static void lmr_file_show(struct dm_shm_ia *ia, struct dm_shm_lmr *lmr,
                          const struct dm_lmr_file *file, const struct dm_shm_lmr *from)
{
    const struct dm_shm_file *same = from != NULL ? from->file : NULL;

    lmr->file = NULL;
    if (lmr->fd < 0 || (file == NULL && same == NULL))
        return;
    lmr->file = dm_shm_seg_alloc(&ia->seg, sizeof(*lmr->file));
    if (lmr->file == NULL)
        return;
    lmr->file->dev = file != NULL ? file->dev : same->dev;
    lmr->file->ino = file != NULL ? file->ino : same->ino;
    lmr->file->offset = lmr->fd_offset;
    lmr->file->fd = lmr->fd;
}

static void lmr_file_hide(struct dm_shm_ia *ia, struct dm_shm_lmr *lmr)
{
    if (lmr->fd >= 0 && !(ia->seg.arena.head != NULL && lmr->fd == ia->seg.arena.fd))
        close(lmr->fd);
    if (lmr->file != NULL)
        dm_shm_seg_free(&ia->seg, lmr->file);
}

DAT_RETURN dm_shm_lmr_register(struct dm_lmr *lmr, const struct dm_lmr_file *file,
                               const struct dm_lmr *from)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;
    struct dm_shm_lmr *slmr = (struct dm_shm_lmr *)lmr;
    struct dm_shm_key entry = {.va = lmr->va,
                               .len = lmr->len,
                               .addr = lmr->addr,
                               .priv = DM_PRIV_LMR(lmr->priv),
                               .pz = lmr->pz->id};

    if (!lmr_file_dup(ia, slmr, file, (const struct dm_shm_lmr *)from))
        return DM_DAT_NO_REGION;
    lmr_file_show(ia, slmr, file, (const struct dm_shm_lmr *)from);
    lmr->key = dm_shm_key_new(lmr->obj.ia);
    if (lmr->key == 0) {
        lmr_file_hide(ia, slmr);
        return DM_DAT_NO_REGION;
    }
    entry.base_key = slmr->fd >= 0 ? lmr->key : 0;
    if (slmr->file != NULL)
        entry.file = (uint32_t)(dm_shm_seg_offset(&ia->seg, slmr->file) / 64);
    dm_shm_key_publish(ia, lmr->key, &entry);
    return DAT_SUCCESS;
}

struct dm_shm_lmr *dm_shm_lmr_find(struct dm_shm_ia *ia, uint32_t key)
{
    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_LMR]) {
        struct dm_shm_lmr *lmr = dm_container_of(it, struct dm_shm_lmr, lmr.obj.link);

        if (lmr->lmr.key == key)
            return lmr;
    }
    return NULL;
}

static void notify_unmap(struct dm_shm_ia *ia, uint64_t serial)
{
    struct dm_shm_ctrl msg = {.type = DM_CTRL_UNMAP, .serial = serial};

    dm_list_for_each (it, &ia->pia.objs[DAT_HANDLE_TYPE_EP]) {
        struct dm_shm_ep *ep = dm_container_of(it, struct dm_shm_ep, ep.obj.link);

        dm_shm_ep_check_up(ep); /* the peer may use it already */
        if (ep->conn != NULL && ep->conn->state == DM_CONN_UP)
            dm_shm_ctrl_send(ep->conn, &msg, -1);
    }
}

bool dm_shm_lmr_hide(struct dm_lmr *lmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;

    if (!lmr->is_hidden)
        ((struct dm_shm_lmr *)lmr)->serial = dm_shm_key_hide(ia, lmr->key);
    return dm_shm_quiesce(ia, NULL);
}

void dm_shm_lmr_deregister(struct dm_lmr *lmr)
{
    struct dm_shm_ia *ia = (struct dm_shm_ia *)lmr->obj.ia;
    struct dm_shm_lmr *slmr = (struct dm_shm_lmr *)lmr;
    bool is_mapped =
        slmr->is_exported || (slmr->file != NULL && atomic_load(&slmr->file->is_mapped) != 0);

    dm_shm_model_unlock(ia, lmr->len);
    lmr_file_hide(ia, slmr);
    if (is_mapped)
        notify_unmap(ia, slmr->serial);
    dm_shm_key_free(lmr->obj.ia, lmr->key);
}
