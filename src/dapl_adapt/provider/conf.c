/*
 * dat.conf files. The registry (libdat2) parses the file in force when it is loaded, and is
 * silent about most of what can be wrong with it; it is parsed here as well, by the same rules,
 * to know the names and to say what is wrong.
 */
#include "dapl_adapt/provider/conf.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/provider/dat.h"
#include "dapl_adapt/public/stats.h"
#include "util/cfg.h"
#include "util/err.h"
#include "util/self.h"
#include "util/strbuf.h"

#define N_FIELDS        8
#define NAMES_SHOWN     10
#define SYSTEM_DAT_CONF "/etc/dat.conf"

enum field { NAME, VERSION, THREADS, DEFAULT, LIBRARY, PROVIDER_VERSION, IA_PARAMS };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next token of a line, unquoted in place; NULL at the end or at a comment. *is_open_p: its last quote is missing. */
static char *next_token(char **pos_p, bool *is_open_p)
{
    char *pos = *pos_p;
    char *token;
    char *out;

    while (is_blank(*pos))
        pos++;
    if (*pos == '\0' || *pos == '#') {
        *pos_p = pos;
        return NULL;
    }
    if (*pos == '"') {
        token = out = ++pos;
        while (*pos != '\0' && *pos != '"') {
            if (*pos == '\\' && pos[1] != '\0')
                pos++;
            *out++ = *pos++;
        }
        *is_open_p = *pos == '\0';
        if (!*is_open_p)
            pos++;
        *out = '\0';
        *pos_p = pos;
        return token;
    }
    token = pos;
    while (*pos != '\0' && !is_blank(*pos) && *pos != '"')
        pos++;
    if (*pos != '\0')
        *pos++ = '\0';
    *pos_p = pos;
    return token;
}

/* u2, u2.0, u02.00: the user API in the version that every consumer asks for. */
static bool is_version_2(const char *text)
{
    char *end;

    if (*text != 'u' || strtol(text + 1, &end, 10) != 2 || end == text + 1)
        return false;
    return *end == '\0' || (*end == '.' && strtol(end + 1, NULL, 10) == 0);
}

/* name.1.0: the registry drops an entry that has anything else there. */
static bool is_provider_version(const char *text)
{
    const char *digits = "0123456789";
    size_t len = strcspn(text, ".");
    size_t n;

    if (len == 0)
        return false;
    for (int i = 0; i < 2; i++) {
        text += len;
        if (*text++ != '.' || (n = strspn(text, digits)) == 0)
            return false;
        len = n;
    }
    return text[len] == '\0';
}

static int add_entry(struct dm_conf *conf, char **fields, int line)
{
    struct dm_conf_entry *grown;
    struct dm_conf_entry *entry;

    grown = realloc(conf->entries, sizeof(*grown) * (size_t)(conf->n_entries + 1));
    if (grown == NULL)
        return DM_FAIL(DM_ENOMEM, "entries of %s", conf->path);
    conf->entries = grown;
    entry = &grown[conf->n_entries++];
    *entry = (struct dm_conf_entry){.name = strdup(fields[NAME]),
                                    .lib = strdup(fields[LIBRARY]),
                                    .params = strdup(fields[IA_PARAMS]),
                                    .line = line};
    if (entry->name == NULL || entry->lib == NULL || entry->params == NULL)
        return DM_FAIL(DM_ENOMEM, "entries of %s", conf->path);
    return DM_OK;
}

/* Why a line is of no use. Reasons that do not fit are counted only. */
__attribute__((format(printf, 3, 4))) static void unusable(struct dm_conf *conf, int line,
                                                           const char *fmt, ...)
{
    size_t len = strlen(conf->why);
    char text[120];
    char where[24] = "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (line == conf->first_bad && conf->bad_why[0] == '\0')
        snprintf(conf->bad_why, sizeof(conf->bad_why), "%s", text);
    if (conf->n_unusable++ == 0)
        conf->first_unusable = line;
    else
        snprintf(where, sizeof(where), "; line %d: ", line);
    if (len + strlen(where) + strlen(text) < sizeof(conf->why))
        sprintf(conf->why + len, "%s%s", where, text);
}

static void bad_line(struct dm_conf *conf, int line)
{
    conf->n_bad++;
    if (conf->first_bad == 0)
        conf->first_bad = line;
}

