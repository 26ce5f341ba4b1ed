#include "providers/tcp/transport/congestion.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>

#include "providers/common/obj.h"

/* Everybody may use it. */
#define UNPACED "reno"

static bool host_is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    const union dm_addr *x = (const void *)a, *y = (const void *)b;

    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&x->in6.sin6_addr, &y->in6.sin6_addr);
    return x->in.sin_addr.s_addr == y->in.sin_addr.s_addr;
}

void dm_tcp_congestion_unpaced(int fd, char system[DM_TCP_CONGESTION_LEN])
{
    socklen_t len = DM_TCP_CONGESTION_LEN - 1;

    memset(system, 0, DM_TCP_CONGESTION_LEN);
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, system, &len) == 0 &&
        strncmp(system, "bbr", 3) == 0 &&
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, UNPACED, sizeof(UNPACED) - 1) == 0)
        return;
    system[0] = '\0';
}

void dm_tcp_congestion_connect(int fd, const struct sockaddr *own, const struct sockaddr *to)
{
    char system[DM_TCP_CONGESTION_LEN];

    if (host_is_same(own, to))
        dm_tcp_congestion_unpaced(fd, system);
}

void dm_tcp_congestion_accepted(int fd, const struct sockaddr *peer, const char *system)
{
    union dm_addr own;
    socklen_t len = sizeof(own);

    if (system[0] == '\0')
        return;
    if (getsockname(fd, &own.sa, &len) == 0 && host_is_same(&own.sa, peer))
        return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, system, (socklen_t)strlen(system));
}
