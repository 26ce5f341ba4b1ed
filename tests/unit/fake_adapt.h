/*
 * A fake adaptation layer for tests of the channel: processes are objects of
 * this program, pipes are lists of records in memory that take and give bytes in
 * pieces as the test says. Included by one .c file, which links no other adaptation layer.
 */
#ifndef DM_TESTS_UNIT_FAKE_ADAPT_H
#define DM_TESTS_UNIT_FAKE_ADAPT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/dapl_adapt.h"
#include "util/cfg.h"
#include "util/err.h"

#define FAKE_PROCS 4

/* What the test decides; FAKE_DEFAULTS restores. */
static struct {
    size_t take_max;  /* bytes one put takes */
    size_t give_max;  /* bytes one peek shows */
    size_t eager_max; /* longest reserve */
    size_t n_records; /* records a pipe holds */
    bool is_sticky;   /* memory of puts stays in use until flushed */
    bool is_software;
    bool is_oversubscribed;
    bool awaits_place;
    bool is_unready; /* nobody is connected */
    int n_waits;     /* calls of dm_adapt_wait */
    int n_puts;
    int n_reserves;
    int n_reads;
    int n_bad_reads;   /* the next ones fail */
    bool may_register; /* dm_adapt_reg works; what is registered: */
    int n_registered;
    bool is_read_late; /* a read is not over before fake_read_over: */
    struct dm_rdma *late_read;
} fake;

#define FAKE_DEFAULTS                                                                              \
    do {                                                                                           \
        memset(&fake, 0, sizeof(fake));                                                            \
        fake.take_max = fake.give_max = SIZE_MAX;                                                  \
        fake.eager_max = 16384;                                                                    \
        fake.n_records = 64;                                                                       \
    } while (0)

struct fake_record {
    struct fake_record *next;
    size_t len, read;
    char *data; /* aligned */
};

struct dm_conn {
    struct dm_adapt *adapt;
    int proc;
    struct fake_record *head, **tail; /* to be read by us */
    size_t n_unread;
    struct fake_record *reserved;
    bool is_blocked, is_lost, is_failed, is_stuck;
};

struct dm_adapt {
    struct dm_adapt_job job;
    struct dm_adapt_events ev;
    struct dm_conn conns[FAKE_PROCS];
};

static struct dm_adapt *fake_procs[FAKE_PROCS];

int dm_adapt_open(const struct dm_adapt_job *job, const struct dm_adapt_events *ev,
                  struct dm_adapt **adapt_p)
{
    struct dm_adapt *adapt = calloc(1, sizeof(*adapt));

    adapt->job = *job;
    adapt->ev = *ev;
    for (int i = 0; i < FAKE_PROCS; i++) {
        adapt->conns[i].adapt = adapt;
        adapt->conns[i].proc = i;
        adapt->conns[i].tail = &adapt->conns[i].head;
    }
    fake_procs[job->rank] = adapt;
    *adapt_p = adapt;
    return DM_OK;
}

static void fake_drop(struct dm_conn *conn)
{
    struct fake_record *rec = conn->head;

    conn->head = rec->next;
    if (conn->head == NULL)
        conn->tail = &conn->head;
    conn->n_unread--;
    free(rec->data);
    free(rec);
}

int dm_adapt_close(struct dm_adapt *adapt)
{
    for (int i = 0; i < FAKE_PROCS; i++)
        while (adapt->conns[i].head != NULL)
            fake_drop(&adapt->conns[i]);
    fake_procs[adapt->job.rank] = NULL;
    free(adapt);
    return DM_OK;
}

void dm_adapt_quiesce(struct dm_adapt *adapt)
{
    adapt->ev.failed = NULL;
}

struct dm_conn *dm_adapt_conn(struct dm_adapt *adapt, int proc)
{
    return &adapt->conns[proc];
}

/* Our end in the peer: where what we send is read. */
static struct dm_conn *fake_other(struct dm_conn *conn)
{
    return &fake_procs[conn->proc]->conns[conn->adapt->job.rank];
}

