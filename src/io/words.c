/*
 * The words of a file are at its first process.
 *
 * On one host they are in memory that all have mapped. On several they are changed by a provider's
 * atomic operations, by all processes, if all have a rail for that: so nobody waits for the first
 * process. Else those of its host address them, and the others ask it by packets, which it answers when it
 * makes progress.
 */
#include "io/words.h"

#include <string.h>

#include "channel/channel.h"
#include "io/file.h"
#include "mpi/coll/coll.h"
#include "mpi/node/kept.h"
#include "util/cfg.h"
#include "util/log.h"

/* A question, and its answer. */
struct pkt_file_word {
    struct dm_pkt pkt;
    int32_t file; /* its handle at the receiver of the question; in the answer 0: it is none */
    uint32_t word;
    uint64_t value; /* to be added; in the answer what was there */
    uint64_t asker; /* its struct words_question */
};

/* Words in memory of closed files, for the next file of the same group. */
static struct dm_list words_kept = {&words_kept, &words_kept};

/* Those at the first process. */
static uint32_t words_count(const struct dm_file *f)
{
    return DM_WORD_WAITERS + f->words.n_waiters;
}

/* In memory of a host one more follows, of mpi/node/kept.h. */
static size_t words_len(const struct dm_file *f)
{
    return words_count(f) * sizeof(uint64_t);
}

static size_t words_segment_len(const struct dm_file *f)
{
    return words_len(f) + sizeof(uint64_t);
}

struct words_question {
    bool is_over, is_refused;
    uint64_t old;
};

/* ---- packets ---- */

static void words_send(int proc, struct pkt_file_word *pkt, enum dm_pkt_type type)
{
    pkt->pkt =
        (struct dm_pkt){.type = (uint8_t)type, .version = DM_PKT_VERSION, .hdr_len = sizeof(*pkt)};
    (void)dm_chan_send_ctl(dm_world.chan, proc, &pkt->pkt);
}

static void words_on_add(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                         size_t avail, struct dm_chan_sink *sink)
{
    struct pkt_file_word p = *(const struct pkt_file_word *)(const void *)pkt;
    struct dm_file *f = dm_handle_get(DM_KIND_FILE, p.file);

    (void)arg;
    (void)data;
    (void)avail;
    (void)sink;
    if (f == NULL || f->words.at == NULL || p.word >= words_count(f))
        p.file = 0;
    else
        p.value = atomic_fetch_add(&f->words.at[p.word], p.value);
    words_send(proc, &p, DM_PKT_FILE_ADDED);
}

static void words_on_added(void *arg, int proc, const struct dm_pkt *pkt, const void *data,
                           size_t avail, struct dm_chan_sink *sink)
{
    const struct pkt_file_word *p = (const void *)pkt;
    struct words_question *q = (struct words_question *)(uintptr_t)p->asker;

    (void)arg;
    (void)proc;
    (void)data;
    (void)avail;
    (void)sink;
    q->old = p->value;
    q->is_refused = p->file == 0;
    q->is_over = true;
}

void dm_file_words_start(void)
{
    dm_chan_on_packet(dm_world.chan, DM_PKT_FILE_ADD, words_on_add, NULL);
    dm_chan_on_packet(dm_world.chan, DM_PKT_FILE_ADDED, words_on_added, NULL);
}

static int words_ask(const struct dm_file *f, uint32_t word, uint64_t n, uint64_t *old_p)
{
    struct words_question q = {.is_over = false};
    struct pkt_file_word p = {
        .file = f->words.file, .word = word, .value = n, .asker = (uint64_t)(uintptr_t)&q};

    words_send(f->words.home, &p, DM_PKT_FILE_ADD);
    while (!*(volatile bool *)&q.is_over) {
        dm_chan_progress_wait(dm_world.chan);
        if (!*(volatile bool *)&q.is_over && dm_world_is_gone(f->words.home))
            return DM_FAIL(DM_EPEER, "rank 0 of \"%s\", which has its shared pointer and lock",
                           f->disk.path);
    }
    if (q.is_refused)
        return DM_FAIL(DM_ERR_FILE, "\"%s\" is closed at its rank 0", f->disk.path);
    *old_p = q.old;
    return DM_OK;
}

/* ---- operations ---- */

static int words_by_provider(const struct dm_file *f, uint32_t word, uint64_t n, uint64_t *old_p)
{
    struct dm_chan_word add = {.op = {.which = word, .value = n}};
    int err = dm_chan_do_words(dm_world.chan, f->words.home, f->words.own, &f->words.key, &add, 1);

    *old_p = add.old;
    if (err == DM_OK)
        return DM_OK;
    return DM_FAIL(err,
                   "the shared pointer or lock of \"%s\", at its rank 0: the provider's "
                   "fetch-and-add failed, or may have been done when the connection broke, after "
                   "which it is not repeated",
                   f->disk.path);
}

int dm_file_word_add(struct dm_file *f, uint32_t word, uint64_t n, uint64_t *old_p)
{
    if (f->words.own != NULL)
        return words_by_provider(f, word, n, old_p);
    if (f->words.at == NULL)
        return words_ask(f, word, n, old_p);
    *old_p = atomic_fetch_add(&f->words.at[word], n);
    return DM_OK;
}

/* ---- making them ---- */

