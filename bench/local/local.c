/*
 * What calls cost that need no other process: datatypes, packing, communicators, groups, topologies, info, attributes,
 * memory, windows, requests, messages and collectives of one process. Runs with any MPI.
 *
 *   mpiexec -n 1 local [PART]
 *
 * A line is "what us": the processor time of one turn of the calls that the row names, the least of many short
 * slices. PART: only rows that begin so. Time of other processes does not count, whatever the load.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLICES  25
#define SLICE_S 2e-3

#define N_BLOCKS   64
#define N_PLACES   4000
#define N_ROWS     512
#define N_REQUESTS 2000
#define BUF_BYTES  (8 << 20)

static const char *part = "";
static double *from, *to; /* BUF_BYTES each */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Enough turns for a slice; the statements come as the last arguments. */
#define TIME(what, ...)                                                                            \
    do {                                                                                           \
        double best = 1e9, t = 0;                                                                  \
        long turns = 1;                                                                            \
                                                                                                   \
        for (int slice = 0; slice < SLICES && strncmp(what, part, strlen(part)) == 0;) {           \
            t = cpu_seconds();                                                                     \
            for (long turn = 0; turn < turns; turn++) {                                            \
                __VA_ARGS__                                                                        \
            }                                                                                      \
            t = cpu_seconds() - t;                                                                 \
            if (t < SLICE_S / 2 && slice == 0) {                                                   \
                turns *= 2;                                                                        \
                continue;                                                                          \
            }                                                                                      \
            best = t / (double)turns < best ? t / (double)turns : best;                            \
            slice++;                                                                               \
        }                                                                                          \
        if (best < 1e9)                                                                            \
            printf("%s %.5g\n", what, best * 1e6);                                                 \
        fflush(stdout);                                                                            \
    } while (0)

/* ---- datatypes ---- */

static void commit_and_free(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
}

static void time_simple_types(void)
{
    MPI_Datatype type;
    int lengths[N_BLOCKS], places[N_BLOCKS];
    int struct_lengths[3] = {1, 2, 3};
    MPI_Aint struct_places[3] = {0, 8, 32};
    MPI_Datatype struct_types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};

    for (int i = 0; i < N_BLOCKS; i++) {
        lengths[i] = 1 + i % 3;
        places[i] = 5 * i;
    }
    TIME("type_contiguous", MPI_Type_contiguous(10, MPI_DOUBLE, &type); commit_and_free(type););
    TIME("type_vector", MPI_Type_vector(10, 2, 5, MPI_DOUBLE, &type); commit_and_free(type););
    TIME("type_indexed_64", MPI_Type_indexed(N_BLOCKS, lengths, places, MPI_DOUBLE, &type);
         commit_and_free(type););
    TIME("type_indexed_block_64",
         MPI_Type_create_indexed_block(N_BLOCKS, 2, places, MPI_DOUBLE, &type);
         commit_and_free(type););
    TIME("type_struct_3",
         MPI_Type_create_struct(3, struct_lengths, struct_places, struct_types, &type);
         commit_and_free(type););
    TIME("type_resized", MPI_Type_create_resized(MPI_DOUBLE, 0, 24, &type); commit_and_free(type););
    TIME("type_dup", MPI_Type_dup(MPI_DOUBLE, &type); MPI_Type_free(&type););
}

static void time_array_types(void)
{
    MPI_Datatype type;
    int sizes[3] = {40, 40, 40}, subsizes[3] = {10, 10, 10}, starts[3] = {3, 4, 5};
    int global[2] = {64, 64}, how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int args[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 2};

    TIME("type_subarray_3d",
         MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
         commit_and_free(type););
    TIME("type_darray_2d",
         MPI_Type_create_darray(4, 1, 2, global, how, args, grid, MPI_ORDER_C, MPI_DOUBLE, &type);
         commit_and_free(type););
}

