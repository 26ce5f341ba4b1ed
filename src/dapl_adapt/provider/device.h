/*
 * What the kernel says about a verbs device that a dat.conf entry names.
 */
#ifndef DM_DAPL_ADAPT_PROVIDER_DEVICE_H
#define DM_DAPL_ADAPT_PROVIDER_DEVICE_H

#include <stddef.h>

#define DM_DEVICE_ROOT     "/sys/class/infiniband"
#define DM_DEVICE_NAME_MAX 64

enum dm_device {
    DM_DEVICE_NONE, /* the parameters name no verbs device of this host, perhaps an interface */
    DM_DEVICE_IB,
    DM_DEVICE_ROCE, /* InfiniBand over Ethernet */
    DM_DEVICE_IWARP
};

/*
 * The device that is the first word of an entry's ia_params, as /sys has it below `root`
 * (DM_DEVICE_ROOT but in tests). Its name goes to `name`, DM_DEVICE_NAME_MAX bytes.
 */
enum dm_device dm_device_named(const char *root, const char *params, char *name);

#endif
