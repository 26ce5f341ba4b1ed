/*
 * Verbs devices, as /sys shows them. Some providers are given a device, others a network
 * interface; which one decides what a provider can do with RoCE and iWARP: the first kind
 * makes connections by itself, as InfiniBand allows.
 */
#include "dapl_adapt/provider/device.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_LEN 512
#define RNIC     '4' /* "4: RNIC" in node_type */

/* The first bytes of root/name/file; false when it is not there. */
static bool device_read_file(const char *root, const char *name, const char *file, char *buf,
                             size_t len)
{
    char path[PATH_LEN];
    ssize_t n;
    int fd;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", root, name, file) >= sizeof(path))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, buf, len - 1);
    close(fd);
    if (n <= 0)
        return false;
    buf[n] = '\0';
    return true;
}

enum dm_device dm_device_named(const char *root, const char *params, char *name)
{
    size_t len = strcspn(params, " \t");
    char file[32];
    char text[32];
    int port;

    name[0] = '\0';
    if (len == 0 || len >= DM_DEVICE_NAME_MAX || memchr(params, '/', len) != NULL ||
        params[0] == '.')
        return DM_DEVICE_NONE;
    memcpy(name, params, len);
    name[len] = '\0';
    if (!device_read_file(root, name, "node_type", text, sizeof(text)))
        return DM_DEVICE_NONE;
    if (text[0] == RNIC)
        return DM_DEVICE_IWARP;
    port = atoi(params + len);
    snprintf(file, sizeof(file), "ports/%d/link_layer", port > 0 ? port : 1);
    if (device_read_file(root, name, file, text, sizeof(text)) && strncmp(text, "Ethernet", 8) == 0)
        return DM_DEVICE_ROCE;
    return DM_DEVICE_IB;
}
