/*
 * Placement of ranks on hosts, and how it is written down.
 */
#include "tools/mpiexec/placement.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/cfg.h"
#include "util/host.h"
#include "util/log.h"
#include "util/strbuf.h"

/* ---- hosts ---- */

/* -1: it is not there. */
static int place_find(const struct dm_launch_place *place, const char *name, size_t len)
{
    for (int i = 0; i < place->n_hosts; i++)
        if (strlen(place->hosts[i].name) == len && strncmp(place->hosts[i].name, name, len) == 0)
            return i;
    return -1;
}

static bool place_add_host(struct dm_launch_place *place, const char *name, size_t len, int slots)
{
    int known = place_find(place, name, len);
    struct dm_launch_host *new;

    if (known >= 0) {
        int *slots_p = &place->hosts[known].slots;

        /* Named again: one more of its slots, as in a file of a line for each. */
        *slots_p = (*slots_p > 0 ? *slots_p : 1) + (slots > 0 ? slots : 1);
        return true;
    }
    new = realloc(place->hosts, ((size_t)place->n_hosts + 1) * sizeof(*new));
    if (new == NULL)
        return false;
    place->hosts = new;
    new[place->n_hosts].name = strndup(name, len);
    new[place->n_hosts].slots = slots;
    return new[place->n_hosts++].name != NULL;
}

/* One word NAME[:SLOTS], and slots from elsewhere, 0: none. */
static bool place_add_word(struct dm_launch_place *place, const char *word, size_t len, int slots)
{
    const char *colon = memrchr(word, ':', len);
    /* An address of IPv6 has more of them. */
    size_t name_len =
        colon != NULL && memchr(word, ':', len) == colon ? (size_t)(colon - word) : len;
    char *end = NULL;

    if (name_len < len) {
        slots = (int)strtol(colon + 1, &end, 10);
        if (end != word + len || slots < 1) {
            dm_log_error("mpiexec: '%.*s' must be a host, or HOST:NUMBER with a number from 1",
                         (int)len, word);
            return false;
        }
    }
    if (name_len == 0) {
        dm_log_error("mpiexec: a host has no name in '%.*s'", (int)len, word);
        return false;
    }
    return place_add_host(place, word, name_len, slots);
}

bool dm_launch_place_hosts(struct dm_launch_place *place, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, ", ");

        if (len > 0 && !place_add_word(place, text, len, 0))
            return false;
        text += len;
        text += strspn(text, ", ");
    }
    if (place->n_hosts == 0)
        dm_log_error("mpiexec: no host is named");
    return place->n_hosts > 0;
}

bool dm_launch_place_programs(struct dm_launch_place *place,
                              const struct dm_launch_options *options)
{
    bool is_good = true;

    for (size_t i = 0; i < options->n_apps && is_good; i++) {
        struct dm_launch_place own = {0};

        if (options->apps[i].hosts == NULL)
            continue;
        is_good = dm_launch_place_hosts(&own, options->apps[i].hosts);
        for (int k = 0; k < own.n_hosts && is_good; k++) {
            const struct dm_launch_host *host = &own.hosts[k];
            size_t len = strlen(host->name);

            is_good = place_find(place, host->name, len) >= 0 ||
                      place_add_host(place, host->name, len, host->slots);
        }
        dm_launch_place_free(&own);
    }
    return is_good;
}

static bool place_add_line(struct dm_launch_place *place, char *line)
{
    char *word;
    size_t len;
    const char *slots;

    line[strcspn(line, "#\r\n")] = '\0';
    word = line + strspn(line, " \t");
    len = strcspn(word, " \t");
    if (len == 0)
        return true;
    slots = strstr(word + len, "slots=");
    return place_add_word(place, word, len, slots != NULL ? (int)strtol(slots + 6, NULL, 10) : 0);
}

