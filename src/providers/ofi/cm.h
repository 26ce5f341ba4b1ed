/*
 * Connection management, between the files that do it. ia->lock is held in all functions.
 */
#ifndef DM_PROVIDERS_OFI_CM_H
#define DM_PROVIDERS_OFI_CM_H

#include "providers/ofi/conn.h"

/* ---- what the fabric says of connections ---- */

void dm_ofi_cm_connected(struct dm_ofi_conn *conn);
void dm_ofi_cm_shutdown(struct dm_ofi_conn *conn);
/* err: FI_E... */
void dm_ofi_cm_error(struct dm_ofi_conn *conn, int err);
/* Somebody connects to the passive endpoint fid: info is taken over. */
void dm_ofi_cm_connreq(struct dm_ofi_ia *ia, const struct fid *fid, struct fi_info *info,
                       const void *data, size_t len);

/* ---- the handshake ---- */

/* A message of it has come. */
void dm_ofi_cm_handshake(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake);
/* It is a request. */
void dm_ofi_cm_request(struct dm_ofi_conn *conn, const struct dm_ofi_handshake *handshake);
/* The deadline has come. */
void dm_ofi_cm_timeout(struct dm_ofi_conn *conn);
/* Connect those who are redirected; outside of a round. */
void dm_ofi_cm_redirect(struct dm_ofi_ia *ia);

#endif
