/*
 * Requests and receives on their way through the fabric, between the files
 * that handle them. All functions want ia->lock held.
 *
 * A request takes a slot. It is "tracked" when the fabric reports its end; a
 * suppressed write or send that is small is not: its slot comes back with the
 * next tracked request, as everything of an endpoint ends in order.
 */
#ifndef DM_PROVIDERS_OFI_DTO_H
#define DM_PROVIDERS_OFI_DTO_H

#include <sys/uio.h>

#include "providers/ofi/ofi.h"

/* The data word of a message: what its receiver has to know. */
#define DM_OFI_WORD_SOLICITED  (UINT64_C(1) << 32)
#define DM_OFI_WORD_INVALIDATE (UINT64_C(2) << 32)
#define DM_OFI_WORD_IMMED      (UINT64_C(4) << 32)
#define DM_OFI_WORD_ACK        (UINT64_C(8) << 32) /* DM_NOTE_TAKEN is waited for */
/* Beside immediate data: the length of the write, the largest if there was a
 * mail about it. */
#define DM_OFI_WORD_LEN_SHIFT 36
#define DM_OFI_WORD_LEN_MAX   ((UINT64_C(1) << 28) - 1)

enum { DM_OFI_OP_SEGS = 4, DM_OFI_EXCESS_LEN = 1 << 26 };

struct dm_ofi_op {
    struct dm_ofi_ctx ctx;
    struct dm_list link;  /* in the endpoint's lists, or ia->ops */
    struct dm_ofi_ep *ep; /* NULL: gone, nobody cares any more */
    struct dm_dto dto;
    bool is_done;      /* but something before it is not */
    bool is_handed;    /* all of it */
    bool is_counted;   /* in n_reads */
    bool is_asked;     /* the peer has been asked for a receive, an atomic, data */
    bool is_granted;   /* and the receive is there */
    bool is_bad;       /* a receive: some of its segments are */
    uint32_t id;       /* of a question; of a message: its number */
    bool is_acked;     /* a message: the peer tells when it has it */
    uint32_t n_fabric; /* reports that are to come */
    uint32_t n_quiet;  /* slots that come back with it */
    DAT_DTO_COMPLETION_STATUS status;
    uint64_t len;          /* in all */
    uint64_t pos;          /* handed to the fabric so far */
    struct fid_mr **sinks; /* of a read that the peer writes to; malloc */
    uint32_t n_sinks;
    char *bounce;          /* for segments beyond what the fabric takes; malloc */
    uint64_t room;         /* of a receive: bytes in good segments */
    DAT_LMR_TRIPLET *more; /* malloc, when there are many segments */
    DAT_LMR_TRIPLET few[DM_OFI_OP_SEGS];
};

/* A mail that waits for room. */
struct dm_ofi_letter {
    struct dm_list link;
    struct dm_ofi_mail mail;
};

/* Types of mail. */
enum dm_ofi_mail_type {
    DM_MAIL_ATOMIC,      /* key, va, value: add, or compare and swap */
    DM_MAIL_ATOMIC_DONE, /* status, value[0]: what was there */
    DM_MAIL_ASK_RECV,    /* a message of value[0] bytes waits for a receive of a
                          * shared queue, or asks whether its receive is long enough */
    DM_MAIL_RECV,        /* it is there; status: refused */
    DM_MAIL_ASK_KEY,     /* what does key stand for? */
    DM_MAIL_KEY,         /* status: for nothing; va, value: length, address, privileges */
    DM_MAIL_KEY_GONE,    /* key stands for nothing any more */
    DM_MAIL_GONE_OK,     /* value[0] such are not used any more */
    DM_MAIL_IMMED_LEN,   /* value[0]: of the write whose message follows */
    DM_MAIL_FLOOR,       /* no receive was shorter than value[0] so far */
    DM_MAIL_READ,     /* write what is at key, va to value: address, the fabric's key, length; len:
                          * and say so */
    DM_MAIL_READ_DONE /* status: refused */
};

