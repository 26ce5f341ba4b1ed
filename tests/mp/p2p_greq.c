/* test: np=1 timeout=30 */
/*
 * Generalized requests: which callbacks the completion calls make, in which order, with
 * which errors; and MPICH's extension with functions that poll and wait.
 */
#include <pthread.h>

#include "p2p.h"

struct op {
    MPI_Request req;
    char calls[64]; /* one letter for each callback: q f c C p w */
    int count;      /* for the status */
    int query_rc, free_rc, cancel_rc;
    int polls_left;
    int is_cancelled;
};

static void note(struct op *op, char what)
{
    size_t n = strlen(op->calls);

    CHECK(n + 1 < sizeof(op->calls));
    op->calls[n] = what;
}

static int query_fn(void *extra, MPI_Status *status)
{
    struct op *op = extra;

    note(op, 'q');
    MPI_Status_set_elements(status, MPI_INT, op->count);
    MPI_Status_set_cancelled(status, op->is_cancelled);
    status->MPI_SOURCE = 17;
    status->MPI_TAG = 18;
    return op->query_rc;
}

static int free_fn(void *extra)
{
    struct op *op = extra;

    note(op, 'f');
    return op->free_rc;
}

static int cancel_fn(void *extra, int complete)
{
    struct op *op = extra;

    note(op, complete ? 'C' : 'c');
    if (!complete) {
        op->is_cancelled = 1;
        MPI_Grequest_complete(op->req);
    }
    return op->cancel_rc;
}

static int poll_fn(void *extra, MPI_Status *status)
{
    struct op *op = extra;

    (void)status;
    if (--op->polls_left == 0)
        MPI_Grequest_complete(op->req);
    return MPI_SUCCESS;
}

static int wait_fn(int count, void **states, double timeout, MPI_Status *status)
{
    (void)timeout;
    (void)status;
    for (int i = 0; i < count; i++) {
        struct op *op = states[i];

        note(op, 'w');
        MPI_Grequest_complete(op->req);
    }
    return MPI_SUCCESS;
}

static void open_op(struct op *op)
{
    memset(op, 0, sizeof(*op));
    op->count = 5;
    CHECK_EQ(MPI_Grequest_start(query_fn, free_fn, cancel_fn, op, &op->req), MPI_SUCCESS);
    CHECK(op->req != MPI_REQUEST_NULL);
}

static void check_calls(const struct op *op, const char *want)
{
    if (is_library("MPICH")) /* calls query_fn twice at times */
        return;
    if (strcmp(op->calls, want) != 0)
        fprintf(stderr, "callbacks: %s, not %s\n", op->calls, want);
    CHECK(strcmp(op->calls, want) == 0);
}

