/*
 * Copying between local segments and pieces of the peer's memory: by loads and stores where it is
 * mapped, else by process_vm_readv and process_vm_writev.
 */
#include "providers/shm/transport/copy_iov.h"

#include <errno.h>
#include <string.h>

#include "providers/common/last.h"
#include "providers/shm/transport/peer.h"
#include "util/copy.h"

/* A walk along the local segments. */
struct iov_cursor {
    const struct iovec *vec;
    size_t done; /* of the current one */
};

/* The next stretch of at most max bytes. */
static char *iov_next(struct iov_cursor *cur, uint64_t max, uint64_t *len_p)
{
    char *at;

    while (cur->done == cur->vec->iov_len) {
        cur->vec++;
        cur->done = 0;
    }
    at = (char *)cur->vec->iov_base + cur->done;
    *len_p = cur->vec->iov_len - cur->done;
    if (*len_p > max)
        *len_p = max;
    cur->done += *len_p;
    return at;
}

static void copy_mapped(struct dm_shm_ep *ep, struct iov_cursor *cur,
                        const struct dm_shm_piece *piece, bool is_write)
{
    uint64_t at = 0;

    while (at < piece->len) {
        uint64_t len;
        char *local = iov_next(cur, piece->len - at, &len);

        if (is_write)
            dm_shm_copy_last(&ep->bulk, piece->data + at, local, len);
        else
            dm_copy(local, piece->data + at, len);
        at += len;
    }
}

/*
 * One system call for one stretch. A write's last bytes are a local element of their own, which the kernel copies after
 * the others; a remote one would have it look for the same page once more.
 */
static ssize_t copy_cma_once(pid_t pid, char *local, uint64_t va, uint64_t len, bool is_write)
{
    uint64_t tail = is_write ? dm_last_tail(va, len) : 0;
    struct iovec here[2] = {{.iov_base = local, .iov_len = len - tail},
                            {.iov_base = local + len - tail, .iov_len = tail}};
    struct iovec there = {.iov_len = len};
    ssize_t n;

    memcpy(&there.iov_base, &va, sizeof(va));
    DM_DMA_BEGIN();
    n = is_write ? process_vm_writev(pid, here, 2, &there, 1, 0) /* the first may be empty */
                 : process_vm_readv(pid, here, 1, &there, 1, 0);
    DM_DMA_END();
    return n;
}

/* 0, or errno. */
static int copy_cma(struct dm_shm_ep *ep, struct iov_cursor *cur, const struct dm_shm_piece *piece,
                    bool is_write)
{
    uint64_t at = 0;

    while (at < piece->len) {
        uint64_t len;
        char *local = iov_next(cur, piece->len - at, &len);

        while (len > 0) {
            ssize_t n = copy_cma_once(ep->peer->pid, local, piece->va + at, len, is_write);

            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return n < 0 ? errno : EFAULT;
            local += n;
            at += (uint64_t)n;
            len -= (uint64_t)n;
        }
    }
    return 0;
}

/* Copy between the local segments and the pieces; DM_EXEC_DONE when done. */
enum dm_shm_exec dm_shm_copy_pieces(struct dm_shm_ep *ep, const struct iovec *vec,
                                    const struct dm_shm_piece *piece, uint32_t n, bool is_write,
                                    struct dm_shm_result *res)
{
    struct iov_cursor cur = {.vec = vec};

    for (uint32_t i = 0; i < n; i++) {
        int err = 0;

        if (piece[i].data != NULL)
            copy_mapped(ep, &cur, &piece[i], is_write);
        else
            err = copy_cma(ep, &cur, &piece[i], is_write);
        if (err == ESRCH)
            return DM_EXEC_DOWN;
        if (err == EPERM || err == ENOSYS) {
            atomic_store(&ep->peer->cma, DM_CMA_NO);
            return DM_EXEC_STAGE;
        }
        if (err != 0)
            res->status = DAT_DTO_ERR_REMOTE_ACCESS;
    }
    return DM_EXEC_DONE;
}