static bool fake_has_room(struct dm_conn *conn)
{
    return !fake.is_unready && fake_other(conn)->n_unread < fake.n_records;
}

static struct fake_record *fake_record_new(size_t len)
{
    struct fake_record *rec = calloc(1, sizeof(*rec));

    rec->data = aligned_alloc(64, (len + 63) / 64 * 64);
    rec->len = len;
    return rec;
}

static void fake_append(struct dm_conn *conn, struct fake_record *rec)
{
    struct dm_conn *other = fake_other(conn);

    *other->tail = rec;
    other->tail = &rec->next;
    other->n_unread++;
}

int dm_adapt_eager_put(struct dm_conn *conn, const struct iovec *iov, int n_iov, size_t *taken_p)
{
    struct fake_record *rec;
    size_t total = 0, len = 0;

    fake.n_puts++;
    *taken_p = 0;
    if (conn->is_lost)
        return DM_EPEER;
    for (int i = 0; i < n_iov; i++)
        total += iov[i].iov_len;
    if (total == 0)
        return DM_OK;
    if (!fake_has_room(conn)) {
        conn->is_blocked = true;
        return DM_OK;
    }
    rec = fake_record_new(total < fake.take_max ? total : fake.take_max);
    for (int i = 0; i < n_iov; i++) {
        size_t n = iov[i].iov_len < rec->len - len ? iov[i].iov_len : rec->len - len;

        memcpy(rec->data + len, iov[i].iov_base, n);
        len += n;
    }
    fake_append(conn, rec);
    conn->is_stuck = fake.is_sticky;
    if (rec->len < total)
        conn->is_blocked = true;
    *taken_p = rec->len;
    return DM_OK;
}

bool dm_adapt_eager_flushed(const struct dm_conn *conn)
{
    return !conn->is_stuck;
}

void *dm_adapt_eager_reserve(struct dm_conn *conn, size_t len)
{
    fake.n_reserves++;
    if (conn->is_lost || len > fake.eager_max || !fake_has_room(conn))
        return NULL;
    conn->reserved = fake_record_new(len);
    return conn->reserved->data;
}

int dm_adapt_eager_commit(struct dm_conn *conn, size_t len)
{
    conn->reserved->len = len;
    fake_append(conn, conn->reserved);
    conn->reserved = NULL;
    return DM_OK;
}

size_t dm_adapt_eager_max(const struct dm_conn *conn)
{
    (void)conn;
    return fake.eager_max;
}

bool dm_adapt_eager_is_open(const struct dm_conn *conn)
{
    (void)conn;
    return !fake.is_unready;
}

size_t dm_adapt_eager_least(const struct dm_adapt *adapt)
{
    (void)adapt;
    return 16384;
}

size_t dm_adapt_eager_good(const struct dm_conn *conn)
{
    (void)conn;
    return 0;
}

bool dm_adapt_is_software(const struct dm_conn *conn)
{
    (void)conn;
    return fake.is_software;
}

const char *dm_adapt_lost_why(const struct dm_conn *conn)
{
    static const char *const whys[FAKE_PROCS] = {"0 left", "1 left", "2 left", "3 left"};

    return conn->is_lost ? whys[conn->proc] : "";
}

size_t dm_adapt_eager_peek(struct dm_conn *conn, const void **data_p)
{
    size_t len;

    if (conn->head == NULL)
        return 0;
    len = conn->head->len - conn->head->read;
    *data_p = conn->head->data + conn->head->read;
    return len < fake.give_max ? len : fake.give_max;
}

void dm_adapt_eager_consume(struct dm_conn *conn, size_t len)
{
    conn->head->read += len;
    if (conn->head->read == conn->head->len)
        fake_drop(conn);
}

