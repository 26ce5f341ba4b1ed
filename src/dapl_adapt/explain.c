/*
 * What DATUM_EXPLAIN prints, and the list of providers for datum-info.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "dapl_adapt/conn/receives.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/core/conn.h"
#include "dapl_adapt/core/mem_pinned.h"
#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/probe_ia.h"
#include "dapl_adapt/provider/srq.h"
#include "dapl_adapt/provider/watch.h"
#include "dapl_adapt/public/memory.h"
#include "dapl_adapt/public/start.h"
#include "dapl_adapt/public/stats.h"
#include "dapl_adapt/rma/atomic.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"
#include "util/rndv.h"
#include "util/strbuf.h"
#include "util/tune.h"

#define LINE_LEN  600
#define FOUND_LEN 240
#define KEEPS_LEN 120

static const char *explain_small_text(const struct dm_conn *conn)
{
    if (conn->adapt->rings.is_basic)
        return "RDMA writes of data, head and tail each (DATUM_EAGER)";
    if (!conn->is_sendrecv)
        return "RDMA write into a ring";
    if (conn->ring.has_srq)
        return "send/receive into receives that the peers share";
    if (conn->ia->caps.last_byte == DM_LAST_IS_EARLY)
        return "send/receive into posted buffers, since the provider does not place the last "
               "byte of a write last";
    return "send/receive into posted buffers, a waiting process is woken";
}

static void explain_receives(const struct dm_conn *conn)
{
    const struct dm_rail_srq *srq = conn->ia->memory.srq;
    const char *why = dm_receives_why_own(conn->ia);

    if (conn->ring.has_srq)
        dm_log_info("  receives: %u of %u bytes that the peers share, %u of them spare (DATUM_SRQ)",
                    srq->n, srq->stride, srq->n_spare);
    else if (dm_cfg()->srq && why != NULL)
        dm_log_info("  receives: each peer's own (%s)", why);
}

/* Whose values these are. */
static void explain_tuned(const struct dm_ia *ia)
{
    const struct dm_tune_rail *tuned = ia->tuned;
    char line[LINE_LEN];
    struct dm_strbuf sb;

    if (tuned == NULL) {
        dm_log_info("  tuning: %s", dm_tune_path() == NULL
                                        ? "computed defaults, no tuning file"
                                        : "computed defaults, the tuning file does not have it, or "
                                          "with other ia_params");
        return;
    }
    dm_strbuf_init(&sb, line, sizeof(line));
    if (tuned->eager_limit > 0)
        dm_strbuf_addf(&sb, "; without asking up to %zu bytes", tuned->eager_limit);
    if (tuned->ring_slot_size > 0)
        dm_strbuf_addf(&sb, "; slots of %zu bytes", tuned->ring_slot_size);
    dm_log_info("  tuning: %s, measured %s%s", dm_tune_path(),
                tuned->measured != NULL ? tuned->measured : "some time", line);
}

static void explain_large(const struct dm_ia *ia)
{
    enum dm_rndv proto = (enum dm_rndv)dm_cfg()->rndv;
    const char *by = "DATUM_RNDV";

    if (proto == DM_RNDV_AUTO) {
        proto = ia->rndv.choice;
        by = ia->tuned != NULL && ia->tuned->rndv != DM_RNDV_AUTO ? "tuned" : "measured";
    }
    if (proto == DM_RNDV_AUTO && ia->memory.srq != NULL)
        dm_log_info("  large messages: %s (receives are shared)", dm_rndv_text(DM_RNDV_READ));
    else if (proto == DM_RNDV_AUTO)
        dm_log_info("  large messages: to be measured at the first one");
    else
        dm_log_info("  large messages: %s (%s)", dm_rndv_text(proto), by);
    if (dm_cfg()->fin == DM_FIN_CHAINED)
        dm_log_info("  their FIN is posted right behind the write (DATUM_FIN)");
}

static bool explain_is_here(const struct dm_adapt *adapt, int proc)
{
    return dm_adapt_proc_node(adapt, proc) == dm_adapt_proc_node(adapt, adapt->job.rank);
}