static void time_pack(const char *what, MPI_Datatype type, int count)
{
    char name[64];
    int at;

    MPI_Type_commit(&type);
    snprintf(name, sizeof(name), "pack_%s", what);
    TIME(name, at = 0; MPI_Pack(from, count, type, to, BUF_BYTES, &at, MPI_COMM_WORLD););
    snprintf(name, sizeof(name), "unpack_%s", what);
    TIME(name, at = 0; MPI_Unpack(to, BUF_BYTES, &at, from, count, type, MPI_COMM_WORLD););
    MPI_Type_free(&type);
}

static void time_packing(void)
{
    static int places[N_PLACES];
    int lengths[3] = {1, 1, 1};
    MPI_Aint at[3] = {0, 8, 16};
    MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, type, sized;

    for (int i = 0; i < N_PLACES; i++)
        places[i] = i * 7 % (2 * N_PLACES) * 4;
    MPI_Type_create_indexed_block(N_PLACES, 1, places, MPI_DOUBLE, &type);
    time_pack("indexed_block", type, 1);
    MPI_Type_vector(N_ROWS, 1, N_ROWS, MPI_DOUBLE, &type);
    MPI_Type_create_resized(type, 0, sizeof(double), &sized);
    MPI_Type_free(&type);
    time_pack("transpose", sized, N_ROWS);
    MPI_Type_vector(4096, 1, 2, MPI_INT, &type);
    time_pack("every_second_int", type, 1);
    MPI_Type_vector(4096, 3, 5, MPI_CHAR, &type);
    time_pack("runs_of_3_bytes", type, 1);
    MPI_Type_create_struct(3, lengths, at, types, &type);
    MPI_Type_create_resized(type, 0, 24, &sized);
    MPI_Type_free(&type);
    time_pack("structs", sized, 1000);
    MPI_Type_contiguous(1, MPI_INT, &type);
    time_pack("int", type, 1);
}

/* ---- objects ---- */

static void time_communicators(void)
{
    MPI_Comm comm;
    int dims[2] = {1, 1}, periods[2] = {0, 0}, flag;

    TIME("comm_dup", MPI_Comm_dup(MPI_COMM_SELF, &comm); MPI_Comm_free(&comm););
    TIME("comm_split", MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm); MPI_Comm_free(&comm););
    TIME("cart_create", MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &comm);
         MPI_Comm_free(&comm););
    TIME("comm_compare", MPI_Comm_compare(MPI_COMM_SELF, MPI_COMM_WORLD, &flag););
}

static void time_grids(void)
{
    MPI_Comm comm;
    int dims[3] = {1, 1, 1}, periods[3] = {1, 1, 1}, coords[3], rank, source;

    TIME("comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &rank););
    TIME("comm_size", MPI_Comm_size(MPI_COMM_WORLD, &rank););
    MPI_Cart_create(MPI_COMM_SELF, 3, dims, periods, 0, &comm);
    TIME("cart_coords", MPI_Cart_coords(comm, 0, 3, coords););
    TIME("cart_rank", MPI_Cart_rank(comm, coords, &rank););
    TIME("cart_shift", MPI_Cart_shift(comm, 1, 1, &source, &rank););
    TIME("cart_get", MPI_Cart_get(comm, 3, dims, periods, coords););
    MPI_Comm_free(&comm);
}

static void time_groups(void)
{
    MPI_Group all, group;
    int zero = 0, rank, range[1][3] = {{0, 0, 1}};

    TIME("comm_group", MPI_Comm_group(MPI_COMM_WORLD, &group); MPI_Group_free(&group););
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    TIME("group_incl", MPI_Group_incl(all, 1, &zero, &group); MPI_Group_free(&group););
    TIME("group_range_incl", MPI_Group_range_incl(all, 1, range, &group); MPI_Group_free(&group););
    TIME("group_union", MPI_Group_union(all, all, &group); MPI_Group_free(&group););
    TIME("group_translate_ranks", MPI_Group_translate_ranks(all, 1, &zero, all, &rank););
    MPI_Group_free(&all);
}

static int nothing_op_called;
static void nothing_op(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)len, (void)type;
    nothing_op_called++;
}
static void nothing_handler(MPI_Comm *comm, int *err, ...)
{
    (void)comm, (void)err;
}

