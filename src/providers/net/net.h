/*
 * What providers over networks share: the choice of an interface, ia_params, ports for
 * qualifiers, who drives the network (a consumer that polls, one that waits, or a thread),
 * sockets in forked children. It is linked into each of them.
 *
 * Locks: pia.lock guards everything; no call sleeps while it is held.
 *
 * ia_params, "key=value key=value":
 *   if=NAME        network interface; else a sensible one is chosen
 *   family=4       IPv4 (or 6) only
 *   progress=auto  a thread works when no consumer polls; manual: there is
 *                  none, the consumer has to poll; thread: it works always
 *   timeout=20     seconds of silence after which a connection breaks
 */
#ifndef DM_PROVIDERS_NET_NET_H
#define DM_PROVIDERS_NET_NET_H

#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include "providers/common/common.h"
#include "providers/net/ops.h"

enum dm_net_mode { DM_NET_AUTO, DM_NET_MANUAL, DM_NET_THREAD };

enum { DM_NET_FDS = 2, DM_NET_WANT_LEN = 256 };

/* Who drives the network; sleep.c and thread.c. */
struct dm_net_progress {
    _Atomic uint32_t n_polls; /* by consumers */
    _Atomic uint32_t n_leads; /* sleeps on the descriptors by who waits */
    pthread_t poller;         /* who polled last, */
    _Atomic pid_t poller_id;  /* and its number; 0: nobody */
    uint32_t n_polls_seen;    /* by who slept last on the descriptors */
    _Atomic uint32_t word;    /* futex of the thread */
    _Atomic bool is_waiting;  /* the thread, for more than a moment */
    _Atomic bool
        is_polled; /* consumers poll: the thread looks each millisecond whether they still do */
    _Atomic bool has_agents;
    _Atomic bool is_stopping;
    int kick_fd;         /* wakes the thread... */
    int lead_fd;         /* ...and who waits in dm_net_sleep() on the descriptors */
    uint64_t busy_until; /* who waits polls busily until then: busy_poll() */
    uint32_t busy_skips, busy_skips_max;
};

/* Memory contexts; key.c. */
struct dm_net_keys {
    struct dm_net_region *regions;
    uint32_t n;
    uint32_t n_used;
    uint32_t *free; /* a ring of indices */
    uint32_t n_free;
    uint32_t free_head;
};

/* Requests and receives that are not in use; op.c. */
struct dm_net_op_pool {
    struct dm_list free;
    struct dm_list chunks;
};

/* First member of the instance of a provider over a network. */
struct dm_net {
    struct dm_pia pia;
    const struct dm_net_ops *ops;
    char iface[IF_NAMESIZE];
    enum dm_net_mode mode;
    uint64_t timeout_ns;
    int fds[DM_NET_FDS]; /* to sleep on, the first for data; -1: none */
    struct dm_net_progress progress;
    _Atomic uint64_t next_timer;
    struct dm_list conns;     /* all, but those that end */
    struct dm_list ending;    /* those to be closed after the round */
    struct dm_list listeners; /* struct dm_net_listener */
    struct dm_list waiting;   /* endpoints that wait for space: link_waiting */
    bool is_in_round;         /* what has come is being handled */
    bool is_short_reported;   /* that this process is short of ports or descriptors */
    int n_redirected;         /* connections in DM_CONN_REDIRECTED */
    int n_setup;              /* connections that are being set up, or ended */
    struct dm_net_keys keys;
    struct dm_net_op_pool pool;
    /* Attributes that ia_query shows. */
    DAT_NAMED_ATTR attrs[16];
    char attr_text[2][48];
};

/* ---- instance: net.c ---- */

/* Fresh memory for event rings. */
void *dm_net_mem_alloc(struct dm_pia *ia, size_t len);
void dm_net_mem_free(struct dm_pia *ia, void *mem);
/* Read params, choose the interface and set pia.addr. keys: those that the provider knows,
 * NULL at the end. Errors are reported; dm_net_close() may be called then, too. */