static void check_status(const MPI_Status *st, int n)
{
    int got;

    MPI_Get_count(st, MPI_INT, &got);
    CHECK_EQ(got, n);
    CHECK_EQ(st->MPI_SOURCE, 17);
    CHECK_EQ(st->MPI_TAG, 18);
}

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* Each completion call ends it with query_fn, then free_fn; one that does not end it calls nothing. */
static void families(void)
{
    for (int how = 0; how < 8; how++) {
        struct op op;
        MPI_Request reqs[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status sts[3];
        int flag = 1, index = -1, n = -1, indices[3];

        open_op(&op);
        reqs[1] = op.req;
        MPI_Test(&reqs[1], &flag, sts);
        CHECK(!flag);
        MPI_Testall(3, reqs, &flag, sts);
        CHECK(!flag);
        MPI_Testany(3, reqs, &index, &flag, sts);
        CHECK(!flag);
        MPI_Testsome(3, reqs, &n, indices, sts);
        CHECK_EQ(n, 0);
        MPI_Request_get_status(reqs[1], &flag, sts);
        CHECK(!flag);
        check_calls(&op, "");
        CHECK_EQ(MPI_Grequest_complete(op.req), MPI_SUCCESS);
        check_calls(&op, "");
        MPI_Request_get_status(reqs[1], &flag, &sts[0]);
        CHECK(flag);
        check_status(&sts[0], 5);
        check_calls(&op, "q");
        op.count = 6;
        memset(op.calls, 0, sizeof(op.calls));
        memset(sts, 0x55, sizeof(sts));
        switch (how) {
        case 0:
            MPI_Wait(&reqs[1], &sts[1]);
            break;
        case 1:
            MPI_Test(&reqs[1], &flag, &sts[1]);
            CHECK(flag);
            break;
        case 2:
            MPI_Waitall(3, reqs, sts);
            break;
        case 3:
            MPI_Testall(3, reqs, &flag, sts);
            CHECK(flag);
            break;
        case 4:
            MPI_Waitany(3, reqs, &index, &sts[1]);
            CHECK_EQ(index, 1);
            break;
        case 5:
            MPI_Testany(3, reqs, &index, &flag, &sts[1]);
            CHECK(flag);
            CHECK_EQ(index, 1);
            break;
        case 6:
            MPI_Waitsome(3, reqs, &n, indices, &sts[1]);
            CHECK_EQ(n, 1);
            CHECK_EQ(indices[0], 1);
            break;
        default:
            MPI_Testsome(3, reqs, &n, indices, &sts[1]);
            CHECK_EQ(n, 1);
        }
        CHECK(reqs[1] == MPI_REQUEST_NULL);
        check_status(&sts[1], 6);
        check_calls(&op, "qf");
    }
}

static void freed(void)
{
    struct op op;
    MPI_Request req;
    MPI_Status st;
    int flag;

    /* Free after completion: free_fn only, at once. */
    open_op(&op);
    MPI_Grequest_complete(op.req);
    MPI_Request_free(&op.req);
    CHECK(op.req == MPI_REQUEST_NULL);
    check_calls(&op, "f");
    /* Free before completion: free_fn when it is complete. */
    open_op(&op);
    req = op.req;
    MPI_Request_free(&req);
    CHECK(req == MPI_REQUEST_NULL);
    check_calls(&op, "");
    MPI_Grequest_complete(op.req);
    check_calls(&op, "f");
    /* Statuses that are ignored: query_fn is called all the same. */
    open_op(&op);
    MPI_Grequest_complete(op.req);
    if (!is_library("MPICH")) { /* does not call it here */
        MPI_Request_get_status(op.req, &flag, MPI_STATUS_IGNORE);
        check_calls(&op, "q");
        op.calls[0] = '\0';
    }
    MPI_Waitall(1, &op.req, MPI_STATUSES_IGNORE);
    check_calls(&op, "qf");
    /* cancel_fn is told whether it is too late. */
    open_op(&op);
    MPI_Cancel(&op.req);
    check_calls(&op, "c");
    MPI_Cancel(&op.req);
    check_calls(&op, "cC");
    MPI_Wait(&op.req, &st);
    check_calls(&op, "cCqf");
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag);
}