static void time_small_objects(void)
{
    MPI_Info info;
    MPI_Op op;
    MPI_Errhandler handler;
    char value[64];
    int key, flag;
    void *attr;

    TIME("info", MPI_Info_create(&info); MPI_Info_set(info, "alpha", "1");
         MPI_Info_set(info, "beta", "2"); MPI_Info_get(info, "beta", 60, value, &flag);
         MPI_Info_free(&info););
    MPI_Info_create(&info);
    MPI_Info_set(info, "alpha", "1");
    MPI_Info_set(info, "beta", "2");
    TIME("info_get", MPI_Info_get(info, "beta", 60, value, &flag););
    MPI_Info_free(&info);
    TIME("keyval",
         MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
         MPI_Comm_free_keyval(&key););
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    TIME("attr_set_get_delete", MPI_Comm_set_attr(MPI_COMM_SELF, key, &flag);
         MPI_Comm_get_attr(MPI_COMM_SELF, key, &attr, &flag);
         MPI_Comm_delete_attr(MPI_COMM_SELF, key););
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &flag);
    TIME("attr_get", MPI_Comm_get_attr(MPI_COMM_SELF, key, &attr, &flag););
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
    TIME("attr_get_tag_ub", MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &attr, &flag););
    TIME("op_create", MPI_Op_create(nothing_op, 1, &op); MPI_Op_free(&op););
    TIME("errhandler", MPI_Comm_create_errhandler(nothing_handler, &handler);
         MPI_Errhandler_free(&handler););
}

/* ---- memory and windows ---- */

