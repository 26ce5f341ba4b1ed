/*
 * Other jobs. Our mpiexec does all of it over PMI-1; Hydra starts processes and knows names, but
 * neither says why a program could not be executed nor lives on then, so that is looked at before;
 * where there is no such launcher, a mpiexec of ours runs the new job.
 */
#include "pmi/pmi_spawn.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmi/pmi_impl.h"
#include "pmi/pmi_mpiexec.h"
#include "pmi/pmi_text.h"
#include "util/cfg.h"
#include "util/err.h"

static bool has_server(const struct dm_pmi *pmi)
{
    return pmi->proto == dm_pmi_v1();
}

void dm_pmi_set_own(struct dm_pmi *pmi, uint64_t own)
{
    pmi->own = own;
}

/* ---- what is started ---- */

static int count_procs(const struct dm_pmi_spawn *spawn)
{
    int n = 0;

    for (int i = 0; i < spawn->n_programs; i++)
        n += spawn->programs[i].maxprocs;
    return n;
}

/* faults: "0,1": the second of two programs is to blame; "": nobody in particular, so all are. */
static void set_codes(const struct dm_pmi_spawn *spawn, const char *faults, int *codes)
{
    bool is_all = *faults == '\0';

    for (int i = 0; codes != NULL && i < spawn->n_programs; i++) {
        bool is_fault = is_all || *faults == '1';

        for (int k = 0; k < spawn->programs[i].maxprocs; k++)
            *codes++ = is_fault ? DM_ERR_SPAWN : DM_OK;
        faults += strcspn(faults, ",");
        faults += *faults == ',';
    }
}

/* The preput pairs in the form in which they are in the space. */
struct pairs {
    struct dm_pmi_pair *list;
    int n;
};

static int pairs_add(void *arg, const char *key, const char *val)
{
    struct pairs *pairs = arg;
    struct dm_pmi_pair *new = realloc(pairs->list, ((size_t)pairs->n + 1) * sizeof(*new));

    if (new == NULL)
        return DM_FAIL(DM_ENOMEM, "pairs of a spawned job");
    pairs->list = new;
    new[pairs->n].key = strdup(key);
    new[pairs->n].val = strdup(val);
    return new[pairs->n].key != NULL &&new[pairs->n++].val != NULL
               ? DM_OK
               : DM_FAIL(DM_ENOMEM, "pairs of a spawned job");
}

static void pairs_free(struct pairs *pairs)
{
    for (int i = 0; i < pairs->n; i++) {
        free((char *)pairs->list[i].key);
        free((char *)pairs->list[i].val);
    }
    free(pairs->list);
}

/* ---- by a mpiexec of its own ---- */

static int spawn_by_mpiexec(struct dm_pmi *pmi, const struct dm_pmi_spawn *spawn, int *codes,
                            int *n_started_p)
{
    struct dm_pmi_report report = {.is_good = false};
    char *exe = dm_pmi_mpiexec_path();
    int fd = -1;
    int err;

    if (exe == NULL)
        err = DM_FAIL(DM_ERR_SPAWN, "there is no mpiexec beside this library");
    else
        err = dm_pmi_mpiexec_start(exe, spawn, NULL, &fd);
    free(exe);
    if (err == DM_OK) {
        dm_pmi_mpiexec_report(fd, &report);
        if (!report.is_good)
            err = DM_FAIL(DM_ERR_SPAWN, "%s", report.why);
    }
    if (err == DM_OK) {
        *n_started_p = count_procs(spawn);
        if (pmi->spawned_fd >= 0)
            close(pmi->spawned_fd);
        pmi->spawned_fd = fd;
        return DM_OK;
    }
    set_codes(spawn, report.faults, codes);
    if (fd >= 0)
        close(fd);
    return err;
}

bool dm_pmi_spawned_is_over(struct dm_pmi *pmi)
{
    struct pollfd pfd = {.fd = pmi->spawned_fd};

    return pmi->spawned_fd >= 0 && poll(&pfd, 1, 0) > 0;
}

/* ---- by a server of PMI-1 ---- */

/* Longer values are cut: a line is at most DM_PMI_LINE_MAX. */
enum { PIECE_LEN = 2000 };

/* A line with a value, escaped for ours. Hydra takes it as it is; false: it cannot. */
static bool write_value(struct dm_pmi_text *f, bool is_ours, const char *name, const char *value)
{
    char piece[PIECE_LEN + 1];
    char escaped[3 * PIECE_LEN + 1];

    if (!is_ours) {
        dm_pmi_text_add(f, "%s=%s\n", name, value);
        return strchr(value, '\n') == NULL && strlen(value) < DM_PMI_LINE_MAX / 8;
    }
    do {
        size_t len = strnlen(value, PIECE_LEN);

        memcpy(piece, value, len);
        piece[len] = '\0';
        (void)dm_pmi_wire_escape(piece, escaped, sizeof(escaped));
        dm_pmi_text_add(f, "%s=%s\n", name, escaped);
        name = "more";
        value += len;
    } while (*value != '\0');
    return true;
}