int dm_adapt_poll(struct dm_adapt *adapt)
{
    int n = 0;

    for (int i = 0; i < adapt->job.size; i++) {
        struct dm_conn *conn = &adapt->conns[i];

        if (i == adapt->job.rank)
            continue;
        if (conn->head != NULL) {
            adapt->ev.input(adapt->ev.arg, i, conn);
            n++;
        }
        if (conn->is_lost && !conn->is_failed && adapt->ev.failed != NULL) {
            conn->is_failed = true;
            (void)DM_FAIL(DM_EPEER, "%s", dm_adapt_lost_why(conn));
            adapt->ev.failed(adapt->ev.arg, i, conn, DM_EPEER);
            n++;
        }
        if (conn->is_blocked && !conn->is_lost && fake_has_room(conn)) {
            conn->is_blocked = false;
            adapt->ev.writable(adapt->ev.arg, i, conn);
            n++;
        }
    }
    return n;
}

void dm_adapt_wait(struct dm_adapt *adapt, uint64_t timeout_us)
{
    (void)adapt;
    (void)timeout_us;
    fake.n_waits++;
}

bool dm_adapt_is_woken(const struct dm_adapt *adapt)
{
    (void)adapt;
    return false;
}

size_t dm_adapt_proc_max(const struct dm_adapt *adapt)
{
    (void)adapt;
    return FAKE_PROCS;
}

int dm_adapt_proc_node(const struct dm_adapt *adapt, int proc)
{
    const struct dm_adapt_job *job = &adapt->job;

    return proc < job->size && job->node_of != NULL ? job->node_of[proc] : proc;
}

/* There is one job only. */
bool dm_adapt_proc_has_ended(const struct dm_adapt *adapt, int proc)
{
    (void)adapt;
    (void)proc;
    return false;
}

void dm_adapt_proc_ref(struct dm_adapt *adapt, int proc)
{
    (void)adapt;
    (void)proc;
}

void dm_adapt_proc_put(struct dm_adapt *adapt, int proc)
{
    (void)adapt;
    (void)proc;
}

const char *dm_adapt_proc_text(const struct dm_adapt *adapt, int proc, char *buf, size_t len)
{
    (void)adapt;
    snprintf(buf, len, "rank %d", proc);
    return buf;
}

bool dm_adapt_is_oversubscribed(const struct dm_adapt *adapt)
{
    (void)adapt;
    return fake.is_oversubscribed;
}

bool dm_adapt_awaits_place(const struct dm_adapt *adapt)
{
    (void)adapt;
    return fake.awaits_place;
}

/* All rails are there from the start. */
bool dm_adapt_joined(const struct dm_adapt *adapt, int n, char *buf, size_t len)
{
    (void)adapt;
    (void)n;
    (void)buf;
    (void)len;
    return false;
}

int dm_adapt_rail_reported(struct dm_adapt *adapt, int proc, const char *text)
{
    (void)adapt;
    (void)proc;
    (void)text;
    return DM_ECONN;
}

/* No progress thread. */
bool dm_adapt_has_rails(const struct dm_adapt *adapt)
{
    (void)adapt;
    return false;
}

bool dm_adapt_sleep_begin(struct dm_adapt *adapt, struct dm_adapt_sleep *sleep)
{
    (void)adapt;
    (void)sleep;
    return false;
}

bool dm_adapt_sleep_check(const struct dm_adapt_sleep *sleep)
{
    (void)sleep;
    return false;
}

bool dm_adapt_sleep(const struct dm_adapt_sleep *sleep)
{
    (void)sleep;
    return false;
}

void dm_adapt_wake(struct dm_adapt *adapt, enum dm_side side)
{
    (void)adapt;
    (void)side;
}

bool dm_adapt_has_sides(const struct dm_adapt *adapt)
{
    (void)adapt;
    return false;
}

enum dm_rndv dm_adapt_rndv(struct dm_conn *conn)
{
    (void)conn;
    return DM_RNDV_PIPE;
}

bool dm_adapt_rndv_may_split(const struct dm_conn *conn, size_t len, uint64_t polls_until)
{
    (void)conn;
    (void)len;
    (void)polls_until;
    return false;
}

