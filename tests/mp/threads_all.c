/* test: np=1,3 timeout=90 */
/*
 * MPI_THREAD_MULTIPLE: eight threads go through everything the library has, each in an order of its own (the
 * same on all ranks), on a communicator of its own and on one that all share, with their own tags.
 */
#include <pthread.h>

#include "mp_test.h"

enum { N_THREADS = 8, N_ROUNDS = 2, LEN = 300, LONG_LEN = 20000, TAGS = 100 };

/* What a thread works with. */
struct self {
    int id;
    int left, right;
    MPI_Comm own, shared;
};

static MPI_Comm shared, owns[N_THREADS];

static int value_of(int thread, int rank, int i)
{
    return thread * 100000 + rank * 1000 + i;
}

static void fill(int *buf, int n, int thread, int rank)
{
    for (int i = 0; i < n; i++)
        buf[i] = value_of(thread, rank, i);
}

static int is_from(const int *buf, int n, int thread, int rank)
{
    for (int i = 0; i < n; i++)
        if (buf[i] != value_of(thread, rank, i))
            return 0;
    return 1;
}

/* Round the ring with one mode of sending. */
static void one_mode(const struct self *me, MPI_Comm comm, int mode, int n)
{
    int *out = malloc(sizeof(int) * (size_t)n), *in = malloc(sizeof(int) * (size_t)n), count;
    int tag = me->id * TAGS + mode;
    MPI_Request reqs[2];
    MPI_Status sts[2];

    fill(out, n, me->id, mp_rank);
    MUST(MPI_Irecv(in, n, MPI_INT, me->left, tag, comm, &reqs[0]));
    switch (mode) {
    case 0:
        MUST(MPI_Isend(out, n, MPI_INT, me->right, tag, comm, &reqs[1]));
        break;
    case 1:
        MUST(MPI_Issend(out, n, MPI_INT, me->right, tag, comm, &reqs[1]));
        break;
    case 2:
        MUST(MPI_Ibsend(out, n, MPI_INT, me->right, tag, comm, &reqs[1]));
        break;
    default: /* the receive is there when the neighbour says so */
        MUST(MPI_Sendrecv(NULL, 0, MPI_INT, me->left, tag + 50, NULL, 0, MPI_INT, me->right,
                          tag + 50, comm, MPI_STATUS_IGNORE));
        MUST(MPI_Irsend(out, n, MPI_INT, me->right, tag, comm, &reqs[1]));
    }
    MUST(MPI_Waitall(2, reqs, sts));
    MUST(MPI_Get_count(&sts[0], MPI_INT, &count));
    CHECK_EQ(count, n);
    CHECK_EQ(sts[0].MPI_TAG, tag);
    CHECK(is_from(in, n, me->id, me->left));
    free(out);
    free(in);
}

static void modes(const struct self *me)
{
    for (int mode = 0; mode < 4; mode++) {
        one_mode(me, me->own, mode, LEN);
        one_mode(me, me->shared, mode, LEN);
    }
    one_mode(me, me->shared, 0, LONG_LEN);
    one_mode(me, me->own, 1, LONG_LEN);
}

static void probes(const struct self *me)
{
    int out[LEN] = {0}, in[LEN], flag = 0, tag = me->id * TAGS + 10;
    MPI_Request req[2];
    MPI_Message msg;
    MPI_Status st;

    fill(out, LEN, me->id, mp_rank);
    MUST(MPI_Isend(out, LEN, MPI_INT, me->right, tag, me->shared, &req[0]));
    MUST(MPI_Isend(out, LEN, MPI_INT, me->right, tag, me->shared, &req[1]));
    MUST(MPI_Probe(MPI_ANY_SOURCE, tag, me->shared, &st));
    CHECK_EQ(st.MPI_SOURCE, me->left);
    MUST(MPI_Mprobe(me->left, tag, me->shared, &msg, &st));
    MUST(MPI_Mrecv(in, LEN, MPI_INT, &msg, &st));
    CHECK(is_from(in, LEN, me->id, me->left));
    while (!flag)
        MUST(MPI_Improbe(me->left, tag, me->shared, &flag, &msg, &st));
    memset(in, 0, sizeof(in));
    MUST(MPI_Mrecv(in, LEN, MPI_INT, &msg, &st));
    CHECK(is_from(in, LEN, me->id, me->left));
    MUST(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, tag, me->shared, &flag, &st));
    CHECK(!flag);
}