static bool write_pairs(struct dm_pmi_text *f, bool is_ours, const char *kind,
                        const struct dm_pmi_pair *pairs, int n)
{
    bool is_good = true;
    char name[48];

    dm_pmi_text_add(f, "%s_num=%d\n", kind, n);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s_key_%d", kind, i);
        is_good = write_value(f, is_ours, name, pairs[i].key) && is_good;
        snprintf(name, sizeof(name), "%s_val_%d", kind, i);
        is_good = write_value(f, is_ours, name, pairs[i].val) && is_good;
    }
    return is_good;
}

static bool write_program(struct dm_pmi_text *f, const struct dm_pmi *pmi,
                          const struct dm_pmi_spawn *spawn, int nth)
{
    const struct dm_pmi_program *program = &spawn->programs[nth];
    bool is_ours = dm_pmi_is_ours(pmi);
    bool is_good = true;
    char name[32];
    int n = 0;

    dm_pmi_text_add(f, "mcmd=spawn\n");
    if (is_ours)
        dm_pmi_text_add(f, "is_escaped=1\nown=%" PRIx64 "\n", pmi->own);
    dm_pmi_text_add(f, "nprocs=%d\n", program->maxprocs);
    is_good = write_value(f, is_ours, "execname", program->command);
    dm_pmi_text_add(f, "totspawns=%d\nspawnssofar=%d\n", spawn->n_programs, nth + 1);
    for (; program->argv != NULL && program->argv[n] != NULL; n++) {
        snprintf(name, sizeof(name), "arg%d", n + 1);
        is_good = write_value(f, is_ours, name, program->argv[n]) && is_good;
    }
    dm_pmi_text_add(f, "argcnt=%d\n", n);
    if (nth == 0 || !is_ours)
        is_good = write_pairs(f, is_ours, "preput", spawn->preput, spawn->n_preput) && is_good;
    is_good = write_pairs(f, is_ours, "info", program->info, program->n_info) && is_good;
    dm_pmi_text_add(f, "endcmd\n");
    return is_good;
}