/* ---- dto.c ---- */

/* A request or receive with room for its segments, copied from dto. NULL: out
 * of memory. */
struct dm_ofi_op *dm_ofi_op_new(struct dm_ofi_ep *ep, struct dm_ofi_ia *ia,
                                const struct dm_dto *dto);
void dm_ofi_op_free(struct dm_ofi_ia *ia, struct dm_ofi_op *op);
void dm_ofi_ops_close(struct dm_ofi_ia *ia);
/* Have ia->excess: memory that is used by errors alone. */
bool dm_ofi_excess_map(struct dm_ofi_ia *ia);
/* A request is over; complete what is at the head. */
void dm_ofi_op_over(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status);
/* The peer does not want a request of the queue: it fails when it would go. */
void dm_ofi_op_refuse(struct dm_ofi_op *op, DAT_DTO_COMPLETION_STATUS status);
/* Is a request at work in the region? */
bool dm_ofi_ep_is_using(const struct dm_ofi_ep *ep, uint32_t key);
/* Have dm_ofi_ep_push_all() look at it after the round. */
void dm_ofi_wait_for_room(struct dm_ofi_ep *ep);
/* Go on with the queue. */
void dm_ofi_push(struct dm_ofi_ep *ep);
/* Send it, or when there is room. */
void dm_ofi_mail_post(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail);
/* The request that waits for an answer with this id. */
struct dm_ofi_op *dm_ofi_op_find(struct dm_ofi_ep *ep, uint32_t id);

/* ---- rdma.c ---- */

/* Hand it to the fabric. 0; -FI_EAGAIN: when there is room; -FI_EBUSY: when the
 * peer has said something; else it has failed, *status_p says how. op NULL:
 * untracked, in one piece. */
int dm_ofi_issue(struct dm_ofi_ep *ep, const struct dm_dto *dto, struct dm_ofi_op *op,
                 DAT_DTO_COMPLETION_STATUS *status_p);
/* DM_MAIL_READ, DM_MAIL_READ_DONE. */
void dm_ofi_read_asked(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail);
void dm_ofi_read_answered(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail);

/* ---- recv.c ---- */

/* Hand receives to the fabric as long as it takes them. */
void dm_ofi_recvs_push(struct dm_ofi_ep *ep);
void dm_ofi_recvs_flush(struct dm_ofi_ep *ep);
/* A region goes: take back receives into it that the fabric has. */
void dm_ofi_recvs_forget(struct dm_ofi_ep *ep, uint32_t key);
/* The next message has so many bytes: is its receive long enough? If not, the
 * receive has failed. */
bool dm_ofi_recvs_take(struct dm_ofi_ep *ep, uint64_t len);
/* Is a message on its way into the region? */
bool dm_ofi_recvs_is_using(const struct dm_ofi_ep *ep, uint32_t key);

/* ---- srq.c ---- */

/* The peer asks about a receive for a message. */
void dm_ofi_srq_asked(struct dm_ofi_ep *ep, const struct dm_ofi_mail *ask);
/* A receive of it has ended. */
void dm_ofi_srq_returned(struct dm_ofi_ep *ep);
/* The connection is over: nobody waits. */
void dm_ofi_srq_forget(struct dm_ofi_ep *ep);
/* Arm what the attributes of a new endpoint ask for. */
void dm_ofi_ep_marks_init(struct dm_ofi_ep *ep);

/* ---- far.c ---- */

/* How the fabric addresses the remote side of a request that needs one of
 * these privileges. 0; -FI_EBUSY: the peer has been asked; -FI_EACCES: it
 * may not be. */
int dm_ofi_far_find(struct dm_ofi_ep *ep, const DAT_RMR_TRIPLET *remote, uint64_t len,
                    uint32_t priv, uint64_t *addr_p, uint64_t *key_p);
