/*
 * Choosing the rails.
 *
 * Names decide nothing: what counts is what a provider reaches, whether it moves data by
 * itself out of pinned memory (an adapter that does RDMA) or through the host's stack, and the
 * speed of the interface that has its address. An order that the user gave, by
 * DATUM_PROVIDER or by a dat.conf of his own, stands.
 */
#include "dapl_adapt/provider/rails.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl_adapt/provider/conf.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/provider/serial.h"
#include "dapl_adapt/public/progress.h"
#include "dapl_adapt/public/types.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/hash.h"

/* ---- order ---- */

#define LINE_LEN 600

static bool rail_has_addr(const struct sockaddr *a, const struct dm_ia *ia)
{
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    memcpy(&in, ia->net.addr, sizeof(in));
    memcpy(&in6, ia->net.addr, sizeof(in6));
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
static int rail_speed(const char *name)
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

static void rail_find_interface(struct dm_ia *ia, const struct ifaddrs *list)
{
    for (; list != NULL; list = list->ifa_next) {
        if (!rail_has_addr(list->ifa_addr, ia))
            continue;
        snprintf(ia->net.dev, sizeof(ia->net.dev), "%s", list->ifa_name);
        ia->net.mbits = rail_speed(list->ifa_name);
        return;
    }
}

/* A rail to other hosts, where there are any. */
static bool rails_has_network(const struct dm_rails *rails)
{
    for (int i = 0; i < rails->n_ias; i++) {
        if (!rails->ias[i]->caps.is_local)
            return true;
    }
    return false;
}

/* They matter to rails of a network only. */
static void rails_find_interfaces(struct dm_rails *rails)
{
    struct ifaddrs *list;

    if (!rails_has_network(rails) || getifaddrs(&list) != 0)
        return;
    for (int i = 0; i < rails->n_ias; i++)
        rail_find_interface(rails->ias[i], list);
    freeifaddrs(list);
}

/* Does a come before b? */
static bool rail_is_better(const struct dm_ia *a, const struct dm_ia *b)
{
    if (a->caps.is_local != b->caps.is_local)
        return a->caps.is_local;
    if (a->caps.is_pinning != b->caps.is_pinning)
        return a->caps.is_pinning;
    if (a->net.mbits != b->net.mbits && a->net.mbits > 0 && b->net.mbits > 0)
        return a->net.mbits > b->net.mbits;
    return !a->is_builtin && b->is_builtin;
}

/* Those from `first` on. */
static void rails_sort(struct dm_rails *rails, int first)
{
    struct dm_ia *ia;
    int k;

    for (int i = first + 1; i < rails->n_ias; i++) {
        ia = rails->ias[i];
        for (k = i; k > first && rail_is_better(ia, rails->ias[k - 1]); k--)
            rails->ias[k] = rails->ias[k - 1];
        rails->ias[k] = ia;
    }
}

/* ---- opening ---- */

/* One more rail; a provider that does not open is remembered, not an error yet. */
static int rails_open_one(struct dm_rails *rails, struct dm_conf_entry *entry)
{
    struct dm_ia *ia;
    int err;

    entry->is_tried = true;
    err = dm_ia_open(entry, rails->n_peers, rails->per_peer, &ia);
    if (err != DM_OK) {
        dm_rails_add_refused(rails, entry->name, dm_err_detail());
        return err;
    }
    entry->is_open = true;
    rails->ias[rails->n_ias++] = ia;
    return DM_OK;
}

/* Try entries of one kind that nobody has tried, until there are enough rails. */
static void rails_open_some(struct dm_rails *rails, bool is_builtin)
{
    const struct dm_conf *conf = &rails->conf;

    for (int i = 0; i < conf->n_entries && rails->n_ias < DM_RAILS_MAX; i++) {
        if (conf->entries[i].is_builtin != is_builtin || conf->entries[i].is_tried)
            continue;
        rails_open_one(rails, &conf->entries[i]);
        if (rails->is_one_host && rails->n_ias > 0)
            return; /* it reaches everybody */
    }
}

static int rails_no_provider(const struct dm_rails *rails)
{
    const char *list = rails->refused != NULL ? rails->refused : "";
    const struct dm_conf *conf = &rails->conf;
    char lines[DM_CONF_WHY_LEN + 32] = "";

    if (conf->n_unusable > 0)
        snprintf(lines, sizeof(lines), "  line %d: %s\n", conf->first_unusable, conf->why);
    if (conf->is_user)
        return DM_FAIL(DM_EPROVIDER,
                       "no provider of %s, which DAT_OVERRIDE names, can be used:\n%s%s",
                       conf->path, lines, list);
    return DM_FAIL(DM_EPROVIDER, "no DAT provider can be used (datum-info says more):\n%s", list);
}

/* DATUM_PROVIDER: all of them, in that order. */
static int rails_open_named(struct dm_rails *rails)
{
    const struct dm_conf *conf = &rails->conf;
    char why[400];
    int err = DM_OK;

    for (int i = 0; i < conf->n_entries && err == DM_OK; i++) {
        if (rails->n_ias == DM_RAILS_MAX)
            return DM_FAIL(DM_ECONFIG, "DATUM_PROVIDER names more than %d providers", DM_RAILS_MAX);
        err = rails_open_one(rails, &conf->entries[i]);
    }
    if (err == DM_OK)
        return DM_OK;
    snprintf(why, sizeof(why), "%s", dm_err_detail());
    return DM_FAIL(err, "a provider that DATUM_PROVIDER names does not open: %s", why);
}

/* The user's choice, all of which must open; or everything that opens. */
int dm_rails_open(struct dm_rails *rails, int n_peers, int n_slots, bool is_one_host)
{
    const char *names = dm_cfg()->provider;
    int err = DM_OK;

    rails->n_peers = n_peers;
    rails->per_peer = 3 * n_slots + 96;
    rails->is_one_host = is_one_host;
    rails->is_named = names[strspn(names, ", \t")] != '\0';
    if (rails->is_named) {
        err = rails_open_named(rails);
        if (err != DM_OK)
            return err;
    } else if (rails->conf.is_user) {
        rails_open_some(rails, false);
        if (rails->n_ias == 0)
            return rails_no_provider(rails);
        if (!rails->is_one_host)
            rails_open_some(rails, true);
    } else {
        rails_open_some(rails, true);
        if (!rails->is_one_host || rails->n_ias == 0)
            rails_open_some(rails, false);
    }
    if (rails->n_ias == 0)
        return rails_no_provider(rails);
    rails_find_interfaces(rails);
    if (!rails->is_named && !rails->conf.is_user)
        rails_sort(rails, 0);
    rails->has_network = rails_has_network(rails);
    rails->n_own = rails->n_ias;
    for (int i = 0; i < rails->n_ias; i++)
        rails->ias[i]->index = i;
    return DM_OK;
}

void dm_rails_open_others(struct dm_rails *rails, int n_peers)
{
    int first = rails->n_ias;

    rails->n_peers = n_peers;
    rails->is_one_host = false;
    rails_open_some(rails, !rails->conf.is_user);
    rails_open_some(rails, rails->conf.is_user);
    rails_find_interfaces(rails);
    if (!rails->conf.is_user)
        rails_sort(rails, first);
    rails->has_network = rails_has_network(rails);
}

/* Of names, addresses, and whether there is a carrier. */
static uint64_t rails_hash_nets(void)
{
    const unsigned carrier = IFF_UP | IFF_RUNNING;
    uint64_t hash = DM_HASH_TEXT;
    struct ifaddrs *list;
    char text[NI_MAXHOST];

    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *net = list; net != NULL; net = net->ifa_next) {
        socklen_t len = net->ifa_addr == NULL                  ? 0
                        : net->ifa_addr->sa_family == AF_INET  ? sizeof(struct sockaddr_in)
                        : net->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                               : 0;

        hash = dm_hash_text(hash, net->ifa_name) ^ (net->ifa_flags & carrier);
        if (len > 0 &&
            getnameinfo(net->ifa_addr, len, text, sizeof(text), NULL, 0, NI_NUMERICHOST) == 0)
            hash = dm_hash_text(hash, text);
    }
    freeifaddrs(list);
    return hash;
}

