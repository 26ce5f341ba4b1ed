/*
 * Completion of any or some of many requests, and a look at them.
 *
 * Handles are resolved once per call; each pass of the progress engine is followed by a
 * look at every request.
 */
#include "mpi/pt2pt/wait.h"

#include <stdlib.h>

#include "mpi/pt2pt/p2p.h"
#include "util/err.h"

#define N_SMALL 64

/* The resolved requests of a call; NULL entries are null or inactive. */
struct set {
    struct dm_req **reqs;
    int count;
    int n_active;
    int n_greq; /* of them those that the program completes, */
    int n_jobs; /* and those that a thread of the library does */
    int n_idle;
    uint32_t n_idle_jobs;
    struct dm_req *small[N_SMALL];
};

static int some_set_open(struct set *set, int count, const MPI_Request requests[])
{
    set->reqs = set->small;
    set->count = count;
    set->n_active = 0;
    set->n_greq = set->n_jobs = 0;
    set->n_idle = 0;
    set->n_idle_jobs = 0;
    if (count > N_SMALL)
        set->reqs = malloc((size_t)count * sizeof(struct dm_req *));
    if (set->reqs == NULL)
        return DM_FAIL(DM_ENOMEM, "table of %d requests", count);
    for (int i = 0; i < count; i++) {
        int err = dm_p2p_resolve(&requests[i], &set->reqs[i]);

        if (err != DM_OK) {
            if (set->reqs != set->small)
                free(set->reqs);
            return err;
        }
        if (set->reqs[i] != NULL && dm_req_is_inactive(set->reqs[i]))
            set->reqs[i] = NULL;
        if (set->reqs[i] == NULL)
            continue;
        set->n_active++;
        set->n_greq += set->reqs[i]->kind == DM_REQ_GENERALIZED;
        set->n_jobs += set->reqs[i]->kind == DM_REQ_IO;
    }
    return DM_OK;
}

static void some_set_close(struct set *set)
{
    if (set->reqs != set->small)
        free(set->reqs);
}

/* The first finished request, -1: none. */
static int some_first_done(const struct set *set)
{
    for (int i = 0; i < set->count; i++)
        if (set->reqs[i] != NULL && dm_req_is_done(set->reqs[i]))
            return i;
    return -1;
}

/* Make progress once. */
static void some_pass(struct set *set, bool blocks)
{
    for (int i = 0; set->n_greq > 0 && i < set->count; i++)
        if (set->reqs[i] != NULL && set->reqs[i]->kind == DM_REQ_GENERALIZED)
            dm_greq_poll(set->reqs[i]);
    if (!blocks)
        dm_chan_progress_test(dm_world.chan);
    else if (set->n_greq == 0)
        dm_wait_job_pass(dm_world.chan, &set->n_idle_jobs);
    else if (some_first_done(set) < 0)
        dm_greq_pass(&set->n_idle);
}

/* A wait for one of a set. */
struct some_note {
    struct dm_wait_note note;
    struct dm_wait_word word;
    const struct set *set;
};

static void some_report(const struct dm_wait_note *note, struct dm_wait_account *account)
{
    const struct set *set = dm_container_of(note, const struct some_note, note)->set;
    bool is_first = true;

    if (set->n_active > 1)
        dm_strbuf_addf(&account->text, "one of %d requests: ", set->n_active);
    for (int i = 0; i < set->count; i++) {
        if (set->reqs[i] == NULL)
            continue;
        if (!is_first)
            dm_strbuf_add(&account->text, "; ");
        is_first = false;
        dm_p2p_account_req(account, set->reqs[i]);
    }
}

static bool some_is_over(struct dm_wait_word *word)
{
    return some_first_done(dm_container_of(word, struct some_note, word)->set) >= 0;
}

/* Until one is done. */
static void some_wait(struct set *set)
{
    struct some_note some = {{some_report}, {.is_over = some_is_over}, set};

    dm_wait_note_set(dm_world.chan, &some.note);
    if (set->n_greq == 0 && set->n_jobs == 0)
        dm_wait_until(dm_world.chan, &some.word);
    while (some_first_done(set) < 0)
        some_pass(set, true);
    dm_wait_note_end(dm_world.chan);
}

/*
 * One that is done, waited for or not: *index_p is MPI_UNDEFINED if there is none, *flag tells whether the call is over.
 * The set is open if *index_p is one.
 */
