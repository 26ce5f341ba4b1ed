/*
 * Processes of other jobs, and ports that they come by.
 *
 * A process is known to all by its identity: job and rank there. Each process gives the others
 * numbers of its own ("proc"): 0 to size-1 are the own job's, those above are foreign. A number is
 * given to somebody else after its last reference, so that it never goes over the wire; identities
 * and infos do.
 *
 * Foreign processes have references. The last one closes the connection in order: what is queued
 * goes out, each side tells the other, and everything is freed. What the other one still holds then
 * is an end of its own: its number stays, and a connection is made anew when either needs one.
 *
 * All calls under the global lock. None of them waits.
 */
#ifndef DM_DAPL_ADAPT_PUBLIC_PROC_H
#define DM_DAPL_ADAPT_PUBLIC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/public/types.h"

#define DM_PROC_ADDR_MAX 640 /* bytes of an address with its NUL */
#define DM_PROC_HOST_MAX 64  /* of a host's name */
#define DM_PROC_TEXT_MAX 128 /* of the name of a process in messages */
#define DM_PROC_PACK_MAX 512 /* of a packed address at most */

/* Who a process is, the same everywhere. Plain bytes; pad is 0. */
struct dm_proc_id {
    uint64_t job; /* hash of the job's name */
    uint32_t rank;
    uint32_t pad;
};

/* What others need to reach it. Plain bytes, may be sent as they are; both texts end with NUL. */
struct dm_proc_info {
    struct dm_proc_id id;
    char host[DM_PROC_HOST_MAX];
    char addr[DM_PROC_ADDR_MAX];
};

/* Less than 0, 0, more: an order that all processes agree on. */
static inline int dm_proc_id_compare(struct dm_proc_id a, struct dm_proc_id b)
{
    if (a.job != b.job)
        return a.job < b.job ? -1 : 1;
    return (a.rank > b.rank) - (a.rank < b.rank);
}

/*
 * Be reachable from other jobs: open the rails that a job of one, or of one host, has not opened at
 * start, and run the connection servers. Done by dm_adapt_proc_get and dm_adapt_port_open, too.
 * DM_EPROVIDER: there is no provider.
 */
int dm_adapt_serve(struct dm_adapt *adapt);

/*
 * The number of a process, one reference more (own job: its rank, not counted). One that is not
 * known gets the next free number. DM_ENOMEM; DM_ECONN: its address cannot be read; what
 * dm_adapt_serve says.
 */
int dm_adapt_proc_get(struct dm_adapt *adapt, const struct dm_proc_info *info, int *proc_p);
/* All numbers are below this one. Fixed. */
size_t dm_adapt_proc_max(const struct dm_adapt *adapt);
/* One reference more to a process that has one. Own job: nothing. */
void dm_adapt_proc_ref(struct dm_adapt *adapt, int proc);
/*
 * One less; the last one closes the connection in order and frees the number. Own job: nothing.
 * Returns at once; progress does the rest.
 */
void dm_adapt_proc_put(struct dm_adapt *adapt, int proc);

/* Has it told, when it closed its last connection, that it ends? It will not be reached again. */
bool dm_adapt_proc_has_ended(const struct dm_adapt *adapt, int proc);
struct dm_proc_id dm_adapt_proc_id(const struct dm_adapt *adapt, int proc);
/* What others need, of any known process. DM_ECONN: a guest whose address nobody told. */
int dm_adapt_proc_info(struct dm_adapt *adapt, int proc, struct dm_proc_info *info_p);
/* "rank 3 on host a", "rank 3 of job 1f2e3d4c on host a". Returns buf. */
const char *dm_adapt_proc_text(const struct dm_adapt *adapt, int proc, char *buf, size_t len);
/*
 * The number of its host: the launcher's for the own job's hosts; hosts of other jobs' processes
 * follow. Hosts are the same when they share kernel and network. -1: a guest whose address nobody
 * told.
 */
int dm_adapt_proc_node(const struct dm_adapt *adapt, int proc);

/*
 * Accept unknown processes that know the token (random). They become processes without a reference
 * (guests): they are kept until they leave or the port is closed, or for good by dm_adapt_proc_get,
 * which finds the number that their packets have come from.
 */
int dm_adapt_port_open(struct dm_adapt *adapt, uint64_t *token_p);
/* From now on they are refused at once; guests that nobody has taken are sent away. */
void dm_adapt_port_close(struct dm_adapt *adapt, uint64_t token);
/*
 * The token for a process that may not know us; before the first packet to it. If it refuses, the
 * process is lost at once (DM_ECONN, "no such port" in dm_adapt_lost_why). Without a token a
 * process that does not know us yet is asked again until DATUM_TIMEOUT.
 */
void dm_adapt_proc_set_token(struct dm_adapt *adapt, int proc, uint64_t token);

/*
 * An address in bytes, for the names of ports: the rails that fit into max bytes, best first.
 * Returns how many bytes; 0: not even one rail fits, or the text is none.
 */
size_t dm_adapt_addr_pack(const char *addr, unsigned char *bytes, size_t max);
/* Back to text. DM_ECONN: these bytes are no address. */
int dm_adapt_addr_unpack(const unsigned char *bytes, size_t n, char addr[DM_PROC_ADDR_MAX]);

#endif
