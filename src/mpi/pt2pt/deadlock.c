/*
 * Deadlocks: processes that wait for each other, so that none of their waits can ever end.
 *
 * By Chandy, Misra and Haas, "Distributed deadlock detection", ACM TOCS 1 (1983), section 3, where a wait ends when
 * one of several processes acts: a long wait sends a query to all who could end it. A process that waits itself,
 * and could be helped by processes of its job only, asks those the same, once for each inquiry of an origin, and
 * replies when all of them have; whoever does not wait, or does not know who could end its wait, says nothing. When
 * all have replied to the origin, nobody of them can go on.
 *
 * There are no false alarms. Replies come behind all messages of their sender, so what it sent before it began to wait
 * is here by then; a process whose data move by RDMA says nothing (dm_p2p_is_quiet). A wait has a number and is looked
 * at anew for each packet: one that has ended meanwhile, or would when it looks, sends no reply. In a call of
 * another thread (MPI_THREAD_MULTIPLE) something may happen at any time: such processes say nothing.
 *
 * Only a process whose number is below all that it waits for begins: in each set of processes that wait for each other
 * there is one. The lowest of those that were found speaks.
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/pt2pt/p2p.h"
#include "util/cfg.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/log.h"
#include "util/stack.h"

#define DEADLOCK_TEXT      2400 /* bytes about all processes of an inquiry */
#define DEADLOCK_INQUIRIES 16   /* of different origins at a time */

/* A inquiry that this process takes part in. */
struct inquiry {
    struct dm_list link;
    int origin;
    uint32_t number;
    uint32_t wait; /* the number of its wait */
    int asker;     /* who gets the reply; itself: it is the origin */
    int n_open;    /* replies that have not come */
    int least;     /* process of which there is a line */
    struct dm_strbuf text;
    char chars[DEADLOCK_TEXT];
};

/* A reply on its way out. */
struct answer {
    struct dm_chan_send send;
    char text[DEADLOCK_TEXT];
};

/* One that comes in pieces. */
struct coming {
    int proc;
    struct dm_pkt_deadlock h;
    char text[DEADLOCK_TEXT];
};

static struct {
    struct dm_list inquiries;
    int n_inquiries;
    uint32_t number;      /* of the last inquiry that was begun here */
    uint32_t wait;        /* the wait that the rest is about */
    uint64_t next;        /* time of the next inquiry, */
    uint64_t pause;       /* and how long after it the one that follows */
    struct inquiry *sure; /* all have replied; said if the next look finds the same wait */
    bool is_said;
} deadlock;

/* ---- what this process waits for ---- */

/* Does it wait for processes of the job alone? *wait_p: the number of the wait. */
static bool deadlock_waits(struct dm_wait_account *account, uint32_t *wait_p, uint64_t *since_p)
{
    *wait_p = dm_wait_long_number(dm_world.chan, since_p);
    if (*wait_p == 0 || dm_world.thread_level == MPI_THREAD_MULTIPLE || !dm_p2p_is_quiet())
        return false;
    dm_wait_report(dm_world.chan, account);
    return !account->is_over && !account->is_open;
}

static void inquiry_add_line(struct inquiry *inquiry, const struct dm_wait_account *account)
{
    char call[MPI_MAX_OBJECT_NAME] = "a call";

    if (!dm_p2p.is_leaving)
        (void)dm_stack_find("MPI_", call, sizeof(call));
    dm_strbuf_addf(&inquiry->text, "    rank %d on %s %s%s and waits for %s\n", dm_world.rank,
                   dm_host_name(), dm_p2p.is_leaving ? "has called MPI_Finalize" : "is in ",
                   dm_p2p.is_leaving ? "" : call, account->chars);
}

/* ---- inquiries ---- */

static struct inquiry *inquiry_find(int origin)
{
    dm_list_for_each (it, &deadlock.inquiries) {
        struct inquiry *inquiry = dm_container_of(it, struct inquiry, link);

        if (inquiry->origin == origin)
            return inquiry;
    }
    return NULL;
}

static void inquiry_free(struct inquiry *inquiry)
{
    if (inquiry == deadlock.sure)
        deadlock.sure = NULL;
    dm_list_del(&inquiry->link);
    deadlock.n_inquiries--;
    free(inquiry);
}