static void persistent(const struct self *me)
{
    int out[LEN] = {0}, in[LEN], flag, tag = me->id * TAGS + 11;
    MPI_Request reqs[2];

    MUST(MPI_Send_init(out, LEN, MPI_INT, me->right, tag, me->shared, &reqs[0]));
    MUST(MPI_Recv_init(in, LEN, MPI_INT, me->left, tag, me->shared, &reqs[1]));
    for (int i = 0; i < 3; i++) {
        fill(out, LEN, me->id, mp_rank + i);
        MUST(MPI_Startall(2, reqs));
        for (flag = 0; !flag && i == 1;)
            MUST(MPI_Testall(2, reqs, &flag, MPI_STATUSES_IGNORE));
        MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
        CHECK(is_from(in, LEN, me->id, me->left + i));
    }
    MUST(MPI_Request_free(&reqs[0]));
    MUST(MPI_Request_free(&reqs[1]));
}

static void partitioned(const struct self *me)
{
    int out[LEN] = {0}, in[LEN], flag = 0, tag = me->id * TAGS + 12;
    MPI_Request reqs[2];

    MUST(MPI_Psend_init(out, 3, LEN / 3, MPI_INT, me->right, tag, me->shared, MPI_INFO_NULL,
                        &reqs[0]));
    MUST(MPI_Precv_init(in, 3, LEN / 3, MPI_INT, me->left, tag, me->shared, MPI_INFO_NULL,
                        &reqs[1]));
    fill(out, LEN, me->id, mp_rank);
    MUST(MPI_Startall(2, reqs));
    MUST(MPI_Pready(2, reqs[0]));
    MUST(MPI_Pready_range(0, 1, reqs[0]));
    while (!flag)
        MUST(MPI_Parrived(reqs[1], 1, &flag));
    MUST(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE));
    CHECK(is_from(in, LEN, me->id, me->left));
    MUST(MPI_Request_free(&reqs[0]));
    MUST(MPI_Request_free(&reqs[1]));
}

static void sum_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void collectives(const struct self *me)
{
    int value = mp_rank == 0 ? me->id + 7 : -1, mine = mp_rank + me->id, sum = -1, got[16];
    int want = mp_size * (mp_size - 1) / 2 + mp_size * me->id;
    MPI_Request req;
    MPI_Op op;

    MUST(MPI_Bcast(&value, 1, MPI_INT, 0, me->own));
    CHECK_EQ(value, me->id + 7);
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, me->own));
    CHECK_EQ(sum, want);
    MUST(MPI_Op_create(sum_fn, 1, &op));
    MUST(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, me->own, &req));
    MUST(MPI_Op_free(&op));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK_EQ(sum, want);
    MUST(MPI_Allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, me->own));
    for (int i = 0; i < mp_size; i++)
        CHECK_EQ(got[i], i + me->id);
    MUST(MPI_Ibarrier(me->own, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, me->own, MPI_INFO_NULL, &req));
    for (int i = 0; i < 3; i++) {
        mine = mp_rank + me->id;
        sum = -1;
        MUST(MPI_Start(&req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
        CHECK_EQ(sum, want);
    }
    MUST(MPI_Request_free(&req));
    MUST(MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, me->own));
    CHECK_EQ(sum, mp_rank * (mp_rank + 1) / 2 + (mp_rank + 1) * me->id);
    MUST(MPI_Barrier(me->own));
}

