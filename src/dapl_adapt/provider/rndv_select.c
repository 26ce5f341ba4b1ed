/*
 * The faster of two protocols for large messages, by what was measured lately.
 */
#include "dapl_adapt/provider/rndv_select.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/log.h"

#define SAMPLE_LEN   ((uint64_t)1 << 20) /* bytes, when one message follows the other */
#define PIPE_COLD    ((uint64_t)2 << 20) /* its rings are new memory: those say nothing */
#define PAUSE_MIN    UINT64_C(500000)
#define PAUSE_MAX    UINT64_C(320000000)
#define SAMPLES      3 /* at least, and more as long as they do not take */
#define SAMPLES_NS   UINT64_C(300000)
#define SAMPLES_MOST 10
#define TRIAL_MOST   256 /* messages, where others that come at the same time spoil the samples */
#define READ_NS      600 /* after the last one: its FIN, and what else the receiver does not see */
#define DOUBT        3.0
#define BETTER       0.9 /* of the other's time: worth a change */
#define BETTER_SHORT                                                                               \
    0.75 /* the same for a change to the pipe, which has both processors copy, below 128 KiB */
#define WORSE      1.5 /* of the usual time: look at the other at once */
#define NS_PER_KIB 1024.0
#define N_SHORT    2 /* classes below 128 KiB */

/*
 * Until more is known. When in doubt the pipe, which gets better with use: its rings come into being with it.
 * Not where a read may have both processors copy, too: it does not wait for a sender that computes.
 */
static enum dm_rndv select_first(int class, double pipe_to_read, bool is_read_split)
{
    bool is_exchange = class >= DM_RNDV_SELECT_LENGTHS; /* none is split */
    bool is_short = class % DM_RNDV_SELECT_LENGTHS < N_SHORT;
    double doubt = is_read_split && !is_exchange ? 1 / DOUBT : is_short ? 1 : DOUBT;

    return pipe_to_read * doubt > 1 ? DM_RNDV_PIPE : DM_RNDV_READ;
}

void dm_rndv_select_init(struct dm_rndv_select *select, double read_gbs, double pipe_gbs,
                         bool is_read_split, uint64_t now)
{
    memset(select, 0, sizeof(*select));
    select->is_on = true;
    for (int i = 0; i < DM_RNDV_SELECT_CLASSES; i++) {
        struct dm_rndv_select_class *c = &select->classes[i];

        c->ns[DM_RNDV_READ] = NS_PER_KIB / read_gbs;
        c->ns[DM_RNDV_PIPE] = NS_PER_KIB / pipe_gbs;
        c->proto = select_first(i, pipe_gbs / read_gbs, is_read_split);
        c->usual = c->ns[c->proto];
        c->pause = PAUSE_MIN;
        c->next_trial = now + PAUSE_MIN;
    }
}

static enum dm_rndv select_other(enum dm_rndv proto)
{
    return proto == DM_RNDV_READ ? DM_RNDV_PIPE : DM_RNDV_READ;
}

static int select_class(size_t len, bool is_exchange)
{
    int i = 0;

    while (i < DM_RNDV_SELECT_LENGTHS - 1 && len >= (size_t)64 << 10 << i)
        i++;
    return is_exchange ? DM_RNDV_SELECT_LENGTHS + i : i;
}

/* The part of the other's time that the protocol on trial may take at most. */
static double select_margin(const struct dm_rndv_select *select,
                            const struct dm_rndv_select_class *c)
{
    if (c - select->classes >= N_SHORT) /* in an exchange both processors copy anyway */
        return BETTER;
    return c->proto == DM_RNDV_PIPE ? BETTER_SHORT : 1 / BETTER_SHORT;
}

static void select_start_trial(struct dm_rndv_select *select, struct dm_rndv_select_class *c,
                               uint64_t now)
{
    c->is_trial = true;
    c->n_trial = 0;
    c->least.n = 0;
    c->since = now;
    c->proto = select_other(c->proto);
    select->n_trials++;
}

/* Back to the other, for longer than before. */
static void select_stay(struct dm_rndv_select_class *c)
{
    c->proto = select_other(c->proto);
    c->pause = c->pause < PAUSE_MAX ? c->pause * 2 : PAUSE_MAX;
}

static void select_pause(struct dm_rndv_select_class *c, uint64_t now)
{
    c->is_trial = false;
    c->usual = c->ns[c->proto];
    c->next_trial = now + c->pause;
}