bool dm_rails_open_late(struct dm_rails *rails)
{
    const struct dm_conf *conf = &rails->conf;
    uint64_t nets = rails_hash_nets();

    if (nets == rails->nets)
        return false;
    rails->nets = nets;

    for (int i = 0; i < conf->n_entries && rails->n_ias < DM_RAILS_MAX; i++) {
        struct dm_conf_entry *entry = &conf->entries[i];
        struct dm_ia *ia;

        if (!entry->is_tried || entry->is_open ||
            dm_ia_open(entry, rails->n_peers, rails->per_peer, &ia) != DM_OK)
            continue;
        entry->is_open = true;
        rails->ias[rails->n_ias++] = ia;
    }
    rails_find_interfaces(rails);
    rails->has_network = rails_has_network(rails);
    return true;
}

void dm_rails_see_wakes(struct dm_rails *rails)
{
    rails->has_wakes = rails->has_sides = rails->n_ias > 0;
    for (int i = 0; i < rails->n_ias; i++) {
        rails->has_wakes &= rails->ias[i]->wake.evd[DM_SIDE_RECV] != DAT_HANDLE_NULL;
        rails->has_sides &= rails->ias[i]->wake.evd[DM_SIDE_REQUEST] != DAT_HANDLE_NULL;
    }
}

void dm_rails_close(struct dm_rails *rails)
{
    for (int i = 0; i < rails->n_ias; i++)
        dm_ia_close(rails->ias[i]);
    free(rails->refused);
    dm_conf_free(&rails->conf);
    memset(rails, 0, sizeof(*rails));
}

void dm_rails_add_refused(struct dm_rails *rails, const char *name, const char *why)
{
    char line[LINE_LEN];
    size_t old = rails->refused != NULL ? strlen(rails->refused) : 0;
    char *grown;
    size_t len;

    if (strncmp(why, name, strlen(name)) == 0)
        snprintf(line, sizeof(line), "  %s\n", why);
    else
        snprintf(line, sizeof(line), "  %s: %s\n", name, why);
    len = strlen(line);
    grown = realloc(rails->refused, old + len + 1);
    if (grown == NULL)
        return;
    memcpy(grown + old, line, len + 1);
    rails->refused = grown;
}

void dm_rail_wake(struct dm_ia *ia, enum dm_side side)
{
    DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

    if (ia->wake.evd[side] == DAT_HANDLE_NULL ||
        (ia->wake.evd[side] == ia->dto_evd && atomic_exchange(&ia->wake.is_posted, true)))
        return;
    event.evd_handle = ia->wake.evd[side];
    dm_serial_enter(ia->is_serial);
    if (dat_evd_post_se(ia->wake.evd[side], &event) != DAT_SUCCESS) /* full: it is awake anyway */
        atomic_store(&ia->wake.is_posted, false);
    dm_serial_leave(ia->is_serial);
}

void dm_rails_wake(struct dm_rails *rails, enum dm_side side)
{
    for (int i = 0; i < rails->n_ias; i++)
        dm_rail_wake(rails->ias[i], side);
}

bool dm_rails_can_map(const struct dm_rails *rails)
{
    for (int i = 0; i < rails->n_ias; i++) {
        if (rails->ias[i]->caps.can_share)
            return true;
    }
    return false;
}
