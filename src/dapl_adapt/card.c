/*
 * Address cards. One value in the launcher's key-value space:
 *
 *   "4;0.1.0;HOST;64,16384,5f0,0,0,0;3;name,ADDRESS,QUAL,INDEX;..."
 *
 * form of the card, version of the library, the host by what the kernel knows of it, ring
 * settings and the hash of those of collectives, DATUM_EAGER, DATUM_RNDV and DATUM_RNDV_INLINE, cores, rails. Addresses are bytes in hexadecimal, since nobody but their provider
 * understands them. In a job of several hosts a process without any rail that leaves its host adds
 * why: "!words+of+a+refusal;".
 */
#include "dapl_adapt/card.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/rails.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/host.h"
#include "util/kv.h"
#include "util/log.h"
#include "util/strbuf.h"

#define CARD_VERSION 4
#define WHY_MAX      160 /* bytes of reasons in a card */
#define KEY_LEN      64

static void own_cpus(uint64_t *words)
{
    cpu_set_t set;

    memset(words, 0, DM_CARD_CPU_WORDS * sizeof(*words));
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (int i = 0; i < DM_CARD_CPU_WORDS * 64 && i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set))
            words[i / 64] |= UINT64_C(1) << i % 64;
    }
}

static int count_cpus(const uint64_t *words)
{
    int n = 0;

    for (int i = 0; i < DM_CARD_CPU_WORDS * 64; i++)
        n += words[i / 64] >> i % 64 & 1;
    return n;
}

uint64_t dm_card_own_host(void)
{
    uint64_t h = UINT64_C(14695981039346656037);
    char id[64] = "";
    struct stat st;
    ssize_t len;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        len = read(fd, id, sizeof(id) - 1);
        id[len > 0 ? len : 0] = '\0';
        close(fd);
    }
    for (const char *p = id; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
    if (stat("/proc/self/ns/net", &st) == 0)
        h = (h ^ (uint64_t)st.st_ino) * UINT64_C(1099511628211);
    return h;
}

/* What was refused, in letters that every launcher carries. */
static void write_refusals(const struct dm_adapt *adapt, struct dm_strbuf *sb)
{
    const char *text = adapt->refused;
    char safe[WHY_MAX];
    size_t n = 0;

    for (; *text != '\0' && n + 1 < sizeof(safe); text++) {
        if (isalnum((unsigned char)*text) || strchr("-_.:/,()", *text) != NULL)
            safe[n++] = *text;
        else if (n > 0 && safe[n - 1] != '+')
            safe[n++] = '+';
    }
    safe[n] = '\0';
    dm_strbuf_addf(sb, "!%s;", safe);
}

void dm_card_write(const struct dm_adapt *adapt, char *buf, size_t len)
{
    uint64_t cpus[DM_CARD_CPU_WORDS];
    const struct dm_ia *ia;
    struct dm_strbuf sb;
    size_t mark;
    int last = DM_CARD_CPU_WORDS - 1;

    own_cpus(cpus);
    while (last > 0 && cpus[last] == 0)
        last--;
    dm_strbuf_init(&sb, buf, len);
    dm_strbuf_addf(&sb, "%d;%s;%llx;%u,%u,%x,%d,%d,%d;", CARD_VERSION, DM_VERSION,
                   (unsigned long long)adapt->own_host, adapt->n_slots, adapt->slot_size,
                   adapt->coll_hash, dm_cfg()->eager, dm_cfg()->rndv, dm_cfg()->rndv_inline);
    for (int i = 0; i <= last; i++)
        dm_strbuf_addf(&sb, "%s%llx", i > 0 ? "," : "", (unsigned long long)cpus[i]);
    dm_strbuf_add(&sb, ";");
    if (!adapt->has_network && adapt->refused != NULL && !dm_rails_is_one_host(&adapt->job))
        write_refusals(adapt, &sb);
    for (int i = 0; i < adapt->n_ias; i++) {
        ia = adapt->ias[i];
        mark = sb.len;
        dm_strbuf_addf(&sb, "%s,", ia->name);
        for (size_t k = 0; k < ia->addr_len; k++)
            dm_strbuf_addf(&sb, "%02x", ia->addr[k]);
        dm_strbuf_addf(&sb, ",%llx,%d;", (unsigned long long)ia->qual, ia->index);
        if (sb.is_short) {
            buf[mark] = '\0';
            dm_log_warn("no room in the launcher's key-value space for the address of %s",
                        ia->name);
            return;
        }
    }
}