static int send_request(struct dm_pmi *pmi, const struct dm_pmi_spawn *spawn)
{
    for (int i = 0; i < spawn->n_programs; i++) {
        struct dm_pmi_text text = {0};
        bool is_good = write_program(&text, pmi, spawn, i);
        int err;

        if (text.is_short)
            err = DM_FAIL(DM_ENOMEM, "a request to spawn");
        else if (!is_good)
            err = DM_FAIL(DM_ERR_ARG,
                          "an argument or info value of %s has a line break or is too "
                          "long for this process manager",
                          spawn->programs[i].command);
        else
            err = dm_pmi_wire_send_text(&pmi->wire, text.text, text.len);
        free(text.text);
        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

/* Hydra says that all is well before it executes, and ends all jobs when it cannot. */
static int check_programs(const struct dm_pmi_spawn *spawn, int *codes)
{
    int err = DM_OK;

    for (int i = 0; i < spawn->n_programs; i++) {
        const struct dm_pmi_program *program = &spawn->programs[i];
        bool is_bad = program->maxprocs > 0 && !dm_pmi_can_execute(program);

        for (int k = 0; codes != NULL && k < program->maxprocs; k++)
            *codes++ = is_bad ? DM_ERR_SPAWN : DM_OK;
        if (is_bad && err == DM_OK)
            err = DM_FAIL(DM_ERR_SPAWN, "%s cannot be executed", program->command);
    }
    return err;
}

static int spawn_by_server(struct dm_pmi *pmi, const struct dm_pmi_spawn *spawn, int *codes,
                           int *n_started_p)
{
    char faults[DM_PMI_LINE_MAX] = "";
    char why[DM_PMI_LINE_MAX] = "";
    const char *line;
    int err = dm_pmi_is_ours(pmi) ? DM_OK : check_programs(spawn, codes);

    if (err == DM_OK)
        err = send_request(pmi, spawn);
    if (err == DM_OK)
        err = dm_pmi_fd_answer(pmi, "spawn_result", dm_pmi_client_timeout(pmi), &line);
    if (err != DM_OK)
        return err;
    if (dm_pmi_fd_is_success(line)) {
        if (!dm_pmi_wire_number(line, "n", n_started_p))
            *n_started_p = count_procs(spawn);
        return DM_OK;
    }
    (void)dm_pmi_wire_number(line, "n", n_started_p); /* how many there was room for */
    (void)dm_pmi_wire_field(line, "faults", faults, sizeof(faults));
    if (!dm_pmi_wire_field(line, "msg", why, sizeof(why)) || !dm_pmi_wire_unescape(why))
        snprintf(why, sizeof(why), "the process manager refused: %.100s", line);
    set_codes(spawn, faults, codes);
    return DM_FAIL(DM_ERR_SPAWN, "%s", why);
}

int dm_pmi_spawn(struct dm_pmi *pmi, const struct dm_pmi_spawn *spawn, int *codes, int *n_started_p)
{
    struct dm_pmi_spawn copy = *spawn;
    struct pairs pairs = {0};
    int err = DM_OK;

    *n_started_p = 0;
    set_codes(spawn, "0", codes);
    for (int i = 0; i < spawn->n_preput && err == DM_OK; i++)
        err =
            dm_pmi_client_parts(pmi, spawn->preput[i].key, spawn->preput[i].val, pairs_add, &pairs);
    copy.preput = pairs.list;
    copy.n_preput = pairs.n;
    if (err == DM_OK)
        err = has_server(pmi) ? spawn_by_server(pmi, &copy, codes, n_started_p)
                              : spawn_by_mpiexec(pmi, &copy, codes, n_started_p);
    pairs_free(&pairs);
    return err;
}

/* ---- names ---- */

/* A service name or a port as one word. */
static int name_escape(const char *text, char word[3 * DM_PMI_SERVICE_MAX + 1], int err)
{
    if (*text != '\0' && strlen(text) < DM_PMI_SERVICE_MAX &&
        dm_pmi_wire_escape(text, word, 3 * DM_PMI_SERVICE_MAX + 1))
        return DM_OK;
    return DM_FAIL(err, "'%.40s' is empty, or longer than %d bytes", text, DM_PMI_SERVICE_MAX - 1);
}

static int name_ask(struct dm_pmi *pmi, enum dm_pmi_name what, const char *service,
                    const char *port, char *answer, size_t len)
{
    char name[3 * DM_PMI_SERVICE_MAX + 1];
    char value[3 * DM_PMI_SERVICE_MAX + 1] = "";
    int err = name_escape(service, name, DM_ERR_SERVICE);

    if (err == DM_OK && port != NULL)
        err = name_escape(port, value, DM_ERR_PORT);
    if (err != DM_OK)
        return err;
    if (pmi->proto == NULL || pmi->proto->name_op == NULL)
        return DM_FAIL(DM_ENOTSUP, "published names need a launcher (mpiexec) that knows them");
    return pmi->proto->name_op(pmi, what, name, value, answer, len);
}

int dm_pmi_publish(struct dm_pmi *pmi, const char *service, const char *port)
{
    return name_ask(pmi, DM_PMI_PUBLISH, service, port, NULL, 0);
}

int dm_pmi_unpublish(struct dm_pmi *pmi, const char *service)
{
    return name_ask(pmi, DM_PMI_UNPUBLISH, service, NULL, NULL, 0);
}

int dm_pmi_lookup(struct dm_pmi *pmi, const char *service, char *port, size_t len)
{
    char word[3 * DM_PMI_SERVICE_MAX + 1];
    int err = name_ask(pmi, DM_PMI_LOOKUP, service, NULL, word, sizeof(word));

    if (err != DM_OK)
        return err;
    if (!dm_pmi_wire_unescape(word) || strlen(word) >= len)
        return DM_FAIL(DM_ERR_NAME, "the port published as '%s' is damaged or too long", service);
    memcpy(port, word, strlen(word) + 1);
    return DM_OK;
}

/* ---- connected jobs ---- */

static void connection_report(struct dm_pmi *pmi, const char *what, uint64_t job)
{
    const char *line;

    if (!has_server(pmi) || !dm_pmi_is_ours(pmi))
        return;
    if (dm_pmi_wire_send(&pmi->wire, "cmd=%s own=%" PRIx64 " job=%" PRIx64, what, pmi->own, job) ==
        DM_OK)
        (void)dm_pmi_fd_answer(pmi, what, dm_pmi_client_timeout(pmi), &line);
}

void dm_pmi_connected(struct dm_pmi *pmi, uint64_t job)
{
    connection_report(pmi, "connected", job);
}

void dm_pmi_disconnected(struct dm_pmi *pmi, uint64_t job)
{
    connection_report(pmi, "disconnected", job);
}