/* The callbacks' errors come out of the calls that make them. */
static void errors(void)
{
    struct op ops[2];
    MPI_Request reqs[2], req;
    MPI_Status sts[2];
    int mine, code, flag;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&mine);
    MPI_Add_error_code(mine, &code);

    open_op(&ops[0]);
    ops[0].query_rc = MPI_ERR_NAME;
    MPI_Grequest_complete(ops[0].req);
    CHECK_EQ(class_of(MPI_Wait(&ops[0].req, sts)), MPI_ERR_NAME);
    CHECK(ops[0].req == MPI_REQUEST_NULL);
    check_calls(&ops[0], "qf");

    open_op(&ops[0]);
    ops[0].free_rc = code;
    MPI_Grequest_complete(ops[0].req);
    if (!is_library("MPICH")) /* drops free_fn's */
        CHECK_EQ(MPI_Wait(&ops[0].req, sts), code);
    else
        MPI_Wait(&ops[0].req, sts);
    check_calls(&ops[0], "qf");

    open_op(&ops[0]);
    ops[0].cancel_rc = code;
    CHECK_EQ(MPI_Cancel(&ops[0].req), code);
    CHECK_EQ(MPI_Wait(&ops[0].req, sts), MPI_SUCCESS);

    open_op(&ops[0]);
    ops[0].free_rc = code;
    MPI_Grequest_complete(ops[0].req);
    if (!is_library("MPICH"))
        CHECK_EQ(MPI_Request_free(&ops[0].req), code);
    else
        MPI_Request_free(&ops[0].req);

    /* In statuses. */
    for (int i = 0; i < 2; i++) {
        open_op(&ops[i]);
        reqs[i] = ops[i].req;
        MPI_Grequest_complete(reqs[i]);
    }
    ops[1].query_rc = code;
    CHECK_EQ(class_of(MPI_Waitall(2, reqs, sts)), MPI_ERR_IN_STATUS);
    CHECK_EQ(sts[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(sts[1].MPI_ERROR, code);
    check_calls(&ops[0], "qf");
    check_calls(&ops[1], "qf");

    /* Wrong arguments. */
    open_op(&ops[0]);
    MPI_Grequest_complete(ops[0].req);
    if (!is_library("MPICH")) {
        CHECK_EQ(class_of(MPI_Grequest_complete(ops[0].req)), MPI_ERR_REQUEST);
        CHECK_EQ(class_of(MPI_Grequest_complete(MPI_REQUEST_NULL)), MPI_ERR_REQUEST);
        MPI_Irecv(&flag, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &req);
        CHECK_EQ(class_of(MPI_Grequest_complete(req)), MPI_ERR_REQUEST);
        MPI_Cancel(&req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        CHECK_EQ(class_of(MPI_Grequest_start(NULL, free_fn, cancel_fn, NULL, &req)), MPI_ERR_ARG);
    }
    CHECK_EQ(class_of(MPI_Start(&ops[0].req)), MPI_ERR_REQUEST);
    MPI_Wait(&ops[0].req, MPI_STATUS_IGNORE);
}

static void *complete_later(void *arg)
{
    struct op *op = arg;

    for (volatile int i = 0; i < 30000000; i++)
        ;
    MPI_Grequest_complete(op->req);
    return NULL;
}

/* Another thread completes what this one waits for, with and without a receive beside it. */
static void threads(void)
{
    for (int how = 0; how < 4; how++) {
        struct op op;
        pthread_t thread;
        MPI_Request reqs[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status sts[2];
        int value, n, index, indices[2];

        open_op(&op);
        reqs[0] = op.req;
        if (how % 2 == 1)
            MPI_Irecv(&value, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &reqs[1]);
        pthread_create(&thread, NULL, complete_later, &op);
        if (how == 0)
            MPI_Waitall(2, reqs, sts);
        else if (how == 1)
            MPI_Waitany(2, reqs, &index, sts);
        else if (how == 2)
            MPI_Wait(&reqs[0], sts);
        else
            MPI_Waitsome(2, reqs, &n, indices, sts);
        pthread_join(thread, NULL);
        check_status(&sts[0], 5);
        check_calls(&op, "qf");
        if (how % 2 == 1) {
            MPI_Cancel(&reqs[1]);
            MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
        }
    }
}

static void extended(void)
{
    MPIX_Grequest_class class;
    struct op op, ops[3];
    MPI_Request reqs[3];
    MPI_Status sts[3];
    int flag = 0, n = 0;

    memset(&op, 0, sizeof(op));
    op.polls_left = 3;
    op.count = 4;
    MPIX_Grequest_start(query_fn, free_fn, cancel_fn, poll_fn, NULL, &op, &op.req);
    while (!flag)
        MPI_Test(&op.req, &flag, &sts[0]);
    check_status(&sts[0], 4);
    check_calls(&op, "qf");

    MPIX_Grequest_class_create(query_fn, free_fn, cancel_fn, poll_fn, wait_fn, &class);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            memset(&ops[i], 0, sizeof(op));
            ops[i].polls_left = round == 0 ? -1 : 2 + i;
            MPIX_Grequest_class_allocate(class, &ops[i], &ops[i].req);
            reqs[i] = ops[i].req;
        }
        if (round == 0) {
            MPI_Wait(&reqs[1], &sts[0]);
            check_calls(&ops[1], "wqf");
            MPI_Waitall(3, reqs, sts);
            check_calls(&ops[0], "wqf");
            check_calls(&ops[2], "wqf");
        } else {
            int done = 0, indices[3];

            while (done < 3) {
                MPI_Testsome(3, reqs, &n, indices, sts);
                done += n;
            }
            check_calls(&ops[2], "qf");
        }
    }
}

/* What the distribution's Fortran library calls after MPI_Grequest_start. */
void MPII_Grequest_set_lang_f77(MPI_Request request);

static void fortran_query(void *extra, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = query_fn(extra, (MPI_Status *)(void *)status);
}

static void fortran_free(void *extra, MPI_Fint *ierr)
{
    *ierr = free_fn(extra);
}

static void fortran_cancel(void *extra, MPI_Fint *complete, MPI_Fint *ierr)
{
    *ierr = cancel_fn(extra, *complete);
}

/* Callbacks that are Fortran's subroutines. */
static void fortran(void)
{
    struct op op = {.count = 9};
    MPI_Status st;
    int flag;

    MPI_Grequest_start((MPI_Grequest_query_function *)(void (*)(void))fortran_query,
                       (MPI_Grequest_free_function *)(void (*)(void))fortran_free,
                       (MPI_Grequest_cancel_function *)(void (*)(void))fortran_cancel, &op,
                       &op.req);
    MPII_Grequest_set_lang_f77(op.req);
    MPI_Cancel(&op.req);
    MPI_Wait(&op.req, &st);
    check_status(&st, 9);
    MPI_Test_cancelled(&st, &flag);
    CHECK(flag);
    check_calls(&op, "cqf");
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    families();
    freed();
    if (provided == MPI_THREAD_MULTIPLE)
        threads();
    extended();
    fortran();
    errors();
    return end();
}
