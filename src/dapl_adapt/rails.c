/*
 * Choosing the rails.
 *
 * Names decide nothing: what counts is what a provider reaches, whether it moves data by
 * itself out of pinned memory (an adapter that does RDMA) or through the host's stack, and the
 * speed of the interface that has its address. An order that the user gave, by
 * DATUM_PROVIDER or by a dat.conf of his own, stands.
 */
#include "dapl_adapt/rails.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/err.h"

bool dm_rails_is_one_host(const struct dm_adapt_job *job)
{
    return job->n_local == job->size;
}

/* ---- order ---- */

static bool is_same_addr(const struct sockaddr *a, const struct dm_ia *ia)
{
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    memcpy(&in, ia->addr, sizeof(in));
    memcpy(&in6, ia->addr, sizeof(in6));
    if (a == NULL || a->sa_family != in.sin_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr, &in.sin_addr,
                      sizeof(in.sin_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, &in6.sin6_addr,
                  sizeof(in6.sin6_addr)) == 0;
}

/* Mbit/s that the kernel tells of an interface; 0: it does not. */
static int speed_of(const char *name)
{
    char path[300];
    char text[32];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/sys/class/net/%.200s/speed", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    len = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    return atoi(text) > 0 ? atoi(text) : 0;
}

static void find_interface(struct dm_ia *ia, const struct ifaddrs *list)
{
    for (; list != NULL; list = list->ifa_next) {
        if (!is_same_addr(list->ifa_addr, ia))
            continue;
        snprintf(ia->net_if, sizeof(ia->net_if), "%s", list->ifa_name);
        ia->mbits = speed_of(list->ifa_name);
        return;
    }
}

static void find_interfaces(struct dm_adapt *adapt)
{
    struct ifaddrs *list;

    if (getifaddrs(&list) != 0)
        return;
    for (int i = 0; i < adapt->n_ias; i++)
        find_interface(adapt->ias[i], list);
    freeifaddrs(list);
}

/* Does a come before b? */
static bool is_better(const struct dm_ia *a, const struct dm_ia *b)
{
    if (a->is_local != b->is_local)
        return a->is_local;
    if (a->is_pinning != b->is_pinning)
        return a->is_pinning;
    if (a->mbits != b->mbits && a->mbits > 0 && b->mbits > 0)
        return a->mbits > b->mbits;
    return !a->is_builtin && b->is_builtin;
}

static void sort_rails(struct dm_adapt *adapt)
{
    struct dm_ia *ia;
    int k;

    for (int i = 1; i < adapt->n_ias; i++) {
        ia = adapt->ias[i];
        for (k = i; k > 0 && is_better(ia, adapt->ias[k - 1]); k--)
            adapt->ias[k] = adapt->ias[k - 1];
        adapt->ias[k] = ia;
    }
}

/* ---- opening ---- */

/* One more rail; a provider that does not open is remembered, not an error yet. */
static int open_one(struct dm_adapt *adapt, struct dm_conf_entry *entry)
{
    int per_peer = 3 * (int)adapt->n_slots + 96;
    struct dm_ia *ia;
    int err;

    entry->is_tried = true;
    err = dm_ia_open(entry, adapt->job.size - 1, per_peer, &ia);
    if (err != DM_OK) {
        dm_explain_refused(adapt, entry->name, dm_err_detail());
        return err;
    }
    ia->adapt = adapt;
    adapt->ias[adapt->n_ias++] = ia;
    return DM_OK;
}

/* A rail to other hosts, where there are any. */
static bool has_network(const struct dm_adapt *adapt)
{
    for (int i = 0; i < adapt->n_ias; i++) {
        if (!adapt->ias[i]->is_local)
            return true;
    }
    return false;
}

/* Try entries of one kind until there are enough rails. */
static void open_some(struct dm_adapt *adapt, bool is_builtin)
{
    const struct dm_conf *conf = &adapt->conf;

    for (int i = 0; i < conf->n_entries && adapt->n_ias < DM_RAILS_MAX; i++) {
        if (conf->entries[i].is_builtin != is_builtin)
            continue;
        open_one(adapt, &conf->entries[i]);
        if (dm_rails_is_one_host(&adapt->job) && adapt->n_ias > 0)
            return; /* it reaches everybody */
    }
}

static int no_provider(const struct dm_adapt *adapt)
{
    const char *list = adapt->refused != NULL ? adapt->refused : "";

    if (adapt->conf.is_user)
        return DM_FAIL(DM_EPROVIDER,
                       "no provider of %s, which DAT_OVERRIDE names, can be used:\n%s",
                       adapt->conf.path, list);
    return DM_FAIL(DM_EPROVIDER, "no DAT provider can be used (datum-info says more):\n%s", list);
}

/* DATUM_PROVIDER: all of them, in that order. */
static int open_named(struct dm_adapt *adapt)
{
    const struct dm_conf *conf = &adapt->conf;
    char why[400];
    int err = DM_OK;

    for (int i = 0; i < conf->n_entries && err == DM_OK; i++) {
        if (adapt->n_ias == DM_RAILS_MAX)
            return DM_FAIL(DM_ECONFIG, "DATUM_PROVIDER names more than %d providers", DM_RAILS_MAX);
        err = open_one(adapt, &conf->entries[i]);
    }
    if (err == DM_OK)
        return DM_OK;
    snprintf(why, sizeof(why), "%s", dm_err_detail());
    return DM_FAIL(err, "a provider that DATUM_PROVIDER names does not open: %s", why);
}

/* The user's choice, all of which must open; or everything that opens. */
int dm_rails_open(struct dm_adapt *adapt)
{
    const char *names = dm_cfg()->provider;
    int err = DM_OK;

    adapt->is_named = names[strspn(names, ", \t")] != '\0';
    if (adapt->is_named) {
        err = open_named(adapt);
        if (err != DM_OK)
            return err;
    } else if (adapt->conf.is_user) {
        open_some(adapt, false);
        if (adapt->n_ias == 0)
            return no_provider(adapt);
        if (!dm_rails_is_one_host(&adapt->job))
            open_some(adapt, true);
    } else {
        open_some(adapt, true);
        if (!dm_rails_is_one_host(&adapt->job) || adapt->n_ias == 0)
            open_some(adapt, false);
    }
    if (adapt->n_ias == 0)
        return no_provider(adapt);
    find_interfaces(adapt);
    if (!adapt->is_named && !adapt->conf.is_user)
        sort_rails(adapt);
    adapt->has_network = has_network(adapt);
    for (int i = 0; i < adapt->n_ias; i++)
        adapt->ias[i]->index = i;
    return DM_OK;
}
