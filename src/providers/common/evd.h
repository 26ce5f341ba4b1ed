/*
 * Event dispatchers and notification objects (uDAPL 2.0, chapters on EVD and
 * CNO). The consumer's side; producers see only the ring.
 */
#ifndef DM_PROVIDERS_COMMON_EVD_H
#define DM_PROVIDERS_COMMON_EVD_H

#include <stdatomic.h>

#include "providers/common/evd_ring.h"
#include "providers/common/obj.h"

#define DM_EVD_QLEN_MAX 131072

/* Tags of DTO completions: which counter of the endpoint dequeuing moves. The
 * endpoint's generation guards against one that has been freed since. */
enum dm_tag { DM_TAG_NONE, DM_TAG_REQUEST, DM_TAG_RECV };
#define DM_TAG(gen, kind) ((uint32_t)(gen) << 2 | (uint32_t)(kind))
#define DM_TAG_KIND(tag)  ((tag)&3u)
#define DM_TAG_GEN_MASK   0x3fffffffu

struct dm_cno {
    struct dm_obj obj;
    struct dm_cno_ring *ring;
    DAT_OS_WAIT_PROXY_AGENT agent;
    int fd;            /* of dm_cno_fd_create(), else -1 */
    bool is_signalled; /* fd is readable */
    bool is_running;   /* an agent of it is in the consumer's hands... */
    pthread_t runner;  /* ...in this thread */
    int n_refs;        /* EVDs */
    _Atomic int n_waiters;
    _Atomic bool is_dead;
};

struct dm_evd {
    struct dm_obj obj;
    struct dm_evd_ring *ring;
    _Atomic uint64_t head; /* position of the next event; moved by the consumer only */
    /* Who moves the ring and who posts to it, on either line; on the thread-safe one the consumer, too. */
    pthread_mutex_t lock;
    DAT_COUNT qlen;
    DAT_EVD_FLAGS flags;
    struct dm_cno *cno;
    bool is_enabled;
    _Atomic bool is_unwaitable;
    _Atomic bool is_waiting;
    _Atomic bool is_dead; /* being freed: waiters leave with DAT_ABORT */
    bool is_overflowed;
    int n_refs; /* endpoints and service points */
    /* Of a strict instance: events that may be dequeued, and when more will. */
    DAT_COUNT n_shown;
    uint64_t show_at;
};

#define DM_DAT_BAD_EVD DM_DAT(DAT_INVALID_HANDLE, 0)

/* Create one; ia->lock is held. qlen and flags have been checked. */
DAT_RETURN dm_evd_new(struct dm_pia *ia, DAT_COUNT qlen, struct dm_cno *cno, DAT_EVD_FLAGS flags,
                      struct dm_evd **evd_p);
/* Destroy it, events and all, after its waiter has left; ia->lock is held. */
void dm_evd_destroy(struct dm_evd *evd);
void dm_cno_destroy(struct dm_cno *cno);
/* Sleep until the word is not this value any more, or the deadline, as dm_futex_wait(). Without locks. */
int dm_evd_sleep(struct dm_pia *ia, _Atomic uint32_t *word, uint32_t value, uint64_t deadline);

/* Add an event from this process. Reports an overflow to the async EVD. May be
 * called with or without ia->lock. False: there was no space. */
bool dm_evd_add(struct dm_evd *evd, const struct dm_evd_item *item);
/* The same without a notification, see dm_evd_ring_add_quiet(). */
bool dm_evd_add_quiet(struct dm_evd *evd, const struct dm_evd_item *item);
/* Number of events ready in a row, looking no further than max. */
DAT_COUNT dm_evd_count_ready(struct dm_evd *evd, uint64_t max);
/* Report that events of evd were lost; once per EVD. */
void dm_evd_overflow(struct dm_evd *evd);

/* Events by kind; evd may be NULL, then nothing happens. */
void dm_evd_add_dto(struct dm_evd *evd, const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t tag);
void dm_evd_add_conn(struct dm_evd *evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep, void *data,
                     DAT_COUNT len);
/* False: there was no space. */
bool dm_evd_add_cr(struct dm_evd *evd, const DAT_CR_ARRIVAL_EVENT_DATA *cr);
void dm_evd_add_async(struct dm_evd *evd, DAT_EVENT_NUMBER number, DAT_HANDLE handle,
                      DAT_COUNT reason);
/* The same as an item, for a ring of another process. */
struct dm_evd_item dm_evd_item_dto(const DAT_DTO_COMPLETION_EVENT_DATA *dto, uint32_t tag);
struct dm_evd_item dm_evd_item_conn(DAT_EVENT_NUMBER number, uint64_t ep, uint64_t data,
                                    DAT_COUNT len);

/* Run the agents of triggered CNOs; no lock is held. */
void dm_cno_run_agents(struct dm_pia *ia);

/* DAT calls. */
DAT_RETURN dm_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
                         DAT_EVD_HANDLE *evd_p);
DAT_RETURN dm_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN dm_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN dm_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN dm_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN dm_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                       DAT_EVENT *event, DAT_COUNT *n_more_p);
DAT_RETURN dm_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN dm_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN dm_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN dm_evd_free(DAT_EVD_HANDLE evd);
DAT_RETURN dm_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dm_evd_clear_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dm_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno_p);
DAT_RETURN dm_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd_p, DAT_CNO_HANDLE *cno_p);
DAT_RETURN dm_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd_p);
DAT_RETURN dm_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dm_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);
DAT_RETURN dm_cno_free(DAT_CNO_HANDLE cno);
DAT_RETURN dm_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_p);

#endif
