/*
 * Addresses, and ports for qualifiers.
 *
 * A qualifier below 65536 is that TCP port when it is free; others, and those that are not, are at
 * one of a sequence of ports. On one host (of network namespaces) an abstract name of the address
 * and the qualifier shows that it is taken; it is gone with its process.
 */
#include "providers/net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORTS = 16, PORT_FIRST = 20000, PORT_N = 12000, PORT_LAST = 65535 };

socklen_t dm_net_addr_len(const struct sockaddr *addr)
{
    return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void dm_net_addr_set_port(struct sockaddr_storage *any, uint16_t port)
{
    union dm_addr *addr = (void *)any;

    if (addr->sa.sa_family == AF_INET6)
        addr->in6.sin6_port = htons(port);
    else
        addr->in.sin_port = htons(port);
}

static bool addr_is_loopback(const struct sockaddr *sa)
{
    const union dm_addr *addr = (const void *)sa;

    return sa->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&addr->in6.sin6_addr)
                                     : ntohl(addr->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void dm_net_target(const struct dm_net *net, const struct sockaddr *to,
                   struct sockaddr_storage *out)
{
    const union dm_addr *own = &net->pia.addr;
    struct sockaddr_in6 *in6 = (void *)out;

    if (addr_is_loopback(to) && !addr_is_loopback(&own->sa))
        to = &own->sa;
    memcpy(out, to, dm_net_addr_len(to));
    if (to->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
        in6->sin6_scope_id = own->in6.sin6_scope_id; /* the peer's number of it is not ours */
}

uint16_t dm_net_qual_port(DAT_CONN_QUAL qual, uint32_t n)
{
    uint64_t x = qual;

    if (qual > 0 && qual <= PORT_LAST) {
        if (n == 0)
            return (uint16_t)qual;
        n--;
    }
    if (n >= PORTS)
        return 0;
    x = (x + n) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return (uint16_t)(PORT_FIRST + x % PORT_N);
}

int dm_net_qual_name_bind(const struct dm_net *net, const char *prefix, DAT_CONN_QUAL qual)
{
    const union dm_addr *own = &net->pia.addr;
    const void *bytes = own->sa.sa_family == AF_INET6 ? (const void *)&own->in6.sin6_addr
                                                      : (const void *)&own->in.sin_addr;
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    char text[INET6_ADDRSTRLEN] = "";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_taken;
    int len;

    if (fd < 0)
        return -2;
    (void)inet_ntop(own->sa.sa_family, bytes, text, sizeof(text));
    len = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s.%s.%016llx", prefix, text,
                   (unsigned long long)qual);
    if (bind(fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
        return fd;
    is_taken = errno == EADDRINUSE;
    close(fd);
    return is_taken ? -1 : -2;
}

struct dm_sp *dm_net_sp_find(struct dm_net *net, DAT_CONN_QUAL qual)
{
    static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP};

    for (int i = 0; i < 2; i++) {
        dm_list_for_each (it, &net->pia.objs[types[i]]) {
            struct dm_sp *sp = dm_container_of(it, struct dm_sp, obj.link);

            if (sp->qual == qual)
                return sp;
        }
    }
    return NULL;
}