static int bad_card(const char *text)
{
    return DM_FAIL(
        DM_ECONN,
        "a process published an address that cannot be understood; do all hosts have the "
        "same version of Datum (here %s)? It says: %.100s",
        DM_VERSION, text);
}

/* "name,ADDRESS,QUAL,INDEX"; modifies it. */
static bool read_rail(char *text, struct dm_card_rail *rail)
{
    char *save = NULL;
    char *name = strtok_r(text, ",", &save);
    char *addr = strtok_r(NULL, ",", &save);
    char *qual = strtok_r(NULL, ",", &save);
    char *index = strtok_r(NULL, ",", &save);
    unsigned byte;

    if (index == NULL || strlen(name) >= sizeof(rail->name) || strlen(addr) % 2 != 0 ||
        strlen(addr) > (size_t)DM_IA_ADDR_MAX * 2 ||
        strspn(addr, "0123456789abcdef") != strlen(addr))
        return false;
    snprintf(rail->name, sizeof(rail->name), "%s", name);
    rail->addr_len = strlen(addr) / 2;
    for (size_t i = 0; i < rail->addr_len; i++) {
        if (sscanf(addr + 2 * i, "%2x", &byte) != 1)
            return false;
        rail->addr[i] = (unsigned char)byte;
    }
    rail->qual = strtoull(qual, NULL, 16);
    rail->index = atoi(index);
    return rail->index >= 0 && rail->index < DM_RAILS_MAX;
}

/* "4;VERSION;HOST;SLOTS,SIZE,HASH,EAGER,RNDV,INLINE;CPUS": false for nonsense. */
static bool read_head(char *copy, char **save_p, struct dm_card *card)
{
    char *form = strtok_r(copy, ";", save_p);
    char *version = strtok_r(NULL, ";", save_p);
    char *host = strtok_r(NULL, ";", save_p);
    char *rings = strtok_r(NULL, ";", save_p);
    char *cpus = strtok_r(NULL, ";", save_p);
    int i = 0;

    if (cpus == NULL || atoi(form) != CARD_VERSION || strlen(version) >= sizeof(card->version) ||
        sscanf(rings, "%u,%u,%x,%u,%u,%u", &card->n_slots, &card->slot_size, &card->coll_hash,
               &card->eager, &card->rndv, &card->is_inline) != 6)
        return false;
    snprintf(card->version, sizeof(card->version), "%s", version);
    card->host = strtoull(host, NULL, 16);
    for (char *end = cpus; i < DM_CARD_CPU_WORDS; end++) {
        card->cpus[i++] = strtoull(end, &end, 16);
        if (*end != ',')
            break;
    }
    return true;
}

int dm_card_read(const char *text, struct dm_card *card_p)
{
    char copy[DM_KV_VAL_MAX];
    char *save = NULL;
    char *token;

    memset(card_p, 0, sizeof(*card_p));
    snprintf(copy, sizeof(copy), "%s", text);
    if (!read_head(copy, &save, card_p))
        return bad_card(text);
    while ((token = strtok_r(NULL, ";", &save)) != NULL) {
        if (*token == '!') {
            for (char *p = token; *p != '\0'; p++)
                *p = *p == '+' ? ' ' : *p;
            snprintf(card_p->why, sizeof(card_p->why), "%s", token + 1);
            continue;
        }
        if (card_p->n_rails == DM_RAILS_MAX || !read_rail(token, &card_p->rails[card_p->n_rails]))
            return bad_card(text);
        card_p->n_rails++;
    }
    return DM_OK;
}

static void key_of(const struct dm_adapt *adapt, int proc, char *key)
{
    (void)adapt;
    snprintf(key, KEY_LEN, "datum-card-%d", proc);
}

int dm_card_publish(struct dm_adapt *adapt)
{
    char text[DM_KV_VAL_MAX];
    char key[KEY_LEN];
    int err;

    dm_card_write(adapt, text, sizeof(text));
    key_of(adapt, adapt->job.rank, key);
    DM_TRACE(CONN, "card %s", text);
    err = adapt->job.kv.put(adapt->job.kv.arg, key, text);
    if (err == DM_OK)
        err = adapt->job.kv.fence(adapt->job.kv.arg);
    return err;
}

static int get_card(const struct dm_adapt *adapt, int proc, struct dm_card *card_p)
{
    char text[DM_KV_VAL_MAX];
    char key[KEY_LEN];
    int err;

    key_of(adapt, proc, key);
    err = adapt->job.kv.get(adapt->job.kv.arg, key, text, sizeof(text));
    return err == DM_OK ? dm_card_read(text, card_p) : err;
}

