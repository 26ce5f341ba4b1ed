/*
 * The socket below a connection of the fabric's provider "tcp", which
 * libfabric does not show: for the one thing that it cannot do, finding out
 * that the network does not carry it any more.
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_SOCK_H
#define DM_PROVIDERS_OFI_TRANSPORT_SOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/fi_endpoint.h>

/* The socket with this endpoint's two addresses; -1 if there is none. *hint_p:
 * where to look first, is moved. */
int dm_ofi_sock_find(struct fid_ep *fid, int *hint_p);
#endif
