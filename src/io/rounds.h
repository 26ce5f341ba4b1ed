/*
 * What the two sides of a round share: the process that has data, and the aggregator with its windows
 * of the file. Private to two_phase.c, window.c and bundle.c.
 */
#ifndef DM_IO_ROUNDS_H
#define DM_IO_ROUNDS_H

#include <stdatomic.h>

#include "io/two_phase.h"

#define DM_ROUND_TAG  1
#define DM_BUNDLE_TAG 3
#define DM_ROUND_NONE INT64_MAX

#define DM_BUNDLE_HEAD sizeof(int64_t) /* of what is read */

struct dm_bundles; /* bundle.c */

/* The data of one process in the domain of one aggregator, from pos on. */
struct dm_cursor {
    const struct dm_view *view;
    uint64_t pos, end;
    int64_t low; /* of the domain */
};

/* Data of the file that an aggregator has at a time. */
struct dm_window {
    struct dm_rounds *r;
    char *mem, *mask;      /* the mask says which bytes have come */
    int64_t round;         /* whose data it has */
    int64_t low, high;     /* of the file */
    size_t got;            /* bytes that were there to be read, */
    uint64_t written;      /* or were written, */
    int64_t good;          /* and all below this offset, unless it is INT64_MAX */
    bool is_busy;          /* the access to the file has begun; nobody has looked what came of it */
    struct dm_io_job job;  /* that access */
    struct dm_req job_req; /* what is waited for until it is over */
};

/*
 * While a thread accesses the file for one window, data of the next round come into the other, or those
 * of the last one go out.
 */
struct dm_windows {
    struct dm_window each[2];
    int now;                 /* of the present round */
    _Atomic bool is_stopped; /* after an error nothing more is written */
    char *stage;             /* data of messages that are under way */
    int last, next;          /* behind those whose data are there; to be waited for next */
    uint64_t used;           /* bytes of the stage, of processes before that */
};

/*
 * An aggregator writes: take data of some processes, until all have sent; begin to write them. It reads:
 * begin to read the next round's, wait for this one's, then give some processes theirs, until all have
 * them. Bundles are passed on before it writes and after it has read. OWN and PASSED end the round.
 */
enum dm_round_stage {
    DM_ROUND_NEXT,
    DM_ROUND_PASS_ON,
    DM_ROUND_WINDOW,
    DM_ROUND_READ,
    DM_ROUND_SOME,
    DM_ROUND_EACH,
    DM_ROUND_CLOSED,
    DM_ROUND_OWN,
    DM_ROUND_PASSED,
    DM_ROUND_DRAIN, /* behind the last one */
    DM_ROUND_OVER
};

/* All that a process needs for its rounds. */
struct dm_rounds {
    struct dm_file *f;
    struct dm_move *m;
    const struct dm_plan *plan;
    int me;                   /* number among the aggregators, -1: none */
    struct dm_cursor *out;    /* of this process, to each aggregator */
    int *order;               /* ranks, those of a host in a row; at an aggregator, and so are: */
    struct dm_cursor *in;     /* of each process, at this aggregator */
    struct dm_req **reqs;     /* one for each aggregator */
    uint64_t *lens;           /* likewise: bytes of the message, */
    uint64_t *at;             /* and where they are in memory, packed */
    struct dm_req **agg_reqs; /* of the first process of each message */
    char *pack;               /* packed data of a round, when memory is not contiguous */
    struct dm_windows windows;
    struct dm_bundles *bundles; /* NULL: this process gathers for nobody */
    bool blocks;
    enum dm_round_stage stage;
    int64_t round;
    int next_own;    /* own message that is waited for next, */
    uint64_t packed; /* and where its data are in `pack` */
    int64_t good;    /* all below this offset is written, as far as this aggregator knows */
    struct dm_io_result result;
};

/* ---- two_phase.c ---- */

/* An error that does not stop the rounds: the first one is kept. */
void dm_rounds_note(struct dm_rounds *r, int err);
/* The same of a message: what it had, or what comes of it, is not there. */
void dm_rounds_fail(struct dm_rounds *r, int err);
/* The data of a rank, whose view that is, for an aggregator. */
struct dm_cursor dm_cursor_make(const struct dm_plan *plan, const struct dm_view *view, int rank,
                                int agg);
/* The round in which its next data go. */
int64_t dm_cursor_round(const struct dm_plan *plan, const struct dm_cursor *c);
/* Those of the next len bytes that lie below an offset of the file. */
uint64_t dm_cursor_valid(const struct dm_cursor *c, uint64_t len, int64_t end);
/* Bytes of a round, from c->pos on. */
uint64_t dm_cursor_len(const struct dm_plan *plan, const struct dm_cursor *c, int64_t round);

/* ---- window.c: an aggregator ---- */

/* Memory of an aggregator; false: there is none. The processes' cursors come later. */
bool dm_windows_alloc(struct dm_rounds *r);
void dm_windows_free(struct dm_rounds *r);
/* Carry the stage of this round on: the next stage; *req_p: what is waited for first. */
enum dm_round_stage dm_window_step(struct dm_rounds *r, struct dm_req **req_p);
/* What is waited for until all accesses to the file are over. */
struct dm_req *dm_windows_drain(struct dm_rounds *r);

/* ---- bundle.c ---- */

/* How many of n processes in a row have one bundle in a round, and its bytes. */
int dm_bundle_extent(const struct dm_plan *plan, const struct dm_cursor *c, int n, int64_t round,
                     uint64_t *len_p);
/* Memory, if this process gathers for its host; false: there is none. */
bool dm_bundles_alloc(struct dm_rounds *r);
void dm_bundles_free(struct dm_rounds *r);
/* The views are here: cursors, and memory for data. DM_ENOMEM. */
int dm_bundles_begin(struct dm_rounds *r);
/* The next round in which there is something to gather. */
int64_t dm_bundles_next(const struct dm_rounds *r);
/* Start to take a round's data from whom they come. */
void dm_bundles_start(struct dm_rounds *r);
/* Pass them on as they come: what is waited for; NULL: all that has come is on its way. */
struct dm_req *dm_bundles_pass_on(struct dm_rounds *r);
/* What is waited for until all have got it. */
struct dm_req *dm_bundles_end(struct dm_rounds *r);

#endif
