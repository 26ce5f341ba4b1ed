/*
 * The report to the process that has started us. The pipe stays open: its end is ours.
 */
#include "tools/mpiexec/parent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmi/pmi_mpiexec.h"
#include "util/cfg.h"
#include "util/log.h"

static struct {
    int fd;
    bool has_said;
} parent = {.fd = -1};

bool dm_launch_parent_is(void)
{
    return dm_cfg_env(DM_PMI_PARENT_PAIRS) != NULL;
}

bool dm_launch_parent_open(void)
{
    const char *text = dm_cfg_env(DM_PMI_PARENT_FD);
    int fd = text != NULL ? (int)strtol(text, NULL, 10) : -1;

    if (fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
        parent.fd = fd;
    return dm_launch_parent_is();
}

bool dm_launch_parent_pairs(struct dm_launch_kvs *kvs)
{
    const char *text = dm_cfg_env(DM_PMI_PARENT_PAIRS);
    char *copy = strdup(text != NULL ? text : "");
    char *rest = copy;
    char *word;
    bool is_good = copy != NULL;

    while (is_good && (word = strsep(&rest, " ")) != NULL) {
        char *value = strchr(word, '=');

        if (value == NULL)
            continue;
        *value = '\0';
        is_good = dm_launch_kvs_put(kvs, word, value + 1);
    }
    free(copy);
    return is_good;
}

void dm_launch_parent_say(const char *why)
{
    char escaped[2048] = "";
    char line[4096] = "ok\n";

    if (parent.fd < 0 || parent.has_said)
        return;
    parent.has_said = true;
    if (why != NULL) {
        (void)dm_pmi_wire_escape(why, escaped, sizeof(escaped));
        snprintf(line, sizeof(line), "no - %s\n", escaped);
    }
    if (write(parent.fd, line, strlen(line)) < 0)
        parent.fd = -1; /* it is gone */
}

void dm_launch_parent_blame(const struct dm_launch_node *node)
{
    if (node->why[0] != '\0' && (!node->kin.has_parent || parent.fd < 0))
        dm_log_error("mpiexec: %s", node->why);
    dm_launch_parent_say(node->why[0] != '\0' ? node->why : "its ranks cannot be started");
}
