// The C++ bindings of MPI-2, which the distribution's library still has: messages, attributes,
// operations, error handlers, exceptions.
#include <mpi.h>

#include <complex>
#include <cstring>
#include <iostream>

static int fails, n_copied, n_deleted, n_handled;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            std::cout << "FAILED: cxx.cc:" << __LINE__ << ": " #cond << std::endl;                 \
            fails++;                                                                               \
        }                                                                                          \
    } while (0)

static void times_plus(const void *in, void *inout, int n, const MPI::Datatype &type)
{
    const int *a = static_cast<const int *>(in);
    int *b = static_cast<int *>(inout);

    CHECK(type == MPI::INT);
    for (int i = 0; i < n; i++)
        b[i] = a[i] * b[i] + a[i] + b[i];
}

static int copy_attr(const MPI::Comm &, int, void *extra, void *in, void *out, bool &flag)
{
    CHECK(extra == &n_copied);
    n_copied++;
    *static_cast<void **>(out) = static_cast<char *>(in) + 1;
    flag = true;
    return MPI_SUCCESS;
}

static int delete_attr(MPI::Comm &, int, void *, void *extra)
{
    CHECK(extra == &n_copied);
    n_deleted++;
    return MPI_SUCCESS;
}

static MPI_Comm seen_comm;

static void on_error(MPI::Comm &comm, int *code, ...)
{
    n_handled++;
    seen_comm = comm;
    CHECK(MPI::Get_error_class(*code) == MPI::ERR_RANK);
}

static void on_win_error(MPI::Win &, int *code, ...)
{
    n_handled++;
    CHECK(MPI::Get_error_class(*code) == MPI::ERR_RANK);
}

static void messages(int rank, int size)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    std::complex<double> x(rank, -rank), y;
    MPI::Status status;
    MPI::Request req[2];
    int a[2] = {rank, 2 * rank}, b[2];

    MPI::COMM_WORLD.Sendrecv(&x, 1, MPI::DOUBLE_COMPLEX, to, 3, &y, 1, MPI::DOUBLE_COMPLEX, from, 3,
                             status);
    CHECK(y == std::complex<double>(from, -from));
    CHECK(status.Get_source() == from && status.Get_tag() == 3);
    CHECK(status.Get_count(MPI::DOUBLE_COMPLEX) == 1);
    req[0] = MPI::COMM_WORLD.Irecv(b, 2, MPI::INT, from, 4);
    req[1] = MPI::COMM_WORLD.Isend(a, 2, MPI::INT, to, 4);
    MPI::Request::Waitall(2, req);
    CHECK(b[0] == from && b[1] == 2 * from && req[0] == MPI::REQUEST_NULL);
    MPI::COMM_WORLD.Allreduce(MPI::IN_PLACE, a, 2, MPI::INT, MPI::SUM);
    CHECK(a[0] == size * (size - 1) / 2);
}

static void operations(int rank, int size)
{
    MPI::Op op;
    int x = rank + 1, y, want = 1;

    op.Init(times_plus, true);
    MPI::COMM_WORLD.Allreduce(&x, &y, 1, MPI::INT, op);
    for (int i = 2; i <= size + 1; i++)
        want *= i;
    CHECK(y == want - 1);
    op.Free();
}

static void attributes()
{
    int key = MPI::Comm::Create_keyval(copy_attr, delete_attr, &n_copied);
    MPI::Intracomm comm = MPI::COMM_SELF.Dup(), dup;
    void *value = NULL;
    int *tag_ub = NULL;
    char place[2];

    comm.Set_attr(key, place);
    dup = comm.Dup();
    CHECK(dup.Get_attr(key, &value) && value == place + 1 && n_copied == 1);
    dup.Free();
    CHECK(n_deleted == 1);
    comm.Delete_attr(key);
    CHECK(!comm.Get_attr(key, &value) && n_deleted == 2);
    MPI::Comm::Free_keyval(key);
    comm.Free();
    CHECK(MPI::COMM_WORLD.Get_attr(MPI::TAG_UB, &tag_ub) && *tag_ub >= 32767);
}

// A call that fails is reported once: it returns no code to the bindings after their handler.
static void handlers()
{
    MPI::Intracomm comm = MPI::COMM_SELF.Dup();
    MPI::Errhandler eh = MPI::Comm::Create_errhandler(on_error);
    MPI::Errhandler win_eh = MPI::Win::Create_errhandler(on_win_error);
    MPI::Win win;
    int x = 0, mem = 0;
    bool is_thrown = false;

    comm.Set_errhandler(eh);
    comm.Send(&x, 1, MPI::INT, 7, 0);
    CHECK(n_handled == 1 && seen_comm == (MPI_Comm)comm);
    n_handled = 0;
    comm.Call_errhandler(MPI_ERR_RANK);
    CHECK(n_handled == 1);
    eh.Free();

    win = MPI::Win::Create(&mem, sizeof(mem), 1, MPI::INFO_NULL, comm);
    win.Set_errhandler(win_eh);
    n_handled = 0;
    win.Lock(MPI::LOCK_SHARED, 7, 0);
    CHECK(n_handled == 1);
    win_eh.Free();
    win.Free();

    comm.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    CHECK(comm.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS);
    try {
        comm.Send(&x, 1, MPI::INT, 7, 0);
    } catch (MPI::Exception &e) {
        is_thrown = e.Get_error_class() == MPI::ERR_RANK &&
                    std::strstr(e.Get_error_string(), "rank") != NULL;
    }
    CHECK(is_thrown);
    comm.Free();
}

// C handles and objects of C++.
static void handles(int rank)
{
    MPI_Comm c = MPI::COMM_WORLD;
    MPI::Intracomm again(c);
    MPI::Group group = MPI::COMM_WORLD.Get_group();
    MPI::Info info = MPI::Info::Create();
    char value[8];

    CHECK(c == MPI_COMM_WORLD && again == MPI::COMM_WORLD);
    CHECK(group.Get_rank() == rank);
    group.Free();
    info.Set("key", "value");
    CHECK(info.Get("key", 7, value) && std::strcmp(value, "value") == 0);
    info.Free();
    CHECK(MPI::Comm::Get_parent() == MPI::COMM_NULL);
}

int main(int argc, char **argv)
{
    int n;

    MPI::Init(argc, argv);
    int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();

    messages(rank, size);
    operations(rank, size);
    attributes();
    handlers();
    handles(rank);
    MPI::COMM_WORLD.Allreduce(&fails, &n, 1, MPI::INT, MPI::SUM);
    if (rank == 0 && n == 0)
        std::cout << "all well" << std::endl;
    MPI::Finalize();
    return fails != 0;
}