/* Those of waits that are over. */
static void inquiries_forget(uint32_t wait)
{
    dm_list_for_each_safe (it, tmp, &deadlock.inquiries) {
        struct inquiry *inquiry = dm_container_of(it, struct inquiry, link);

        if (inquiry->wait != wait)
            inquiry_free(inquiry);
    }
}

static struct inquiry *inquiry_new(int origin, uint32_t number, uint32_t wait, int asker)
{
    struct inquiry *inquiry = inquiry_find(origin);

    if (inquiry != NULL)
        inquiry_free(inquiry);
    if (deadlock.n_inquiries == DEADLOCK_INQUIRIES || (inquiry = malloc(sizeof(*inquiry))) == NULL)
        return NULL;
    inquiry->origin = origin;
    inquiry->number = number;
    inquiry->wait = wait;
    inquiry->asker = asker;
    inquiry->n_open = 0;
    inquiry->least = dm_world.rank;
    dm_strbuf_init(&inquiry->text, inquiry->chars, sizeof(inquiry->chars));
    dm_list_add_tail(&deadlock.inquiries, &inquiry->link);
    deadlock.n_inquiries++;
    return inquiry;
}

static struct dm_pkt_deadlock packet(enum dm_pkt_type type, int origin, uint32_t number)
{
    return (struct dm_pkt_deadlock){.pkt = {.type = (uint8_t)type,
                                            .version = DM_PKT_VERSION,
                                            .hdr_len = sizeof(struct dm_pkt_deadlock)},
                                    .origin = origin,
                                    .number = number,
                                    .least = dm_world.rank};
}

static void answer_done(struct dm_chan_send *send, int err)
{
    (void)err; /* who is lost needs none */
    free(dm_container_of(send, struct answer, send));
}

static void answer_send(int proc, int origin, uint32_t number, int least, const char *text)
{
    struct dm_pkt_deadlock h = packet(DM_PKT_DEADLOCK_REPLY, origin, number);
    struct answer *answer = malloc(sizeof(*answer));

    if (answer == NULL)
        return;
    memset(&answer->send, 0, sizeof(answer->send));
    strcpy(answer->text, text);
    h.least = least;
    h.pkt.data_len = (uint32_t)strlen(text);
    answer->send.data = answer->text;
    answer->send.done = answer_done;
    (void)dm_chan_send(dm_world.chan, proc, &h.pkt, &answer->send);
}

/* All have replied. */
static void inquiry_end(struct inquiry *inquiry)
{
    if (inquiry->asker == dm_world.rank)
        deadlock.sure = inquiry;
    else
        answer_send(inquiry->asker, inquiry->origin, inquiry->number, inquiry->least,
                    inquiry->chars);
}

static void inquiry_ask(struct inquiry *inquiry, const struct dm_wait_account *account)
{
    struct dm_pkt_deadlock h = packet(DM_PKT_DEADLOCK_QUERY, inquiry->origin, inquiry->number);

    inquiry_add_line(inquiry, account);
    inquiry->n_open = account->n;
    for (int i = 0; i < account->n; i++)
        (void)dm_chan_send_ctl(dm_world.chan, account->procs[i], &h.pkt);
    if (account->n == 0)
        inquiry_end(inquiry);
}

/* ---- packets ---- */

static void on_deadlock_query(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                              size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_pkt_deadlock *h = (const struct dm_pkt_deadlock *)(const void *)pkt;
    struct dm_wait_account account;
    struct inquiry *inquiry;
    uint64_t since;
    uint32_t wait;

    (void)arg, (void)data, (void)avail, (void)sink;
    if (!deadlock_waits(&account, &wait, &since))
        return;
    inquiries_forget(wait);
    inquiry = inquiry_find(h->origin);
    if (inquiry != NULL && inquiry->number == h->number) {
        answer_send(proc, h->origin, h->number, dm_world.rank, "");
        return;
    }
    inquiry = inquiry_new(h->origin, h->number, wait, proc);
    if (inquiry != NULL)
        inquiry_ask(inquiry, &account);
}

