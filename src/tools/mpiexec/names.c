/*
 * The table of names. With a server that keeps them for more than one mpiexec, it has those of our own
 * jobs, which the server is asked to publish, too.
 */
#include "tools/mpiexec/names.h"

#include <stdlib.h>
#include <string.h>

#include "tools/mpiexec/server_ask.h"

static struct dm_launch_name *names_find(const struct dm_launch_names *names, const char *service)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->list[i].service, service) == 0)
            return &names->list[i];
    return NULL;
}

static void name_free(struct dm_launch_names *names, struct dm_launch_name *name)
{
    char answer[DM_LAUNCH_WORD_MAX];

    if (names->server != NULL)
        (void)dm_launch_ask(names->server, "UNPUBLISH", name->service, NULL, answer,
                            sizeof(answer));
    free(name->service);
    free(name->port);
    *name = names->list[--names->n];
}

bool dm_launch_names_publish(struct dm_launch_names *names, const char *service, const char *port,
                             int serial)
{
    struct dm_launch_name *new;
    char answer[DM_LAUNCH_WORD_MAX];

    if (names_find(names, service) != NULL)
        return false;
    if (names->server != NULL &&
        !dm_launch_ask(names->server, "PUBLISH", service, port, answer, sizeof(answer)))
        return false;
    new = realloc(names->list, (names->n + 1) * sizeof(*new));
    if (new == NULL)
        return false;
    names->list = new;
    new += names->n++;
    *new = (struct dm_launch_name){strdup(service), strdup(port), serial};
    if (new->service != NULL &&new->port != NULL)
        return true;
    free(new->service);
    free(new->port);
    names->n--;
    return false;
}

bool dm_launch_names_unpublish(struct dm_launch_names *names, const char *service, int serial)
{
    struct dm_launch_name *name = names_find(names, service);

    if (name == NULL || name->serial != serial)
        return false;
    name_free(names, name);
    return true;
}

bool dm_launch_names_lookup(struct dm_launch_names *names, const char *service, char *port,
                            size_t len)
{
    const struct dm_launch_name *name = names_find(names, service);

    if (name == NULL)
        return names->server != NULL &&
               dm_launch_ask(names->server, "LOOKUP", service, NULL, port, len);
    if (strlen(name->port) >= len)
        return false;
    memcpy(port, name->port, strlen(name->port) + 1);
    return true;
}

void dm_launch_names_drop(struct dm_launch_names *names, int serial)
{
    for (size_t i = names->n; i > 0; i--)
        if (names->list[i - 1].serial == serial)
            name_free(names, &names->list[i - 1]);
}

void dm_launch_names_fini(struct dm_launch_names *names)
{
    while (names->n > 0)
        name_free(names, &names->list[names->n - 1]);
    free(names->list);
}
