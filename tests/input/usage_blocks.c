/* What DATUM_CHECK finds in collectives with blocks of any lengths and in one-sided calls: argument 1 names it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define N 100

static int rank;
static int data[N], more[N];

static int counts[2] = {3, 4}, displs[2] = {0, 50};

/* Rank 1 has 5 for the root. */
static void igatherv(void)
{
    MPI_Request request;

    MPI_Igatherv(data, rank == 1 ? 5 : 3, MPI_INT, more, counts, displs, MPI_INT, 0, MPI_COMM_WORLD,
                 &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void iscatterv(void)
{
    MPI_Request request;

    MPI_Iscatterv(data, counts, displs, MPI_INT, more, rank == 1 ? 4 : 3,
                  rank == 1 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void alltoallv_init(void)
{
    int scounts[2] = {1, 2}, rcounts[2] = {rank == 0 ? 1 : 2, 6};
    MPI_Request request;

    if (rank == 1)
        scounts[0] = 4; /* rank 0 expects 6 */
    scounts[1] = rank == 1 ? 6 : 2;
    MPI_Alltoallv_init(data, scounts, displs, MPI_INT, more, rcounts, displs, MPI_INT,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&request);
}

static MPI_Comm ring(void)
{
    int dims = 2, periods = 1;
    MPI_Comm comm;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &comm);
    MPI_Comm_set_name(comm, "ring");
    return comm;
}

static void neighbor(void)
{
    MPI_Comm comm = ring();

    MPI_Neighbor_allgather(data, 2, MPI_INT, more, rank == 1 ? 3 : 2, MPI_INT, comm);
}

/* Both neighbours are the same process, whose blocks come the other way round. */
static void neighbor_blocks(int wrong)
{
    int scounts[2] = {1 + 2 * rank, 2 + 2 * rank}, rcounts[2] = {4 - 2 * rank, 3 - 2 * rank};
    MPI_Comm comm = ring();
    MPI_Request request;

    rcounts[1] += rank == 1 && wrong;
    MPI_Ineighbor_alltoallv(data, scounts, displs, MPI_INT, more, rcounts, displs, MPI_INT, comm,
                            &request);
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

static void neighbor_any(void)
{
    neighbor_blocks(1);
}

static void changed_blocks(void)
{
    MPI_Request request;

    MPI_Ialltoallv(data, counts, displs, MPI_INT, more, (int[]){3 + rank, 3 + rank}, displs,
                   MPI_INT, MPI_COMM_WORLD, &request);
    data[40]++; /* between the blocks */
    data[52]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- one-sided ---- */

static void changed_put(void)
{
    MPI_Win win;

    MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(data, 10, MPI_INT, 1 - rank, 0, 10, MPI_INT, win);
    data[9] = 7;
    MPI_Win_fence(0, win);
    data[9] = 8;
    MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);
    MPI_Put(data, 10, MPI_INT, 1 - rank, 10 * rank, 10, MPI_INT, win);
    MPI_Win_flush_local(1 - rank, win);
    data[9] = 9;
    MPI_Win_unlock(1 - rank, win);
    MPI_Win_free(&win);
}

static void overlap_get(void)
{
    MPI_Request request;
    MPI_Win win;

    MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Irecv(data, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    MPI_Win_lock_all(0, win);
    MPI_Get(data + 9, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    MPI_Send(more, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
}

static void overlap_rget(void)
{
    MPI_Request requests[2];
    MPI_Win win;

    MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Rget(data, 10, MPI_INT, 1 - rank, 0, 10, MPI_INT, win, &requests[0]);
    MPI_Win_flush(rank, win); /* with another rank */
    MPI_Rget(data + 9, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* A request is to be completed after a flush, too. */
static void flushed_rput(void)
{
    MPI_Request request;
    MPI_Win win;

    MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    MPI_Rput(data, 10, MPI_INT, 1 - rank, 0, 10, MPI_INT, win, &request);
    MPI_Win_flush(1 - rank, win);
    data[9]++;
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* ---- what is right ---- */

/* What is flushed is the program's, also before its request is completed. */
static void right_flushed(MPI_Win win)
{
    MPI_Request requests[6];

    MPI_Win_lock_all(0, win);
    MPI_Rget(data, 10, MPI_INT, 1 - rank, 50, 10, MPI_INT, win, &requests[0]);
    MPI_Win_flush(1 - rank, win);
    MPI_Rget(data, 10, MPI_INT, 1 - rank, 50, 10, MPI_INT, win, &requests[1]);
    MPI_Win_flush_all(win);
    for (int i = 2; i < 6; i++) {
        MPI_Rput(data, 10, MPI_INT, 1 - rank, 60, 10, MPI_INT, win, &requests[i]);
        if (i % 2 == 0)
            MPI_Win_flush_local(1 - rank, win);
        else
            MPI_Win_flush_local_all(win);
        data[9]++;
    }
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    MPI_Rput(data, 10, MPI_INT, 1 - rank, 60, 10, MPI_INT, win, &requests[0]);
    MPI_Win_unlock_all(win);
    data[9]++;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void right(void)
{
    MPI_Request request;
    MPI_Win win;
    int sum = 1;

    neighbor_blocks(0);
    /* A call that waits overtakes one whose lengths have not been compared. */
    MPI_Ialltoallv(data, (int[]){2 + rank, 3 + rank}, displs, MPI_INT, more,
                   (int[]){2 + rank, 3 + rank}, displs, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Gatherv(data, 7 + rank, MPI_INT, more + 70, (int[]){7, 8}, (int[]){0, 10}, MPI_INT, 0,
                MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Igatherv(rank == 0 ? MPI_IN_PLACE : data, counts[rank], MPI_INT, more, counts, displs,
                 MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, more, (int[]){2 + rank, 3 + rank},
                  displs, MPI_INT, MPI_COMM_WORLD);
    MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2000; i++)
        MPI_Accumulate(data, 5, MPI_INT, 1 - rank, 0, 5, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    data[0]++;
    MPI_Get_accumulate(data, 1, MPI_DATATYPE_NULL, &sum, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT,
                       MPI_NO_OP, win);
    data[0]++;
    MPI_Get(&sum, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win); /* nobody looks at the first one */
    MPI_Win_unlock_all(win);
    right_flushed(win);
    MPI_Win_free(&win);
}

static const struct {
    const char *name;
    void (*fn)(void);
} rows[] = {{"igatherv", igatherv},
            {"iscatterv", iscatterv},
            {"alltoallv_init", alltoallv_init},
            {"neighbor", neighbor},
            {"neighbor_any", neighbor_any},
            {"changed_blocks", changed_blocks},
            {"changed_put", changed_put},
            {"overlap_get", overlap_get},
            {"overlap_rget", overlap_rget},
            {"flushed_rput", flushed_rput},
            {"right", right}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, argv[1]) == 0)
            rows[i].fn();
    MPI_Finalize();
    return 0;
}
