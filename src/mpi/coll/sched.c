/*
 * Schedules: recording, execution, their requests.
 *
 * Invariants: live[first..n_live) are the requests that the step under way waits for, and those
 * before `seen` are done; a schedule that has started is in execution, on the list of ready ones,
 * or waits for live[seen], which will put it there.
 */
#include "mpi/coll/sched.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/coll/coll_state.h"
#include "mpi/pt2pt/pt2pt.h"
#include "util/copy.h"
#include "util/glock.h"
#include "util/log.h"

#define FEW_STEPS 8

/* Persistent collectives keep a tag, which must not meet that of a later one of another form. */
#define TAG_PERSISTENT 0x40000000

struct dm_sched {
    struct dm_req req;
    struct dm_list ready; /* in dm_coll_state.ready, or an empty list */
    bool is_running;
    bool is_stopped; /* no more steps: it failed */
    bool is_broken;  /* as in struct dm_run */
    int tag, tag_local;
    struct dm_coll_step *steps;
    int n_steps, cap_steps;
    int next; /* step */
    struct dm_req **live;
    int n_live, cap_live;
    int first, seen;
    struct dm_req *whole; /* the receive of dm_coll_recv_whole, and what it expects */
    size_t expected;
    struct dm_coll_block *blocks;
    char *detail;            /* of the first failure, or NULL */
    void (*done)(void *arg); /* dm_sched_watch, or NULL */
    void *done_arg;
};

/* ---- requests ---- */

/* Types that are builtin need no holding. */
static bool is_held(const struct dm_type *type)
{
    return type != NULL && !type->is_builtin;
}

static void take_refs(const struct dm_coll_step *step)
{
    if (is_held(step->stype))
        dm_type_ref(step->stype);
    /* The program's operation gets the handle. */
    if (is_held(step->dtype) && step->op != NULL)
        dm_type_hold_handle(step->dtype);
    else if (is_held(step->dtype))
        dm_type_ref(step->dtype);
    if (step->op != NULL)
        dm_op_ref(step->op);
}

static void drop_refs(const struct dm_coll_step *step)
{
    if (is_held(step->stype))
        dm_type_unref(step->stype);
    if (is_held(step->dtype) && step->op != NULL)
        dm_type_let_handle(step->dtype);
    else if (is_held(step->dtype))
        dm_type_unref(step->dtype);
    if (step->op != NULL)
        dm_op_unref(step->op);
}

static void free_sched(struct dm_req *req)
{
    struct dm_sched *s = (struct dm_sched *)req;

    for (int i = 0; i < s->n_steps; i++)
        drop_refs(&s->steps[i]);
    dm_coll_free_blocks(s->blocks);
    dm_comm_unref(req->comm);
    free(s->steps);
    free(s->live);
    free(s->detail);
    free(s);
}

/* Say again, to this thread, what went wrong in the progress engine. */
static int sched_finish(struct dm_req *req, MPI_Status *status)
{
    const struct dm_sched *s = (const struct dm_sched *)req;

    (void)status;
    return req->err == DM_OK || s->detail == NULL ? req->err : DM_FAIL(req->err, "%s", s->detail);
}

/* ---- execution ---- */

static void on_over(void *arg)
{
    struct dm_sched *s = arg;
    struct dm_coll_state *state = &dm_coll_state;

    if (s->is_running || !dm_list_is_empty(&s->ready))
        return;
    dm_list_add_tail(&state->ready, &s->ready);
    dm_chan_hook_add(dm_world.chan, &state->hook);
}

/* All that is under way must end before the schedule does. */
static void wait_all(struct dm_sched *s)
{
    s->first = 0;
    s->seen = 0;
}