static void types(const struct self *me)
{
    int out[2 * LEN], in[LEN], size, position = 0, ints[3], combiner, n_ints, n_aints, n_types;
    int tag = me->id * TAGS + 13;
    MPI_Datatype vector, dup, half, back;
    char name[MPI_MAX_OBJECT_NAME];

    MUST(MPI_Type_vector(LEN, 1, 2, MPI_INT, &vector));
    MUST(MPI_Type_commit(&vector));
    MUST(MPI_Type_dup(vector, &dup));
    MUST(MPI_Type_set_name(dup, "of a thread"));
    MUST(MPI_Type_get_name(dup, name, &size));
    CHECK(strcmp(name, "of a thread") == 0);
    MUST(MPI_Type_get_envelope(vector, &n_ints, &n_aints, &n_types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_VECTOR);
    MUST(MPI_Type_get_contents(vector, 3, 0, 1, ints, NULL, &back));
    CHECK_EQ(ints[0], LEN);
    memset(out, 0, sizeof(out));
    for (int i = 0; i < LEN; i++)
        out[2 * i] = value_of(me->id, mp_rank, i);
    MUST(MPI_Sendrecv(out, 1, dup, me->right, tag, in, LEN, MPI_INT, me->left, tag, me->shared,
                      MPI_STATUS_IGNORE));
    CHECK(is_from(in, LEN, me->id, me->left));
    MUST(MPI_Pack(out, 1, vector, in, sizeof(in), &position, me->shared));
    CHECK(is_from(in, LEN, me->id, mp_rank));
    MUST(MPI_Type_create_f90_integer(9, &half));
    MUST(MPI_Type_size(half, &size));
    CHECK_EQ(size, 4);
    MUST(MPI_Type_free(&vector));
    MUST(MPI_Type_free(&dup));
}

static int copy_attr(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void attributes(const struct self *me)
{
    int key, flag, deleted = 0;
    char mark[2], *got;
    MPI_Comm dup;

    MUST(MPI_Comm_create_keyval(copy_attr, delete_attr, &key, &deleted));
    MUST(MPI_Comm_set_attr(me->own, key, mark));
    MUST(MPI_Comm_dup(me->own, &dup));
    MUST(MPI_Comm_get_attr(dup, key, &got, &flag));
    CHECK(flag && got == mark + 1);
    MUST(MPI_Comm_free(&dup));
    MUST(MPI_Comm_delete_attr(me->own, key));
    MUST(MPI_Comm_set_attr(me->shared, key, mark));
    MUST(MPI_Comm_delete_attr(me->shared, key));
    CHECK_EQ(deleted, 3);
    MUST(MPI_Comm_free_keyval(&key));
    MUST(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag));
    CHECK(flag);
}

static void communicators(const struct self *me)
{
    MPI_Comm made, other;
    MPI_Request req;
    MPI_Group group, odd, all;
    int rank, one = 1, sum, result;

    MUST(MPI_Comm_group(me->shared, &group));
    MUST(MPI_Group_range_incl(group, 1, (int[1][3]){{mp_size - 1, 0, -1}}, &odd));
    MUST(MPI_Group_union(group, odd, &all));
    MUST(MPI_Group_compare(group, odd, &result));
    CHECK_EQ(result, mp_size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MUST(MPI_Group_rank(odd, &rank));
    CHECK_EQ(rank, mp_size - 1 - mp_rank);
    MUST(MPI_Comm_create_group(me->shared, odd, me->id, &made));
    MUST(MPI_Comm_rank(made, &rank));
    CHECK_EQ(rank, mp_size - 1 - mp_rank);
    MUST(MPI_Comm_idup(made, &other, &req));
    MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    MUST(MPI_Comm_compare(made, other, &result));
    CHECK_EQ(result, MPI_CONGRUENT);
    MUST(MPI_Comm_free(&made));
    MUST(MPI_Comm_split(other, 0, mp_rank, &made));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made));
    CHECK_EQ(sum, mp_size);
    MUST(MPI_Comm_free(&made));
    MUST(MPI_Comm_free(&other));
    MUST(MPI_Cart_create(me->own, 1, &mp_size, &one, 0, &made));
    MUST(MPI_Neighbor_allgather(&mp_rank, 1, MPI_INT, (int[2]){0}, 1, MPI_INT, made));
    MUST(MPI_Comm_free(&made));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&odd));
    MUST(MPI_Group_free(&all));
}

