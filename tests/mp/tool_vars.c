/* test: np=1,2 timeout=20 */
/*
 * The tools interface: before, in and after the world model; control and performance variables, enumerations,
 * categories, events, and what is wrong. What is there differs between libraries; the rules do not.
 */
#include "mp_test.h"

enum { LEN = 256 };

/* The type of a value, and a text for reading it into. */
static union {
    int i;
    unsigned u;
    unsigned long ul;
    unsigned long long ull;
    double d;
    char text[65536];
} value;

static void check_enum(MPI_T_enum e)
{
    char name[LEN];
    int n, len = LEN, item, n_chars = 0;

    MUST(MPI_T_enum_get_info(e, &n, name, &len));
    CHECK(n > 0 && len == (int)strlen(name) + 1);
    for (int i = 0; i < n; i++) {
        len = LEN;
        MUST(MPI_T_enum_get_item(e, i, &item, name, &len));
        n_chars += len;
    }
    CHECK(n_chars > n);
}

static void control(int index)
{
    char name[LEN], desc[4 * LEN];
    int name_len = LEN, desc_len = 4 * LEN, verbosity, bind, scope, again, count;
    MPI_Datatype type;
    MPI_T_enum e;
    MPI_T_cvar_handle h;

    MUST(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type, &e, desc, &desc_len, &bind,
                             &scope));
    CHECK(name_len > 1 && strlen(name) < LEN);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    MUST(MPI_T_cvar_get_index(name, &again));
    CHECK_EQ(again, index);
    if (e != MPI_T_ENUM_NULL) {
        CHECK(type == MPI_INT);
        check_enum(e);
    }
    if (bind != MPI_T_BIND_NO_OBJECT)
        return;
    MUST(MPI_T_cvar_handle_alloc(index, NULL, &h, &count));
    CHECK(count >= 1 && count <= (int)sizeof(value));
    MUST(MPI_T_cvar_read(h, &value));
    MUST(MPI_T_cvar_handle_free(&h));
    CHECK(h == MPI_T_CVAR_HANDLE_NULL);
}

