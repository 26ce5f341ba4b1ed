/*
 * Endpoint addresses. One value in the launcher's key-value space:
 *
 *   "6;0.1.0;HOST;64,16384,5f0,0,0,0,0;3;name,ADDRESS,QUAL,INDEX;..."
 *
 * form of the address, version of the library, the host by what the kernel knows of it, ring
 * settings and the hash of those of collectives, DATUM_EAGER, DATUM_RNDV, DATUM_RNDV_INLINE and
 * DATUM_FIN, cores, rails. Addresses are bytes in hexadecimal, since nobody but their provider
 * understands them. In a job of several hosts a process without any rail that leaves its host adds why:
 * "!words+of+a+refusal;".
 */
#include "dapl_adapt/conn/addr.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/core/adapt.h"
#include "dapl_adapt/public/start.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/types.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/hash.h"
#include "util/kv.h"
#include "util/log.h"
#include "util/strbuf.h"

#define ADDR_VERSION 6
#define ADDR_FIELDS  5   /* before the rails; the last one is the cores */
#define WHY_MAX      160 /* bytes of reasons in an address */

void dm_addr_own_cpus(uint64_t *words)
{
    cpu_set_t set;

    memset(words, 0, DM_ADDR_CPU_WORDS * sizeof(*words));
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (int i = 0; i < DM_ADDR_CPU_WORDS * 64 && i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set))
            words[i / 64] |= UINT64_C(1) << i % 64;
    }
}

int dm_addr_count_cpus(const uint64_t *words)
{
    int n = 0;

    for (int i = 0; i < DM_ADDR_CPU_WORDS * 64; i++)
        n += words[i / 64] >> i % 64 & 1;
    return n;
}

uint64_t dm_addr_own_host(const char *node_name)
{
    uint64_t h = DM_HASH_TEXT;
    char id[64] = "";
    struct stat st;
    ssize_t len;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        len = read(fd, id, sizeof(id) - 1);
        id[len > 0 ? len : 0] = '\0';
        close(fd);
    }
    h = dm_hash_text(dm_hash_text(h, id), node_name != NULL ? node_name : "");
    if (stat("/proc/self/ns/net", &st) == 0)
        h = (h ^ (uint64_t)st.st_ino) * UINT64_C(1099511628211);
    return h;
}

/* What was refused, in letters that every launcher carries. */
static void addr_write_refusals(const struct dm_adapt *adapt, struct dm_strbuf *sb)
{
    const char *text = adapt->rails.refused;
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

void dm_addr_write_head(struct dm_strbuf *sb, const char *version, uint64_t host,
                        const struct dm_addr *settings)
{
    dm_strbuf_addf(sb, "%d;%s;%llx;%u,%u,%x,%u,%u,%u,%u;", ADDR_VERSION, version,
                   (unsigned long long)host, settings->n_slots, settings->slot_size,
                   settings->coll_hash, settings->eager, settings->rndv, settings->is_inline,
                   settings->fin);
}

void dm_addr_write_rail(struct dm_strbuf *sb, const struct dm_addr_rail *rail)
{
    dm_strbuf_addf(sb, "%s,", rail->name);
    for (size_t k = 0; k < rail->addr_len; k++)
        dm_strbuf_addf(sb, "%02x", rail->addr[k]);
    dm_strbuf_addf(sb, ",%llx,%d;", (unsigned long long)rail->qual, rail->index);
}

void dm_addr_write_rail_of(struct dm_strbuf *sb, const struct dm_ia *ia)
{
    struct dm_addr_rail rail = {
        .addr_len = ia->net.addr_len, .qual = ia->cm.qual, .index = ia->index};

    snprintf(rail.name, sizeof(rail.name), "%s", ia->name);
    memcpy(rail.addr, ia->net.addr, ia->net.addr_len);
    dm_addr_write_rail(sb, &rail);
}

void dm_addr_write(const struct dm_adapt *adapt, char *buf, size_t len)
{
    uint64_t cpus[DM_ADDR_CPU_WORDS];
    const struct dm_ia *ia;
    struct dm_strbuf sb;
    size_t mark;
    int last = DM_ADDR_CPU_WORDS - 1;

    dm_addr_own_cpus(cpus);
    while (last > 0 && cpus[last] == 0)
        last--;
    dm_strbuf_init(&sb, buf, len);
    dm_addr_write_head(&sb, DM_VERSION, adapt->own_host,
                       &(struct dm_addr){.n_slots = adapt->rings.n_slots,
                                         .slot_size = adapt->rings.slot_size,
                                         .coll_hash = adapt->coll_hash,
                                         .eager = (unsigned)dm_cfg()->eager |
                                                  (adapt->rings.wants_srq ? DM_ADDR_SRQ : 0),
                                         .rndv = (unsigned)dm_cfg()->rndv,
                                         .is_inline = dm_cfg()->rndv_inline,
                                         .fin = (unsigned)dm_cfg()->fin});
    for (int i = 0; i <= last; i++)
        dm_strbuf_addf(&sb, "%s%llx", i > 0 ? "," : "", (unsigned long long)cpus[i]);
    dm_strbuf_add(&sb, ";");
    if (!adapt->rails.has_network && adapt->rails.refused != NULL && !dm_adapt_is_one_host(adapt))
        addr_write_refusals(adapt, &sb);
    for (int i = 0; i < adapt->rails.n_ias; i++) {
        ia = adapt->rails.ias[i];
        mark = sb.len;
        dm_addr_write_rail_of(&sb, ia);
        if (sb.is_short) {
            buf[mark] = '\0';
            dm_log_warn("no room in the launcher's key-value space for the address of %s",
                        ia->name);
            return;
        }
    }
}

static int addr_is_bad(const char *text)
{
    return DM_FAIL(
        DM_ECONN,
        "a process published an address that cannot be understood; do all hosts have the "
        "same version of Datum (here %s)? It says: %.100s",
        DM_VERSION, text);
}

/* Bytes from hexadecimal digits, of which there are twice as many. */
static void addr_read_hex(const char *text, unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < 2 * n; i++) {
        unsigned digit = (unsigned)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);

        bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | digit);
    }
}