static void infos(const struct self *me)
{
    char key[16], text[16];
    int flag, n, len = sizeof(text);
    MPI_Info info, dup;

    MUST(MPI_Info_create(&info));
    for (int i = 0; i < 5; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        snprintf(text, sizeof(text), "%d", value_of(me->id, 0, i));
        MUST(MPI_Info_set(info, key, text));
    }
    MUST(MPI_Info_delete(info, "key0"));
    MUST(MPI_Info_dup(info, &dup));
    MUST(MPI_Info_get_nkeys(dup, &n));
    CHECK_EQ(n, 4);
    MUST(MPI_Info_get_string(dup, "key3", &len, text, &flag));
    CHECK(flag && atoi(text) == value_of(me->id, 0, 3));
    MUST(MPI_Comm_set_info(me->own, dup));
    MUST(MPI_Info_free(&dup));
    MUST(MPI_Comm_get_info(me->own, &dup));
    MUST(MPI_Info_free(&dup));
    MUST(MPI_Info_free(&info));
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void errors(const struct self *me)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler eh, before;
    int len, class, code;

    MUST(MPI_Comm_create_errhandler(on_error, &eh));
    MUST(MPI_Comm_get_errhandler(me->own, &before));
    MUST(MPI_Comm_set_errhandler(me->own, eh));
    FAILS(MPI_Send(NULL, 0, MPI_INT, mp_size, 0, me->own), MPI_ERR_RANK);
    code = MPI_Send(NULL, -1, MPI_INT, 0, 0, me->own);
    MUST(MPI_Error_string(code, text, &len));
    MUST(MPI_Error_class(code, &class));
    CHECK_EQ(class, MPI_ERR_COUNT);
    MUST(MPI_Comm_call_errhandler(me->own, MPI_ERR_OTHER));
    MUST(MPI_Comm_set_errhandler(me->own, before));
    MUST(MPI_Errhandler_free(&eh));
    MUST(MPI_Errhandler_free(&before));
    MUST(MPI_Add_error_class(&class));
    MUST(MPI_Add_error_code(class, &code));
    MUST(MPI_Add_error_string(code, "of a thread"));
}

static void one_sided(const struct self *me)
{
    int *base, mine[2] = {me->id, mp_rank}, got = -1, old, one = 1;
    MPI_Win win;

    MUST(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, me->own, &base, &win));
    memset(base, 0, 8 * sizeof(int));
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(mine, 2, MPI_INT, me->right, 0, 2, MPI_INT, win));
    MUST(MPI_Accumulate(&one, 1, MPI_INT, 0, 4, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    CHECK(base[0] == me->id && base[1] == me->left);
    CHECK_EQ(base[4], mp_rank == 0 ? mp_size : 0);
    MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MUST(MPI_Win_lock(MPI_LOCK_SHARED, me->right, 0, win));
    MUST(MPI_Get(&got, 1, MPI_INT, me->right, 1, 1, MPI_INT, win));
    MUST(MPI_Win_flush(me->right, win));
    CHECK_EQ(got, mp_rank);
    MUST(MPI_Win_unlock(me->right, win));
    MUST(MPI_Win_lock_all(0, win));
    MUST(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 5, MPI_SUM, win));
    MUST(MPI_Win_unlock_all(win));
    CHECK(old >= 0 && old < mp_size);
    MUST(MPI_Win_free(&win));
}

