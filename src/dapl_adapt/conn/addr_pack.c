/*
 * Addresses in bytes, for the names of ports: form, version, host, settings, and the rails that
 * fit. Numbers are in the order of this machine's bytes, as everything that goes between processes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "dapl_adapt/conn/addr.h"
#include "dapl_adapt/public/proc.h"
#include "util/err.h"
#include "util/strbuf.h"

#define PACK_FORM 2

/* Written or read from the front. */
struct pack {
    unsigned char *at;
    size_t left;
    int is_bad;
};

static void pack_put(struct pack *pack, const void *data, size_t len)
{
    if (len > pack->left || pack->is_bad) {
        pack->is_bad = 1;
        return;
    }
    memcpy(pack->at, data, len);
    pack->at += len;
    pack->left -= len;
}

static void pack_get(struct pack *pack, void *data, size_t len)
{
    memset(data, 0, len);
    if (len > pack->left || pack->is_bad) {
        pack->is_bad = 1;
        return;
    }
    memcpy(data, pack->at, len);
    pack->at += len;
    pack->left -= len;
}

/* Its length in a byte, then the bytes. */
static void pack_put_bytes(struct pack *pack, const void *data, size_t len)
{
    unsigned char n = (unsigned char)len;

    pack_put(pack, &n, 1);
    pack_put(pack, data, len);
}

static size_t pack_get_bytes(struct pack *pack, void *data, size_t max)
{
    unsigned char n;

    pack_get(pack, &n, 1);
    if (n > max)
        pack->is_bad = 1;
    else
        pack_get(pack, data, n);
    return pack->is_bad ? 0 : n;
}

/* Without the zeros at its end, of which there are many. */
static size_t pack_addr_len(const struct dm_addr_rail *rail)
{
    size_t n = rail->addr_len;

    while (n > 0 && rail->addr[n - 1] == 0)
        n--;
    return n;
}

static void pack_put_rail(struct pack *pack, const struct dm_addr_rail *rail)
{
    unsigned char len = (unsigned char)rail->addr_len;
    unsigned char index = (unsigned char)rail->index;

    pack_put_bytes(pack, rail->name, strlen(rail->name));
    pack_put(pack, &len, 1);
    pack_put_bytes(pack, rail->addr, pack_addr_len(rail));
    pack_put(pack, &rail->qual, sizeof(rail->qual));
    pack_put(pack, &index, 1);
}

static void pack_get_rail(struct pack *pack, struct dm_addr_rail *rail)
{
    unsigned char len;
    unsigned char index;

    memset(rail, 0, sizeof(*rail));
    rail->name[pack_get_bytes(pack, rail->name, sizeof(rail->name) - 1)] = '\0';
    pack_get(pack, &len, 1);
    if (len > DM_IA_ADDR_MAX || pack_get_bytes(pack, rail->addr, DM_IA_ADDR_MAX) > len ||
        rail->name[0] == '\0' || rail->name[strcspn(rail->name, ",;!")] != '\0')
        pack->is_bad = 1;
    rail->addr_len = len;
    pack_get(pack, &rail->qual, sizeof(rail->qual));
    pack_get(pack, &index, 1);
    rail->index = index;
}

/* What is not of a rail, as the text has it. */
struct pack_head {
    uint64_t host;
    uint32_t n_slots;
    uint32_t slot_size;
    uint32_t coll_hash;
    uint8_t eager;
    uint8_t rndv;
    uint8_t fin_inline; /* two settings: fin << 1 | is_inline */
    uint8_t form;
};

size_t dm_adapt_addr_pack(const char *text, unsigned char *bytes, size_t max)
{
    struct pack pack = {bytes, max, 0};
    struct pack_head head;
    struct pack before;
    struct dm_addr addr;
    int n = 0;

    if (dm_addr_read(text, &addr) != DM_OK)
        return 0;
    head = (struct pack_head){.host = addr.host,
                              .n_slots = addr.n_slots,
                              .slot_size = addr.slot_size,
                              .coll_hash = addr.coll_hash,
                              .eager = (uint8_t)addr.eager,
                              .rndv = (uint8_t)addr.rndv,
                              .fin_inline = (uint8_t)(addr.fin << 1 | addr.is_inline),
                              .form = PACK_FORM};
    pack_put(&pack, &head, sizeof(head));
    pack_put_bytes(&pack, addr.version, strlen(addr.version));
    for (int i = 0; i < addr.n_rails && !pack.is_bad; i++) {
        before = pack;
        pack_put_rail(&pack, &addr.rails[i]);
        if (pack.is_bad)
            pack = before; /* a shorter one may fit */
        else
            n++;
    }
    return n > 0 ? max - pack.left : 0;
}

int dm_adapt_addr_unpack(const unsigned char *bytes, size_t n, char text[DM_PROC_ADDR_MAX])
{
    struct pack pack = {(unsigned char *)(uintptr_t)bytes, n, 0};
    struct dm_addr_rail rail;
    struct pack_head head;
    char version[16];
    struct dm_strbuf sb;
    int n_rails = 0;

    pack_get(&pack, &head, sizeof(head));
    version[pack_get_bytes(&pack, version, sizeof(version) - 1)] = '\0';
    dm_strbuf_init(&sb, text, DM_PROC_ADDR_MAX);
    dm_addr_write_head(&sb, version, head.host,
                       &(struct dm_addr){.n_slots = head.n_slots,
                                         .slot_size = head.slot_size,
                                         .coll_hash = head.coll_hash,
                                         .eager = head.eager,
                                         .rndv = head.rndv,
                                         .is_inline = head.fin_inline & 1u,
                                         .fin = head.fin_inline >> 1});
    dm_strbuf_add(&sb, "0;");
    while (pack.left > 0 && !pack.is_bad) {
        pack_get_rail(&pack, &rail);
        if (!pack.is_bad)
            dm_addr_write_rail(&sb, &rail);
        n_rails++;
    }
    if (pack.is_bad || sb.is_short || head.form != PACK_FORM || n_rails == 0 ||
        version[strcspn(version, ";")] != '\0')
        return DM_FAIL(DM_ECONN, "%zu bytes that are no address of a process", n);
    return DM_OK;
}
