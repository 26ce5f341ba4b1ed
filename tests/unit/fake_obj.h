/*
 * The fake provider's objects, and what tests turn and count. Part of fake_dat.h.
 */
#ifndef DM_TESTS_UNIT_FAKE_OBJ_H
#define DM_TESTS_UNIT_FAKE_OBJ_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#define FAKE_ERR(type) ((DAT_RETURN)(DAT_CLASS_ERROR | (type)))

#define FAKE_ATOMIC (-1) /* beside enum DAT_DTOS, for struct fake_work */

enum fake_kind { FAKE_IA = 1, FAKE_EVD, FAKE_EP, FAKE_LMR, FAKE_PZ, FAKE_PSP, FAKE_CR, FAKE_SRQ };

struct fake_obj {
    DAT_PROVIDER *prov; /* first: the registry's dispatch */
    enum fake_kind kind;
};

struct fake_evd {
    struct fake_obj obj;
    DAT_EVENT *ring;
    int cap;
    int head;
    int n;
    int n_shown; /* of them, where events are held */
    bool is_stopped;
};

struct fake_ep;

/* value is added to a word, or stored if the word is compare. */
struct fake_atomic {
    uint64_t value;
    uint64_t compare;
    bool is_swap;
};

struct fake_work {
    struct fake_work *next;
    struct fake_ep *ep;
    int op; /* DAT_DTO_SEND, RDMA_WRITE, RDMA_READ, or a fetch-and-add */
    DAT_LMR_TRIPLET iov[8];
    int n_iov;
    DAT_LMR_TRIPLET *theirs;   /* the consumer's memory, where it is kept; NULL: not */
    const DAT_RMR_TRIPLET *to; /* the same */
    uint64_t remote;
    struct fake_atomic atomic;
    DAT_DTO_COOKIE cookie;
    bool is_quiet;
};

struct fake_recv {
    struct fake_recv *next;
    DAT_LMR_TRIPLET segs[2];
    int n_segs;
    DAT_LMR_TRIPLET *theirs;
    DAT_DTO_COOKIE cookie;
};

/* Its receives; nobody flushes them. */
struct fake_srq {
    struct fake_obj obj;
    struct fake_recv *recvs;
    struct fake_recv **recvs_end;
    int n;
    int max;
    int n_eps;
};

struct fake_ep {
    struct fake_obj obj;
    struct fake_evd *recv_evd;
    struct fake_evd *req_evd;
    struct fake_evd *cm_evd;
    struct fake_ep *peer;
    struct fake_srq *srq; /* NULL: receives of its own */
    struct fake_evd *async;
    DAT_EP_STATE state;
    struct fake_recv *recvs;
    struct fake_recv **recvs_end;
    struct fake_work *work;
    struct fake_work **work_end;
    int n_work;
    int rail;               /* 0: fake-a */
    struct fake_work *late; /* data that is still on its way here, from an end that has given up */
    int max_req;
    int max_recv;
    int max_recv_iov;
    int n_recv;
    int n_req; /* places taken: freed by a later signalled completion only */
    int n_reads;
    bool is_accepted;
    bool has_received; /* something has come from the peer */
    bool is_deaf;      /* it learns of its connection when more data come than the first */
    bool has_end;      /* the event of its end was not taken yet */
    char private_data[64];
    struct fake_ep *next;
};

struct fake_psp {
    struct fake_obj obj;
    DAT_CONN_QUAL qual;
    struct fake_evd *evd;
    struct fake_psp *next;
    struct sockaddr_in addr;
};

struct fake_ia;

struct fake_lmr {
    struct fake_obj obj;
    struct fake_ia *ia;
    size_t len;
};

struct fake_cr {
    struct fake_obj obj;
    struct fake_ep *from;
    char private_data[64];
    int size;
    struct fake_cr *next;
};