bool dm_launch_place_hostfile(struct dm_launch_place *place, const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t len = 0;
    bool is_good = true;

    if (f == NULL) {
        dm_log_error("mpiexec: the file of hosts %s: %s", path, strerror(errno));
        return false;
    }
    while (is_good && getline(&line, &len, f) >= 0)
        is_good = place_add_line(place, line);
    free(line);
    fclose(f);
    if (is_good && place->n_hosts == 0) {
        dm_log_error("mpiexec: the file of hosts %s names none", path);
        return false;
    }
    return is_good;
}

/* Does one of this host's own addresses belong to the name? */
static bool is_own_address(const struct addrinfo *info)
{
    struct ifaddrs *list = NULL;
    const struct sockaddr_in *a = (const void *)info->ai_addr;
    bool is_own = false;

    if (ntohl(a->sin_addr.s_addr) >> 24 == 127)
        return true;
    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *one = list; one != NULL && !is_own; one = one->ifa_next)
        is_own = one->ifa_addr != NULL && one->ifa_addr->sa_family == AF_INET &&
                 ((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr.s_addr ==
                     a->sin_addr.s_addr;
    freeifaddrs(list);
    return is_own;
}

bool dm_launch_place_exists(const char *name)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    if (strcmp(name, dm_host_name()) == 0)
        return true;
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    freeaddrinfo(list);
    return true;
}

bool dm_launch_place_is_here(const char *name)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const char *own = dm_host_name();
    const char *node = dm_cfg_env("SLURMD_NODENAME"); /* which need not be the host's name */
    bool is_here;

    if (strcmp(name, own) == 0 || strcmp(name, "localhost") == 0 ||
        (node != NULL && strcmp(name, node) == 0))
        return true;
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    is_here = is_own_address(list);
    freeaddrinfo(list);
    return is_here;
}

/* ---- ranks ---- */

/* Hosts that take ranks in turn. */
struct place_turns {
    const struct dm_launch_host *hosts; /* of the job, or of a program */
    int n_hosts;
    int ppn;
    bool is_by_node;
    int at;      /* whose turn it is, */
    int n_there; /* and how many ranks it has got; by node: how many rounds there were */
};

static int turns_slots(const struct place_turns *turns, int i)
{
    int slots = turns->ppn > 0 ? turns->ppn : turns->hosts[i].slots;

    return slots > 0 ? slots : 1;
}

static int turns_count(const struct place_turns *turns)
{
    int n = 0;

    for (int i = 0; i < turns->n_hosts; i++)
        n += turns_slots(turns, i);
    return n;
}

/* By node: a rank on each host that has a slot left, again until all are full, and from the start. */
static const char *turns_next_node(struct place_turns *turns)
{
    int most = 1;

    for (int i = 0; i < turns->n_hosts; i++)
        if (turns_slots(turns, i) > most)
            most = turns_slots(turns, i);
    for (;;) {
        int i = turns->at;
        bool has_slot = turns_slots(turns, i) > turns->n_there % most;

        turns->at = (i + 1) % turns->n_hosts;
        turns->n_there += turns->at == 0;
        if (has_slot)
            return turns->hosts[i].name;
    }
}

/* The host of the next rank. */
static const char *turns_next(struct place_turns *turns)
{
    const char *name = turns->hosts[turns->at].name;

    if (turns->is_by_node)
        return turns_next_node(turns);
    if (++turns->n_there >= turns_slots(turns, turns->at)) {
        turns->n_there = 0;
        turns->at = (turns->at + 1) % turns->n_hosts;
    }
    return name;
}

/* Put the ranks of a program behind those that have their place. False: no memory. */
static bool place_app(struct dm_launch_place *place, struct dm_launch_app *app, int index,
                      struct place_turns *turns, bool is_only)
{
    int n_all, *host_of, *app_of;

