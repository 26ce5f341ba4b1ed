/*
 * Adapter instances: open, close.
 */
#include "providers/tcp/ia.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/net/key.h"
#include "providers/tcp/stream.h"
#include "providers/tcp/transport/splice.h"

/* prov= is of the provider over libfabric: its usual value is what this is. False, and reported, if
 * it is another. */
static bool tcp_ia_read_params(struct dm_tcp_ia *ia, const char *params)
{
    const char *name = ia->net.pia.obj.provider->device_name;
    char text[16];

    if (dm_prov_param(params, "prov", text, sizeof(text)) && strcmp(text, "tcp") != 0) {
        dm_prov_param_bad(name, params, "prov", "tcp; others are libdatum_dapl_ofi.so's");
        return false;
    }
    if (!dm_prov_param(params, "buffer", text, sizeof(text)))
        return true;
    ia->buffer = dm_prov_param_size(params, "buffer", 0);
    if (ia->buffer > 0 && ia->buffer <= INT32_MAX)
        return true;
    dm_prov_param_bad(name, params, "buffer", "a number of bytes below 2g");
    return false;
}

static DAT_RETURN tcp_ia_open_network(struct dm_tcp_ia *ia, const char *params)
{
    static const char *const keys[] = {"if",   "family", "progress", "timeout",
                                       "prov", "buffer", "strict",   NULL};
    DAT_RETURN ret = dm_net_open(&ia->net, dm_net_ops_get(), params, keys);

    if (ret != DAT_SUCCESS)
        return ret;
    if (!tcp_ia_read_params(ia, params))
        return DM_DAT(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
    ia->stage = malloc(DM_TCP_STAGE_LEN + DM_TCP_SINK_LEN);
    ia->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ia->stage == NULL || ia->epoll_fd < 0)
        return DM_DAT_NOMEM;
    ia->sink = ia->stage + DM_TCP_STAGE_LEN;
    ia->net.fds[0] = ia->epoll_fd;
    return DAT_SUCCESS;
}

DAT_RETURN dm_tcp_ia_open(struct dm_pia *pia, const char *params)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)pia;
    DAT_RETURN ret;

    ia->epoll_fd = -1;
    dm_list_init(&ia->blocked);
    dm_list_init(&ia->late);
    dm_list_init(&ia->held);
    dm_list_init(&ia->pipes);
    ret = tcp_ia_open_network(ia, params);
    if (ret == DAT_SUCCESS)
        dm_net_show_attrs(&ia->net, "sockets", true);
    else
        dm_tcp_ia_close(pia);
    return ret;
}

void dm_tcp_ia_close(struct dm_pia *pia)
{
    struct dm_tcp_ia *ia = (struct dm_tcp_ia *)pia;

    if (ia->epoll_fd >= 0)
        close(ia->epoll_fd);
    ia->epoll_fd = -1;
    free(ia->stage);
    ia->stage = NULL;
    dm_tcp_pipes_close(ia);
    dm_net_close(&ia->net);
}
