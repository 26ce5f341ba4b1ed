/*
 * Agreement on the context id of a new communicator.
 */
#ifndef DM_MPI_COMM_AGREE_H
#define DM_MPI_COMM_AGREE_H

#include "mpi/core/core.h"

/* Who takes part. */
struct dm_comm_circle {
    struct dm_comm *comm; /* all its ranks, both groups of an intercommunicator; */
    const int *ranks;     /* or these n of them, in this order */
    int n;
    int me;               /* which of them I am */
    int tag;              /* tells concurrent agreements over comm apart */
    struct dm_comm *peer; /* comm's ranks and the group of rank peer_rank of this communicator, */
    int peer_rank;        /* where `leader` of comm talks to it; or NULL */
    int leader;
    bool is_bridge;     /* peer is to be used, whatever it is at this rank */
    uint32_t lower_ctx; /* of a bridge: the lower id of both groups' communicators */
};

/*
 * Agree on an id that is free in every process of the circle and take it; the caller
 * gives it back by dm_ctx_put if it makes no communicator. Collective; a process that cannot go
 * on must come all the same and say so with its error in failed, which it gets back. DM_ERR_OTHER
 * when there is no id, or another one has failed.
 */
int dm_comm_agree(const struct dm_comm_circle *circle, int failed, uint32_t *ctx_p);
/* The same over all ranks of comm. */
int dm_comm_agree_all(struct dm_comm *comm, uint32_t *ctx_p);

/* ---- the parts of an agreement, for those that are not blocking ---- */

/* The mask of a page; enum dm_agree_flags; the lowest page that is not full, as that many bits. */
#define DM_AGREE_FLAGS DM_CTX_WORDS
#define DM_AGREE_LEVEL (DM_AGREE_FLAGS + 1)
#define DM_AGREE_WORDS (DM_AGREE_LEVEL + DM_CTX_PAGES / 32)

enum dm_agree_flags { DM_AGREE_NO_OFFER = 1, DM_AGREE_FAILED = 2 };

/* Every process of a circle gives it the same key and page; keys of different circles differ. */
struct dm_agreement {
    struct dm_list link; /* in dm_comm_state.agreements after the first round */
    uint64_t key;
    uint32_t page; /* whose ids are looked at; the first one: */
    uint32_t first;
};

/* Begin with that page. */
void dm_agree_init(struct dm_agreement *me, uint64_t key, uint32_t page);

/* What this process has to say in a round: its ids, or nothing when others are to go first. */
void dm_agree_offer(struct dm_agreement *me, bool is_offering, uint32_t words[DM_AGREE_WORDS]);
/* No round is under way any more. */
void dm_agree_withdraw(struct dm_agreement *me);
/*
 * After a round, with the OR of all words: takes n_ctxs ids. DM_EAGAIN: another round, for another
 * page if that has changed; DM_ERR_OTHER: there are none, or a process has failed.
 */
int dm_agree_result(struct dm_agreement *me, const uint32_t words[DM_AGREE_WORDS], uint32_t *ctxs,
                    int n_ctxs);

#endif
