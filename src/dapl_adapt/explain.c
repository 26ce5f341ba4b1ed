/*
 * What DATUM_EXPLAIN prints, and the list of providers for datum-info.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl_adapt/adapt.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/log.h"

#define LINE_LEN  600
#define FOUND_LEN 160

void dm_explain_refused(struct dm_adapt *adapt, const char *name, const char *why)
{
    char line[LINE_LEN];
    size_t old = adapt->refused != NULL ? strlen(adapt->refused) : 0;
    char *grown;
    size_t len;

    if (strncmp(why, name, strlen(name)) == 0)
        snprintf(line, sizeof(line), "  %s\n", why);
    else
        snprintf(line, sizeof(line), "  %s: %s\n", name, why);
    len = strlen(line);
    grown = realloc(adapt->refused, old + len + 1);
    if (grown == NULL)
        return;
    memcpy(grown + old, line, len + 1);
    adapt->refused = grown;
}

/* Peers of one class: on this host or not, over one rail. */
static void explain_class(const struct dm_adapt *adapt, bool is_near, const struct dm_ia *ia)
{
    const struct dm_adapt_job *job = &adapt->job;
    const struct dm_conn *conn;
    const struct dm_conn *one = NULL;
    char found[FOUND_LEN];
    int n = 0;

    for (int i = 0; i < job->size; i++) {
        conn = &adapt->conns[i];
        if (i == job->rank || !conn->is_up || conn->ia != ia ||
            (job->node_of == NULL || job->node_of[i] == job->node_of[job->rank]) != is_near)
            continue;
        one = conn;
        n++;
    }
    if (one == NULL)
        return;
    dm_log_info("%d peer%s on %s: provider %s (%s)", n, n > 1 ? "s" : "",
                is_near ? "this host" : "other hosts", ia->name, ia->library);
    dm_log_info("  small messages: %s, %u slots of %u bytes each way",
                one->is_sendrecv ? "send/receive into posted buffers, a waiting process is woken"
                                 : "RDMA write into a ring",
                adapt->n_slots, adapt->slot_size);
    dm_log_info("  large messages: %s",
                dm_cfg()->rndv == DM_RNDV_READ   ? "RDMA read (DATUM_RNDV)"
                : dm_cfg()->rndv == DM_RNDV_PIPE ? "copies through the pipe "
                                                   "(DATUM_RNDV)"
                : ia->rndv_choice == 0           ? "to be measured at the first one"
                : ia->rndv_choice == 1           ? "RDMA read (measured)"
                                                 : "copies through the pipe (measured)");
    dm_ia_found(ia, found, sizeof(found));
    dm_log_info("  found: %s; %llu bytes a transfer, registrations %s", found,
                (unsigned long long)ia->max_rdma, adapt->keeps_regs ? "cached" : "freed after use");
}

void dm_adapt_explain(struct dm_adapt *adapt)
{
    int n_up = 0;

    dm_log_info("providers from %s", adapt->conf.path);
    dm_log_info("%d processes, %d on this host%s; connections %s", adapt->job.size,
                adapt->job.n_local, adapt->is_crowded ? ", more than cores" : "",
                adapt->is_demand ? "on demand" : "made at start");
    if (adapt->job.size == 1)
        dm_log_info("a job of one process uses no provider");
    for (int i = 0; i < adapt->n_ias; i++) {
        explain_class(adapt, true, adapt->ias[i]);
        explain_class(adapt, false, adapt->ias[i]);
        n_up += adapt->ias[i]->n_conns;
    }
    for (int i = 0; i < adapt->n_ias && n_up < adapt->job.size - 1; i++)
        dm_log_info("provider %s (%s) is open for the peers not connected yet", adapt->ias[i]->name,
                    adapt->ias[i]->library);
    if (adapt->refused != NULL)
        dm_log_info("not used:\n%s", adapt->refused);
}

int dm_adapt_list_providers(void (*each)(void *arg, const struct dm_provider_info *info), void *arg)
{
    struct dm_provider_info info;
    char found[FOUND_LEN];
    struct dm_conf conf;
    int err = dm_conf_load(&conf);

    if (err != DM_OK)
        return err;
    for (int i = 0; i < conf.n_entries; i++) {
        info.name = conf.entries[i].name;
        info.library = conf.entries[i].lib;
        info.params = conf.entries[i].params;
        info.is_builtin = conf.entries[i].is_builtin;
        info.is_usable = dm_ia_try(&conf.entries[i], found, sizeof(found)) == DM_OK;
        info.found = found;
        info.verdict = info.is_usable ? "ok" : dm_err_detail();
        each(arg, &info);
    }
    dm_conf_free(&conf);
    return DM_OK;
}
