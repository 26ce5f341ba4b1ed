/* test: np=1,2 timeout=240 */
/*
 * Random programs of processes that come and go: they spawn, merge, split and join again, meet at ports
 * and leave, in an order that all draw from one seed. A model beside it says who is where; after each
 * step everybody compares it with a gather of who is there, and data go round.
 *
 *   dyn_random [SEED [STEPS]]     COLL_RANDOM_SEED is a seed, too
 */
#include <unistd.h>

#include "mp_test.h"

enum { PROCS_MAX = 9, SPAWN_MAX = 3, LEN_MAX = 60000 };

/* The same in all processes: who is in the communicator, in its order. */
static struct model {
    unsigned long long state; /* of the generator */
    int step, n_steps;
    int n, n_uids, n_batches;
    int uid[PROCS_MAX + SPAWN_MAX];
    int batch[PROCS_MAX + SPAWN_MAX]; /* those that came together: they share MPI_COMM_WORLD */
} m;

static MPI_Comm all;
static int me, my_uid;
static char *self;

/* Below n; everybody draws the same. */
static int draw(int n)
{
    m.state = m.state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((m.state >> 33) % (unsigned long long)n);
}

static void see(void)
{
    int there[PROCS_MAX + SPAWN_MAX], size;

    MUST(MPI_Comm_rank(all, &me));
    MUST(MPI_Comm_size(all, &size));
    CHECK_EQ(size, m.n);
    if (size > PROCS_MAX + SPAWN_MAX)
        MPI_Abort(MPI_COMM_WORLD, 9);
    MUST(MPI_Allgather(&my_uid, 1, MPI_INT, there, 1, MPI_INT, all));
    for (int i = 0; i < size; i++)
        CHECK_EQ(there[i], m.uid[i]);
    if (mp_failures > 0) {
        fprintf(stderr, "step %d\n", m.step);
        MPI_Abort(MPI_COMM_WORLD, 10);
    }
}

/* Everybody to somebody else, by any length. */
static void send_around(void)
{
    static unsigned char out[LEN_MAX], in[LEN_MAX];
    int shift = draw(m.n), len = draw(3) == 0 ? draw(LEN_MAX) : draw(200);
    int to = (me + shift) % m.n, from = (me - shift + m.n) % m.n;

    memset(out, my_uid + m.step, (size_t)len);
    memset(in, 0, (size_t)len);
    MUST(MPI_Sendrecv(out, len, MPI_BYTE, to, m.step, in, len, MPI_BYTE, from, m.step, all,
                      MPI_STATUS_IGNORE));
    for (int i = 0; i < len; i++)
        if (in[i] != (unsigned char)(m.uid[from] + m.step)) {
            CHECK_EQ(in[i], (unsigned char)(m.uid[from] + m.step));
            break;
        }
}

static void window(void)
{
    int *base, next = (me + 1) % m.n;
    MPI_Win win;

    MUST(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, all, &base, &win));
    base[0] = base[1] = 0;
    MUST(MPI_Win_fence(0, win));
    MUST(MPI_Put(&my_uid, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    MUST(MPI_Accumulate(&my_uid, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win));
    MUST(MPI_Win_fence(0, win));
    CHECK_EQ(base[0], m.uid[(me - 1 + m.n) % m.n]);
    if (me == 0) {
        int sum = 0;

        for (int i = 0; i < m.n; i++)
            sum += m.uid[i];
        CHECK_EQ(base[1], sum);
    }
    MUST(MPI_Win_free(&win));
}

/* all becomes what is merged of inter; `first` says whether this side comes first. */
static void merge(MPI_Comm *inter, int is_first)
{
    MPI_Comm old = all;

    MUST(MPI_Intercomm_merge(*inter, !is_first, &all));
    MUST(MPI_Comm_disconnect(inter));
    if (old != MPI_COMM_NULL)
        MUST(MPI_Comm_disconnect(&old));
}

/* Those that are new have the model from the rest, who have it alike. */
static void add_to_model(int k, int are_first)
{
    int at = are_first ? 0 : m.n;

    if (are_first)
        for (int i = m.n - 1; i >= 0; i--) {
            m.uid[i + k] = m.uid[i];
            m.batch[i + k] = m.batch[i];
        }
    for (int i = 0; i < k; i++) {
        m.uid[at + i] = m.n_uids++;
        m.batch[at + i] = m.n_batches;
    }
    m.n_batches++;
    m.n += k;
}

static void spawn(void)
{
    int k = 1 + draw(SPAWN_MAX), root = draw(m.n), are_first = draw(2), old = m.n;
    char word[2][24];
    char *args[] = {word[0], word[1], NULL};
    MPI_Comm inter;

    if (old + k > PROCS_MAX)
        return;
    snprintf(word[0], sizeof(word[0]), "%d", are_first);
    snprintf(word[1], sizeof(word[1]), "%d", m.n_uids);
    MUST(MPI_Comm_spawn(self, args, k, MPI_INFO_NULL, root, all, &inter, MPI_ERRCODES_IGNORE));
    merge(&inter, !are_first);
    add_to_model(k, are_first);
    MUST(MPI_Bcast(&m, (int)sizeof(m), MPI_BYTE, are_first ? k : 0, all));
}

/* The same at the other end. */
static void join(int argc, char **argv, MPI_Comm *parent)
{
    int is_first = atoi(argv[argc - 2]), rank, k;

    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &k));
    my_uid = atoi(argv[argc - 1]) + rank;
    all = MPI_COMM_NULL;
    merge(parent, is_first);
    MUST(MPI_Bcast(&m, (int)sizeof(m), MPI_BYTE, is_first ? k : 0, all));
}

