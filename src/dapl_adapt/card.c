/*
 * Address cards. One value in the launcher's key-value space:
 *
 *   "1;3;name,ADDRESS,QUAL,INDEX;..."
 *
 * with the addresses as bytes in hexadecimal, since nobody but their provider
 * understands them.
 */
#include "dapl_adapt/card.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/host.h"
#include "util/kv.h"
#include "util/log.h"
#include "util/strbuf.h"

#define CARD_VERSION 1
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
    dm_strbuf_addf(&sb, "%d;", CARD_VERSION);
    for (int i = 0; i <= last; i++)
        dm_strbuf_addf(&sb, "%s%llx", i > 0 ? "," : "", (unsigned long long)cpus[i]);
    dm_strbuf_add(&sb, ";");
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
    return DM_FAIL(DM_ECONN, "a process published an address that cannot be understood: %.100s",
                   text);
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

int dm_card_read(const char *text, struct dm_card *card_p)
{
    char copy[DM_KV_VAL_MAX];
    char *save = NULL;
    char *token;
    char *end;
    int i = 0;

    memset(card_p, 0, sizeof(*card_p));
    snprintf(copy, sizeof(copy), "%s", text);
    token = strtok_r(copy, ";", &save);
    if (token == NULL || atoi(token) != CARD_VERSION)
        return bad_card(text);
    token = strtok_r(NULL, ";", &save);
    if (token == NULL)
        return bad_card(text);
    for (end = token; i < DM_CARD_CPU_WORDS; end++) {
        card_p->cpus[i++] = strtoull(end, &end, 16);
        if (*end != ',')
            break;
    }
    while ((token = strtok_r(NULL, ";", &save)) != NULL) {
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

/* A loopback address means something only to processes of the same host. */
static bool can_reach(const struct dm_conn *conn, const struct dm_ia *ia)
{
    const struct dm_adapt_job *job = &conn->adapt->job;

    return !ia->is_local || job->node_of == NULL ||
           job->node_of[job->rank] == job->node_of[conn->proc];
}

static int no_rail(const struct dm_conn *conn)
{
    const struct dm_adapt *adapt = conn->adapt;
    char mine[160];
    char theirs[160];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, mine, sizeof(mine));
    for (int i = 0; i < adapt->n_ias; i++)
        dm_strbuf_addf(&sb, "%s%s", i > 0 ? ", " : "", adapt->ias[i]->name);
    dm_strbuf_init(&sb, theirs, sizeof(theirs));
    for (int i = 0; i < conn->card->n_rails; i++)
        dm_strbuf_addf(&sb, "%s%s", i > 0 ? ", " : "", conn->card->rails[i].name);
    return DM_FAIL(DM_ECONN,
                   "no DAT provider reaches rank %d on host %s: here are %s, there are %s; see "
                   "datum-info and DATUM_PROVIDER",
                   conn->proc, dm_adapt_host_of(adapt, conn->proc), mine, theirs);
}

int dm_card_fetch(struct dm_conn *conn)
{
    struct dm_adapt *adapt = conn->adapt;
    struct dm_card *card;
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
    for (int i = 0; i < adapt->n_ias; i++) {
        for (int k = 0; k < card->n_rails; k++) {
            if (strcmp(adapt->ias[i]->name, card->rails[k].name) != 0 ||
                !can_reach(conn, adapt->ias[i]))
                continue;
            conn->rails[conn->n_rails][0] = (uint8_t)i;
            conn->rails[conn->n_rails++][1] = (uint8_t)card->rails[k].index;
            break;
        }
    }
    return conn->n_rails > 0 ? DM_OK : no_rail(conn);
}

int dm_card_crowded(struct dm_adapt *adapt, bool *crowded_p)
{
    const struct dm_adapt_job *job = &adapt->job;
    uint64_t all[DM_CARD_CPU_WORDS];
    struct dm_card card;
    int err;

    *crowded_p = false;
    if (job->n_local <= dm_host_cores())
        return DM_OK;
    own_cpus(all);
    *crowded_p = true;
    if (dm_host_cores() < count_cpus(all)) /* a quota, which is shared */
        return DM_OK;
    /* perhaps each of us is bound to cores of its own */
    for (int i = 0; i < job->size; i++) {
        if (job->node_of != NULL && job->node_of[i] != job->node_of[job->rank])
            continue;
        err = get_card(adapt, i, &card);
        if (err != DM_OK)
            return err;
        for (int k = 0; k < DM_CARD_CPU_WORDS; k++)
            all[k] |= card.cpus[k];
    }
    *crowded_p = job->n_local > count_cpus(all);
    return DM_OK;
}