/* Does the registry take it? */
static bool is_entry(struct dm_conf *conf, char **fields, int n_fields, int line)
{
    if (n_fields == N_FIELDS && strlen(fields[NAME]) < DAT_NAME_MAX_LENGTH &&
        is_provider_version(fields[PROVIDER_VERSION]))
        return true;
    bad_line(conf, line);
    if (n_fields != N_FIELDS)
        unusable(conf, line, "it has %d field%s, and an entry has exactly %d", n_fields,
                 n_fields == 1 ? "" : "s", N_FIELDS);
    else if (strlen(fields[NAME]) >= DAT_NAME_MAX_LENGTH)
        unusable(conf, line, "its name has more than %d letters", DAT_NAME_MAX_LENGTH - 1);
    else
        unusable(conf, line, "its sixth field is \"%.40s\", and must be like name.1.0",
                 fields[PROVIDER_VERSION]);
    return false;
}

/* Is it one of those that we ask for? */
static bool is_for_us(struct dm_conf *conf, char **fields, int line)
{
    if (!is_version_2(fields[VERSION]))
        unusable(conf, line, "it is for version \"%.40s\", not for u2.0", fields[VERSION]);
    else if (strncmp(fields[THREADS], "nonthreadsafe", 13) != 0)
        unusable(conf, line, "it is \"%.40s\", and only nonthreadsafe is asked for",
                 fields[THREADS]);
    else if (strncmp(fields[DEFAULT], "default", 7) != 0)
        unusable(conf, line, "its fourth field is \"%.40s\", not default", fields[DEFAULT]);
    else
        return true;
    return false;
}

static int parse_line(struct dm_conf *conf, char *text, int line)
{
    char *fields[N_FIELDS];
    char *token;
    bool is_open = false;
    int n = 0;
    size_t len = strlen(text);

    if (len > 0 && text[len - 1] == '\n')
        text[--len] = '\0';
    if (len > 0 && text[len - 1] == '\r') {
        text[--len] = '\0';
        token = text;
        if (next_token(&token, &is_open) != NULL) { /* the registry drops such a line */
            conf->has_crlf = conf->has_crlf || conf->n_bad == 0;
            bad_line(conf, line);
            unusable(
                conf, line,
                "it ends with CR LF, which the DAT registry does not take (sed -i 's/\\r$//')");
        }
        return DM_OK;
    }
    while ((token = next_token(&text, &is_open)) != NULL) {
        if (n < N_FIELDS)
            fields[n] = token;
        n++;
    }
    if (n == 0)
        return DM_OK;
    if (is_open) {
        bad_line(conf, line);
        unusable(conf, line, "a double quote is not closed");
        return DM_OK;
    }
    if (!is_entry(conf, fields, n, line) || !is_for_us(conf, fields, line))
        return DM_OK;
    for (int i = 0; i < conf->n_entries; i++) {
        if (strcmp(conf->entries[i].name, fields[NAME]) == 0)
            return DM_OK; /* the registry tries the libraries of one name in turn */
    }
    return add_entry(conf, fields, line);
}

static int conf_cannot_read(const char *path, bool quiet)
{
    return quiet ? DM_ECONFIG
                 : DM_FAIL(DM_ECONFIG, "the dat.conf %s cannot be read: %s", path, strerror(errno));
}

int dm_conf_read(const char *path, bool quiet, struct dm_conf *conf_p)
{
    char *text = NULL;
    size_t cap = 0;
    int line = 0, saved;
    int err = DM_OK;
    FILE *file;

    *conf_p = (struct dm_conf){.path = strdup(path)};
    if (conf_p->path == NULL)
        return DM_FAIL(DM_ENOMEM, "path of a dat.conf");
    file = fopen(path, "re");
    if (file == NULL) {
        err = conf_cannot_read(path, quiet);
        dm_conf_free(conf_p);
        return err;
    }
    while (err == DM_OK && getline(&text, &cap, file) >= 0)
        err = parse_line(conf_p, text, ++line);
    if (err == DM_OK && ferror(file)) /* a directory */
        err = conf_cannot_read(path, quiet);
    saved = errno;
    free(text);
    fclose(file);
    if (err != DM_OK)
        dm_conf_free(conf_p);
    errno = saved;
    return err;
}