static void sched_fail(struct dm_sched *s, int err)
{
    if (s->req.err == DM_OK) {
        s->req.err = err;
        s->detail = dm_err_code() == err ? strdup(dm_err_detail()) : NULL;
    }
    /* As in dm_coll_fail: after a truncation the others are still served. */
    if (err == DM_ERR_TRUNCATE || err == DM_EUSAGE || s->is_stopped)
        return;
    s->is_stopped = true;
    wait_all(s);
    /* What has not come will not come. */
    for (int i = 0; i < s->n_live; i++)
        if (!dm_req_is_done(s->live[i]) && s->live[i]->ops->cancel != NULL)
            s->live[i]->ops->cancel(s->live[i]);
}

/* The result of a request that is done. */
static void sched_reap(struct dm_sched *s, struct dm_req *req)
{
    int err = req->err;

    if (err != DM_OK && req->ops->finish != NULL)
        req->ops->finish(req, &req->status);
    if (req == s->whole) {
        if (err == DM_OK)
            err = dm_coll_whole(dm_status_bytes(&req->status), s->expected);
        s->is_broken = err != DM_OK;
        s->whole = NULL;
    }
    dm_req_unref(req);
    if (err != DM_OK)
        sched_fail(s, err);
}

/* Must the step under way go on waiting? */
static bool is_waiting(struct dm_sched *s)
{
    for (;;) {
        while (s->seen < s->n_live) {
            if (!dm_req_is_done(s->live[s->seen]))
                return true;
            s->seen++;
        }
        if (s->n_live <= s->first)
            return false;
        /* If it failed, everything is waited for from now on. */
        sched_reap(s, s->live[--s->n_live]);
    }
}

static void sched_start_send(struct dm_sched *s, const struct dm_coll_step *step,
                             struct dm_comm *comm, int tag)
{
    struct dm_req **req_p = &s->live[s->n_live];
    size_t count = step->is_whole && s->is_broken ? 0 : step->scount;
    int err = dm_p2p_isend_coll(step->src, count, step->stype, step->dest, tag, comm, req_p);

    if (err != DM_OK) {
        sched_fail(s, err);
        return;
    }
    dm_p2p_watch(*req_p, on_over, s);
    s->n_live++;
}

static void sched_start_recv(struct dm_sched *s, const struct dm_coll_step *step,
                             struct dm_comm *comm, int tag)
{
    struct dm_req **req_p = &s->live[s->n_live];
    int err =
        dm_p2p_irecv_coll(step->dst, step->dcount, step->dtype, step->source, tag, comm, req_p);

    if (err != DM_OK) {
        sched_fail(s, err);
        return;
    }
    if (step->is_whole) {
        s->whole = *req_p;
        s->expected = dm_coll_bytes(step->dcount, step->dtype);
    }
    dm_p2p_watch(*req_p, on_over, s);
    s->n_live++;
}

static int sched_work(const struct dm_coll_step *step)
{
    switch (step->kind) {
    case DM_STEP_COPY:
        return dm_type_copy(step->src, step->scount, step->stype, step->dst, step->dcount,
                            step->dtype);
    case DM_STEP_PACK:
        dm_type_pack(step->src, step->scount, step->stype, 0, step->dst,
                     dm_coll_bytes(step->scount, step->stype));
        return DM_OK;
    case DM_STEP_UNPACK:
        dm_type_unpack(step->dst, step->dcount, step->dtype, 0, step->src,
                       dm_coll_bytes(step->dcount, step->dtype));
        return DM_OK;
    case DM_STEP_MOVE:
        dm_copy(step->dst, step->src, step->dcount);
        return DM_OK;
    default:
        return dm_op_apply(step->op, step->src, step->dst, step->dcount, step->dtype);
    }
}