struct fake_ia {
    struct fake_obj obj;
    struct sockaddr_in addr;
    struct sockaddr_in6 odd; /* the address that it tells where is_odd */
    bool is_odd;
    bool is_a;
    size_t n_locked;
    struct fake_evd async;
};

/* What the tests turn. */
static struct {
    pthread_mutex_t lock;
    struct fake_ep *eps;
    struct fake_psp *psps;
    struct fake_cr *crs; /* not answered yet */
    unsigned seed;
    bool is_late;        /* writes are done before they are placed, as with iWARP */
    bool is_deaf;        /* so do acceptors, as soft-iWARP's that have missed the first */
    unsigned delay;      /* 0: at once; n: one in n chances for each piece of work */
    int n_unreachable;   /* so many connects to fake-a are answered UNREACHABLE */
    int n_not_listening; /* so many get NON_PEER_REJECTED */
    int n_lost;          /* so many get TIMED_OUT */
    int n_unheard;       /* so many are accepted, and get TIMED_OUT all the same */
    int max_dtos;        /* what the attributes say; 0: much */
    int max_evd;
    int max_lmrs;      /* 0: no limit */
    size_t max_locked; /* bytes in registrations of an adapter, 0: no limit */
    int n_lmrs;
    int max_srq;         /* receives of a shared queue; 0: much, -1: there are none */
    int max_iov;         /* of an endpoint, whatever the attributes say; 0: any, -1: none */
    int breaks_order;    /* one write of so many places its last byte first; 0: none */
    bool is_middle_last; /* both ends of a write appear before what is between them */
    bool refuses_shared;
    bool fails_open;
    const char *absent; /* the provider of this name does not open */
    bool
        fails_evd_free; /* the first half is done, as soft-iWARP does it; nor is an instance closed then */
    int break_after;            /* so many posts from now a connection breaks; 0: none */
    bool breaks_half;           /* the other end does not notice */
    bool is_ordered;            /* no iWARP: nothing arrives behind a write that was cut */
    bool breaks_all;            /* all connections over that rail */
    int n_cut[2];               /* so many connects over the rail fail, */
    int cut_event;              /* with this */
    bool is_v6;                 /* fake-b has an IPv6 address */
    const char *reach;          /* what fake-a says about itself; NULL: nothing */
    const char *write_taken;    /* likewise: all data are taken when they are posted */
    const char *last_byte_last; /* what both say */
    const char *threads;        /* the same */
    const char *agents;         /* the same */
    DAT_IOV_OWNERSHIP iov;      /* whose the triplets are until completion */
    unsigned hold;              /* one look in so many shows the events that are there; 0: each */
    bool is_slow;               /* calls take long enough to meet another one */
    int max_reads;              /* of an endpoint; more break the connection; 0: any */
    int max_reads_in;           /* the same, of the peer's */
    bool has_atomics;           /* it has the extensions, */
    bool breaks_atomics;        /* which do nothing, */
    bool has_no_swaps;          /* or without compare-and-swap */
    /* counts */
    int n_connects;
    DAT_TIMEOUT longest; /* that a connect has asked for */
    int n_writes;
    int n_sends;
    int n_reads;
    int n_atomics[2]; /* by rail */
    int most_reads;   /* outstanding on an endpoint */
    int n_signalled;
    int n_srqs;     /* shared receive queues that there are */
    int n_unposted; /* receives of all shared queues that are not posted, at most */
    int n_inside;   /* calls under way, but for waits */
    int n_overlaps; /* that began during another one */
    int n_forced;   /* instances closed by force */
    int n_crossed;  /* acceptors that ended a connection at the same time as its connector */
    uint32_t next_key;
    struct fake_atomic next_atomic; /* which is posted next */
} fake;

static DAT_PROVIDER fake_prov;

static inline unsigned fake_random(void)
{
    fake.seed = fake.seed * 1103515245u + 12345u;
    return fake.seed >> 12 & 0xfffff;
}

#endif