DAT_RETURN dm_net_open(struct dm_net *net, const struct dm_net_ops *ops, const char *params,
                       const char *const *keys);
void dm_net_close(struct dm_net *net);
/* The provider's operations. */
bool dm_net_start(struct dm_pia *ia);
void dm_net_stop(struct dm_pia *ia);
void dm_net_reap(struct dm_pia *ia);
/* What dat_ia_query shows; fabric: a text. */
void dm_net_show_attrs(struct dm_net *net, const char *fabric, bool is_last_last);

/* ---- interface.c ---- */

/* Choose the interface, or take the one that is asked for: its name and address. want may be
 * NULL, family AF_UNSPEC. DM_OK, DM_ECONFIG: there is none, DM_ENOMEM. */
int dm_net_if_choose(const char *want, int family, char *name, struct sockaddr_storage *addr);
/* Tell the user of the provider of this name why there is none. */
void dm_net_if_explain(const char *name, const char *want, int family);

/* ---- port.c ---- */

/* Bytes of an address of its family. */
socklen_t dm_net_addr_len(const struct sockaddr *addr);
void dm_net_addr_set_port(struct sockaddr_storage *addr, uint16_t port);
/* Where to connect for this address: a loopback address stands for our own. */
void dm_net_target(const struct dm_net *net, const struct sockaddr *to,
                   struct sockaddr_storage *out);
/* The port of the n-th try to find a qualifier, 0: there are no more. */
uint16_t dm_net_qual_port(DAT_CONN_QUAL qual, uint32_t n);
/* Bind the name of a qualifier on this host; -1 when it is taken, -2 on errors. */
int dm_net_qual_name_bind(const struct dm_net *net, const char *prefix, DAT_CONN_QUAL qual);
/* The service point of the instance for a qualifier; NULL: none. */
struct dm_sp *dm_net_sp_find(struct dm_net *net, DAT_CONN_QUAL qual);

/* ---- alive.c ---- */

/* Have the kernel break a socket that is idle when the peer is silent so long. */
void dm_net_keep_alive(int sock, uint64_t timeout_ns);
/* Is something on its way, and has the peer not been heard for this long? A peer that does
 * not read says that, and is heard. */
bool dm_net_is_stuck(int sock, uint64_t ns);

/* ---- who drives: thread.c, sleep.c ---- */

bool dm_net_progress_start(struct dm_net *net);
/* What still ends after it may kick, and wakes waiters. */
void dm_net_progress_stop(struct dm_net *net);
/* Close the descriptors, also after a start that failed; the last of all, as others may get their numbers. */
void dm_net_progress_close(struct dm_net *net);
void dm_net_poll(struct dm_pia *ia);
void dm_net_kick(struct dm_pia *ia);
int dm_net_sleep(struct dm_pia *ia, struct dm_evd_ring *ring, uint32_t value, uint64_t deadline);
/* Drive, and wait for at most a millisecond; the lock is held all the time. */
void dm_net_progress_wait(struct dm_net *net);
/* Drive the instance until something is over for a region, seconds at most; false: it is not. */
bool dm_net_wait_over(struct dm_net *net, const struct dm_pz *pz, uint32_t key,
                      dm_net_is_over *is_over);
/* Look at the timers then at the latest. */
void dm_net_timer_at(struct dm_net *net, uint64_t when);

/* ---- thread.c and sleep.c, among themselves ---- */

/* Without a thread, agents of CNOs run in whoever drives; the lock is not held. */
void dm_net_run_agents(struct dm_net *net);
/* Have the thread look again; any context. */
void dm_net_wake_thread(struct dm_net *net);
void dm_net_eventfd_signal(int fd);
/* Sleep on the descriptors and one of our own; 0, ETIMEDOUT or EINTR. The lock is not held. */
int dm_net_sleep_on(struct dm_net *net, int own_fd, uint64_t deadline);

static inline uint64_t dm_net_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- fork.c ---- */

void dm_net_forked(struct dm_pia *ia);

#endif