static void tools(const struct self *me)
{
    char name[256];
    unsigned long long value;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    MPI_T_enum e;
    int n, level, len, verbosity, class, bind, readonly, continuous, atomic, count, scope, index;

    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level));
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_get_num(&n));
    for (int i = me->id % 3; i < n; i += 3) {
        len = sizeof(name);
        if (MPI_T_pvar_get_info(i, name, &len, &verbosity, &class, &type, &e, NULL, NULL, &bind,
                                &readonly, &continuous, &atomic) != MPI_SUCCESS ||
            bind != MPI_T_BIND_NO_OBJECT || type != MPI_UNSIGNED_LONG_LONG)
            continue;
        MUST(MPI_T_pvar_get_index(name, class, &index));
        MUST(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count));
        if (count == 1)
            MUST(MPI_T_pvar_read(session, handle, &value));
        MUST(MPI_T_pvar_handle_free(session, &handle));
    }
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_cvar_get_num(&n));
    for (int i = 0; i < n; i++) {
        len = sizeof(name);
        MUST(MPI_T_cvar_get_info(i, name, &len, &verbosity, &type, &e, NULL, NULL, &bind, &scope));
        MUST(MPI_T_cvar_get_index(name, &index));
    }
    MUST(MPI_T_category_get_num(&n));
    MUST(MPI_T_finalize());
}

static void sessions(const struct self *me)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    char tag[32];
    int one = 1, sum;

    snprintf(tag, sizeof(tag), "thread %d", me->id);
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, mp_size);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Session_finalize(&session));
}

static int greq_query(void *extra, MPI_Status *st)
{
    MPI_Status_set_elements(st, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(st, 0);
    st->MPI_SOURCE = MPI_UNDEFINED;
    st->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int greq_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}
static int greq_cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(const struct self *me)
{
    int n = me->id, count;
    MPI_Request reqs[2];
    MPI_Status sts[2];

    MUST(MPI_Grequest_start(greq_query, greq_free, greq_cancel, &n, &reqs[0]));
    MUST(MPI_Irecv(NULL, 0, MPI_INT, me->left, me->id * TAGS + 14, me->shared, &reqs[1]));
    MUST(MPI_Cancel(&reqs[1]));
    MUST(MPI_Grequest_complete(reqs[0]));
    MUST(MPI_Waitall(2, reqs, sts));
    MUST(MPI_Get_count(&sts[0], MPI_INT, &count));
    CHECK_EQ(count, n);
    MUST(MPI_Test_cancelled(&sts[1], &count));
    CHECK(count);
}

static void (*const sections[])(const struct self *) = {
    modes,         probes, persistent, partitioned, collectives, types,    attributes,
    communicators, infos,  errors,     one_sided,   tools,       sessions, generalized,
};
enum { N_SECTIONS = sizeof(sections) / sizeof(sections[0]) };

static void *work(void *arg)
{
    struct self me = {(int)(size_t)arg, (mp_rank + mp_size - 1) % mp_size, (mp_rank + 1) % mp_size,
                      owns[(size_t)arg], shared};

    for (int i = 0; i < N_ROUNDS * N_SECTIONS; i++)
        sections[(i * (me.id % 2 ? 1 : 5) + me.id) % N_SECTIONS](&me);
    return NULL;
}

int main(int argc, char **argv)
{
    static char buffer[1 << 18];
    pthread_t threads[N_THREADS];
    void *at;
    int level, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &mp_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &mp_size);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MUST(MPI_Buffer_attach(buffer, sizeof(buffer)));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &shared));
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &owns[i]));
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    MUST(MPI_Barrier(shared));
    MUST(MPI_Buffer_detach(&at, &size));
    CHECK(at == (void *)buffer);
    for (int i = 0; i < N_THREADS; i++)
        MUST(MPI_Comm_free(&owns[i]));
    MUST(MPI_Comm_free(&shared));
    return mp_finish();
}
