/*
 * The rails of this process: which providers, in which order, and why not the others.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_RAILS_H
#define DM_DAPL_ADAPT_PROVIDER_RAILS_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/types.h"

struct dm_rails {
    struct dm_ia *ias[DM_RAILS_MAX];
    int n_ias;
    int n_own;    /* of them that processes of the own job have in common: those opened at start */
    int n_peers;  /* processes to be reached */
    int per_peer; /* events of each */
    bool is_one_host;
    bool is_named;    /* DATUM_PROVIDER chose the rails */
    bool has_network; /* some rail reaches other hosts */
    bool has_wakes;   /* every rail has something to sleep in that dm_rails_wake wakes */
    bool has_sides;   /* and two of them, for what has come and for what was posted */
    uint64_t late_at; /* when those that did not open are tried again; 0: never */
    unsigned n_late;  /* how often they were */
    uint64_t nets;    /* hash of the host's interfaces then */
    struct dm_conf conf;
    char *refused; /* who was refused and why, for explaining; lines */
};

/*
 * Open the rails of a job, best first; its providers are in rails->conf. DM_EPROVIDER when none
 * opens, or one that the user named does not; DM_ECONFIG when too many are named. Each refusal is
 * kept for messages.
 */
int dm_rails_open(struct dm_rails *rails, int n_peers, int n_slots, bool is_one_host);
/*
 * Of a job on one host: open the rails that it has left unopened, for n_peers processes of other jobs.
 * They stand behind the others, without an index. Refusals are kept.
 */
void dm_rails_open_others(struct dm_rails *rails, int n_peers);
/*
 * Open those of a job that did not open at start, if they do now; false: they were not tried, since the
 * host's interfaces and their addresses are those of the last time. They stand behind the others, without
 * an index. Of refusals nothing is kept.
 */
bool dm_rails_open_late(struct dm_rails *rails);
/* Find out what dm_rails_wake can do: has_wakes and has_sides. */
void dm_rails_see_wakes(struct dm_rails *rails);
/* Close them and forget the rest. */
void dm_rails_close(struct dm_rails *rails);
/* Text about a provider that is not used, for messages; copied. */
void dm_rails_add_refused(struct dm_rails *rails, const char *name, const char *why);
/* Wake who sleeps at that side of a rail, or of any; any thread. */
void dm_rail_wake(struct dm_ia *ia, enum dm_side side);
void dm_rails_wake(struct dm_rails *rails, enum dm_side side);
/* Does one of them reach peers on this host by mapping memory files? */
bool dm_rails_can_map(const struct dm_rails *rails);

#endif