static void sched_execute(struct dm_sched *s, const struct dm_coll_step *step)
{
    struct dm_comm *comm = step->is_local ? s->req.comm->local : s->req.comm;
    int tag = step->is_local ? s->tag_local : s->tag;
    int before = s->n_live;
    int err = DM_OK;

    switch (step->kind) {
    case DM_STEP_WAIT:
        wait_all(s);
        return;
    case DM_STEP_SENDRECV:
        sched_start_recv(s, step, comm, tag);
        if (!s->is_stopped)
            sched_start_send(s, step, comm, tag);
        break;
    case DM_STEP_RECV:
    case DM_STEP_IRECV:
        sched_start_recv(s, step, comm, tag);
        break;
    case DM_STEP_SEND:
    case DM_STEP_ISEND:
        sched_start_send(s, step, comm, tag);
        break;
    default:
        err = sched_work(step);
        if (err != DM_OK)
            sched_fail(s, err);
        break;
    }
    if (s->is_stopped)
        return;
    if (step->kind == DM_STEP_ISEND || step->kind == DM_STEP_IRECV)
        before = s->n_live;
    s->first = before;
    s->seen = before;
}

/*
 * Must a thread of the program go on? A function of the program's does not run beside it in the
 * thread that makes progress, unless it said that it expects such.
 */
static bool is_for_program(const struct dm_sched *s)
{
    const struct dm_op *op = s->next < s->n_steps ? s->steps[s->next].op : NULL;

    return op != NULL && !op->is_builtin && dm_world.thread_level < MPI_THREAD_MULTIPLE &&
           dm_glock_is_progress_thread();
}

/* As far as it goes; the schedule may be gone afterwards. */
static void sched_advance(struct dm_sched *s)
{
    bool is_over = false;

    s->is_running = true;
    while (!is_waiting(s)) {
        /* A failure may have begun a last wait. */
        is_over = s->n_live == 0 && (s->is_stopped || s->next == s->n_steps);
        if (is_over)
            break;
        if (s->is_stopped || s->next == s->n_steps) {
            wait_all(s);
        } else if (is_for_program(s)) {
            dm_list_add_tail(&dm_coll_state.left, &s->ready);
            break;
        } else {
            sched_execute(s, &s->steps[s->next++]);
        }
    }
    s->is_running = false;
    if (!is_over)
        return;
    s->req.n_pending = 0;
    dm_event_raise(DM_EVENT_COLL_OVER, s->req.comm->ctx, s->req.err, 0, 0);
    if (s->done != NULL)
        s->done(s->done_arg);
    dm_req_unref(&s->req);
}

static int sched_progress(struct dm_chan_hook *hook)
{
    struct dm_list *ready = &dm_coll_state.ready;
    int n = 0;

    dm_chan_hook_del(dm_world.chan, hook);
    if (!dm_glock_is_progress_thread()) {
        while (!dm_list_is_empty(&dm_coll_state.left)) {
            struct dm_list *first = dm_coll_state.left.next;

            dm_list_del(first);
            dm_list_add_tail(ready, first);
        }
    }
    while (!dm_list_is_empty(ready)) {
        struct dm_sched *s = dm_container_of(ready->next, struct dm_sched, ready);

        dm_list_del(&s->ready);
        sched_advance(s);
        n++;
    }
    if (!dm_list_is_empty(&dm_coll_state.left))
        dm_chan_hook_add(dm_world.chan, hook); /* for the program's next pass */
    return n;
}

static int sched_begin(struct dm_req *req)
{
    struct dm_sched *s = (struct dm_sched *)req;

    free(s->detail);
    s->detail = NULL;
    s->next = 0;
    s->first = 0;
    s->seen = 0;
    s->is_stopped = false;
    s->is_broken = false;
    req->err = DM_OK;
    req->n_pending = 1;
    dm_req_ref(req); /* the operation's */
    sched_advance(s);
    return DM_OK;
}

static const struct dm_req_ops nonblocking_ops = {.free = free_sched, .finish = sched_finish};
static const struct dm_req_ops persistent_ops = {
    .free = free_sched, .start = sched_begin, .finish = sched_finish};

/* ---- recording ---- */