void dm_conf_free(struct dm_conf *conf)
{
    for (int i = 0; i < conf->n_entries; i++) {
        free(conf->entries[i].name);
        free(conf->entries[i].lib);
        free(conf->entries[i].params);
    }
    free(conf->entries);
    free(conf->path);
    *conf = (struct dm_conf){.path = NULL};
}

const char *dm_conf_own_path(void)
{
    static char path[2 * PATH_MAX];
    char self[PATH_MAX];
    const char *slash;
    const char *found = NULL;
    bool is_program;

    if (dm_self_path(self, sizeof(self), &is_program) && (slash = strrchr(self, '/')) != NULL) {
        /* In an installation, which may have been moved; in a build. */
        snprintf(path, sizeof(path), "%.*s/" DM_LIB_TO_ETC "/dat.conf", (int)(slash - self), self);
        if (access(path, R_OK) != 0)
            snprintf(path, sizeof(path), "%.*s/../etc/dat.conf", (int)(slash - self), self);
        if (access(path, R_OK) == 0)
            found = path;
    }
    if (found == NULL && access(DM_DAT_CONF, R_OK) == 0)
        found = DM_DAT_CONF;
    return found;
}

const char *dm_adapt_conf_path(void)
{
    const char *user = dm_cfg_env("DAT_OVERRIDE");
    const char *own;

    if (user != NULL)
        return user;
    if (access(SYSTEM_DAT_CONF, R_OK) == 0)
        return SYSTEM_DAT_CONF;
    own = dm_conf_own_path();
    return own != NULL ? own : SYSTEM_DAT_CONF;
}

static bool conf_is_same_file(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL);
    char *real_b = realpath(b, NULL);
    bool is_same = real_a != NULL && real_b != NULL && strcmp(real_a, real_b) == 0;

    free(real_a);
    free(real_b);
    return is_same;
}

/* Append the library's own entries, marked, unless the name is there already. */
static int add_builtin(struct dm_conf *conf)
{
    const char *path = dm_conf_own_path();
    struct dm_conf own;
    char *fields[N_FIELDS];
    bool is_there;
    int err = DM_OK;

    if (path == NULL || dm_conf_read(path, true, &own) != DM_OK)
        return DM_OK;
    for (int i = 0; i < own.n_entries && err == DM_OK; i++) {
        is_there = false;
        for (int k = 0; k < conf->n_entries; k++)
            is_there = is_there || strcmp(conf->entries[k].name, own.entries[i].name) == 0;
        if (is_there)
            continue;
        fields[NAME] = own.entries[i].name;
        fields[LIBRARY] = own.entries[i].lib;
        fields[IA_PARAMS] = own.entries[i].params;
        err = add_entry(conf, fields, own.entries[i].line);
        conf->entries[conf->n_entries - 1].is_builtin = true;
    }
    dm_conf_free(&own);
    return err;
}

static int count_reasons(const char *why)
{
    int n = 1;

    while ((why = strstr(why, "; line ")) != NULL) {
        n++;
        why++;
    }
    return n;
}

static int check_override(const struct dm_conf *conf)
{
    if (conf->n_entries > 0)
        return DM_OK;
    if (conf->n_unusable > 0)
        return DM_FAIL(DM_ECONFIG, "%s:%d: %s%s; no other line is usable", conf->path,
                       conf->first_unusable, conf->why,
                       conf->n_unusable > count_reasons(conf->why) ? "; and so on" : "");
    return DM_FAIL(
        DM_ECONFIG,
        "%s, which DAT_OVERRIDE names, has no entry that can be used (u2.0 nonthreadsafe "
        "default); unset DAT_OVERRIDE or name another file",
        conf->path);
}

int dm_conf_load(struct dm_conf *conf_p)
{
    const char *user = dm_cfg_env("DAT_OVERRIDE");
    const char *own = dm_conf_own_path();
    int err;

    if (user != NULL) {
        err = dm_conf_read(user, true, conf_p);
        if (err == DM_ECONFIG)
            return DM_FAIL(DM_ECONFIG,
                           "DAT_OVERRIDE names the file \"%s\", which cannot be read: %s; name a "
                           "dat.conf or unset DAT_OVERRIDE",
                           user, strerror(errno));
        if (err != DM_OK)
            return err;
        conf_p->is_user = true;
        err = check_override(conf_p);
    } else if (access(SYSTEM_DAT_CONF, R_OK) == 0) {
        err = dm_conf_read(SYSTEM_DAT_CONF, false, conf_p);
        if (err != DM_OK)
            return err;
    } else {
        *conf_p = (struct dm_conf){.path = strdup(own != NULL ? own : SYSTEM_DAT_CONF)};
        err = conf_p->path == NULL ? DM_FAIL(DM_ENOMEM, "path of a dat.conf") : DM_OK;
    }
    /* entries of our own file are in the registry when it is the file in force */
    if (err == DM_OK && !(user != NULL && own != NULL && conf_is_same_file(user, own)))
        err = add_builtin(conf_p);
    if (err != DM_OK)
        dm_conf_free(conf_p);
    return err;
}