bool dm_card_is_near(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_adapt_job *job = &adapt->job;

    if (job->node_of == NULL || job->node_of[job->rank] == job->node_of[conn->proc])
        return true;
    return conn->card != NULL && conn->card->host == conn->adapt->own_host;
}

bool dm_card_is_apart(const struct dm_conn *conn)
{
    const struct dm_adapt_job *job = &conn->adapt->job;

    return (job->node_of == NULL || job->node_of[job->rank] == job->node_of[conn->proc]) &&
           conn->card != NULL && conn->card->host != conn->adapt->own_host;
}

static int family_of(const unsigned char *addr)
{
    struct sockaddr_in in;

    memcpy(&in, addr, sizeof(in));
    return in.sin_family;
}

static const char *family_text(int family)
{
    return family == AF_INET ? "IPv4" : family == AF_INET6 ? "IPv6" : "another kind of";
}

/* The rail of the peer that answers to one of ours, or why there is none. */
static const struct dm_card_rail *match(const struct dm_conn *conn, const struct dm_ia *ia,
                                        bool is_near, char *why, size_t len)
{
    const struct dm_card_rail *rail = NULL;

    for (int k = 0; k < conn->card->n_rails && rail == NULL; k++) {
        if (strcmp(ia->name, conn->card->rails[k].name) == 0)
            rail = &conn->card->rails[k];
    }
    if (ia->is_local && !is_near)
        snprintf(why, len, "reaches only its own host");
    else if (rail == NULL)
        snprintf(why, len, "not open there");
    else if (family_of(rail->addr) != family_of(ia->addr))
        snprintf(why, len, "has an %s address here, an %s address there",
                 family_text(family_of(ia->addr)), family_text(family_of(rail->addr)));
    else
        return rail;
    return NULL;
}

/* Every provider of either side and why it is not the one. */
static int no_rail(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    bool is_near = dm_card_is_near(conn);
    const char *name;
    char list[900];
    char why[100];
    struct dm_strbuf sb;
    bool is_here;

    dm_strbuf_init(&sb, list, sizeof(list));
    for (int i = 0; i < adapt->n_ias; i++) {
        match(conn, adapt->ias[i], is_near, why, sizeof(why));
        dm_strbuf_addf(&sb, "  %s: %s\n", adapt->ias[i]->name, why);
    }
    for (int i = 0; i < conn->card->n_rails; i++) {
        name = conn->card->rails[i].name;
        is_here = false;
        for (int k = 0; k < adapt->n_ias; k++)
            is_here = is_here || strcmp(adapt->ias[k]->name, name) == 0;
        if (!is_here)
            dm_strbuf_addf(&sb, "  %s: open there, not here\n", name);
    }
    if (adapt->refused != NULL)
        dm_strbuf_addf(&sb, "refused here:\n%s", adapt->refused);
    if (conn->card->why[0] != '\0')
        dm_strbuf_addf(&sb, "refused there: %s\n", conn->card->why);
    return DM_FAIL(
        DM_ECONN,
        "no DAT provider of host %s reaches rank %d on host %s:\n%s"
        "run datum-info --providers on both hosts; a provider for their network must open on "
        "both, under one name (DAT_OVERRIDE names the dat.conf, DATUM_PROVIDER chooses)",
        dm_host_name(), conn->proc, dm_adapt_host_of(adapt, conn->proc), list);
}

static int check_setting(const struct dm_conn *conn, const char *name, unsigned theirs,
                         unsigned mine)
{
    if (theirs == mine)
        return DM_OK;
    return DM_FAIL(DM_ECONN,
                   "rank %d on host %s and rank %d on host %s have different settings of %s; set "
                   "it alike for all",
                   conn->proc, dm_adapt_host_of(conn->adapt, conn->proc), conn->adapt->job.rank,
                   dm_host_name(), name);
}

/* What the two ends of a connection must do alike. */
static int check_design(const struct dm_conn *conn)
{
    const struct dm_card *card = conn->card;
    int err = check_setting(conn, "DATUM_EAGER", card->eager, (unsigned)dm_cfg()->eager);

    if (err == DM_OK)
        err = check_setting(conn, "DATUM_RNDV", card->rndv, (unsigned)dm_cfg()->rndv);
    if (err == DM_OK)
        err = check_setting(conn, "DATUM_RNDV_INLINE", card->is_inline, dm_cfg()->rndv_inline);
    return err;
}