int dm_adapt_word_op(struct dm_adapt *adapt, int proc, struct dm_rdma *rdma,
                     const struct dm_words *mine, const struct dm_word_key *key,
                     const struct dm_word_op *op, uint64_t *old_p)
{
    (void)adapt;
    (void)proc;
    (void)rdma;
    (void)mine;
    (void)key;
    (void)op;
    (void)old_p;
    return DM_EPROVIDER;
}

enum dm_rndv dm_adapt_rndv_begin(struct dm_conn *conn, size_t len, struct dm_rndv_select **select_p)
{
    (void)len;
    (void)select_p;
    return dm_adapt_rndv(conn);
}

enum dm_rndv dm_adapt_rndv_exchange(struct dm_conn *conn, size_t len, enum dm_rndv agreed,
                                    struct dm_rndv_select **select_p)
{
    (void)agreed;
    return dm_adapt_rndv_begin(conn, len, select_p);
}

enum dm_rndv dm_adapt_rndv_in_exchange(const struct dm_conn *conn, size_t len)
{
    (void)conn;
    (void)len;
    return DM_RNDV_AUTO;
}

void dm_adapt_rndv_end(struct dm_rndv_select *ways, enum dm_rndv how, size_t len)
{
    (void)ways;
    (void)how;
    (void)len;
}

int dm_adapt_expect_value(struct dm_conn *conn, struct dm_rdma *rdma, uint32_t *value_p)
{
    (void)conn;
    (void)rdma;
    (void)value_p;
    return DM_EAGAIN;
}

int dm_adapt_rdma_write_value(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                              struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey,
                              size_t len, uint32_t value)
{
    (void)value;
    return dm_adapt_rdma_write(conn, rdma, local, mr, remote, rkey, len);
}

int dm_adapt_rdma_write(struct dm_conn *conn, struct dm_rdma *rdma, const void *local,
                        struct dm_mr *mr, uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    (void)conn;
    (void)mr;
    (void)rkey;
    memcpy((void *)(uintptr_t)remote, local, len);
    rdma->done(rdma, DM_OK);
    return DM_OK;
}

static void fake_read_over(struct dm_rdma *rdma, int err)
{
    if (err == DM_OK)
        memcpy((void *)(uintptr_t)rdma->local, (const void *)(uintptr_t)rdma->remote, rdma->len);
    rdma->done(rdma, err);
}

int dm_adapt_rdma_read(struct dm_conn *conn, struct dm_rdma *rdma, void *local, struct dm_mr *mr,
                       uint64_t remote, const struct dm_rkey *rkey, size_t len)
{
    (void)conn;
    (void)mr;
    (void)rkey;
    fake.n_reads++;
    rdma->local = (uintptr_t)local;
    rdma->remote = remote;
    rdma->len = len;
    if (fake.n_bad_reads > 0) {
        fake.n_bad_reads--;
        return DM_EAGAIN;
    }
    if (!fake.is_read_late) {
        fake_read_over(rdma, DM_OK);
        return DM_OK;
    }
    if (fake.late_read != NULL)
        abort();
    fake.late_read = rdma;
    return DM_OK;
}

/* There is no registering here, unless the test says so: everything goes through the pipe. */
int dm_adapt_reg(struct dm_adapt *adapt, void *addr, size_t len, struct dm_mr **mr_p)
{
    (void)adapt;
    (void)addr;
    (void)len;
    *mr_p = NULL;
    fake.n_registered += fake.may_register;
    return fake.may_register ? DM_OK : DM_EAGAIN;
}

void dm_adapt_unreg(struct dm_adapt *adapt, struct dm_mr *mr)
{
    (void)adapt;
    (void)mr;
    fake.n_registered--;
}

void dm_adapt_rkey(const struct dm_mr *mr, struct dm_rkey *rkey_p)
{
    (void)mr;
    memset(rkey_p, 0, sizeof(*rkey_p));
}

#endif
