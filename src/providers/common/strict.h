/*
 * Strict mode (ia_params "strict="): a provider that does whatever DAT 2.0 allows and consumers like to
 * rely on not happening.
 *
 * It stands between the calls and the provider. Requests and receives stay in the consumer's memory,
 * and are carried out from there some time after the call: by whoever polls or waits, or by a thread.
 */
#ifndef DM_PROVIDERS_COMMON_STRICT_H
#define DM_PROVIDERS_COMMON_STRICT_H

#include "providers/common/provider.h"

#define DM_STRICT_HOLD_NS 50000 /* how long requests and events are kept */

/* What a strict provider does, by the words of "strict="; "yes" is all. */
enum dm_strict_rule {
    DM_STRICT_IOV = 1,   /* triplets are its own until completion (DAT_IOV_PROVIDER_MOD) */
    DM_STRICT_FIRST = 2, /* who accepts may not post before something has come (MPA) */
    DM_STRICT_LAST = 4,  /* the last byte of a write is placed first */
    DM_STRICT_EVENTS = 8 /* events are shown late, several at a time */
};

/* The operations of a strict provider. Lives as long as the process. */
struct dm_strict_ops {
    struct dm_prov_ops ops;
    const struct dm_prov_ops *real;
    unsigned rules;
};

/* Of an instance. */
struct dm_strict {
    const struct dm_prov_ops *real;
    unsigned rules;
    pthread_mutex_t lock; /* before all others */
    pthread_cond_t is_asked;
    pthread_t thread;
    bool is_running;
    bool is_stopping;
    struct dm_list queue;     /* requests and receives, oldest first */
    _Atomic uint32_t n;       /* so many */
    uint64_t due;             /* when to carry out the oldest */
    uint32_t pass;            /* walks over the queue */
    DAT_NAMED_ATTR attrs[32]; /* what is shown in place of the provider's */
};

/* Of an endpoint. */
struct dm_strict_ep {
    uint32_t n_requests; /* in the queue */
    uint32_t n_recvs;
    uint32_t blocked; /* in this pass nothing more of it is carried out */
    bool is_acceptor;
    bool has_received;
    bool is_reported;                 /* the consumer, that it posts too early */
    DAT_DTO_COMPLETION_STATUS status; /* of a last byte that could not be placed */
};

/* The rules in ia_params. False: a word that is none; 0: not strict. */
bool dm_strict_read(const char *params, unsigned *rules_p);
/* The operations of a provider, made strict. NULL: out of memory. */
struct dm_strict_ops *dm_strict_ops_new(const struct dm_prov_ops *real, unsigned rules);
/* Replace the calls in a table that a strict provider answers otherwise. */
void dm_strict_table(DAT_PROVIDER *provider);
/* What the provider says about itself is changed to what strict does. */
void dm_strict_attr(struct dm_pia *ia, DAT_PROVIDER_ATTR *attr);

/* Carry out what is due. */
void dm_strict_run(struct dm_strict *strict);
/* Carry out everything now, in order. */
void dm_strict_finish(struct dm_strict *strict);
/* Forget what is kept for an endpoint or a shared receive queue. */
void dm_strict_drop(struct dm_strict *strict, const void *owner);
/* An event for the consumer? A last byte's own is not; it leaves its status to the next one. */
bool dm_strict_is_shown(const struct dm_strict *strict, DAT_EVENT *event);

#endif
