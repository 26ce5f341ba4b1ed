/*
 * Endpoint addresses: what a process publishes so that the others can connect to it.
 */
#ifndef DM_DAPL_ADAPT_CONN_ADDR_H
#define DM_DAPL_ADAPT_CONN_ADDR_H

#include <stddef.h>
#include <stdint.h>

#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/provider/ia.h"
#include "dapl_adapt/public/types.h"

struct dm_adapt;
struct dm_strbuf;

#define DM_ADDR_CPU_WORDS 16
#define DM_ADDR_SRQ       16 /* in dm_addr.eager: with DATUM_SRQ */

struct dm_addr_rail {
    char name[DAT_NAME_MAX_LENGTH];
    unsigned char addr[DM_IA_ADDR_MAX + 4]; /* opaque; aligned by its user */
    size_t addr_len;
    uint64_t qual;
    int index;
};

struct dm_addr {
    int n_rails;
    char version[16]; /* of the library */
    uint64_t host;    /* the same for processes that share kernel and network */
    uint32_t n_slots; /* ring settings */
    uint32_t slot_size;
    uint32_t coll_hash; /* of its choice of algorithms */
    unsigned eager;     /* DATUM_EAGER, */
    unsigned rndv;      /* DATUM_RNDV, */
    unsigned is_inline; /* DATUM_RNDV_INLINE, */
    unsigned fin;       /* and DATUM_FIN */
    char why[200];      /* what was refused there, where nothing leaves the host; or "" */
    uint64_t cpus[DM_ADDR_CPU_WORDS]; /* cores the process may use, a bit each */
    struct dm_addr_rail rails[DM_RAILS_MAX];
};

/*
 * This kernel and network, as a number: processes that share both can talk by what stays inside a
 * host, whatever the launcher calls a node; but nodes of other names (NULL: none) are told apart.
 * Asked once: it needs a file descriptor.
 */
uint64_t dm_addr_own_host(const char *node_name);
/* Its parts: all before the cores; a rail. */
void dm_addr_write_head(struct dm_strbuf *sb, const char *version, uint64_t host,
                        const struct dm_addr *settings);
void dm_addr_write_rail(struct dm_strbuf *sb, const struct dm_addr_rail *rail);
void dm_addr_write_rail_of(struct dm_strbuf *sb, const struct dm_ia *ia);
/* Text of the own address; rails that do not fit are left out. */
void dm_addr_write(const struct dm_adapt *adapt, char *buf, size_t len);
/*
 * Leave out of the text of an address what concerns its job alone: cores and refusals, and rails
 * that do not fit into len. DM_ECONN for nonsense.
 */
int dm_addr_shorten(const char *text, char *buf, size_t len);
/* Parse; DM_ECONN for nonsense. */
int dm_addr_read(const char *text, struct dm_addr *addr_p);
/* One more rail, as dm_addr_write_rail has it, unless it is known or there is no room. DM_ECONN for nonsense. */
int dm_addr_add_rail(struct dm_addr *addr, const char *text);
/*
 * Cores that this process may use, a bit each in DM_ADDR_CPU_WORDS words; and how many those are.
 */
void dm_addr_own_cpus(uint64_t *words);
int dm_addr_count_cpus(const uint64_t *words);

#endif
