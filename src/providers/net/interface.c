/*
 * The choice of a network interface: one that other hosts are likely to reach.
 */
#include "providers/net/net.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "util/err.h"
#include "util/log.h"
#include "util/strbuf.h"

enum { LIST_LEN = 1024 };

/* Is it a bridge? Its driver says so; /sys may be that of another namespace. */
static bool is_bridge(const char *name)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq req;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_known;

    if (fd < 0)
        return false;
    memset(&req, 0, sizeof(req));
    snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
    req.ifr_data = (void *)&info;
    is_known = ioctl(fd, SIOCETHTOOL, &req) == 0;
    close(fd);
    return is_known && strcmp(info.driver, "bridge") == 0;
}

/* Bridges, and what virtual machines and containers make for themselves: other
 * hosts are not behind it, as a rule. */
static bool is_internal(const char *name)
{
    static const char *const prefixes[] = {"docker", "br-", "virbr", "cni",    "flannel", "cali",
                                           "lxc",    "lxd", "vnet",  "podman", "veth",    "dummy"};

    if (is_bridge(name))
        return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* The interface of the IPv4 default route, "" if there is none. */
static void default_route(char *name)
{
    char line[256];
    char dev[32];
    unsigned long to;
    FILE *f = fopen("/proc/net/route", "re");

    name[0] = '\0';
    if (f == NULL)
        return;
    while (name[0] == '\0' && fgets(line, sizeof(line), f) != NULL) {
        char *at = strpbrk(line, "\t ");

        if (at == NULL || (size_t)(at - line) >= IF_NAMESIZE)
            continue;
        memcpy(dev, line, (size_t)(at - line));
        dev[at - line] = '\0';
        to = strtoul(at, &at, 16);
        if (to == 0 && strcmp(dev, "Iface") != 0 && *at != '\0')
            strcpy(name, dev);
    }
    fclose(f);
}

static bool is_link_local(const struct sockaddr *sa)
{
    const struct sockaddr_in6 *in6 = (const void *)sa;

    return sa->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

/* How much an interface's address is liked, 0: not at all. */
static int rate(const struct ifaddrs *it, const char *want, int family, const char *route)
{
    int points = 1;

    if (it->ifa_addr == NULL ||
        (it->ifa_addr->sa_family != AF_INET && it->ifa_addr->sa_family != AF_INET6))
        return 0;
    if (family != AF_UNSPEC && it->ifa_addr->sa_family != family)
        return 0;
    if (want != NULL) {
        if (strcmp(it->ifa_name, want) != 0)
            return 0;
        points += is_link_local(it->ifa_addr) ? 0 : 2;
        return points + (it->ifa_addr->sa_family == AF_INET ? 1 : 0);
    }
    if (is_link_local(it->ifa_addr) || (it->ifa_flags & IFF_UP) == 0 ||
        (it->ifa_flags & IFF_RUNNING) == 0)
        return 0;
    points += it->ifa_addr->sa_family == AF_INET ? 1 : 0;
    if ((it->ifa_flags & IFF_LOOPBACK) != 0)
        return points;
    points += is_bridge(it->ifa_name) ? 4 : 6;
    if (!is_internal(it->ifa_name))
        points += 8;
    if (strcmp(it->ifa_name, route) == 0)
        points += 16;
    return points;
}

/* "eth0 (10.0.0.1), lo (127.0.0.1)" */
static void list_all(const struct ifaddrs *list, struct dm_strbuf *sb)
{
    char text[INET6_ADDRSTRLEN];

    for (const struct ifaddrs *it = list; it != NULL; it = it->ifa_next) {
        const union dm_addr *addr = (const void *)it->ifa_addr;
        const void *bytes;

        if (addr == NULL || (addr->sa.sa_family != AF_INET && addr->sa.sa_family != AF_INET6))
            continue;
        bytes = addr->sa.sa_family == AF_INET ? (const void *)&addr->in.sin_addr
                                              : (const void *)&addr->in6.sin6_addr;
        if (inet_ntop(addr->sa.sa_family, bytes, text, sizeof(text)) != NULL)
            dm_strbuf_addf(sb, "%s%s (%s)", sb->len > 0 ? ", " : "", it->ifa_name, text);
    }
}

int dm_net_if_choose(const char *want, int family, char *name, struct sockaddr_storage *addr)
{
    struct ifaddrs *list = NULL;
    const struct ifaddrs *best = NULL;
    char route[IF_NAMESIZE + 16];
    int most = 0;

    if (getifaddrs(&list) != 0)
        return DM_ENOMEM; /* or no descriptors */
    default_route(route);
    for (const struct ifaddrs *it = list; it != NULL; it = it->ifa_next) {
        int points = rate(it, want, family, route);

        if (points > most) {
            most = points;
            best = it;
        }
    }
    memset(addr, 0, sizeof(*addr));
    if (best != NULL) {
        snprintf(name, IF_NAMESIZE, "%s", best->ifa_name);
        memcpy(addr, best->ifa_addr,
               best->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                    : sizeof(struct sockaddr_in6));
    }
    freeifaddrs(list);
    return best != NULL ? DM_OK : DM_ECONFIG;
}

void dm_net_if_explain(const char *name, const char *want, int family)
{
    const char *what = family == AF_INET ? "IPv4 " : family == AF_INET6 ? "IPv6 " : "";
    bool is_there = want == NULL || if_nametoindex(want) != 0;
    struct ifaddrs *list = NULL;
    struct dm_strbuf sb;
    char buf[LIST_LEN];

    /* what else the host has changes often where there are containers */
    if (!dm_log_is_new(name, is_there ? "no address" : "no interface"))
        return;
    dm_strbuf_init(&sb, buf, sizeof(buf));
    if (getifaddrs(&list) == 0)
        list_all(list, &sb);
    freeifaddrs(list);
    if (sb.len == 0)
        dm_strbuf_add(&sb, "no address at all");
    if (!is_there)
        dm_log_error("%s: interface %s does not exist; this host has %s", name, want, buf);
    else if (want != NULL)
        dm_log_error("%s: interface %s has no %saddress; this host has %s", name, want, what, buf);
    else
        dm_log_error("%s: no interface with an %saddress is up; this host has %s", name, what, buf);
}
