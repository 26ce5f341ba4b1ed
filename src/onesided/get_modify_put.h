/*
 * Updates of private memory of the same host by RDMA read, local operation and RDMA write
 * (get_modify_put.c).
 */
#ifndef DM_ONESIDED_GET_MODIFY_PUT_H
#define DM_ONESIDED_GET_MODIFY_PUT_H

#include "onesided/peer.h"
#include "onesided/pkt.h"

/*
 * Update n elements of registered memory that is private to a process on this host, under the
 * exclusive lock of its part; over when it returns. acc is as in a packet without records, data
 * packed (NULL with MPI_NO_OP); old, unless NULL, gets what was there, packed. False: nothing was
 * done.
 */
bool dm_rma_get_modify_put(const struct dm_rma_call *call, const struct dm_pkt_rma_acc *acc,
                           size_t n, const char *data, char *old, int *err_p);
void dm_rma_get_modify_put_stop(void);

#endif