/* "name,ADDRESS,QUAL,INDEX"; modifies it. */
static bool addr_read_rail(char *text, struct dm_addr_rail *rail)
{
    char *save = NULL;
    char *name = strtok_r(text, ",", &save);
    char *addr = strtok_r(NULL, ",", &save);
    char *qual = strtok_r(NULL, ",", &save);
    char *index = strtok_r(NULL, ",", &save);

    if (index == NULL || strlen(name) >= sizeof(rail->name) || strlen(addr) % 2 != 0 ||
        strlen(addr) > (size_t)DM_IA_ADDR_MAX * 2 ||
        strspn(addr, "0123456789abcdef") != strlen(addr))
        return false;
    snprintf(rail->name, sizeof(rail->name), "%s", name);
    rail->addr_len = strlen(addr) / 2;
    addr_read_hex(addr, rail->addr, rail->addr_len);
    rail->qual = strtoull(qual, NULL, 16);
    rail->index = atoi(index);
    return rail->index >= 0 && rail->index < DM_RAILS_MAX;
}

/* "6;VERSION;HOST;SLOTS,SIZE,HASH,EAGER,RNDV,INLINE,FIN;CPUS": false for nonsense. */
static bool addr_read_head(char *copy, char **save_p, struct dm_addr *addr)
{
    char *form = strtok_r(copy, ";", save_p);
    char *version = strtok_r(NULL, ";", save_p);
    char *host = strtok_r(NULL, ";", save_p);
    char *rings = strtok_r(NULL, ";", save_p);
    char *cpus = strtok_r(NULL, ";", save_p);
    int i = 0;

    if (cpus == NULL || atoi(form) != ADDR_VERSION || strlen(version) >= sizeof(addr->version) ||
        sscanf(rings, "%u,%u,%x,%u,%u,%u,%u", &addr->n_slots, &addr->slot_size, &addr->coll_hash,
               &addr->eager, &addr->rndv, &addr->is_inline, &addr->fin) != 7)
        return false;
    snprintf(addr->version, sizeof(addr->version), "%s", version);
    addr->host = strtoull(host, NULL, 16);
    for (char *end = cpus; i < DM_ADDR_CPU_WORDS; end++) {
        addr->cpus[i++] = strtoull(end, &end, 16);
        if (*end != ',')
            break;
    }
    return true;
}

int dm_addr_read(const char *text, struct dm_addr *addr_p)
{
    char copy[DM_KV_VAL_MAX];
    char *save = NULL;
    char *token;

    memset(addr_p, 0, sizeof(*addr_p));
    snprintf(copy, sizeof(copy), "%s", text);
    if (!addr_read_head(copy, &save, addr_p))
        return addr_is_bad(text);
    while ((token = strtok_r(NULL, ";", &save)) != NULL) {
        if (*token == '!') {
            for (char *p = token; *p != '\0'; p++)
                *p = *p == '+' ? ' ' : *p;
            snprintf(addr_p->why, sizeof(addr_p->why), "%s", token + 1);
            continue;
        }
        if (addr_p->n_rails == DM_RAILS_MAX ||
            !addr_read_rail(token, &addr_p->rails[addr_p->n_rails]))
            return addr_is_bad(text);
        addr_p->n_rails++;
    }
    return DM_OK;
}

int dm_addr_add_rail(struct dm_addr *addr, const char *text)
{
    struct dm_addr_rail rail = {.index = -1};
    char copy[DM_RAIL_TEXT_MAX];

    snprintf(copy, sizeof(copy), "%s", text);
    if (!addr_read_rail(copy, &rail))
        return addr_is_bad(text);
    for (int i = 0; i < addr->n_rails; i++) {
        if (addr->rails[i].index == rail.index)
            return DM_OK;
    }
    if (addr->n_rails < DM_RAILS_MAX)
        addr->rails[addr->n_rails++] = rail;
    return DM_OK;
}

int dm_addr_shorten(const char *text, char *buf, size_t len)
{
    char copy[DM_KV_VAL_MAX];
    char *save = NULL;
    struct dm_strbuf sb;
    char *token;
    size_t mark;

    snprintf(copy, sizeof(copy), "%s", text);
    dm_strbuf_init(&sb, buf, len);
    token = strtok_r(copy, ";", &save);
    for (int i = 0; i < ADDR_FIELDS; i++) {
        if (token == NULL)
            return addr_is_bad(text);
        dm_strbuf_addf(&sb, "%s;", i == ADDR_FIELDS - 1 ? "0" : token);
        token = strtok_r(NULL, ";", &save);
    }
    for (; token != NULL; token = strtok_r(NULL, ";", &save)) {
        mark = sb.len;
        if (*token != '!')
            dm_strbuf_addf(&sb, "%s;", token);
        if (sb.is_short) {
            buf[mark] = '\0';
            break;
        }
    }
    return DM_OK;
}
