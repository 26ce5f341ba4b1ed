/*
 * The socket of a connection. Invariant: looked at only while its fid_ep is
 * open, which owns it.
 */
#include "providers/ofi/transport/sock.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fi_cm.h>

enum { HINT_N = 16 };

struct names {
    struct sockaddr_storage own;
    struct sockaddr_storage peer;
};

static bool addr_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *a4 = (const void *)a;
    const struct sockaddr_in *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a;
    const struct sockaddr_in6 *b6 = (const void *)b;

    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

static bool sock_is_it(int fd, const struct names *names)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);

    if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0 || !addr_is_same(&addr, &names->own))
        return false;
    len = sizeof(addr);
    return getpeername(fd, (struct sockaddr *)&addr, &len) == 0 &&
           addr_is_same(&addr, &names->peer);
}

int dm_ofi_sock_find(struct fid_ep *fid, int *hint_p)
{
    struct names names;
    size_t own_len = sizeof(names.own);
    size_t peer_len = sizeof(names.peer);
    struct dirent *entry;
    int found = -1;
    DIR *dir;

    memset(&names, 0, sizeof(names));
    if (fi_getname(&fid->fid, &names.own, &own_len) != 0 ||
        fi_getpeer(fid, &names.peer, &peer_len) != 0)
        return -1;
    for (int fd = *hint_p; fd < *hint_p + HINT_N && found < 0; fd++)
        if (sock_is_it(fd, &names))
            found = fd;
    dir = found < 0 ? opendir("/proc/self/fd") : NULL;
    while (dir != NULL && found < 0 && (entry = readdir(dir)) != NULL) {
        int fd = atoi(entry->d_name);

        if (fd > 2 && sock_is_it(fd, &names))
            found = fd;
    }
    if (dir != NULL)
        closedir(dir);
    if (found >= 0)
        *hint_p = found + 1;
    return found;
}
