/*
 * Posting requests to the fabric, between the files that do it. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_RDMA_H
#define DM_PROVIDERS_OFI_RDMA_H

#include <sys/uio.h>

#include "providers/ofi/dto.h"

enum { DM_OFI_IOV_MAX = 8 };

/* The local side of a request. */
struct dm_ofi_local {
    struct iovec vec[DM_IOV_MAX];
    uint32_t n;
    uint64_t len;
    uint64_t remote; /* how the fabric addresses the other side, */
    uint64_t key;    /* and by which key */
};

/* A stretch of it that the fabric takes at once. */
struct dm_ofi_part {
    struct iovec vec[DM_OFI_IOV_MAX];
    size_t n;
    uint64_t len;
};

/* Post it to the fabric. 0; -FI_EAGAIN: when there is space; -FI_EBUSY: when the
 * peer has answered; else it has failed, *status_p says how. op NULL:
 * unsignalled, in one piece. */
int dm_ofi_issue(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                 DAT_DTO_COMPLETION_STATUS *status_p);

/* ---- rdma.c, send.c and read.c, among themselves; the same answers ---- */

int dm_ofi_issue_write(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct dm_ofi_part *part,
                       uint64_t at, uint64_t key, uint64_t flags,
                       DAT_DTO_COMPLETION_STATUS *status_p);
int dm_ofi_issue_writes(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                        const struct dm_ofi_local *local, DAT_DTO_COMPLETION_STATUS *status_p);
/* word: flags and value of the CQ data. */
int dm_ofi_issue_send(struct dm_ofi_ep *ep, struct dm_ofi_op *op, const struct dm_ofi_local *local,
                      uint64_t word, DAT_DTO_COMPLETION_STATUS *status_p);
int dm_ofi_issue_write_immed(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                             const struct dm_ofi_local *local, DAT_DTO_COMPLETION_STATUS *status_p);
/* A read that the peer answers by writing. */
int dm_ofi_issue_peer_reads(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                            const struct dm_ofi_local *local);
/* Has the peer a receive for a message of so many bytes? */
int dm_ofi_send_find_recv(struct dm_ofi_ep *ep, struct dm_ofi_op *op, uint64_t len);
/* What the receiver of a message has to know. */
uint64_t dm_ofi_send_word(const struct dm_dto *dto);
/* What the fabric's answer ret to an attempt means. */
int dm_ofi_issue_result(struct dm_ofi_ep *ep, struct dm_ofi_op *op, ssize_t ret,
                        DAT_DTO_COMPLETION_STATUS *status_p);
/* The context of a request; op NULL: one that nobody waits for. */
void *dm_ofi_issue_ctx(struct dm_ofi_ep *ep, struct dm_ofi_op *op);
/* The next stretch from pos on, of at most lim pieces. */
void dm_ofi_local_part(const struct dm_ofi_local *local, uint64_t pos, size_t lim,
                       struct dm_ofi_part *part);
/* Segments that the fabric takes. */
size_t dm_ofi_iov_limit(const struct dm_ofi_ia *ia);
/* Where len bytes go: in one stretch, or two if the last bytes are to be last. */
size_t dm_ofi_split_last(struct dm_ofi_ep *ep, uint64_t at, uint64_t len, uint64_t key,
                         struct fi_rma_iov remote[2]);

#endif
