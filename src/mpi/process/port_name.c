/*
 * The text of a port: "datum1:" and base64 (RFC 4648 section 5, without padding) of
 *
 *   checksum 2, token 8, job 8, rank 4, length of the host's name 1, host, address
 *
 * Integers are little-endian.
 */
#include "mpi/process/port_name.h"

#include <string.h>

#define PREFIX "datum1:"

enum {
    TEXT_MAX = MPI_MAX_PORT_NAME - (int)sizeof(PREFIX), /* characters of base64 */
    BYTES_MAX = TEXT_MAX * 3 / 4,
    HEAD = 2 + 8 + 8 + 4 + 1,
    HOST_LONG = 24, /* of a host's name: it is for messages only */
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

/* How many bytes, up to white space that ends it; -1: not base64, or too long. */
static int port_decode(const char *text, unsigned char bytes[BYTES_MAX])
{
    size_t len = strcspn(text, " \t\r\n");
    const char *end = text + len;
    uint32_t bits = 0;
    int n_bits = 0, n = 0;

    if (len > TEXT_MAX || end[strspn(end, " \t\r\n")] != '\0')
        return -1;
    for (; text < end; text++) {
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

/* ---- names ---- */

int dm_port_name_write(const struct dm_port_name *port, char name[MPI_MAX_PORT_NAME])
{
    unsigned char bytes[BYTES_MAX];
    size_t host_len = strnlen(port->info.host, HOST_LONG);
    size_t n = dm_adapt_addr_pack(port->info.addr, bytes + HEAD + host_len,
                                  (size_t)BYTES_MAX - HEAD - host_len);

    if (n == 0)
        return DM_FAIL(DM_EINTERN,
                       "this process's address does not fit into the name of a port: %s",
                       port->info.addr);
    port_put_int(bytes + 2, port->token, 8);
    port_put_int(bytes + 10, port->info.id.job, 8);
    port_put_int(bytes + 18, port->info.id.rank, 4);
    bytes[22] = (unsigned char)host_len;
    memcpy(bytes + HEAD, port->info.host, host_len);
    n += HEAD + host_len;
    port_put_int(bytes, port_checksum(bytes + 2, n - 2), 2);
    strcpy(name, PREFIX);
    port_encode(bytes, n, name + strlen(PREFIX));
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
        dm_adapt_addr_unpack(bytes + HEAD + host_len, (size_t)(n - HEAD - host_len),
                             port_p->info.addr) != DM_OK)
        return DM_FAIL(DM_ERR_PORT, "the port name was cut or changed on its way: \"%.100s%s\"",
                       name, strlen(name) > 100 ? "..." : "");
    port_p->token = port_get_int(bytes + 2, 8);
    port_p->info.id.job = port_get_int(bytes + 10, 8);
    port_p->info.id.rank = (uint32_t)port_get_int(bytes + 18, 4);
    memcpy(port_p->info.host, bytes + HEAD, (size_t)host_len);
    return DM_OK;
}
