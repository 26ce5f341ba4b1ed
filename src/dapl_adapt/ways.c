#include "dapl_adapt/ways.h"

#include <string.h>

#include "util/log.h"

#define SAMPLE_LEN ((uint64_t)1 << 20) /* bytes, when one message follows the other */
#define PAUSE_MIN  UINT64_C(10000000)
#define PAUSE_MAX  UINT64_C(320000000)
#define BETTER     0.9 /* of the other's time: worth a change */
#define WORSE      1.5 /* of the usual time: look at the other way at once */
#define CLIP       4.0 /* of the mean: one lost time slice is not yet a habit */
#define NEW_PART   0.25
#define NS_PER_KIB 1024.0

void dm_ways_init(struct dm_ways *ways, double read_gbs, double pipe_gbs, uint64_t now)
{
    memset(ways, 0, sizeof(*ways));
    ways->is_on = true;
    for (int i = 0; i < DM_WAYS_CLASSES; i++) {
        struct dm_ways_class *c = &ways->classes[i];

        c->ns[DM_WAY_READ] = NS_PER_KIB / read_gbs;
        c->ns[DM_WAY_PIPE] = NS_PER_KIB / pipe_gbs;
        c->way = pipe_gbs > read_gbs ? DM_WAY_PIPE : DM_WAY_READ;
        c->usual = c->ns[c->way];
        c->pause = PAUSE_MIN;
        c->next_trial = now + PAUSE_MIN;
    }
}

static int class_of(size_t len)
{
    return len < (size_t)128 << 10 ? 0 : len < (size_t)1 << 20 ? 1 : 2;
}

static double median(const double *x)
{
    double low = x[0] < x[1] ? x[0] : x[1];
    double high = x[0] < x[1] ? x[1] : x[0];

    return x[2] < low ? low : x[2] > high ? high : x[2];
}

static void trial_over(struct dm_ways *ways, struct dm_ways_class *c, uint64_t now)
{
    enum dm_way other = !c->way;

    c->is_trial = false;
    c->ns[c->way] = median(c->tries);
    if (c->ns[c->way] < c->ns[other] * BETTER) {
        c->pause = PAUSE_MIN;
        ways->n_changes++;
        DM_TRACE(RNDV, "%s is better now: %.0f ns a KiB, %.0f the other way",
                 c->way == DM_WAY_PIPE ? "the pipe" : "reading", c->ns[c->way], c->ns[other]);
    } else {
        c->way = other;
        c->pause = c->pause < PAUSE_MAX ? c->pause * 2 : PAUSE_MAX;
    }
    c->usual = c->ns[c->way];
    c->next_trial = now + c->pause;
}

static void sample(struct dm_ways *ways, struct dm_ways_class *c, enum dm_way way, double ns,
                   uint64_t now)
{
    if (way != c->way)
        return; /* began before the way was changed */
    if (c->is_trial) {
        c->tries[c->n_tries++] = ns;
        if (c->n_tries == DM_WAYS_TRIES)
            trial_over(ways, c, now);
        return;
    }
    if (ns > c->ns[way] * CLIP)
        ns = c->ns[way] * CLIP;
    c->ns[way] += (ns - c->ns[way]) * NEW_PART;
    if (c->ns[way] > c->usual * WORSE)
        c->next_trial = now;
}

enum dm_way dm_ways_begin(struct dm_ways *ways, size_t len, uint64_t now)
{
    int class = class_of(len);
    struct dm_ways_class *c = &ways->classes[class];
    struct dm_ways_open *open;

    if (!c->is_trial && now >= c->next_trial) {
        c->is_trial = true;
        c->n_tries = 0;
        c->way = !c->way;
        ways->n_trials++;
    }
    open = &ways->open[c->way];
    if (open->n++ == 0)
        *open = (struct dm_ways_open){.n = 1, .class = class, .since = now};
    if (open->class != class || ways->open[!c->way].n > 0) {
        open->is_mixed = true;
        ways->open[!c->way].is_mixed = true;
    }
    return c->way;
}

void dm_ways_end(struct dm_ways *ways, enum dm_way way, size_t len, uint64_t now)
{
    struct dm_ways_open *open = &ways->open[way];

    open->n--;
    open->bytes += len;
    if (len == 0)
        open->is_mixed = true;
    if (open->n > 0 && open->bytes < SAMPLE_LEN)
        return;
    if (!open->is_mixed)
        sample(ways, &ways->classes[open->class], way,
               (double)(now - open->since) * 1024 / (double)open->bytes, now);
    open->since = now;
    open->bytes = 0;
    open->is_mixed = ways->open[!way].n > 0;
}