static int unknown_name(const struct dm_conf *conf, const char *name)
{
    char names[300];
    struct dm_strbuf sb;

    dm_strbuf_init(&sb, names, sizeof(names));
    for (int i = 0; i < conf->n_entries && i < NAMES_SHOWN; i++)
        dm_strbuf_addf(&sb, "%s%s", i > 0 ? ", " : "", conf->entries[i].name);
    if (conf->n_entries > NAMES_SHOWN)
        dm_strbuf_addf(&sb, " and %d more", conf->n_entries - NAMES_SHOWN);
    if (conf->n_bad > 0)
        return DM_FAIL(
            DM_ECONFIG,
            "DATUM_PROVIDER (from the environment) names \"%s\", which is not in %s; it has: %s (and a broken "
            "entry in line %d%s)",
            name, conf->path, conf->n_entries > 0 ? names : "nothing", conf->first_bad,
            conf->has_crlf ? ", which ends with CR LF" : "");
    return DM_FAIL(
        DM_ECONFIG,
        "DATUM_PROVIDER (from the environment) names \"%s\", which is not in %s; it has: %s", name,
        conf->path, conf->n_entries > 0 ? names : "nothing");
}

int dm_conf_select(struct dm_conf *conf, const char *names)
{
    const char *between = ", \t";
    struct dm_conf_entry tmp;
    char *list;
    char *save = NULL;
    int n = 0;
    int i;

    if (names[strspn(names, ", \t")] == '\0')
        return DM_OK;
    for (i = 0; i < conf->n_entries; i++) {
        if (strcmp(conf->entries[i].name, names) == 0)
            between = ""; /* one name, whatever it has in it */
    }
    list = strdup(names);
    if (list == NULL)
        return DM_FAIL(DM_ENOMEM, "provider names");
    for (char *name = strtok_r(list, between, &save); name != NULL;
         name = strtok_r(NULL, between, &save)) {
        for (i = 0; i < conf->n_entries; i++) {
            if (strcmp(conf->entries[i].name, name) == 0)
                break;
        }
        if (i == conf->n_entries) {
            unknown_name(conf, name);
            free(list);
            return DM_ECONFIG;
        }
        if (i < n)
            continue; /* named twice */
        tmp = conf->entries[n];
        conf->entries[n++] = conf->entries[i];
        conf->entries[i] = tmp;
    }
    free(list);
    for (i = n; i < conf->n_entries; i++) {
        free(conf->entries[i].name);
        free(conf->entries[i].lib);
        free(conf->entries[i].params);
    }
    conf->n_entries = n;
    return DM_OK;
}

int dm_conf_register(const struct dm_conf_entry *entry)
{
    DAT_PROVIDER_INFO info;
    DAT_PROVIDER_INIT_FUNC init;
    void *lib;

    lib = dlopen(entry->lib, RTLD_NOW | RTLD_GLOBAL);
    if (lib == NULL)
        return DM_FAIL(DM_EPROVIDER, "%s", dlerror());
    *(void **)&init = dlsym(lib, DAT_PROVIDER_INIT_FUNC_STR);
    if (init == NULL) {
        dlclose(lib);
        return DM_FAIL(DM_EPROVIDER, "%s is no DAT provider: it has no " DAT_PROVIDER_INIT_FUNC_STR,
                       entry->lib);
    }
    memset(&info, 0, sizeof(info));
    snprintf(info.ia_name, sizeof(info.ia_name), "%s", entry->name);
    info.dapl_version_major = DAT_VERSION_MAJOR;
    info.dapl_version_minor = DAT_VERSION_MINOR;
    info.is_thread_safe = DAT_FALSE;
    init(&info, entry->params); /* a second registration is refused, which is right */
    return DM_OK;
}
