/*
 * Processes of other jobs, and the table of them.
 */
#ifndef DM_DAPL_ADAPT_CORE_PROC_H
#define DM_DAPL_ADAPT_CORE_PROC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/core/link.h"
#include "dapl_adapt/public/proc.h"
#include "util/hash.h"
#include "util/list.h"

struct dm_adapt;
struct dm_conn;

/* Numbers that there are at most: cookies have 21 bits for one, private data 20 for a rank. */
#define DM_PROCS_MAX (1 << 20)

#define DM_INSTANCES 63 /* 6 bits of the private data; 0: none */

/*
 * Life of a number:
 *
 *     FREE --> GUEST    one that is not known has come by a port
 *     FREE, GUEST --> KNOWN    dm_adapt_proc_get()
 *     GUEST, KNOWN --> LEAVING    the last reference is put, or the guest is not wanted
 *     LEAVING --> KNOWN    it is wanted again, and has not been told yet
 *     LEAVING --> FREE    its connection is gone
 */
enum dm_proc_state { DM_PROC_FREE, DM_PROC_GUEST, DM_PROC_KNOWN, DM_PROC_LEAVING };

/* A number above those of the own job. Guarded by dm_adapt.shared.lock, but for what is marked. */
struct dm_proc {
    struct dm_proc_id id; /* fixed while it is not free */
    int number;
    enum dm_proc_state state;
    int n_refs;           /* the main thread's */
    struct dm_list place; /* in dm_procs.free or .parting */
    uint64_t token;       /* guest: of the port that it came by; else: of its port */
    bool has_token;
    bool has_ended; /* it has told so by its last connection */
    char *addr;     /* NULL: nobody told; the main thread's */
    int node;       /* number of its host, -1: not known */
    char host[DM_PROC_HOST_MAX];
    uint8_t gens[DM_LINK_N]; /* of links of the number's last connection */
};

struct dm_port {
    uint64_t token;
    struct dm_list node;
};

/* A host that has none of the own job's processes, as far as is known. */
struct dm_proc_host {
    uint64_t host;
    int node;
};

struct dm_procs {
    size_t max;          /* of all tables by number */
    struct dm_proc **at; /* by number, from job.size on; reserved */
    atomic_int n;
    int n_used;             /* that are not free */
    struct dm_list free;    /* longest first */
    struct dm_list parting; /* that are closed, or whose number is to be freed */
    struct dm_hash by_id;
    struct dm_list ports;
    uint8_t n_instances;
    bool is_serving;
    struct dm_proc_host *hosts;
    int n_hosts;
};

/* Who a process is, in messages; made to be used inside of a call: dm_who(adapt, proc).text */
struct dm_who {
    char text[DM_PROC_TEXT_MAX];
};

struct dm_who dm_who(const struct dm_adapt *adapt, int proc);
/* The entry of a foreign process; NULL: of the own job, or no such number. */
struct dm_proc *dm_proc_of(const struct dm_adapt *adapt, int proc);
/* Its host's name, as far as is known. */
const char *dm_proc_host(const struct dm_adapt *adapt, int proc);

#endif
