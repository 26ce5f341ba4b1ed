/*
 * Ports that service points listen on, and their names on this host. ia->lock is held.
 */
#ifndef DM_PROVIDERS_OFI_TRANSPORT_LISTENER_H
#define DM_PROVIDERS_OFI_TRANSPORT_LISTENER_H

#include "providers/ofi/ia.h"

/* Of the names that show which qualifiers are taken on this host. */
#define DM_OFI_NAME "datum-ofi"

/* A port of ours; service points share it. */
struct dm_ofi_listener {
    struct dm_list link;
    struct fid_pep *pep;
    uint16_t port;
    int n_refs;
    uint64_t close_at; /* when there are none */
    struct dm_ofi_ia *ia;
};

/* Where a service point listens: the port, and the name by which other processes of
 * this host see that the qualifier is taken. */
struct dm_ofi_sp_port {
    struct dm_ofi_listener *listener;
    int name_fd;
};

/* Listen on a port (0: any); 0 or an error of the fabric. */
int dm_ofi_listener_new(struct dm_ofi_ia *ia, uint16_t port, struct dm_ofi_listener **listener_p);
/* Drop a reference; it is closed a while after the last. */
void dm_ofi_listener_drop(struct dm_ofi_listener *listener);
/* The one that an event is of, which may be late: NULL then. */
struct dm_ofi_listener *dm_ofi_listener_of(struct dm_ofi_ia *ia, const struct fid *fid);
/* Close ports that nobody has used for a while; when to look again. */
uint64_t dm_ofi_listeners_timers(struct dm_ofi_ia *ia, uint64_t now);
/* The name and a port for a qualifier; listener NULL: one of its sequence. */
DAT_RETURN dm_ofi_sp_port_new(struct dm_ofi_ia *ia, DAT_CONN_QUAL qual,
                              struct dm_ofi_listener *listener, struct dm_ofi_sp_port **port_p);
void dm_ofi_sp_port_free(struct dm_ofi_sp_port *port);
/* In a forked child: close the name that the parent has. */
void dm_ofi_sp_close_fd(const struct dm_sp *sp);

#endif