static void time_memory(void)
{
    static const struct {
        const char *what;
        MPI_Aint len;
    } rows[] = {
        {"alloc_mem_64B", 64}, {"alloc_mem_64KiB", 64 << 10}, {"alloc_mem_16MiB", 16 << 20}};
    MPI_Win win;
    void *mem;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        TIME(rows[i].what, MPI_Alloc_mem(rows[i].len, MPI_INFO_NULL, &mem); MPI_Free_mem(mem););
    /* Open MPI 4.1 has no windows of one process on some machines. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Win_create(from, 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win) != MPI_SUCCESS)
        return;
    MPI_Win_free(&win);
    TIME("win_create", MPI_Win_create(from, 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
         MPI_Win_free(&win););
    TIME("win_allocate", MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &mem, &win);
         MPI_Win_free(&win););
    MPI_Win_create(from, 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    TIME("lock_put_unlock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
         MPI_Put(to, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win); MPI_Win_unlock(0, win););
    MPI_Win_lock_all(0, win);
    TIME("put_self", MPI_Put(to, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win););
    MPI_Win_flush(0, win);
    TIME("fetch_and_op_self", MPI_Fetch_and_op(to, to + 1, MPI_DOUBLE, 0, 0, MPI_SUM, win);
         MPI_Win_flush(0, win););
    TIME("flush_local", MPI_Win_flush_local(0, win););
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* ---- requests ---- */

static MPI_Request requests[N_REQUESTS];
static int indices[N_REQUESTS], values[N_REQUESTS];

/* Receives that are all done, the last one first. */
static void post_and_send(void)
{
    for (int i = 0; i < N_REQUESTS; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    for (int i = N_REQUESTS - 1; i >= 0; i--)
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
}

static void time_many_requests(void)
{
    int n, left;

    TIME("waitall_2000", post_and_send(); MPI_Waitall(N_REQUESTS, requests, MPI_STATUSES_IGNORE););
    TIME("testall_2000", post_and_send();
         for (n = 0; n == 0;) MPI_Testall(N_REQUESTS, requests, &n, MPI_STATUSES_IGNORE););
    TIME("testsome_2000", post_and_send(); for (left = N_REQUESTS; left > 0; left -= n > 0 ? n : 0)
             MPI_Testsome(N_REQUESTS, requests, &n, indices, MPI_STATUSES_IGNORE););
    TIME("waitany_2000", post_and_send(); for (left = N_REQUESTS; left > 0; left--)
             MPI_Waitany(N_REQUESTS, requests, &n, MPI_STATUS_IGNORE););
}

static void time_requests(void)
{
    MPI_Request pair[2], persistent, none = MPI_REQUEST_NULL;
    MPI_Status status;
    int give = 1, get, n;

    memset(&status, 0, sizeof(status));
    TIME("isend_irecv_waitall", MPI_Irecv(&get, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[0]);
         MPI_Isend(&give, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[1]);
         MPI_Waitall(2, pair, MPI_STATUSES_IGNORE););
    TIME("isend_recv", MPI_Isend(&give, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[0]);
         MPI_Recv(&get, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
         MPI_Wait(&pair[0], MPI_STATUS_IGNORE););
    TIME("sendrecv", MPI_Sendrecv(&give, 1, MPI_INT, 0, 0, &get, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                                  MPI_STATUS_IGNORE););
    TIME("irecv_send_test", MPI_Irecv(&get, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &pair[0]);
         MPI_Send(&give, 1, MPI_INT, 0, 0, MPI_COMM_SELF); MPI_Test(&pair[0], &n, &status););
    TIME("test_null", MPI_Test(&none, &n, MPI_STATUS_IGNORE););
    TIME("send_proc_null", MPI_Send(&give, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF););
    TIME("persistent_proc_null",
         MPI_Send_init(&give, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &persistent);
         MPI_Start(&persistent); MPI_Wait(&persistent, MPI_STATUS_IGNORE);
         MPI_Request_free(&persistent););
    TIME("iprobe_nothing",
         MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &n, MPI_STATUS_IGNORE););
    memset(&status, 0, sizeof(status));
    TIME("get_count", MPI_Get_count(&status, MPI_DOUBLE, &n););
    TIME("get_elements", MPI_Get_elements(&status, MPI_DOUBLE, &n););
    TIME("type_size", MPI_Type_size(MPI_DOUBLE, &n););
}

/* ---- collectives of one process, and what is left ---- */

static void time_alone(void)
{
    MPI_Request request;
    int give = 1, get;

    TIME("barrier", MPI_Barrier(MPI_COMM_SELF););
    TIME("bcast", MPI_Bcast(&get, 1, MPI_INT, 0, MPI_COMM_SELF););
    TIME("allreduce", MPI_Allreduce(&give, &get, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF););
    TIME("allgather", MPI_Allgather(&give, 1, MPI_INT, &get, 1, MPI_INT, MPI_COMM_SELF););
    TIME("reduce", MPI_Reduce(&give, &get, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_SELF););
    TIME("gather", MPI_Gather(&give, 1, MPI_INT, &get, 1, MPI_INT, 0, MPI_COMM_SELF););
    TIME("alltoall", MPI_Alltoall(&give, 1, MPI_INT, &get, 1, MPI_INT, MPI_COMM_SELF););
    TIME("scan", MPI_Scan(&give, &get, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF););
    TIME("allreduce_in_place",
         MPI_Allreduce(MPI_IN_PLACE, &get, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF););
    TIME("ibarrier_wait", MPI_Ibarrier(MPI_COMM_SELF, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE););
    TIME("iallreduce_wait",
         MPI_Iallreduce(&give, &get, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE););
    TIME("reduce_local_1", MPI_Reduce_local(&give, &get, 1, MPI_INT, MPI_SUM););
    TIME("reduce_local_1024", MPI_Reduce_local(from, to, 1024, MPI_DOUBLE, MPI_SUM););
}

int main(int argc, char **argv)
{
    static volatile double now;

    MPI_Init(&argc, &argv);
    if (argc > 1)
        part = argv[1];
    from = malloc(BUF_BYTES);
    to = malloc(BUF_BYTES);
    if (from == NULL || to == NULL) {
        fprintf(stderr, "local: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(from, 0, BUF_BYTES);
    memset(to, 0, BUF_BYTES);
    time_simple_types();
    time_array_types();
    time_packing();
    time_communicators();
    time_grids();
    time_groups();
    time_small_objects();
    time_memory();
    time_many_requests();
    time_requests();
    time_alone();
    TIME("wtime", now = MPI_Wtime(););
    (void)now;
    MPI_Finalize();
    return 0;
}
