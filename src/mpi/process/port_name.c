/*
 * The text of a port: "datum1:" and base64 (RFC 4648 section 5, without padding) of
 *
 *   checksum 2, token 8, job 8, rank 4, length of the host's name 1, host, address
 *
 * Integers are little-endian. Addresses are text that is mostly hexadecimal: a byte below 128 is a
 * character, one from 128 on says how many bytes follow, each of which is two hexadecimal digits.
 */
#include "mpi/process/port_name.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "datum1:"

enum {
    TEXT_MAX = MPI_MAX_PORT_NAME - (int)sizeof(PREFIX), /* characters of base64 */
    BYTES_MAX = TEXT_MAX * 3 / 4,
    HEAD = 2 + 8 + 8 + 4 + 1,
    HEX_MIN = 4,     /* digits that are worth it */
    HEX_MAX = 127,   /* bytes in one run */
    HOST_LONG = 24,  /* of a host's name when space is scarce */
    ADDR_FIELDS = 5, /* of an address before its rails, each ended by a semicolon */
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char hex[] = "0123456789abcdef";

/* ---- bytes and base64 ---- */

static void port_put_int(unsigned char *at, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t port_get_int(const unsigned char *at, int n)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint16_t port_checksum(const unsigned char *bytes, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ bytes[i]) * 16777619u;
    return (uint16_t)(h ^ h >> 16);
}

static void port_encode(const unsigned char *bytes, size_t len, char *text)
{
    uint32_t bits = 0;
    int n_bits = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | bytes[i];
        for (n_bits += 8; n_bits >= 6; n_bits -= 6)
            *text++ = digits[bits >> (n_bits - 6) & 63];
    }
    if (n_bits > 0)
        *text++ = digits[bits << (6 - n_bits) & 63];
    *text = '\0';
}

/* How many bytes; -1: not base64, or too long. */
static int port_decode(const char *text, unsigned char bytes[BYTES_MAX])
{
    uint32_t bits = 0;
    int n_bits = 0, n = 0;

    if (strlen(text) > TEXT_MAX)
        return -1;
    for (; *text != '\0'; text++) {
        const char *digit = strchr(digits, *text);

        if (digit == NULL)
            return -1;
        bits = bits << 6 | (uint32_t)(digit - digits);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            bytes[n++] = (unsigned char)(bits >> n_bits);
        }
    }
    return n;
}

/* ---- addresses ---- */

static unsigned port_hex_value(char digit)
{
    return (unsigned)(strchr(hex, digit) - hex);
}

/* How many bytes, at most max; -1: it has characters that cannot be told. */
static int port_shrink(const char *text, unsigned char *bytes, int max)
{
    int n = 0;

    while (*text != '\0') {
        size_t run = strspn(text, hex) / 2;

        run = run > HEX_MAX ? HEX_MAX : run;
        if ((unsigned char)*text > 127 || n + 1 + (int)run > max)
            return -1;
        if (run * 2 < HEX_MIN) {
            bytes[n++] = (unsigned char)*text++;
            continue;
        }
        bytes[n++] = (unsigned char)(128 + run);
        for (size_t i = 0; i < run; i++, text += 2)
            bytes[n++] = (unsigned char)(port_hex_value(text[0]) << 4 | port_hex_value(text[1]));
    }
    return n;
}

/* False: it ends early, or does not fit. */
static bool port_unshrink(const unsigned char *bytes, int n, char *text, size_t len)
{
    size_t at = 0;

    for (int i = 0; i < n; i++) {
        int run = bytes[i] - 128;

        if (at + (run > 0 ? 2 * (size_t)run : 1) >= len || (run > 0 && i + run >= n))
            return false;
        if (run < 0)
            text[at++] = (char)bytes[i];
        for (; run > 0; run--) {
            i++;
            text[at++] = hex[bytes[i] >> 4];
            text[at++] = hex[bytes[i] & 15];
        }
    }
    text[at] = '\0';
    return true;
}

/* Take the last rail out of an address; false: there is only one. */
static bool port_drop_rail(char *addr)
{
    char *at = addr;
    char *end = addr + strlen(addr);

    for (int i = 0; i < ADDR_FIELDS && at != NULL; i++)
        at = strchr(at, ';') != NULL ? strchr(at, ';') + 1 : NULL;
    if (at == NULL || at >= end)
        return false;
    for (end--; end > at && end[-1] != ';';)
        end--;
    if (end == at)
        return false;
    *end = '\0';
    return true;
}

/* ---- names ---- */

int dm_port_name_write(const struct dm_port_name *port, char name[MPI_MAX_PORT_NAME])
{
    unsigned char bytes[BYTES_MAX];
    char addr[DM_PROC_ADDR_MAX];
    size_t host_len = strnlen(port->info.host, sizeof(port->info.host));
    int n;

    snprintf(addr, sizeof(addr), "%s", port->info.addr);
    for (;;) {
        n = port_shrink(addr, bytes + HEAD + host_len, BYTES_MAX - HEAD - (int)host_len);
        if (n >= 0)
            break;
        if (host_len > HOST_LONG)
            host_len = HOST_LONG;
        else if (!port_drop_rail(addr))
            return DM_FAIL(DM_EINTERN, "an address does not fit into the name of a port: %s",
                           port->info.addr);
    }
    port_put_int(bytes + 2, port->token, 8);
    port_put_int(bytes + 10, port->info.id.job, 8);
    port_put_int(bytes + 18, port->info.id.rank, 4);
    bytes[22] = (unsigned char)host_len;
    memcpy(bytes + HEAD, port->info.host, host_len);
    n += HEAD + (int)host_len;
    port_put_int(bytes, port_checksum(bytes + 2, (size_t)n - 2), 2);
    strcpy(name, PREFIX);
    port_encode(bytes, (size_t)n, name + strlen(PREFIX));
    return DM_OK;
}

int dm_port_name_read(const char *name, struct dm_port_name *port_p)
{
    unsigned char bytes[BYTES_MAX];
    int host_len, n;

    memset(port_p, 0, sizeof(*port_p));
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return DM_FAIL(DM_ERR_PORT,
                       "\"%.100s\" is no name that MPI_Open_port of Datum has made (those begin "
                       "with %s); is it of another MPI library?",
                       name, PREFIX);
    n = port_decode(name + strlen(PREFIX), bytes);
    host_len = n >= HEAD ? bytes[22] : 0;
    if (n < HEAD + host_len || host_len >= (int)sizeof(port_p->info.host) ||
        port_get_int(bytes, 2) != port_checksum(bytes + 2, (size_t)n - 2) ||
        !port_unshrink(bytes + HEAD + host_len, n - HEAD - host_len, port_p->info.addr,
                       sizeof(port_p->info.addr)))
        return DM_FAIL(DM_ERR_PORT, "the port name was cut or changed on its way: \"%.100s%s\"",
                       name, strlen(name) > 100 ? "..." : "");
    port_p->token = port_get_int(bytes + 2, 8);
    port_p->info.id.job = port_get_int(bytes + 10, 8);
    port_p->info.id.rank = (uint32_t)port_get_int(bytes + 18, 4);
    memcpy(port_p->info.host, bytes + HEAD, (size_t)host_len);
    return DM_OK;
}