static int some_find(struct set *set, int count, const MPI_Request requests[], bool blocks,
                     int *index_p, int *flag, MPI_Status *status)
{
    int err = some_set_open(set, count, requests);
    int i;

    *index_p = MPI_UNDEFINED;
    *flag = 0;
    if (err != DM_OK)
        return err;
    i = some_first_done(set);
    if (set->n_active == 0) {
        *flag = 1;
        dm_p2p_status_empty(status);
    } else if (i < 0 && blocks) {
        some_wait(set);
        i = some_first_done(set);
    } else if (i < 0) {
        some_pass(set, false);
        i = some_first_done(set);
    }
    if (i < 0) {
        some_set_close(set);
        return DM_OK;
    }
    *index_p = i;
    *flag = 1;
    return DM_OK;
}

static int wait_any(int count, MPI_Request requests[], bool blocks, int *index, int *flag,
                    MPI_Status *status)
{
    struct set set;
    int err = some_find(&set, count, requests, blocks, index, flag, status);

    if (*index == MPI_UNDEFINED)
        return err;
    err = dm_p2p_complete(set.reqs[*index], &requests[*index], status);
    some_set_close(&set);
    return err;
}

int dm_waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag;

    return wait_any(count, requests, true, index, &flag, status);
}

int dm_testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    return wait_any(count, requests, false, index, flag, status);
}

static int wait_some(int count, MPI_Request requests[], bool blocks, int *outcount, int indices[],
                     MPI_Status statuses[])
{
    bool has_statuses = statuses != MPI_STATUSES_IGNORE;
    struct dm_p2p_failure first; /* its text is written when there is one */
    struct set set;
    int err = some_set_open(&set, count, requests), n = 0;

    first.index = -1;
    *outcount = MPI_UNDEFINED;
    if (err != DM_OK)
        return err;
    if (set.n_active == 0) {
        some_set_close(&set);
        return DM_OK;
    }
    if (some_first_done(&set) < 0) {
        if (blocks)
            some_wait(&set);
        else
            some_pass(&set, false);
    }
    for (int i = 0; i < count; i++) {
        if (set.reqs[i] == NULL || !dm_req_is_done(set.reqs[i]))
            continue;
        err = dm_p2p_complete(set.reqs[i], &requests[i],
                              has_statuses ? &statuses[n] : MPI_STATUS_IGNORE);
        if (err != DM_OK && first.index < 0)
            for (int k = 0; has_statuses && k < n; k++)
                statuses[k].MPI_ERROR = DM_OK;
        if (err != DM_OK)
            dm_p2p_note_failure(&first, i, err);
        if (first.index >= 0 && has_statuses)
            statuses[n].MPI_ERROR = err;
        indices[n++] = i;
    }
    *outcount = n;
    some_set_close(&set);
    return dm_p2p_in_status(&first);
}

int dm_waitsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                MPI_Status statuses[])
{
    return wait_some(incount, requests, true, outcount, indices, statuses);
}

int dm_testsome(int incount, MPI_Request requests[], int *outcount, int indices[],
                MPI_Status statuses[])
{
    return wait_some(incount, requests, false, outcount, indices, statuses);
}

int dm_request_get_status_any(int count, const MPI_Request requests[], int *index, int *flag,
                              MPI_Status *status)
{
    struct set set;
    int err = some_find(&set, count, requests, false, index, flag, status);

    if (*index == MPI_UNDEFINED)
        return err;
    err = dm_p2p_look(set.reqs[*index], status);
    some_set_close(&set);
    return err;
}

static bool some_are_all_done(const struct set *set)
{
    for (int i = 0; i < set->count; i++)
        if (set->reqs[i] != NULL && !dm_req_is_done(set->reqs[i]))
            return false;
    return true;
}

/* Those that are done stay, so progress is made for the others all the same. */
int dm_request_get_status_some(int count, const MPI_Request requests[], int *outcount,
                               int indices[], MPI_Status statuses[])
{
    bool has_statuses = statuses != MPI_STATUSES_IGNORE;
    struct set set;
    int n = 0;
    int err = some_set_open(&set, count, requests);

    *outcount = MPI_UNDEFINED;
    if (err != DM_OK)
        return err;
    if (!some_are_all_done(&set))
        some_pass(&set, false);
    for (int i = 0; i < count && err == DM_OK; i++) {
        if (set.reqs[i] == NULL || !dm_req_is_done(set.reqs[i]))
            continue;
        err = dm_p2p_look(set.reqs[i], has_statuses ? &statuses[n] : MPI_STATUS_IGNORE);
        indices[n++] = i;
    }
    if (set.n_active > 0)
        *outcount = n;
    some_set_close(&set);
    return err;
}
