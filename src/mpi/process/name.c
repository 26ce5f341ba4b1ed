/*
 * Published names, which the launcher keeps.
 */
#include <string.h>

#include "mpi/process/process.h"
#include "mpi/process/state.h"
#include "pmi/pmi_spawn.h"

/* Info keys are hints, of which none means anything here. */
static int name_check(const char *service)
{
    size_t len = strnlen(service, DM_PMI_SERVICE_MAX);

    return len > 0 && len < DM_PMI_SERVICE_MAX
               ? DM_OK
               : DM_FAIL(DM_ERR_SERVICE, "service_name has %s characters; 1 to %d are possible",
                         len == 0 ? "no" : "too many", DM_PMI_SERVICE_MAX - 1);
}

int dm_publish_name(const char *service, struct dm_info *info, const char *port_name)
{
    int err = name_check(service);

    (void)info;
    if (err == DM_OK && strnlen(port_name, MPI_MAX_PORT_NAME) == MPI_MAX_PORT_NAME)
        err = DM_FAIL(DM_ERR_PORT, "port_name has more than %d characters", MPI_MAX_PORT_NAME - 1);
    return err == DM_OK ? dm_pmi_publish(dm_process_state.pmi, service, port_name) : err;
}

int dm_unpublish_name(const char *service, struct dm_info *info, const char *port_name)
{
    int err = name_check(service);

    (void)info, (void)port_name;
    return err == DM_OK ? dm_pmi_unpublish(dm_process_state.pmi, service) : err;
}

int dm_lookup_name(const char *service, struct dm_info *info, char *port_name)
{
    int err = name_check(service);

    (void)info;
    return err == DM_OK ? dm_pmi_lookup(dm_process_state.pmi, service, port_name, MPI_MAX_PORT_NAME)
                        : err;
}
