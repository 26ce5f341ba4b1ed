/*
 * Reading requests to start processes. Nothing that a program says may hurt us: what is too much,
 * out of order or missing makes the request a bad one, which is answered when it ends.
 */
#include "tools/mpiexec/spawn_request.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/pmi_wire.h"

enum {
    LEN_MAX = 64 << 20, /* of all texts */
    TEXTS_MAX = 1 << 20,
    APPS_MAX = 1 << 14,
};

static void request_blame(struct dm_launch_request *request, const char *why)
{
    if (request->why == NULL)
        request->why = why;
}

/* ---- texts ---- */

/* more= goes on with this one. */
static void request_begin(struct dm_launch_request *request, char **text_p)
{
    request->last = text_p;
    request->last_len = *text_p != NULL ? strlen(*text_p) : 0;
    request->last_max = request->last_len + 1;
}

/* Appends a copy to a list, which more= may go on with. */
static void request_add(struct dm_launch_request *request, struct dm_launch_list *list,
                        const char *value)
{
    char *copy = NULL;

    request->len += strlen(value) + sizeof(copy);
    if (request->len > LEN_MAX || list->n >= TEXTS_MAX)
        request_blame(request, "it is longer than 64 MiB");
    else
        copy = strdup(value);
    if (copy == NULL || !dm_launch_list_add(list, copy)) {
        free(copy);
        request->last = NULL;
        request_blame(request, "there is no memory for it");
        return;
    }
    request_begin(request, &list->list[list->n - 1]);
}

static void request_set(struct dm_launch_request *request, char **text_p, const char *value)
{
    free(*text_p);
    *text_p = strdup(value);
    request->len += strlen(value);
    request_begin(request, text_p);
}

static void request_more(struct dm_launch_request *request, const char *value)
{
    size_t len = strlen(value);
    char *new;

    request->len += len;
    if (request->last == NULL || *request->last == NULL || request->len > LEN_MAX) {
        request_blame(request, "a text goes on that has not begun, or is too long");
        return;
    }
    if (request->last_len + len >= request->last_max) {
        request->last_max = 2 * (request->last_len + len) + 1;
        new = realloc(*request->last, request->last_max);
        if (new == NULL) {
            request->last = NULL;
            request_blame(request, "there is no memory for it");
            return;
        }
        *request->last = new;
    }
    memcpy(*request->last + request->last_len, value, len + 1);
    request->last_len += len;
}

static int request_number(struct dm_launch_request *request, const char *value)
{
    char *end;
    long num;

    errno = 0;
    num = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || num < 0 || num > INT_MAX) {
        request_blame(request, "a number in it is none");
        return 0;
    }
    return (int)num;
}

/* ---- blocks ---- */

static struct dm_launch_request_app *request_app(struct dm_launch_request *request)
{
    struct dm_launch_request_app *new;

    if (request->n_apps == (size_t)request->n_sofar + 1)
        return &request->apps[request->n_apps - 1];
    if (request->n_sofar >= APPS_MAX) {
        request_blame(request, "it has too many programs");
        return NULL;
    }
    new = realloc(request->apps, (request->n_apps + 1) * sizeof(*new));
    if (new == NULL) {
        request_blame(request, "there is no memory for it");
        return NULL;
    }
    request->apps = new;
    request->last = NULL;
    memset(&new[request->n_apps], 0, sizeof(*new));
    return &new[request->n_apps++];
}

static bool begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void request_take(struct dm_launch_request *request, struct dm_launch_request_app *app,
                         const char *name, const char *value)
{
    /* The pairs of the new job's space come with each program. */
    bool is_first = request->n_sofar == 0;

    if (strcmp(name, "more") == 0) {
        request_more(request, value);
        return;
    }
    request->last = NULL;
    if (strcmp(name, "nprocs") == 0)
        app->n = request_number(request, value);
    else if (strcmp(name, "execname") == 0)
        request_set(request, &app->command, value);
    else if (strcmp(name, "totspawns") == 0)
        request->n_total = request_number(request, value);
    else if (strcmp(name, "is_escaped") == 0)
        request->is_escaped = strcmp(value, "1") == 0;
    else if (strcmp(name, "own") == 0)
        request->own = strtoull(value, NULL, 16);
    else if (strcmp(name, "argcnt") != 0 && begins(name, "arg"))
        request_add(request, &app->args, value);
    else if (begins(name, "info_key_"))
        request_add(request, &app->keys, value);
    else if (begins(name, "info_val_"))
        request_add(request, &app->values, value);
    else if (begins(name, "preput_key_") && is_first)
        request_add(request, &request->keys, value);
    else if (begins(name, "preput_val_") && is_first)
        request_add(request, &request->values, value);
}

static bool unescape_list(struct dm_launch_list *list)
{
    bool is_good = true;

    for (size_t i = 0; i < list->n; i++)
        is_good = dm_pmi_wire_unescape(list->list[i]) && is_good;
    return is_good;
}

static void request_finish(struct dm_launch_request *request)
{
    bool is_good = true;

    for (size_t i = 0; i < request->n_apps; i++) {
        struct dm_launch_request_app *app = &request->apps[i];

        if (app->command == NULL || *app->command == '\0')
            request_blame(request, "a program has no name");
        if (app->keys.n != app->values.n)
            request_blame(request, "an info key has no value");
        if (!request->is_escaped)
            continue;
        is_good = (app->command == NULL || dm_pmi_wire_unescape(app->command)) && is_good;
        is_good = unescape_list(&app->args) && is_good;
        is_good = unescape_list(&app->keys) && unescape_list(&app->values) && is_good;
    }
    if (request->is_escaped)
        is_good = unescape_list(&request->keys) && unescape_list(&request->values) && is_good;
    if (!is_good)
        request_blame(request, "a text in it is damaged");
    if (request->keys.n != request->values.n)
        request_blame(request, "a key has no value");
}

bool dm_launch_request_line(struct dm_launch_request *request, const char *line)
{
    struct dm_launch_request_app *app = request_app(request);
    const char *eq = strchr(line, '=');
    char name[32];

    if (strcmp(line, "endcmd") == 0) {
        request->n_sofar++;
        request->last = NULL;
        if (request->n_sofar < request->n_total)
            return false;
        request_finish(request);
        return true;
    }
    if (app == NULL || eq == NULL)
        return false;
    if ((size_t)(eq - line) >= sizeof(name)) {
        request_blame(request, "a line in it is none of PMI");
        return false;
    }
    memcpy(name, line, (size_t)(eq - line));
    name[eq - line] = '\0';
    request_take(request, app, name, eq + 1);
    return false;
}

const char *dm_launch_request_info(const struct dm_launch_request_app *app, const char *key)
{
    for (size_t i = 0; i < app->keys.n && i < app->values.n; i++)
        if (strcmp(app->keys.list[i], key) == 0)
            return app->values.list[i];
    return NULL;
}

static void free_texts(struct dm_launch_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->list[i]);
    free(list->list);
}

void dm_launch_request_free(struct dm_launch_request *request)
{
    for (size_t i = 0; i < request->n_apps; i++) {
        free(request->apps[i].command);
        free_texts(&request->apps[i].args);
        free_texts(&request->apps[i].keys);
        free_texts(&request->apps[i].values);
    }
    free(request->apps);
    free_texts(&request->keys);
    free_texts(&request->values);
    memset(request, 0, sizeof(*request));
}