    if (app->n == 0)
        app->n = is_only ? turns_count(turns) : 1;
    n_all = place->n_ranks + app->n;
    host_of = realloc(place->host_of, (size_t)n_all * sizeof(int));
    if (host_of != NULL)
        place->host_of = host_of;
    app_of = realloc(place->app_of, (size_t)n_all * sizeof(int));
    if (app_of != NULL)
        place->app_of = app_of;
    if (host_of == NULL || app_of == NULL)
        return false;
    for (; place->n_ranks < n_all; place->n_ranks++) {
        const char *name = turns_next(turns);

        host_of[place->n_ranks] = place_find(place, name, strlen(name));
        app_of[place->n_ranks] = index;
    }
    return true;
}

bool dm_launch_place_ranks(struct dm_launch_place *place, const struct dm_launch_options *options)
{
    struct place_turns turns = {.ppn = options->ppn, .is_by_node = options->map.is_by_node};
    bool is_good;

    place->n_ranks = 0;
    place->n_common = place->n_hosts;
    is_good = dm_launch_place_programs(place, options);
    turns.hosts = place->hosts;
    turns.n_hosts = place->n_common;
    for (size_t i = 0; i < options->n_apps && is_good; i++) {
        struct dm_launch_app *app = &options->apps[i];
        struct dm_launch_place own = {0};
        struct place_turns own_turns = turns;

        own_turns.at = own_turns.n_there = 0;
        is_good = app->hosts == NULL || dm_launch_place_hosts(&own, app->hosts);
        own_turns.hosts = own.hosts;
        own_turns.n_hosts = own.n_hosts;
        is_good = is_good && place_app(place, app, (int)i, app->hosts != NULL ? &own_turns : &turns,
                                       options->n_apps == 1);
        dm_launch_place_free(&own);
    }
    return is_good;
}

bool dm_launch_place_is_used(const struct dm_launch_place *place, int host)
{
    for (int rank = 0; rank < place->n_ranks; rank++)
        if (place->host_of[rank] == host)
            return true;
    return false;
}

/* A block of the mapping: so many hosts one after the other, with so many ranks each. */
struct map_block {
    int first, n_hosts, per_host;
};

/* The block that begins with this rank; returns the first rank behind it. */
static int next_block(const struct dm_launch_place *place, int rank, struct map_block *block)
{
    const int *host_of = place->host_of;

    block->first = host_of[rank];
    block->n_hosts = 0;
    block->per_host = 0;
    while (rank < place->n_ranks) {
        int end = rank;

        while (end < place->n_ranks && host_of[end] == host_of[rank])
            end++;
        if (block->n_hosts > 0 &&
            (host_of[rank] != block->first + block->n_hosts || end - rank != block->per_host))
            break;
        block->per_host = end - rank;
        block->n_hosts++;
        rank = end;
    }
    return rank;
}

/* Does this block alone, again and again, say it all? */
static bool is_all(const struct dm_launch_place *place, const struct map_block *block)
{
    for (int rank = 0; rank < place->n_ranks; rank++)
        if (place->host_of[rank] != block->first + rank / block->per_host % block->n_hosts)
            return false;
    return true;
}

bool dm_launch_place_mapping(const struct dm_launch_place *place, char *text, size_t len)
{
    struct map_block block;
    struct dm_strbuf sb;
    int rank = 0;

    dm_strbuf_init(&sb, text, len);
    dm_strbuf_add(&sb, "(vector");
    do {
        bool is_first = rank == 0;

        rank = next_block(place, rank, &block);
        dm_strbuf_addf(&sb, ",(%d,%d,%d)", block.first, block.n_hosts, block.per_host);
        if (is_first && is_all(place, &block))
            break;
    } while (rank < place->n_ranks);
    return dm_strbuf_add(&sb, ")");
}

void dm_launch_place_free(struct dm_launch_place *place)
{
    for (int i = 0; i < place->n_hosts; i++)
        free(place->hosts[i].name);
    free(place->hosts);
    free(place->host_of);
    free(place->app_of);
}