/* Peers of one class: on this host or not, over one rail. */
static void explain_class(const struct dm_adapt *adapt, bool is_near, const struct dm_ia *ia)
{
    const struct dm_conn *conn;
    const struct dm_conn *one = NULL;
    char found[FOUND_LEN], keeps[KEEPS_LEN];
    int n = 0;

    dm_conn_for_each (conn, adapt) {
        if (!conn->was_up || conn->ia != ia || explain_is_here(adapt, conn->proc) != is_near)
            continue;
        one = conn;
        n++;
    }
    if (one == NULL)
        return;
    dm_log_info("%d peer%s on %s: provider %s (%s)", n, n > 1 ? "s" : "",
                is_near ? "this host" : "other hosts", ia->name, ia->library);
    dm_log_info("  small messages: %s, %u slots of %u bytes each way", explain_small_text(one),
                one->ring.n_slots, one->ring.slot_size);
    explain_receives(one);
    explain_large(ia);
    if (dm_cfg()->rndv_inline)
        dm_log_info("  their first bytes come with the request to send (DATUM_RNDV_INLINE)");
    if (dm_cfg()->chunk != DM_CFG_AUTO_SIZE)
        dm_log_info("  chunks in the pipe: %u bytes (DATUM_CHUNK)", one->tx.piece);
    explain_tuned(ia);
    dm_ia_found(ia, found, sizeof(found));
    dm_log_info("  found: %s; %llu bytes a transfer, registrations %s", found,
                (unsigned long long)ia->limits.max_rdma,
                dm_mem_keeps_text(adapt, keeps, sizeof(keeps)));
}

/* In which order the rails are taken, and what was not even tried. */
static void explain_rails(const struct dm_adapt *adapt)
{
    char line[LINE_LEN];
    struct dm_strbuf sb;
    const struct dm_ia *ia;
    int n = 0;

    dm_strbuf_init(&sb, line, sizeof(line));
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        ia = adapt->rails.ias[i];
        dm_strbuf_addf(&sb, "%s%s (%s", i > 0 ? ", " : "", ia->name,
                       ia->caps.is_local ? "this host only" : "reaches hosts");
        if (!ia->caps.is_local && ia->net.dev[0] != '\0')
            dm_strbuf_addf(&sb, ", %s", ia->net.dev);
        if (!ia->caps.is_local && ia->net.mbits > 0)
            dm_strbuf_addf(&sb, ", %d Mbit/s", ia->net.mbits);
        dm_strbuf_add(&sb, ")");
    }
    if (adapt->rails.n_ias > 1)
        dm_log_info("rails in %s order: %s",
                    adapt->rails.is_named       ? "DATUM_PROVIDER's"
                    : adapt->rails.conf.is_user ? "the file's"
                                                : "this",
                    line);
    if (adapt->rails.n_ias > 1 && dm_cfg()->rail_retry > 0)
        dm_log_info(
            "a rail that is lost is tried again after %.1f s, later more rarely (DATUM_RAIL_RETRY)",
            (double)dm_cfg()->rail_retry / 1e6);
    dm_strbuf_init(&sb, line, sizeof(line));
    for (int i = 0; i < adapt->rails.conf.n_entries; i++) {
        if (!adapt->rails.conf.entries[i].is_tried)
            dm_strbuf_addf(&sb, "%s%s", n++ > 0 ? ", " : "", adapt->rails.conf.entries[i].name);
    }
    if (n > 0 && adapt->job.size > 1)
        dm_log_info("not tried, since what is open %s: %s",
                    dm_adapt_is_one_host(adapt) ? "reaches every process" : "is enough", line);
}

static void explain_progress(const struct dm_adapt *adapt)
{
    static const char *const how[] = {
        "calls poll until they are done",
        "calls poll for a while, then sleep in the provider",
        "calls sleep in the provider at once",
        "as adaptive, and a thread asleep in the provider makes progress while the program computes",
        "as adaptive, and two threads sleep in the provider: for what comes, and for what was posted",
    };
    const char *why = "the default";

    if (adapt->rails.n_ias == 0)
        return;
    if (dm_cfg()->progress != DM_PROGRESS_ADAPTIVE)
        why = "DATUM_PROGRESS";
    else if (adapt->is_oversubscribed)
        why = "the default; at once here, since processes outnumber cores";
    dm_log_info("progress: %s (%s)%s", how[dm_cfg()->progress], why,
                dm_cfg()->progress >= DM_PROGRESS_THREAD && !adapt->rails.has_wakes
                    ? "; a provider has no notification object, so one looks every millisecond"
                    : "");
}

static void explain_queues(const struct dm_adapt *adapt)
{
    const struct dm_ia *ia = adapt->rails.n_ias > 0 ? adapt->rails.ias[0] : NULL;

    if (ia != NULL && ia->counts_taken)
        dm_log_info("completion queues: %s", ia->recv_evd != ia->dto_evd
                                                 ? "one for receives, one for requests"
                                                 : "one for all (DATUM_CQ)");
}

