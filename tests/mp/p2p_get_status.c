/* test: np=1,2 timeout=30 */
/*
 * MPI_Request_get_status_all, _any and _some: what MPI_Test and its kin would say, but the requests stay.
 */
#include "mp_test.h"

enum { N = 4, MANY = 200 };

static int other;

static int is_all(const MPI_Request *requests, int n, MPI_Status *statuses)
{
    int flag = -1;

    MUST(MPI_Request_get_status_all(n, requests, &flag, statuses));
    return flag;
}

/* Nothing, null requests and inactive ones are over, with empty statuses. */
static void nothing(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Status statuses[2];
    int flag = 0, index = 0, n = 0, indices[2], value = 0;

    memset(statuses, 0x55, sizeof(statuses));
    CHECK(is_all(requests, 0, MPI_STATUSES_IGNORE));
    MUST(MPI_Recv_init(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &inactive));
    requests[1] = inactive;
    CHECK(is_all(requests, 2, statuses));
    CHECK_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(statuses[1].MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Request_get_status_any(2, requests, &index, &flag, &statuses[0]));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(flag, 1);
    MUST(MPI_Request_get_status_some(2, requests, &n, indices, statuses));
    CHECK_EQ(n, MPI_UNDEFINED);
    MUST(MPI_Request_free(&inactive));
}

static void send_to_other(int value, int tag)
{
    MUST(MPI_Send(&value, 1, MPI_INT, other, tag, MPI_COMM_WORLD));
}

/* Receives that are over one after the other, told again and again until they are completed. */
static void one_by_one(int has_statuses)
{
    MPI_Request requests[N + 1];
    MPI_Status statuses[N + 1], status;
    MPI_Status *told = has_statuses ? statuses : MPI_STATUSES_IGNORE;
    int values[N] = {0}, indices[N + 1], index, flag, n;

    for (int i = 0; i < N; i++)
        MUST(MPI_Irecv(&values[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]));
    requests[N] = MPI_REQUEST_NULL;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Request_get_status_any(N + 1, requests, &index, &flag, &status));
    CHECK_EQ(flag, 0);
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Request_get_status_some(N + 1, requests, &n, indices, told));
    CHECK_EQ(n, 0);
    CHECK(!is_all(requests, N + 1, told));
    MUST(MPI_Barrier(MPI_COMM_WORLD));

    send_to_other(20, 2);
    do
        MUST(MPI_Request_get_status_any(N + 1, requests, &index, &flag, &status));
    while (!flag);
    CHECK_EQ(index, 2);
    CHECK_EQ(status.MPI_TAG, 2);
    CHECK_EQ(values[2], 20);
    CHECK(requests[2] != MPI_REQUEST_NULL);
    CHECK(!is_all(requests, N + 1, told));
    MUST(MPI_Barrier(MPI_COMM_WORLD));

    send_to_other(0, 0);
    do
        MUST(MPI_Request_get_status_some(N + 1, requests, &n, indices, told));
    while (n < 2);
    CHECK_EQ(n, 2);
    CHECK_EQ(indices[0], 0);
    CHECK_EQ(indices[1], 2);
    if (has_statuses)
        CHECK_EQ(statuses[1].MPI_TAG, 2);
    MUST(MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    MUST(MPI_Request_get_status_some(N + 1, requests, &n, indices, told));
    CHECK_EQ(n, 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));

    send_to_other(10, 1);
    send_to_other(30, 3);
    while (!is_all(requests, N + 1, told))
        ;
    for (int i = 0; i < N && has_statuses; i++)
        CHECK_EQ(statuses[i].MPI_TAG, i == 2 ? MPI_ANY_TAG : i);
    CHECK(is_all(requests, N + 1, told));
    MUST(MPI_Waitall(N + 1, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++)
        CHECK_EQ(values[i], 10 * i);
}

static void many(void)
{
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    static int values[MANY], indices[MANY];
    int n = 0;

    for (int i = 0; i < MANY; i++)
        MUST(MPI_Irecv(&values[i], 1, MPI_INT, other, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < MANY; i++)
        send_to_other(i, i);
    while (n < MANY)
        MUST(MPI_Request_get_status_some(MANY, requests, &n, indices, statuses));
    CHECK(is_all(requests, MANY, statuses));
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(indices[i], i);
        CHECK_EQ(statuses[i].MPI_TAG, i);
    }
    MUST(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
}

/* The error of an operation is for the call that completes it. */
static void truncated(void)
{
    MPI_Request request;
    MPI_Status status;
    int pair[2] = {0}, one = 0, n = 0, index, flag = 0;

    MUST(MPI_Irecv(&one, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request));
    MUST(MPI_Send(pair, 2, MPI_INT, other, 0, MPI_COMM_WORLD));
    while (!flag)
        MUST(MPI_Request_get_status_any(1, &request, &index, &flag, &status));
    CHECK(is_all(&request, 1, &status));
    MUST(MPI_Request_get_status_some(1, &request, &n, &index, MPI_STATUSES_IGNORE));
    CHECK_EQ(n, 1);
    FAILS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
}

static void refusals(void)
{
    MPI_Request bad[2] = {MPI_REQUEST_NULL, (MPI_Request)0x12345678};
    MPI_Status status;
    int flag, n, index[2];

    FAILS(MPI_Request_get_status_all(2, bad, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status_any(2, bad, &n, &flag, &status), MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status_some(2, bad, &n, index, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status_all(-1, bad, &flag, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Request_get_status_any(1, NULL, &n, &flag, &status), MPI_ERR_ARG);
    FAILS(MPI_Request_get_status_some(1, bad, NULL, index, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    mp_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    other = mp_size - 1 - mp_rank;
    nothing();
    one_by_one(1);
    one_by_one(0);
    many();
    truncated();
    refusals();
    return mp_finish();
}
