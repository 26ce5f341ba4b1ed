/*
 * A collective transfer that is under way, and its stages. Private to exchange.c and exchange_queue.c.
 */
#ifndef DM_IO_EXCHANGE_STAGES_H
#define DM_IO_EXCHANGE_STAGES_H

#include "io/agree.h"
#include "io/exchange.h"
#include "io/plan.h"
#include "io/request.h"
#include "io/two_phase.h"

enum dm_exchange_stage {
    EXCHANGE_REPORT, /* what each process accesses */
    EXCHANGE_DECIDE,
    EXCHANGE_ALLOC,
    EXCHANGE_READY, /* all have memory, or nobody begins */
    EXCHANGE_SHIP,  /* views */
    EXCHANGE_LOCK,  /* the first process, in atomic mode, before the last agreement */
    EXCHANGE_SHIPPED,
    EXCHANGE_ROUNDS,
    EXCHANGE_AGREE,
    EXCHANGE_COUNT, /* after an error: what has been written */
    EXCHANGE_COUNTED,
    EXCHANGE_OVER
};

struct dm_exchange {
    struct dm_list link;
    struct dm_file *f;
    struct dm_move *m;
    struct dm_io_req *request; /* NULL: the caller waits */
    bool blocks;               /* the collective operations do, and access to the file */
    enum dm_exchange_stage stage;
    bool is_alone;            /* all move their data by themselves */
    bool is_atomic;           /* others are kept out by the file's lock, */
    bool is_locked;           /* which this process has taken for all */
    struct dm_lock_turn turn; /* at that lock, */
    struct dm_req lock_req;   /* and what is waited for until it is ours */
    int64_t good;
    struct dm_req *awaited;
    struct dm_plan plan;
    struct dm_rounds *rounds;
    struct dm_agreement agreement;
    struct dm_io_result result;
};

struct dm_exchanges {
    struct dm_file *f;
    struct dm_list link;  /* in the list of those whose queue is not empty */
    struct dm_list queue; /* of nonblocking ones */
    struct dm_plan_part *parts, mine;
    struct dm_req *gather; /* persistent, of `mine` into parts; NULL: not prepared */
    struct dm_io_max max;
};

/* Who only reads changes nothing that others could see in part. */
static inline bool dm_exchange_is_atomic(const struct dm_file *f)
{
    return f->is_atomic && (f->amode & MPI_MODE_RDONLY) == 0;
}
/* Go on as far as it can: what it waits for; NULL: it is over. */
struct dm_req *dm_exchange_step(struct dm_exchange *x);
/* Is there something to wait for still? */
bool dm_exchange_is_waiting(struct dm_exchange *x);
void dm_exchange_end(struct dm_exchange *x);

#endif