static void controls(void)
{
    char name[LEN];
    int n, len;

    MUST(MPI_T_cvar_get_num(&n));
    CHECK(n > 0);
    for (int i = 0; i < n; i++)
        control(i);
    CHECK_EQ(MPI_T_cvar_get_index("no such variable", &n), MPI_T_ERR_INVALID_NAME);
    /* Only the length, and a name that is cut. */
    len = 0;
    MUST(MPI_T_cvar_get_info(0, NULL, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(len > 4);
    n = len;
    len = 4;
    MUST(MPI_T_cvar_get_info(0, name, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK_EQ(strlen(name), 3);
    CHECK_EQ(len, mp_is_library("MPICH") ? 4 : n); /* which does not say what it takes */
}

static void performance(void)
{
    char name[LEN], desc[4 * LEN];
    int n, name_len, desc_len, verbosity, class, bind, readonly, continuous, atomic, again, count;
    MPI_Datatype type;
    MPI_T_enum e;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle h;

    MUST(MPI_T_pvar_get_num(&n));
    CHECK(!mp_is_library("Datum") || n > 10);
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_session_create(&other));
    for (int i = 0; i < n; i++) {
        name_len = LEN, desc_len = 4 * LEN;
        MUST(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &e, desc, &desc_len,
                                 &bind, &readonly, &continuous, &atomic));
        MUST(MPI_T_pvar_get_index(name, class, &again));
        CHECK_EQ(again, i);
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        MUST(MPI_T_pvar_handle_alloc(session, i, NULL, &h, &count));
        CHECK(count >= 1);
        if (continuous)
            CHECK_EQ(MPI_T_pvar_start(session, h), MPI_T_ERR_PVAR_NO_STARTSTOP);
        if (continuous)
            MUST(MPI_T_pvar_read(session, h, &value));
        if (readonly) {
            CHECK_EQ(MPI_T_pvar_write(session, h, &value), MPI_T_ERR_PVAR_NO_WRITE);
            CHECK_EQ(MPI_T_pvar_reset(session, h), MPI_T_ERR_PVAR_NO_WRITE);
        }
        CHECK_EQ(MPI_T_pvar_read(other, h, &value), MPI_T_ERR_INVALID_HANDLE);
        MUST(MPI_T_pvar_handle_free(session, &h));
        CHECK(h == MPI_T_PVAR_HANDLE_NULL);
    }
    if (n > 0 && mp_is_library("Datum")) { /* the last is bound to nothing */
        MUST(MPI_T_pvar_handle_alloc(session, n - 1, NULL, &h, &count));
        MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        MUST(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
        MUST(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
        CHECK_EQ(MPI_T_pvar_readreset(session, h, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    }
    CHECK_EQ(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &n),
             MPI_T_ERR_INVALID_NAME);
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_pvar_session_free(&other));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

static void categories(void)
{
    char name[LEN], desc[4 * LEN];
    int n, name_len, desc_len, n_cvars, n_pvars, n_cats, n_events, again, stamp;
    int list[1024];

    MUST(MPI_T_category_get_num(&n));
    MUST(MPI_T_category_changed(&stamp));
    for (int i = 0; i < n; i++) {
        name_len = LEN, desc_len = 4 * LEN;
        MUST(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len, &n_cvars, &n_pvars,
                                     &n_cats));
        MUST(MPI_T_category_get_index(name, &again));
        CHECK_EQ(again, i);
        CHECK(n_cvars < 1024 && n_pvars < 1024);
        MUST(MPI_T_category_get_cvars(i, n_cvars, list));
        for (int k = 0; k < n_cvars; k++)
            MUST(
                MPI_T_cvar_get_info(list[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        MUST(MPI_T_category_get_pvars(i, n_pvars, list));
        MUST(MPI_T_category_get_categories(i, n_cats < 1024 ? n_cats : 1024, list));
        MUST(MPI_T_category_get_num_events(i, &n_events));
        MUST(MPI_T_category_get_events(i, 0, list));
    }
    CHECK_EQ(MPI_T_category_get_index("no such category", &n), MPI_T_ERR_INVALID_NAME);
}

static void wrong(void)
{
    MPI_T_event_registration reg;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    MPI_Count ticks;
    int n, count, len = 0;

    CHECK_EQ(MPI_T_cvar_handle_alloc(-1, NULL, &h, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_cvar_handle_alloc(1 << 20, NULL, &h, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_cvar_get_info(-1, NULL, &len, &n, NULL, NULL, NULL, &len, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_category_get_cvars(-1, 0, NULL), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_category_get_cvars(0, 1, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_get_cvars(0, -1, &n), MPI_T_ERR_INVALID);
    MUST(MPI_T_event_get_num(&n));
    CHECK_EQ(MPI_T_event_handle_alloc(n, NULL, MPI_INFO_NULL, &reg), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_event_get_index("none", &n), MPI_T_ERR_INVALID_NAME);
    MUST(MPI_T_source_get_num(&n));
    CHECK_EQ(MPI_T_source_get_timestamp(n, &ticks), MPI_T_ERR_INVALID_INDEX);
}

/* What a call is for needs a place; of several values each is asked for or not. */
static void without_places(void)
{
    MPI_T_pvar_session session;
    MPI_T_cvar_handle h;
    char buf[LEN];
    int n;

    CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_get_num_events(0, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_get_index(NULL, &n), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_category_get_index("none", NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_get_index(NULL, &n), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_get_index("none", NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_event_get_index(NULL, &n), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_handle_alloc(0, NULL, NULL, &n), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_handle_alloc(0, NULL, &h, NULL), MPI_T_ERR_INVALID);
    MUST(MPI_T_cvar_handle_alloc(0, NULL, &h, &n));
    CHECK_EQ(MPI_T_cvar_read(h, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_write(h, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_cvar_read(NULL, buf), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_cvar_handle_free(&h));
    CHECK_EQ(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
    MUST(MPI_T_pvar_session_create(&session));
    CHECK_EQ(MPI_T_pvar_read(session, NULL, buf), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_read(NULL, NULL, buf), MPI_T_ERR_INVALID_SESSION);
    CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, buf), MPI_T_ERR_INVALID);
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    MUST(MPI_T_cvar_get_info(0, buf, NULL, NULL, NULL, NULL, buf, NULL, NULL, NULL));
}

/* A setting of ours is written before MPI_Init, and seen in force; not after. */
static void write_setting(int may)
{
    MPI_T_cvar_handle h;
    unsigned slots = 32, got = 0;
    int index, count, wrong_choice = 99;

    if (!mp_is_library("Datum"))
        return;
    MUST(MPI_T_cvar_get_index("DATUM_RING_SLOTS", &index));
    MUST(MPI_T_cvar_handle_alloc(index, NULL, &h, &count));
    CHECK_EQ(count, 1);
    if (may)
        MUST(MPI_T_cvar_write(h, &slots));
    else
        CHECK_EQ(MPI_T_cvar_write(h, &slots), MPI_T_ERR_CVAR_SET_NEVER);
    MUST(MPI_T_cvar_read(h, &got));
    CHECK_EQ(got, 32);
    MUST(MPI_T_cvar_handle_free(&h));
    CHECK_EQ(MPI_T_cvar_handle_free(&h), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_cvar_get_index("DATUM_CONNECT", &index));
    MUST(MPI_T_cvar_handle_alloc(index, NULL, &h, &count));
    if (may)
        CHECK(MPI_T_cvar_write(h, &wrong_choice) != MPI_SUCCESS);
    MUST(MPI_T_cvar_handle_free(&h));
}

int main(int argc, char **argv)
{
    int provided = -1, n;

    CHECK_EQ(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided >= MPI_THREAD_SINGLE);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    controls();
    write_setting(1);
    wrong();
    without_places();
    MUST(MPI_T_finalize());
    mp_start(&argc, &argv);
    controls();
    write_setting(0);
    performance();
    categories();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Finalize();
    controls();
    MUST(MPI_T_pvar_get_num(&n));
    MUST(MPI_T_finalize());
    CHECK_EQ(MPI_T_pvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    return mp_failures != 0;
}
