/* What DATUM_CHECK finds, and what it must not say: argument 1 names it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 1000

static int rank, size;
static int data[4 * N], more[4 * N];
static MPI_Info late; /* freed after MPI_Finalize */

/* ---- collective calls ---- */

static void other_function(void)
{
    if (rank == 1)
        MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

static void other_root(void)
{
    MPI_Bcast(data, 1, MPI_INT, rank == 1, MPI_COMM_WORLD);
}

static void other_count(void)
{
    MPI_Allreduce(data, more, rank == 1 ? 7 : 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void other_type(void)
{
    MPI_Bcast(data, 5, rank == 1 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD);
}

static void other_op(void)
{
    MPI_Reduce(data, more, 5, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
}

static void other_counts(void)
{
    int counts[2] = {3, 4}, displs[2] = {0, 3};

    MPI_Gatherv(data, rank == 1 ? 5 : 3, MPI_INT, more, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
}

static void other_pair(void)
{
    int scounts[2] = {1, 2}, rcounts[2] = {rank == 0 ? 1 : 2, 6}, displs[2] = {0, 10};

    if (rank == 1)
        scounts[0] = 4; /* rank 0 expects 6 */
    MPI_Alltoallv(data, scounts, displs, MPI_INT, more, rcounts, displs, MPI_INT, MPI_COMM_WORLD);
}

static void nonblocking(void)
{
    MPI_Request request;

    if (rank == 1)
        MPI_Ibcast(data, 1, MPI_INT, 1, MPI_COMM_WORLD, &request);
    else
        MPI_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI_Ibcast of one rank and MPI_Ibarrier of the other: they part at different times. */
static void nonblocking_function(int slow)
{
    MPI_Request request;

    if (rank == slow)
        usleep(200000);
    if (rank == 1)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else
        MPI_Ibcast(data, 5, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nonblocking_function0(void)
{
    nonblocking_function(0);
}

static void nonblocking_function1(void)
{
    nonblocking_function(1);
}

/* The root is ready without the others, and waits for something else. */
static void persistent_count(void)
{
    MPI_Request request;

    MPI_Bcast_init(data, rank == 0 ? 5 : 7, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void persistent_other(void)
{
    MPI_Request request;

    if (rank == 0)
        MPI_Ibcast(data, 5, MPI_INT, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Bcast_init(data, 5, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank == 1)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank gets its error code, which names both calls. */
static void nonblocking_returned(void)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Request request;
    int code, len;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Iscatter(data, rank == 0 ? 4 : 1, MPI_INT, more, rank == 0 ? 4 : 1, MPI_INT, 0,
                 MPI_COMM_WORLD, &request);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        return;
    MPI_Error_string(code, text, &len);
    printf("%s\n", text);
}

static void communicator(void)
{
    MPI_Comm comm;

    if (rank == 1)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
}

static void window(void)
{
    MPI_Win win;

    MPI_Win_create(data, sizeof(data), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void file(void)
{
    MPI_File fh;

    MPI_File_open(MPI_COMM_WORLD, "usage_file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &fh);
    MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL);
    if (rank == 0)
        MPI_File_sync(fh);
    else
        MPI_File_set_size(fh, 100);
}

/* All ranks hear of it, and go on together. */
static void returned(void)
{
    int code, class;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Allreduce(data, more, 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_OTHER)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d went on\n", rank);
}

/* The program looks at no code. */
static void file_default(void)
{
    MPI_File fh;

    MPI_File_open(MPI_COMM_WORLD, "usage_file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &fh);
    for (int i = 0; i < 2; i++)
        if (rank == 0)
            MPI_File_sync(fh);
        else
            MPI_File_set_size(fh, 1000);
    MPI_File_close(&fh);
    printf("rank %d went on\n", rank);
}

/* ---- objects and requests ---- */

static void made(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* Not static: messages name it. */
void leaks(void);
void leaks(void)
{
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Group group;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler eh;
    MPI_Win win;
    MPI_File fh;
    int keyval;

    for (int i = 0; i < 3; i++)
        MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Op_create(made, 1, &op);
    MPI_Info_create(&info);
    MPI_Comm_create_errhandler(handler, &eh);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Win_create(data, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_File_open(MPI_COMM_SELF, "usage_file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
}

static void many_leaks(void)
{
    MPI_Datatype type;

#define LEAK MPI_Type_contiguous(2, MPI_INT, &type);
    LEAK LEAK LEAK LEAK LEAK LEAK LEAK LEAK LEAK LEAK LEAK LEAK
}

static void requests(void)
{
    MPI_Request request;

    MPI_Irecv(data, 10, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &request);
    MPI_Isend(more, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, &request);
    MPI_Recv(more + 5, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(more, 3, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, &request);
}

/* ---- buffers ---- */

static void changed_by(int n)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Isend(data, n, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        data[n - 1]++;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(data, n, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void changed(void)
{
    changed_by(N);
}

static void changed_large(void)
{
    int n = 1 << 20, *large = calloc((size_t)n, sizeof(int));
    MPI_Request request;

    if (rank == 0) {
        MPI_Isend(large, n, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        large[n / 2] = 1;
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(large, n, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(large);
}

static void changed_collective(void)
{
    MPI_Request request;

    MPI_Ibcast(data, N, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (rank == 0)
        data[5]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void changed_persistent(void)
{
    MPI_Request request;

    MPI_Send_init(data, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    data[0]++; /* nobody gets it */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Send_init(data, 2, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; i++) {
        data[0]++;
        MPI_Start(&request);
        if (rank == 0 && i == 1)
            data[1]++;
        MPI_Recv(more, 2, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void changed_partition(void)
{
    MPI_Request requests[2];

    MPI_Psend_init(data, 4, 5, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(more, 4, 5, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, requests);
        for (int i = 0; i < 4; i++) {
            data[5 * i]++;
            MPI_Pready(i, requests[0]);
        }
        if (round == 1)
            data[11]++;
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void overlap(void)
{
    MPI_Request requests[2];

    MPI_Irecv(data, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data + 9, 10, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(more, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Send(more, 10, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void used(void)
{
    MPI_Request request;

    MPI_Irecv(data, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &request);
    MPI_Sendrecv(more, 1, MPI_INT, 1 - rank, 2, data + 9, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Send(more, 10, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- what is right ---- */

/* Columns lie between each other; the same may be sent twice. */
static void right_buffers(void)
{
    MPI_Request requests[4];
    MPI_Datatype column;
    int flag;

    MPI_Type_vector(10, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(data, 1, column, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(data + 1, 1, column, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(more, 1, column, 1 - rank, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(more, 1, column, 1 - rank, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Type_free(&column);
    more[1]++; /* not a part of the column */
    do
        MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
    data[0] = more[0] = 1;
    MPI_Isend(more, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(data, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The same data in other words; counts that do not matter. */
static void right_calls(void)
{
    MPI_Datatype three;
    MPI_Request request;
    int n = rank == 0 ? 2 : 6, counts[2] = {1, 2}, displs[2] = {0, 1};
    char packed[64];

    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Bcast(data, n, rank == 0 ? three : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Ibcast(data, n, rank == 0 ? three : MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gather(data, 3, MPI_INT, more, rank == 0 ? 1 : 77, three, 0, MPI_COMM_WORLD);
    MPI_Gatherv(data, rank + 1, MPI_INT, more, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(rank == 0 ? (void *)data : packed, rank == 0 ? 4 : 16,
              rank == 0 ? MPI_INT : MPI_PACKED, 0, MPI_COMM_WORLD);
    MPI_Bcast(data, 1, rank == 0 ? MPI_LONG : MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Type_free(&three);
}

static void right_objects(void)
{
    MPI_Group group, same;
    MPI_Errhandler eh;
    MPI_Comm comm, inter, merged;
    MPI_Datatype f90, pair;
    MPI_Win win;
    MPI_Info info;
    int *base;

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &same);
    MPI_Group_free(&group);
    MPI_Group_free(&same);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &eh);
    MPI_Errhandler_free(&eh);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm);
    MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 1 - rank, 3, &inter);
    MPI_Intercomm_merge(inter, rank, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&comm);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &f90);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_info(win, &info);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Info_create(&late);
}

static void right(void)
{
    right_buffers();
    right_calls();
    right_objects();
}

static void unsupported(void)
{
    MPI_Comm comm;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++)
        MPIX_Comm_shrink(MPI_COMM_WORLD, &comm);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*fn)(void);
} rows[] = {{"other_function", other_function},
            {"other_root", other_root},
            {"other_count", other_count},
            {"other_type", other_type},
            {"other_op", other_op},
            {"other_counts", other_counts},
            {"other_pair", other_pair},
            {"nonblocking", nonblocking},
            {"nonblocking_function0", nonblocking_function0},
            {"nonblocking_function1", nonblocking_function1},
            {"persistent_count", persistent_count},
            {"persistent_other", persistent_other},
            {"nonblocking_returned", nonblocking_returned},
            {"communicator", communicator},
            {"window", window},
            {"file", file},
            {"returned", returned},
            {"file_default", file_default},
            {"leaks", leaks},
            {"many_leaks", many_leaks},
            {"requests", requests},
            {"changed", changed},
            {"changed_large", changed_large},
            {"changed_persistent", changed_persistent},
            {"changed_partition", changed_partition},
            {"changed_collective", changed_collective},
            {"overlap", overlap},
            {"used", used},
            {"right", right},
            {"unsupported", unsupported}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    late = MPI_INFO_NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, argv[1]) == 0)
            rows[i].fn();
    MPI_Finalize();
    if (late != MPI_INFO_NULL)
        MPI_Info_free(&late);
    return 0;
}
