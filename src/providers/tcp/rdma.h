/*
 * The frames of a request. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_TCP_RDMA_H
#define DM_PROVIDERS_TCP_RDMA_H

#include "providers/tcp/dto.h"

/* The header of its next frame, but for what all headers have. */
void dm_tcp_request_head(struct dm_tcp_ep *ep, const struct dm_tcp_op *op,
                         struct dm_tcp_head *head);
/* The data of a frame of which n bytes are left; the number of pieces. */
uint32_t dm_tcp_request_data(const struct dm_tcp_op *op, uint32_t n, struct iovec *vec,
                             uint32_t max);
/* n bytes of data have been sent of a frame of which left are left. Was it the last frame? */
bool dm_tcp_request_moved(struct dm_tcp_op *op, uint32_t n, uint32_t left);

#endif
