/* test: layers=util,dapl_adapt timeout=20 */
/* Verbs devices as /sys shows them: which of them an entry's parameters name. */
#include "dapl_adapt/provider/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "test.h"

static char root[] = "/tmp/dm-device-XXXXXX";

static void make_dir(const char *name)
{
    char path[200];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    CHECK_EQ(mkdir(path, 0700), 0);
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void make_device(const char *name, const char *type, const char *link)
{
    char path[100];

    make_dir(name);
    snprintf(path, sizeof(path), "%s/node_type", name);
    write_file(path, type);
    snprintf(path, sizeof(path), "%s/ports", name);
    make_dir(path);
    snprintf(path, sizeof(path), "%s/ports/2", name);
    make_dir(path);
    snprintf(path, sizeof(path), "%s/ports/2/link_layer", name);
    write_file(path, "InfiniBand\n");
    snprintf(path, sizeof(path), "%s/ports/1", name);
    make_dir(path);
    snprintf(path, sizeof(path), "%s/ports/1/link_layer", name);
    write_file(path, link);
}

int main(void)
{
    char name[DM_DEVICE_NAME_MAX];
    char longest[300];
    char command[64];

    CHECK(mkdtemp(root) != NULL);
    make_device("rxe0", "1: CA\n", "Ethernet\n");
    make_device("mlx4_0", "1: CA\n", "InfiniBand\n");
    make_device("siw0", "4: RNIC\n", "Ethernet\n");

    CHECK_EQ(dm_device_named(root, "rxe0 1", name), DM_DEVICE_ROCE);
    CHECK_STR(name, "rxe0");
    CHECK_EQ(dm_device_named(root, "rxe0 0", name), DM_DEVICE_ROCE);
    CHECK_EQ(dm_device_named(root, "rxe0", name), DM_DEVICE_ROCE);
    CHECK_EQ(dm_device_named(root, "rxe0 2", name), DM_DEVICE_IB);
    CHECK_EQ(dm_device_named(root, "mlx4_0 1", name), DM_DEVICE_IB);
    CHECK_EQ(dm_device_named(root, "siw0 1", name), DM_DEVICE_IWARP);
    CHECK_STR(name, "siw0");

    /* interfaces, addresses, nothing, other things */
    CHECK_EQ(dm_device_named(root, "eth0 0", name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named(root, "10.77.0.1 0", name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named(root, "", name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named(root, " siw0", name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named(root, "../siw0 1", name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named(root, ".. 1", name), DM_DEVICE_NONE);
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    CHECK_EQ(dm_device_named(root, longest, name), DM_DEVICE_NONE);
    CHECK_EQ(dm_device_named("/nowhere", "siw0 1", name), DM_DEVICE_NONE);

    snprintf(command, sizeof(command), "rm -r %s", root);
    CHECK_EQ(system(command), 0);
    return test_result();
}
