/*
 * Copying between local segments and the peer's memory.
 */
#ifndef DM_PROVIDERS_SHM_TRANSPORT_COPY_IOV_H
#define DM_PROVIDERS_SHM_TRANSPORT_COPY_IOV_H

#include <sys/uio.h>

#include "providers/shm/rdma.h"

/* Copy between the local segments and the pieces; DM_EXEC_DONE when done. The busy word is odd. */
enum dm_shm_exec dm_shm_copy_pieces(struct dm_shm_ep *ep, const struct iovec *vec,
                                    const struct dm_shm_piece *piece, uint32_t n, bool is_write,
                                    struct dm_shm_result *res);

#endif