/* How windows lock, as far as this process can tell. */
static void explain_locks(struct dm_adapt *adapt)
{
    bool is_remote = !dm_adapt_is_one_host(adapt);
    bool has_words = dm_adapt_can_map(adapt);
    bool is_forced = dm_cfg()->rma_atomic == DM_RMA_ATOMIC_YES;
    const struct dm_ia *ia = NULL;

    if (adapt->rails.n_ias == 0)
        return;
    if (dm_cfg()->rma == DM_RMA_EMULATED)
        has_words = is_forced = false;
    else if (is_forced || (!has_words && dm_cfg()->rma_atomic == DM_RMA_ATOMIC_AUTO))
        ia = dm_atomic_rail(adapt, is_remote, is_forced, false);
    if (ia != NULL)
        dm_log_info("locks of windows: fetch-and-add over %s, by their owner too%s", ia->name,
                    is_forced ? " (DATUM_RMA_ATOMIC)" : "");
    else
        dm_log_info(
            "locks of windows: %s%s",
            has_words ? is_remote ? "words in shared memory; other hosts' processes ask by messages"
                                  : "words in shared memory"
                      : "messages to their owner",
            is_forced ? "; no provider has fetch-and-add (DATUM_RMA_ATOMIC)" : "");
}

/* Who updates 8-byte integers in windows, as far as this process can tell. */
static void explain_updates(struct dm_adapt *adapt)
{
    bool is_forced = dm_cfg()->rma_update == DM_RMA_UPDATE_YES;
    const struct dm_ia *ia = NULL;

    if (adapt->rails.n_ias == 0)
        return;
    if (dm_cfg()->rma != DM_RMA_EMULATED &&
        (is_forced || (dm_cfg()->rma_update == DM_RMA_UPDATE_AUTO && adapt->job.n_local == 1)))
        ia = dm_atomic_rail(adapt, !dm_adapt_is_one_host(adapt), is_forced, true);
    if (ia != NULL)
        dm_log_info(
            "8-byte integers in windows: updated by atomic operations over %s, by their owner "
            "too%s",
            ia->name,
            is_forced ? " (DATUM_RMA_UPDATE)"
                      : ", where the hint mpi_accumulate_granularity allows it");
    else
        dm_log_info("8-byte integers in windows: updated by processors%s",
                    is_forced ? "; no provider has the operations (DATUM_RMA_UPDATE)" : "");
}

void dm_adapt_explain(struct dm_adapt *adapt)
{
    int n_up = 0;

    dm_log_info("providers from %s", adapt->rails.conf.path);
    dm_log_info("%d processes, %d on this host%s; connections %s", adapt->job.size,
                adapt->job.n_local, adapt->is_oversubscribed ? ", more than cores" : "",
                adapt->is_demand ? "on demand" : "made at start");
    if (adapt->rails.n_ias == 0)
        dm_log_info("a job of one process uses no provider until it meets others");
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        explain_class(adapt, true, adapt->rails.ias[i]);
        explain_class(adapt, false, adapt->rails.ias[i]);
        n_up += adapt->rails.ias[i]->n_conns;
    }
    for (int i = 0; i < adapt->rails.n_ias && n_up < adapt->job.size - 1; i++)
        dm_log_info("provider %s (%s) is open for the peers not connected yet",
                    adapt->rails.ias[i]->name, adapt->rails.ias[i]->library);
    explain_rails(adapt);
    explain_progress(adapt);
    explain_queues(adapt);
    explain_locks(adapt);
    explain_updates(adapt);
    if (adapt->rails.refused != NULL)
        dm_log_info("not used:\n%s", adapt->rails.refused);
}

int dm_adapt_list_providers(void (*each)(void *arg, const struct dm_provider_info *info), void *arg)
{
    struct dm_provider_info info;
    char found[FOUND_LEN];
    struct dm_conf conf;
    int err = dm_conf_load(&conf);
    bool is_enough; /* for jobs */

    if (err != DM_OK)
        return err;
    is_enough = !conf.is_user || dm_cfg()->provider[0] != '\0';
    for (int i = 0; i < conf.n_entries; i++) {
        info.name = conf.entries[i].name;
        info.library = conf.entries[i].lib;
        info.params = conf.entries[i].params;
        info.is_builtin = conf.entries[i].is_builtin;
        info.is_usable = dm_ia_try(&conf.entries[i], found, sizeof(found)) == DM_OK;
        info.found = found;
        info.verdict = info.is_usable ? "ok" : dm_err_detail();
        is_enough |= info.is_usable && !info.is_builtin;
        each(arg, &info);
    }
    if (conf.n_bad > 0)
        dm_log_warn("%s:%d: %s; it is not used%s", conf.path, conf.first_bad, conf.bad_why,
                    conf.n_bad > 1 ? ", nor are others" : "");
    if (!is_enough)
        err = DM_FAIL(
            DM_EPROVIDER,
            "no provider of %s, which DAT_OVERRIDE names, opens: jobs end with this error, unless "
            "DATUM_PROVIDER names one that does",
            conf.path);
    dm_conf_free(&conf);
    return err;
}

const char *dm_adapt_no_watch(char *text, size_t len)
{
    struct dm_watch *watch = dm_watch_open(text, len);

    if (watch == NULL)
        return text;
    dm_watch_close(watch);
    return NULL;
}