void dm_file_words_init(struct dm_file *f)
{
    f->words.at = &f->words.pointer;
    f->words.segment.fd = -1;
}

/* Processes of other jobs may have other rails later. */
static bool words_may_use_provider(const struct dm_file *f)
{
    if (dm_node_is_one(f->group) || dm_cfg()->rma == DM_RMA_EMULATED ||
        dm_cfg()->rma_atomic == DM_RMA_ATOMIC_NO)
        return false;
    for (int i = 0; i < f->size; i++)
        if (dm_world_is_foreign(dm_group_proc(f->group, i)))
            return false;
    return true;
}

static void words_drop(struct dm_file_words *w)
{
    if (w->own != NULL)
        dm_adapt_words_free(dm_chan_adapt(dm_world.chan), w->own);
    w->own = NULL;
}

/* In memory that the processes of this host can map; else in memory that this one has for the others. */
static int words_make_here(struct dm_file *f, struct dm_file_home *home_p)
{
    struct dm_file_words *w = &f->words;
    struct dm_node_kept kept;
    int err;

    if (dm_node_kept_claim(&words_kept, f->group, words_segment_len(f), &kept)) {
        w->segment = kept.segment;
        w->at = w->segment.at;
        w->memory = home_p->file = kept.file;
        home_p->file.fd = DM_NODE_KEPT;
        memset(w->segment.at, 0, words_len(f));
        return DM_OK;
    }
    err = dm_node_segment_make(&w->segment, "datum-file", words_segment_len(f), &home_p->file);
    w->memory = home_p->file;
    if (err != DM_OK)
        err = dm_node_segment_alone(&w->segment, words_len(f));
    if (err == DM_OK)
        w->at = w->segment.at;
    return err;
}

int dm_file_words_make(struct dm_file *f, struct dm_file_home *home_p)
{
    static uint64_t n_made;
    struct dm_file_words *w = &f->words;
    int err = DM_OK;

    for (w->n_waiters = 1; w->n_waiters < (uint32_t)f->size; w->n_waiters *= 2)
        ;
    *home_p = (struct dm_file_home){.handle = f->obj.handle, .stamp = ++n_made};
    /* Questions of others may come from the second agreement on. */
    if (f->rank == 0)
        err = words_make_here(f, home_p);
    if (words_may_use_provider(f))
        w->own = dm_adapt_words_new(dm_chan_adapt(dm_world.chan), f->rank == 0 ? words_count(f) : 1,
                                    true, true, &w->key);
    home_p->key = w->key;
    return err;
}

/* What the first process has made, if that is on this host. */
static bool words_map(struct dm_file *f, const struct dm_node_file *file)
{
    struct dm_file_words *w = &f->words;
    struct dm_node_kept kept;

    w->memory = *file;
    if (file->fd != DM_NODE_KEPT)
        return dm_node_segment_map(&w->segment, file, words_segment_len(f)) == DM_OK;
    if (!dm_node_kept_find(&words_kept, file, &kept))
        return false;
    w->segment = kept.segment;
    return true;
}

void dm_file_words_take(struct dm_file *f, const struct dm_file_home *home,
                        bool lacks[DM_N_WORDS_LACKS])
{
    struct dm_file_words *w = &f->words;

    w->home = dm_group_proc(f->group, 0);
    w->file = home->handle;
    w->stamp = home->stamp;
    lacks[DM_WORDS_NO_PROVIDER] = w->own == NULL || w->key.rail != home->key.rail;
    w->key = home->key;
    if (f->rank > 0 && dm_node_is_local(w->home))
        lacks[DM_WORDS_UNMAPPED] = !words_map(f, &home->file);
}

void dm_file_words_choose(struct dm_file *f, const bool lacks[DM_N_WORDS_LACKS])
{
    struct dm_file_words *w = &f->words;

    if (lacks[DM_WORDS_NO_PROVIDER])
        words_drop(w);
    else
        dm_node_segment_free(&w->segment);
    if (lacks[DM_WORDS_UNMAPPED] && f->rank > 0)
        dm_node_segment_free(&w->segment);
    dm_node_segment_close_file(&w->segment);
    w->at = w->segment.at;
    w->is_agreed = w->at != NULL && !lacks[DM_WORDS_UNMAPPED];
}

void dm_file_words_explain(const struct dm_file *f)
{
    if (f->rank == 0 && dm_cfg()->explain && f->size > 1 && !dm_node_is_one(f->group))
        dm_log_info("file \"%s\", %d ranks: shared pointer and lock %s", f->disk.path, f->size,
                    f->words.own != NULL ? "by the provider's fetch-and-add"
                                         : "in memory of this host, for others by packets");
}

void dm_file_words_free(struct dm_file *f)
{
    struct dm_file_words *w = &f->words;
    struct dm_node_kept kept = {
        .group = f->group, .segment = w->segment, .file = w->memory, .word_at = words_len(f)};

    words_drop(w);
    if (w->is_agreed)
        dm_node_keep(&words_kept, DM_NODE_KEPT_MOST, &kept);
    else
        dm_node_segment_free(&w->segment);
    w->segment = (struct dm_node_segment){.fd = -1};
    w->is_agreed = false;
    w->at = &w->pointer;
}

void dm_file_words_stop(void)
{
    dm_node_kept_stop(&words_kept);
}
