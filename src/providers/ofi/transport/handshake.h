/*
 * Messages of the handshake. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_HANDSHAKE_H
#define DM_PROVIDERS_OFI_TRANSPORT_HANDSHAKE_H

#include "providers/ofi/conn.h"

/* Post the receive of the next one, which goes to dm_ofi_conn_greeted(). False: it cannot be. */
bool dm_ofi_handshake_expect(struct dm_ofi_conn *conn);
/* Send one. False: it cannot be. */
bool dm_ofi_handshake_send(struct dm_ofi_conn *conn, enum dm_net_handshake_type type,
                           uint32_t status, DAT_CONN_QUAL qual, const void *data, uint32_t len);

#endif
