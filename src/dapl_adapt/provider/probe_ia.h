/*
 * What can be found out about a provider cheaply, by one process alone: the probes
 * that run at every open (all together well under a millisecond), and which
 * datum-check runs as well, so that the two cannot disagree.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_PROBE_IA_H
#define DM_DAPL_ADAPT_PROVIDER_PROBE_IA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"

#define DM_PROBE_ADDR_MAX 28 /* bytes of the largest address, a sockaddr_in6 */

/* What is said, or found, about the order in which a write's bytes appear. */
enum dm_last_byte { DM_LAST_UNKNOWN, DM_LAST_IS_LAST, DM_LAST_IS_EARLY };

/* What the attributes say, named ones where there are any; 0: it says nothing. */
struct dm_probe_limits {
    int max_req; /* requests, or receives, of an endpoint */
    int max_iov; /* segments of a send */
    int max_iov_write;
    int max_iov_read;
    int max_reads_in;
    int max_reads_out;
    int max_evd_qlen;
    uint64_t max_rdma;  /* bytes of one transfer */
    uint64_t max_taken; /* bytes of a write whose source, it says, is free when the post returns */
    uint64_t max_msg;
    bool is_local; /* it reaches this host only: it says so, or has a loopback address */
    enum dm_last_byte last_byte;
    bool can_grow;   /* it says that event queues may be resized by any thread at any time */
    bool can_wake;   /* and that a software event in a queue of completions wakes who waits in it */
    bool is_driven;  /* data arrives in consumers' polls of event queues, or late */
    bool is_manual;  /* and they do not at any other time */
    bool has_agents; /* a thread of its own calls agents of notification objects */
    bool has_quals;  /* qualifiers of its own choice are connected to faster */
    bool has_clock;  /* it models a network, in virtual time */
    bool has_ext;    /* it names the InfiniBand extensions */
    bool keeps_iov;  /* it says that triplets are its own until their request has completed */
    bool is_safe_line; /* it calls itself thread safe */
    bool is_serial;    /* not even different threads in different objects are allowed */
    unsigned char addr[DM_PROBE_ADDR_MAX];
    size_t addr_len;
};

/* Ask for the attributes; structures are zeroed before, since providers leave fields alone. */
int dm_probe_limits(DAT_IA_HANDLE ia, const char *name, struct dm_probe_limits *limits_p);

/* True when memory of a file can be registered as such (see dm_lmr_try): tried with a page. */
bool dm_probe_share(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz);

/*
 * True when registration pins pages, as the kernel counts them. A provider that does keeps
 * the old pages when memory is unmapped and mapped again at the same place, so that its
 * registrations must not outlive their use. True as well when that cannot be found out.
 */
bool dm_probe_pins(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz);

/*
 * The most segments, at most `most`, with which an endpoint of n_recv receives and n_req
 * requests can be made (tried from above, by halves); 0 when there is none at all. The
 * code of the last refusal in *rc_p, which may be NULL.
 */
int dm_probe_iov(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE dto_evd, DAT_EVD_HANDLE cm_evd,
                 int n_recv, int n_req, int most, DAT_RETURN *rc_p);

/* A transfer of many pieces to be timed; both return false when it has to be given up. */
struct dm_probe_mover {
    void *arg;
    bool (*post)(void *arg, uint32_t offset, uint32_t len);
    bool (*drain)(void *arg); /* until everything posted has completed */
};
/* Best nanoseconds of `rounds` times `total` bytes in pieces, after one to warm up; 0: given up. */
uint64_t dm_probe_time(const struct dm_probe_mover *mover, uint32_t total, uint32_t piece,
                       int rounds);

#endif