static void on_reply_text(int proc, const struct dm_pkt_deadlock *h, const char *text, size_t len)
{
    struct inquiry *inquiry = inquiry_find(h->origin);
    struct dm_wait_account account;
    uint64_t since;
    uint32_t wait;

    (void)proc;
    if (inquiry == NULL || inquiry->number != h->number || inquiry->n_open == 0 ||
        !deadlock_waits(&account, &wait, &since) || wait != inquiry->wait)
        return;
    (void)dm_strbuf_add_len(&inquiry->text, text, len);
    if (h->least < inquiry->least)
        inquiry->least = h->least;
    if (--inquiry->n_open == 0)
        inquiry_end(inquiry);
}

static void coming_write(void *arg, size_t offset, const void *data, size_t len)
{
    struct coming *coming = arg;

    if (offset + len <= sizeof(coming->text))
        memcpy(coming->text + offset, data, len);
}

static void coming_done(void *arg)
{
    struct coming *coming = arg;

    if (coming->h.pkt.data_len <= sizeof(coming->text))
        on_reply_text(coming->proc, &coming->h, coming->text, coming->h.pkt.data_len);
    free(coming);
}

static void on_deadlock_reply(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                              size_t avail, struct dm_chan_sink *sink)
{
    const struct dm_pkt_deadlock *h = (const struct dm_pkt_deadlock *)(const void *)pkt;
    struct coming *coming;

    (void)arg;
    if (avail == pkt->data_len) {
        on_reply_text(proc, h, data, avail);
        return;
    }
    coming = malloc(sizeof(*coming));
    if (coming == NULL)
        dm_p2p_fatal("no memory for a packet");
    coming->proc = proc;
    coming->h = *h;
    *sink = (struct dm_chan_sink){.arg = coming, .write = coming_write, .done = coming_done};
}

/* ---- looking ---- */

static void deadlock_say(const struct inquiry *inquiry)
{
    const char *line_end = strchr(inquiry->chars, '\n');
    bool is_alone = line_end != NULL && line_end[1] == '\0';

    deadlock.is_said = true;
    if (inquiry->least < dm_world.rank) /* which has begun an inquiry of its own */
        return;
    dm_log_warn(
        "deadlock: %s:\n"
        "%s%s    The job is left alone; \"mpiexec -timeout\" would end it, DATUM_DEADLOCK=0 keeps "
        "this message back.",
        is_alone ? "this process waits for itself, and nothing is under way to it"
                 : "these processes wait for each other, and nothing is under way to any of them",
        inquiry->chars, inquiry->text.is_short ? "    ...\n" : "");
}

static bool deadlock_is_least(const struct dm_wait_account *account)
{
    for (int i = 0; i < account->n; i++)
        if (account->procs[i] < dm_world.rank)
            return false;
    return true;
}

void dm_p2p_deadlock_look(void)
{
    struct dm_wait_account account;
    struct inquiry *inquiry;
    uint64_t since, now = dm_clock_ns();
    uint32_t wait;

    if (dm_cfg()->deadlock == 0 || !deadlock_waits(&account, &wait, &since))
        return;
    inquiries_forget(wait);
    if (deadlock.wait != wait) {
        deadlock.wait = wait;
        deadlock.pause = dm_cfg()->deadlock * 1000;
        deadlock.next = since + deadlock.pause;
        deadlock.is_said = false;
    }
    if (deadlock.sure != NULL && !deadlock.is_said)
        deadlock_say(deadlock.sure);
    if (deadlock.is_said || now < deadlock.next || !deadlock_is_least(&account))
        return;
    deadlock.pause *= 2;
    deadlock.next = now + deadlock.pause;
    inquiry = inquiry_new(dm_world.rank, ++deadlock.number, wait, dm_world.rank);
    if (inquiry != NULL)
        inquiry_ask(inquiry, &account);
}

void dm_p2p_deadlock_start(void)
{
    dm_list_init(&deadlock.inquiries);
    deadlock.n_inquiries = 0;
    deadlock.wait = 0;
    dm_chan_on_packet(dm_world.chan, DM_PKT_DEADLOCK_QUERY, on_deadlock_query, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_DEADLOCK_REPLY, on_deadlock_reply, NULL);
}

void dm_p2p_deadlock_stop(void)
{
    inquiries_forget(0);
}
