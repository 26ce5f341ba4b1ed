/*
 * The connection of PMI-1 and PMI-2: PMI_FD or PMI_PORT.
 *
 * Answers come in the order of the requests, so whatever is read belongs to the
 * oldest request that has no answer yet.
 */
#include "pmi/pmi_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/cfg.h"
#include "util/err.h"

#define SIZE_LIMIT (1 << 24)

bool dm_pmi_fd_is_offered(void)
{
    const char *fd = dm_cfg_env("PMI_FD");
    const char *size = dm_cfg_env("PMI_SIZE");

    if (dm_cfg_env("PMI_PORT") != NULL)
        return true;
    if (fd == NULL)
        return false;
    /* The descriptor of a job of one does not reach the children of its rank: they are alone. */
    if (size != NULL && strcmp(size, "1") == 0 && fcntl((int)strtol(fd, NULL, 10), F_GETFD) < 0)
        return false;
    return true;
}

/* Reads a variable that must be a number in min..max. */
static int pmi_fd_env_number(const char *var, int min, int max, int *num_p)
{
    const char *text = dm_cfg_env(var);
    char *end;
    long num;

    if (text == NULL)
        return DM_FAIL(DM_ELAUNCH, "the launcher has set PMI_FD but not %s", var);
    errno = 0;
    num = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || num < min || num > max)
        return DM_FAIL(DM_ELAUNCH, "%s is '%s', but must be a number from %d to %d", var, text, min,
                       max);
    *num_p = (int)num;
    return DM_OK;
}

int dm_pmi_fd_open(struct dm_pmi *pmi)
{
    int fd = -1;
    int err = pmi_fd_env_number("PMI_SIZE", 1, SIZE_LIMIT, &pmi->job.size);

    if (err == DM_OK)
        err = pmi_fd_env_number("PMI_RANK", 0, pmi->job.size - 1, &pmi->job.rank);
    if (err == DM_OK)
        err = pmi_fd_env_number("PMI_FD", 0, INT32_MAX, &fd);
    if (err != DM_OK)
        return err;
    if (fcntl(fd, F_GETFD) < 0)
        return DM_FAIL(
            DM_ELAUNCH,
            "PMI_FD is %d and PMI_SIZE is %d, but this descriptor is not open: either a "
            "program between mpiexec and this one has closed it, or this one was started "
            "by another MPI program (then unset PMI_FD and PMI_SIZE for it)",
            fd, pmi->job.size);
    dm_pmi_wire_init(&pmi->wire, fd);
    return DM_OK;
}

static int pmi_fd_dial(const char *host, const char *port, int *fd_p)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);
    int saved = 0;
    int fd = -1;

    if (rc != 0)
        return DM_FAIL(DM_ELAUNCH, "the process manager's host '%s' (PMI_PORT): %s", host,
                       gai_strerror(rc));
    for (struct addrinfo *ai = list; ai != NULL && fd < 0; ai = ai->ai_next) {
        fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol);
        if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) != 0) {
            saved = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        return DM_FAIL(DM_ELAUNCH, "connecting to the process manager at %s:%s (PMI_PORT): %s",
                       host, port, strerror(saved));
    *fd_p = fd;
    return DM_OK;
}

int dm_pmi_fd_dial(struct dm_pmi *pmi, const char *port)
{
    const char *colon = strrchr(port, ':');
    char host[256];
    int fd = -1;
    int err;

    if (colon == NULL || (size_t)(colon - port) >= sizeof(host))
        return DM_FAIL(DM_ELAUNCH, "PMI_PORT is '%s', but must be HOST:PORT", port);
    memcpy(host, port, (size_t)(colon - port));
    host[colon - port] = '\0';
    err = pmi_fd_dial(host, colon + 1, &fd);
    if (err == DM_OK)
        dm_pmi_wire_init(&pmi->wire, fd);
    return err;
}

int dm_pmi_fd_answer(struct dm_pmi *pmi, const char *cmd, uint64_t timeout, const char **line_p)
{
    char got[64] = "";
    int err = dm_pmi_wire_recv(&pmi->wire, timeout, line_p);

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_field(*line_p, "cmd", got, sizeof(got)) || strcmp(got, cmd) != 0)
        return DM_FAIL(DM_ELAUNCH, "the process manager answered '%.100s' instead of cmd=%s",
                       *line_p, cmd);
    return DM_OK;
}

bool dm_pmi_fd_is_success(const char *line)
{
    char text[16];
    int rc;

    if (dm_pmi_wire_number(line, "rc", &rc))
        return rc == 0;
    return !dm_pmi_wire_field(line, "rc", text, sizeof(text));
}