/* Is the context one of an RMR? The same answers. */
int dm_ofi_far_check(struct dm_ofi_ep *ep, uint32_t key);
/* Has the peer said that its region is no more? */
bool dm_ofi_far_is_gone(struct dm_ofi_ep *ep, uint32_t key);
/* The connection is over. */
void dm_ofi_far_forget(struct dm_ofi_ep *ep);
/* Mail: the peer asks, has told us what we asked, or that it is gone. */
void dm_ofi_far_asked(struct dm_ofi_ep *ep, uint32_t key);
void dm_ofi_far_told(struct dm_ofi_ep *ep, const struct dm_ofi_mail *mail);
void dm_ofi_far_gone(struct dm_ofi_ep *ep, uint32_t key);
/* Tell the peers who may know it. */
void dm_ofi_far_tell_gone(struct dm_ofi_ia *ia, const struct dm_ofi_region *region);
/* Nothing is being read any more: confirm what is gone. */
void dm_ofi_far_confirm(struct dm_ofi_ep *ep);
/* Wait until nothing under way uses the region that is hidden: peers have
 * confirmed, and requests of ours are over. False: not within seconds. */
bool dm_ofi_far_wait(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key);
/* Drive the instance until something is over for a region, seconds at most; false: it is not. */
typedef bool dm_ofi_is_over(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key);
bool dm_ofi_wait(struct dm_ofi_ia *ia, const struct dm_pz *pz, uint32_t key,
                 dm_ofi_is_over *is_over);
/* Have the peers of the zone confirmed all that is gone? Else binds that wait
 * for it go on when they have. */
bool dm_ofi_far_is_confirmed(const struct dm_ofi_ia *ia, const struct dm_pz *pz);
/* The peer has confirmed n, or will never. */
void dm_ofi_far_confirmed(struct dm_ofi_ep *ep, uint64_t n);

/* ---- key.c ---- */

/* Reserve a context that has never been used. 0 when all are used up. It means
 * nothing until it is opened. */
uint32_t dm_ofi_key_new(struct dm_pia *ia);
/* Let it stand for this, for peers too if there are remote privileges. False:
 * the fabric does not want it. */
bool dm_ofi_key_open(struct dm_ofi_ia *ia, const struct dm_ofi_region *want);
/* What an open context stands for, whoever may use it; NULL: nothing. */
struct dm_ofi_region *dm_ofi_key_region(struct dm_ofi_ia *ia, uint32_t key);
/* No new request uses it from now on; peers are told. */
void dm_ofi_key_hide(struct dm_ofi_ia *ia, uint32_t key);
/* The same, and requests under way must not either. */
void dm_ofi_key_shut(struct dm_ofi_ia *ia, uint32_t key);
/* Give back one that is shut or was never opened. */
void dm_ofi_key_free(struct dm_pia *ia, uint32_t key);
void dm_ofi_keys_close(struct dm_ofi_ia *ia);

enum { DM_OFI_KEY_INDEX = 0xffff };
/* The fabric's keys of sinks have index 0, which no memory context has, and a number. */
enum { DM_OFI_SINK_SHIFT = 16, DM_OFI_SINK_MASK = 0xffff };

/* What the context stands for, if this endpoint may use it so: any of the
 * privileges, all of the bytes. NULL: it may not. */
static inline const struct dm_ofi_region *dm_ofi_key_find(const struct dm_ofi_ia *ia,
                                                          const struct dm_ofi_ep *ep, uint32_t key,
                                                          uint64_t va, uint64_t len, uint32_t priv)
{
    uint32_t index = key & DM_OFI_KEY_INDEX;
    const struct dm_ofi_region *region;

    if (index >= ia->n_regions_used || key == 0)
        return NULL;
    region = &ia->regions[index];
    if (region->key != key || region->pz != ep->ep.pz || (region->priv & priv) == 0 ||
        (region->only != NULL && region->only != ep) || va - region->va > region->len ||
        len > region->len - (va - region->va))
        return NULL;
    return region;
}

#endif