/* Processes that were started with other settings, or from another installation. */
static int check_settings(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_card *card = conn->card;

    if (strcmp(card->version, DM_VERSION) != 0)
        return DM_FAIL(
            DM_ECONN,
            "rank %d on host %s runs Datum %s, rank %d on host %s runs Datum %s; install one "
            "version on all hosts",
            conn->proc, dm_adapt_host_of(adapt, conn->proc), card->version, adapt->job.rank,
            dm_host_name(), DM_VERSION);
    if (card->n_slots != adapt->n_slots || card->slot_size != adapt->slot_size)
        return DM_FAIL(
            DM_ECONN,
            "rank %d on host %s has rings of %u slots of %u bytes, rank %d on host %s of %u "
            "slots of %u bytes; set DATUM_RING_SLOTS, DATUM_RING_SLOT_SIZE and DATUM_CHUNK alike "
            "for all",
            conn->proc, dm_adapt_host_of(adapt, conn->proc), card->n_slots, card->slot_size,
            adapt->job.rank, dm_host_name(), adapt->n_slots, adapt->slot_size);
    if (card->coll_hash != adapt->coll_hash)
        return DM_FAIL(
            DM_ECONN,
            "rank %d on host %s and rank %d on host %s choose different algorithms of collectives; "
            "set DATUM_COLL alike for all, and give the files of DATUM_COLL_FILE and DATUM_TUNE the same rows",
            conn->proc, dm_adapt_host_of(adapt, conn->proc), adapt->job.rank, dm_host_name());
    return check_design(conn);
}

/* Common rails of one kind, in our order. */
static void add_rails(struct dm_conn *conn, bool is_near, bool takes_local, bool takes_other)
{
    const struct dm_adapt *adapt = conn->adapt;
    const struct dm_card_rail *rail;
    char why[100];

    for (int i = 0; i < adapt->n_ias; i++) {
        if (adapt->ias[i]->is_local ? !takes_local : !takes_other)
            continue;
        rail = match(conn, adapt->ias[i], is_near, why, sizeof(why));
        if (rail == NULL) {
            DM_TRACE(CONN, "rank %d: %s %s", conn->proc, adapt->ias[i]->name, why);
            continue;
        }
        conn->rails[conn->n_rails][0] = (uint8_t)i;
        conn->rails[conn->n_rails++][1] = (uint8_t)rail->index;
    }
}

int dm_card_fetch(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_card *card;
    bool is_near;
    int err;

    if (conn->has_card)
        return conn->n_rails > 0 ? DM_OK : no_rail(conn);
    card = calloc(1, sizeof(*card));
    if (card == NULL)
        return DM_FAIL(DM_ENOMEM, "an address card");
    err = get_card(adapt, conn->proc, card);
    if (err != DM_OK) {
        free(card);
        return err;
    }
    conn->card = card;
    conn->has_card = true;
    err = check_settings(conn);
    if (err != DM_OK)
        return err;
    is_near = dm_card_is_near(conn);
    if (adapt->is_named) {
        add_rails(conn, is_near, true, true);
    } else { /* inside a host what stays inside comes first */
        add_rails(conn, is_near, true, false);
        add_rails(conn, is_near, false, true);
    }
    return conn->n_rails > 0 ? DM_OK : no_rail(conn);
}

int dm_card_oversubscribed(struct dm_adapt *adapt, bool *oversubscribed_p)
{
    const struct dm_adapt_job *job = &adapt->job;
    uint64_t all[DM_CARD_CPU_WORDS];
    struct dm_card card;
    int err;

    *oversubscribed_p = false;
    if (job->n_local <= dm_host_cores())
        return DM_OK;
    own_cpus(all);
    *oversubscribed_p = true;
    if (dm_host_cores() < count_cpus(all)) /* a quota, which is shared */
        return DM_OK;
    if (count_cpus(all) >= sysconf(_SC_NPROCESSORS_ONLN)) /* nobody has others */
        return DM_OK;
    /* perhaps each of us is bound to cores of its own */
    for (int i = 0; i < job->size && count_cpus(all) < job->n_local; i++) {
        if (job->node_of != NULL && job->node_of[i] != job->node_of[job->rank])
            continue;
        err = get_card(adapt, i, &card);
        if (err != DM_OK)
            return err;
        for (int k = 0; k < DM_CARD_CPU_WORDS; k++)
            all[k] |= card.cpus[k];
    }
    *oversubscribed_p = job->n_local > count_cpus(all);
    return DM_OK;
}
