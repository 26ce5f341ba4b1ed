/*
 * The port for ranks on other hosts. They have to show a token that only the job's
 * environment holds. Like Hydra's own ports it is among MPIEXEC_PORT_RANGE, if that is set.
 */
#include "tools/mpiexec/remote.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/mpiexec/args.h"
#include "util/cfg.h"
#include "util/log.h"

/* Variables that name hosts or one who knows them. */
static const char *const variables[] = {"HYDRA_HOST_FILE", "HYDRA_RMK",         "HYDRA_LAUNCHER",
                                        "HYDRA_BOOTSTRAP", "HYDRA_CONFIG_FILE", "SLURM_JOB_ID",
                                        "SLURM_JOBID",     "PBS_NODEFILE",      "LSB_MCPU_HOSTS",
                                        "PE_HOSTFILE",     "LSB_DJOB_HOSTFILE", "COBALT_NODEFILE"};

/* Hydra reads this file of the user's if no variable names another. */
static bool has_own_config(void)
{
    const char *home = dm_cfg_env("HOME");
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/.mpiexec.hydra.conf", home != NULL ? home : "");
    return access(path, F_OK) == 0;
}

bool dm_mpiexec_may_be_remote(char *const *argv)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        if (dm_cfg_env(variables[i]) != NULL)
            return true;
    }
    return dm_mpiexec_args_name_hosts(argv) || has_own_config();
}

static bool is_loopback(const struct sockaddr *addr)
{
    const struct sockaddr_in *in = (const void *)addr;

    return ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

/* What this host calls itself, as Hydra does; a name that means the loopback only is no help. */
static bool find_by_name(struct in_addr *addr_p)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    bool is_found = false;
    char name[256] = "";

    if (gethostname(name, sizeof(name) - 1) != 0 || getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *one = list; one != NULL && !is_found; one = one->ai_next) {
        is_found = !is_loopback(one->ai_addr);
        *addr_p = ((const struct sockaddr_in *)(const void *)one->ai_addr)->sin_addr;
    }
    freeaddrinfo(list);
    return is_found;
}

static bool find_by_interface(struct in_addr *addr_p)
{
    struct ifaddrs *list = NULL;
    bool is_found = false;

    if (getifaddrs(&list) != 0)
        return false;
    for (const struct ifaddrs *one = list; one != NULL && !is_found; one = one->ifa_next) {
        if (one->ifa_addr == NULL || one->ifa_addr->sa_family != AF_INET ||
            (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        *addr_p = ((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr;
        is_found = true;
    }
    freeifaddrs(list);
    return is_found;
}

/* The last free port of the range: Hydra takes the first ones. */
static bool bind_in_range(int fd)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    const char *range = dm_cfg_env("MPIEXEC_PORT_RANGE");
    int low = 0;
    int high = 0;

    if (range == NULL)
        range = dm_cfg_env("MPICH_PORT_RANGE");
    if (range == NULL || sscanf(range, "%d:%d", &low, &high) != 2 || low < 1 || high > 65535)
        low = high = 0;
    for (int port = high; port >= low; port--) {
        addr.sin_port = htons((uint16_t)port);
        if (bind(fd, (const void *)&addr, sizeof(addr)) == 0)
            return true;
        if (errno != EADDRINUSE)
            return false;
    }
    return false;
}

static bool make_token(char *token)
{
    unsigned long long value = 0;

    if (getrandom(&value, sizeof(value), 0) != (ssize_t)sizeof(value))
        return false;
    snprintf(token, DM_MPIEXEC_TOKEN_LEN, "%016llx", value);
    return true;
}

void dm_mpiexec_remote_open(struct dm_mpiexec_remote *remote, char *const *argv, char *text,
                            size_t len)
{
    struct sockaddr_in at = {0};
    socklen_t at_len = sizeof(at);
    struct in_addr addr = {0};
    char name[INET_ADDRSTRLEN];

    text[0] = '\0';
    remote->fd = -1;
    if (!dm_mpiexec_may_be_remote(argv) || !(find_by_name(&addr) || find_by_interface(&addr)) ||
        !make_token(remote->token))
        return;
    remote->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (remote->fd < 0 || !bind_in_range(remote->fd) || listen(remote->fd, SOMAXCONN) != 0 ||
        getsockname(remote->fd, (void *)&at, &at_len) != 0) {
        DM_TRACE(PMI, "no port for ranks on other hosts: %s", strerror(errno));
        if (remote->fd >= 0)
            close(remote->fd);
        remote->fd = -1;
        return;
    }
    snprintf(text, len, ":%s:%d:%s", remote->token, ntohs(at.sin_port),
             inet_ntop(AF_INET, &addr, name, sizeof(name)));
}