/* What the protocol on trial takes is known. Of the other there may be a guess only: it is next. */
static void select_end_trial(struct dm_rndv_select *select, struct dm_rndv_select_class *c,
                             uint64_t now)
{
    enum dm_rndv other = select_other(c->proto);

    if (!c->is_known[other]) {
        select_start_trial(select, c, now);
        return;
    }
    if (c->ns[c->proto] < c->ns[other] * select_margin(select, c)) {
        c->pause = PAUSE_MIN;
        select->n_changes++;
        DM_TRACE(RNDV, "%s is better now: %.0f ns a KiB, %.0f by %s", dm_rndv_name(c->proto),
                 c->ns[c->proto], c->ns[other], dm_rndv_name(other));
    } else {
        select_stay(c);
    }
    select_pause(c, now);
}

/* One more; false: more are wanted. A lost time slice counts as little as a ring that was not in the cache. */
static bool select_add(struct dm_rndv_select_class *c, double ns, uint64_t now)
{
    dm_trial_least_add(&c->least, ns);
    return c->least.n == SAMPLES_MOST || (c->least.n >= SAMPLES && now - c->since > SAMPLES_NS);
}

static void select_sample(struct dm_rndv_select *select, struct dm_rndv_select_class *c,
                          enum dm_rndv proto, double ns, uint64_t now)
{
    if (proto != c->proto || !select_add(c, ns, now)) /* or it began before that changed */
        return;
    c->least.n = 0;
    c->since = now;
    c->ns[proto] = c->least.next;
    c->is_known[proto] = true;
    if (c->is_trial)
        select_end_trial(select, c, now);
    else if (c->ns[proto] > c->usual * WORSE)
        c->next_trial = now;
}

enum dm_rndv dm_rndv_select_begin(struct dm_rndv_select *select, size_t len, bool is_exchange,
                                  uint64_t now)
{
    int class = select_class(len, is_exchange);
    struct dm_rndv_select_class *c = &select->classes[class];
    struct dm_rndv_select_open *open;
    struct dm_rndv_select_open *other;

    if (!c->is_trial && now >= c->next_trial) {
        select_start_trial(select, c, now);
    } else if (c->is_trial && ++c->n_trial > TRIAL_MOST) {
        select_stay(c);
        select_pause(c, now);
    }
    open = &select->open[c->proto];
    other = &select->open[select_other(c->proto)];
    if (open->n++ == 0)
        *open = (struct dm_rndv_select_open){
            .n = 1, .class = class, .since = now, .last = open->class == class ? open->last : 0};
    if (open->class != class || other->n > 0) {
        open->is_mixed = true;
        other->is_mixed = true;
    }
    return c->proto;
}

enum dm_rndv dm_rndv_select_now(const struct dm_rndv_select *select, size_t len)
{
    return select->classes[select_class(len, true)].proto;
}

void dm_rndv_select_follow(struct dm_rndv_select *select, size_t len, enum dm_rndv proto)
{
    struct dm_rndv_select_class *c = &select->classes[select_class(len, true)];

    if (c->proto == proto)
        return;
    c->proto = proto;
    c->is_trial = false;
    c->least.n = 0;
    c->usual = c->ns[proto];
}

/* ns that what has come since the last sample took; 0: nobody knows. */
static uint64_t select_took(struct dm_rndv_select *select, enum dm_rndv proto, uint64_t now)
{
    struct dm_rndv_select_open *open = &select->open[proto];
    uint64_t last = open->last;

    open->last = now;
    select->open[select_other(proto)].last = 0;
    if (open->is_mixed)
        return 0;
    if (open->class < DM_RNDV_SELECT_LENGTHS)
        return now - open->since + (proto == DM_RNDV_READ ? READ_NS : 0);
    return last == 0 ? 0 : now - last;
}

void dm_rndv_select_end(struct dm_rndv_select *select, enum dm_rndv proto, size_t len, uint64_t now)
{
    struct dm_rndv_select_open *open = &select->open[proto];
    uint64_t ns;

    open->n--;
    open->bytes += len;
    if (len == 0)
        open->is_mixed = true;
    if (open->n > 0 && open->bytes < SAMPLE_LEN)
        return;
    ns = select_took(select, proto, now);
    if (proto == DM_RNDV_PIPE && select->n_piped < PIPE_COLD)
        select->n_piped += open->bytes;
    else if (ns > 0)
        select_sample(select, &select->classes[open->class], proto,
                      (double)ns * 1024 / (double)open->bytes, now);
    open->since = now;
    open->bytes = 0;
    open->is_mixed = select->open[select_other(proto)].n > 0;
}
