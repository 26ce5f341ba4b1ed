/*
 * Is the peer of a TCP socket still there?
 */
#include "providers/net/net.h"

#include <netinet/tcp.h>
#include <string.h>

enum { KEEP_PROBES = 3, KEEP_PARTS = 4 };

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u

void dm_net_keep_alive(int sock, uint64_t timeout_ns)
{
    int part = (int)(timeout_ns / KEEP_PARTS / NS_PER_S);
    int probes = KEEP_PROBES;
    int on = 1;

    if (part < 1)
        part = 1;
    /* What cannot be set is not: then only traffic shows that it is dead. */
    (void)setsockopt(sock, IPPROTO_TCP, TCP_KEEPIDLE, &part, sizeof(part));
    (void)setsockopt(sock, IPPROTO_TCP, TCP_KEEPINTVL, &part, sizeof(part));
    (void)setsockopt(sock, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    (void)setsockopt(sock, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

/*
 * TCP_USER_TIMEOUT would break a connection whose peer answers, but does not read for so long: a
 * window that stays shut counts as silence there.
 */
bool dm_net_is_stuck(int sock, uint64_t ns)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return false;
    return (info.tcpi_unacked > 0 || info.tcpi_probes > 0) &&
           info.tcpi_last_ack_recv >= ns / NS_PER_MS;
}