/* Room for one more step. */
static bool reserve_step(struct dm_run *run)
{
    struct dm_sched *s = run->sched;
    int cap = s->cap_steps == 0 ? FEW_STEPS : 2 * s->cap_steps;
    struct dm_coll_step *more;

    if (run->is_stopped)
        return false;
    if (s->n_steps < s->cap_steps)
        return true;
    more = realloc(s->steps, (size_t)cap * sizeof(*more));
    if (more == NULL) {
        dm_coll_fail(run, DM_FAIL(DM_ENOMEM, "%d steps of a collective", cap));
        return false;
    }
    s->steps = more;
    s->cap_steps = cap;
    return true;
}

void dm_sched_add(struct dm_run *run, const struct dm_coll_step *step)
{
    struct dm_sched *s = run->sched;
    struct dm_coll_step *mine;

    if (!reserve_step(run))
        return;
    mine = &s->steps[s->n_steps++];
    *mine = *step;
    mine->is_local = run->comm != s->req.comm;
    take_refs(mine);
}

/* How many requests there can be at once. */
static int most_live(const struct dm_sched *s)
{
    int now = 0;
    int most = 0;

    for (int i = 0; i < s->n_steps; i++) {
        enum dm_step_kind kind = s->steps[i].kind;

        if (kind == DM_STEP_WAIT)
            now = 0;
        else if (kind == DM_STEP_ISEND || kind == DM_STEP_IRECV)
            now++;
        most = now > most ? now : most;
    }
    return most + 2; /* those of a blocking step */
}

static int sched_record(struct dm_sched *s, dm_coll_alg *alg, const struct dm_coll_args *args)
{
    struct dm_run run;
    int bit = s->req.kind == DM_REQ_PERSISTENT ? TAG_PERSISTENT : 0;

    dm_coll_run_open(&run, s->req.comm);
    run.sched = s;
    run.scratch_used = sizeof(run.scratch); /* memory must outlive the run */
    s->tag = run.tag | bit;
    s->tag_local = run.inter != NULL ? run.tag_local | bit : 0;
    alg(&run, args);
    s->blocks = run.blocks;
    if (run.err != DM_OK)
        return run.err;
    s->cap_live = most_live(s);
    s->live = malloc((size_t)s->cap_live * sizeof(struct dm_req *));
    return s->live != NULL ? DM_OK : DM_FAIL(DM_ENOMEM, "%d requests of a collective", s->cap_live);
}

int dm_sched_make(dm_coll_alg *alg, const struct dm_coll_args *args, struct dm_comm *comm,
                  struct dm_coll_how how)
{
    struct dm_sched *s = calloc(1, sizeof(*s));
    int err;

    if (s == NULL)
        return DM_FAIL(DM_ENOMEM, "schedule of a collective, %zu bytes", sizeof(*s));
    if (how.is_persistent)
        dm_req_init(&s->req, DM_REQ_PERSISTENT, &persistent_ops, comm);
    else
        dm_req_init(&s->req, DM_REQ_COLL, &nonblocking_ops, comm);
    dm_comm_ref(comm);
    dm_list_init(&s->ready);
    s->req.n_pending = 0;
    err = sched_record(s, alg, args);
    if (err != DM_OK) {
        dm_req_unref(&s->req);
        return err;
    }
    *how.req_p = &s->req;
    return how.is_persistent ? DM_OK : sched_begin(&s->req);
}

void dm_sched_watch(struct dm_req *req, void (*done)(void *arg), void *arg)
{
    struct dm_sched *s = (struct dm_sched *)req;

    s->done = done;
    s->done_arg = arg;
}

void dm_sched_start(void)
{
    dm_list_init(&dm_coll_state.ready);
    dm_list_init(&dm_coll_state.left);
    dm_coll_state.hook.fn = sched_progress;
}

void dm_sched_stop(void)
{
    dm_chan_hook_del(dm_world.chan, &dm_coll_state.hook);
}