/* One batch goes; true: it is ours. */
static int leave(int batch)
{
    int is_ours = 0, n = 0;
    MPI_Comm rest;

    for (int i = 0; i < m.n; i++)
        if (m.uid[i] == my_uid)
            is_ours = m.batch[i] == batch;
    MUST(MPI_Comm_split(all, is_ours ? MPI_UNDEFINED : 0, me, &rest));
    MUST(MPI_Comm_disconnect(&all));
    all = rest;
    for (int i = 0; i < m.n; i++)
        if (m.batch[i] != batch) {
            m.uid[n] = m.uid[i];
            m.batch[n++] = m.batch[i];
        }
    m.n = n;
    return is_ours;
}

static int leave_some(void)
{
    int batch = m.batch[draw(m.n)];

    return batch != 0 && leave(batch);
}

/* In two parts, drawn for each process, which join again as leaders or ports do; the parts' order. */
static void split_and_join(int by_port)
{
    int part[PROCS_MAX + SPAWN_MAX], n[2] = {0, 0}, root[2] = {0, 0}, mine, low = draw(2);
    struct model old = m;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;

    for (int i = 0; i < m.n; i++) {
        part[i] = draw(2);
        root[part[i]] = n[part[i]]++ == 0 ? i : root[part[i]];
    }
    if (n[0] == 0 || n[1] == 0)
        return;
    mine = part[me];
    MUST(MPI_Comm_split(all, mine, me, &half));
    if (by_port) {
        if (me == root[0])
            MUST(MPI_Open_port(MPI_INFO_NULL, port));
        MUST(MPI_Bcast(port, sizeof(port), MPI_CHAR, root[0], all));
        if (mine == 0)
            MUST(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        else
            MUST(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter));
        if (me == root[0])
            MUST(MPI_Close_port(port));
    } else {
        MUST(MPI_Intercomm_create(half, 0, all, root[!mine], m.step, &inter));
    }
    merge(&inter, mine == low);
    MUST(MPI_Comm_disconnect(&half));
    for (int side = 0, at = 0; side < 2; side++)
        for (int i = 0; i < old.n; i++)
            if ((part[i] == low) == (side == 0)) {
                m.uid[at] = old.uid[i];
                m.batch[at++] = old.batch[i];
            }
}

static void copy(void)
{
    MPI_Comm dup;
    MPI_Request req;

    if (draw(2)) {
        MUST(MPI_Comm_dup(all, &dup));
    } else {
        MUST(MPI_Comm_idup(all, &dup, &req));
        MUST(MPI_Wait(&req, MPI_STATUS_IGNORE));
    }
    MUST(MPI_Comm_disconnect(&all));
    all = dup;
}

/* False: this process leaves. */
static int step(void)
{
    switch (draw(8)) {
    case 0:
    case 1:
        spawn();
        break;
    case 2:
        if (leave_some())
            return 0;
        break;
    case 3:
        split_and_join(0);
        break;
    case 4:
        split_and_join(1);
        break;
    case 5:
        copy();
        break;
    case 6:
        window();
        break;
    default:
        send_around();
    }
    see();
    return 1;
}

/* Those that are left go, one batch after the other; those who were first stay to the end. */
static void end(void)
{
    for (;;) {
        int batch = 0;

        for (int i = 0; i < m.n; i++)
            batch = m.batch[i] > batch ? m.batch[i] : batch;
        if (batch == 0 || leave(batch))
            return;
        see();
    }
}

int main(int argc, char **argv)
{
    const char *seed = argc > 1 ? argv[1] : getenv("COLL_RANDOM_SEED");
    MPI_Comm parent;
    int stays = 1;

    mp_start(&argc, &argv);
    self = realpath(argv[0], NULL);
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        join(argc, argv, &parent);
    } else {
        m.state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
        m.n_steps = argc > 2 ? atoi(argv[2]) : 60;
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &all));
        my_uid = mp_rank;
        m.n = m.n_uids = mp_size;
        for (int i = 0; i < mp_size; i++)
            m.uid[i] = i;
        m.n_batches = 1;
    }
    see();
    while (stays && m.step < m.n_steps) {
        m.step++;
        stays = step();
    }
    if (stays)
        end();
    if (all != MPI_COMM_NULL)
        MUST(MPI_Comm_disconnect(&all));
    free(self);
    return mp_finish();
}
