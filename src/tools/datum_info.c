/*
 * datum-info: what this build is, what it is set to, and what works here.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/dapl_adapt.h"
#include "io/disk.h"
#include "mpi/coll/algs.h"
#include "pmi/pmi.h"
#include "tools/info_host.h"
#include "tools/info_print.h"
#include "tools/install_paths.h"
#include "tools/out.h"
#include "util/cfg.h"
#include "util/cfg_range.h"
#include "util/err.h"
#include "util/log.h"
#include "util/self.h"

enum part {
    PART_BUILD = 1,
    PART_SETTINGS = 2,
    PART_HOST = 4,
    PART_PROVIDERS = 8,
    PART_USABLE = 16,
    PART_ALGORITHMS = 32
};

/* A fact of the part "build", with a format. */
#define BUILD_FACT(name, ...) dm_info_fact(name, 12, __VA_ARGS__)
#define NEEDS_LEN             256

static const char usage[] =
    "Usage: datum-info [OPTION]...\n"
    "\n"
    "Tells about this installation of Datum: everything, or the parts that are named.\n"
    "\n"
    "  --build      version and how it was built\n"
    "  --settings   every DATUM_* setting: its value and where that comes from\n"
    "  --host       what this host allows: cores, limits, shared memory\n"
    "  --providers  each DAT provider of the dat.conf in force: does it open?\n"
    "  --usable     the names of those that do, each on a line behind \"usable \"\n"
    "  --dat-conf   the name of the dat.conf in force\n"
    "  --markdown   the settings as a page of Markdown\n"
    "  --coll-algorithms  collectives, their algorithms and what those demand\n"
    "  --coll-table       when which one is taken, as a file for DATUM_COLL_FILE\n"
    "  --file PATH  the file system of a path, and how MPI_File_... would move bytes there\n"
    "  --json       one JSON object in the place of text\n"
    "  --version    the version\n"
    "  --help       this text\n"
    "\n"
    "Exit status: 0, or 1 when a setting is wrong or no provider can be used, or 2\n"
    "for a wrong option.\n";

/* ---- build and settings ---- */

static void show_build(void)
{
    char dir[2 * PATH_MAX];

    if (!dm_info_is_json())
        printf("Datum %s\n", DM_VERSION);
    dm_info_part("build", false);
    dm_install_prefix(dir, sizeof(dir));
    BUILD_FACT("prefix", "%s", dir);
    dm_install_libraries(dir, sizeof(dir));
    BUILD_FACT("libraries", "%s", dir);
    BUILD_FACT("compiler", "%s %s", DM_CC, DM_CFLAGS);
    BUILD_FACT("sanitizers", "%s", DM_SANITIZE[0] != '\0' ? DM_SANITIZE : "none");
    BUILD_FACT("launchers", "%s", dm_pmi_clients());
    BUILD_FACT("traces", "%s", DM_TRACE_ON ? "yes" : "no (configure --enable-debug)");
    dm_info_part_end();
}

static void put_setting(const struct dm_cfg_row_info *row, const char *allowed)
{
    dm_info_row();
    dm_info_put("name", row->name);
    dm_info_put("value", row->value);
    dm_info_put("origin", row->origin);
    dm_info_put("default", row->dflt);
    dm_info_put("allowed", allowed);
    dm_info_put("meaning", row->help);
    dm_info_row_end();
}

static void show_settings(void)
{
    struct dm_cfg_row_info row;
    char allowed[DM_CFG_ALLOWED_LEN];

    if (!dm_info_is_json())
        printf("Settings\n");
    dm_info_part("settings", true);
    for (size_t i = 0; dm_cfg_row(i, &row); i++) {
        const char *value = row.value[0] != '\0' ? row.value : "\"\"";

        dm_cfg_allowed(i, allowed);
        put_setting(&row, allowed);
        if (!dm_info_is_json())
            printf("  %-22s %-10s %-12s %s (%s; default %s)\n", row.name, value, row.origin,
                   row.help, allowed, row.dflt[0] != '\0' ? row.dflt : "empty");
    }
    dm_info_part_end();
}

struct other_row {
    const char *name;
    const char *help;
};

#define OTHER_ROW(NAME, help) {"DATUM_" #NAME, help},
static const struct other_row other_rows[] = {DM_CFG_OTHER_TABLE(OTHER_ROW)};

/* A text in a cell of a table, where "|" would end the cell. */
static void put_cell(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void show_markdown(void)
{
    static const char head[] =
        "# Settings\n"
        "\n"
        "Settings are environment variables, read once by `MPI_Init`. An empty one means the\n"
        "default; a wrong value ends the program with a message; a `DATUM_*` name that is no\n"
        "setting gives a warning. `datum-info --settings` prints the values in force.\n"
        "\n"
        "A number of bytes may have `k`, `m` or `g` behind it (1024, ...). A time has its unit,\n"
        "`us`, `ms` or `s`, unless it is 0.\n"
        "\n";
    static _Atomic(char *) page;
    char allowed[DM_CFG_ALLOWED_LEN];
    struct dm_cfg_row_info row;

    fputs(head, stdout);
    printf("%s tells more.\n\n| name | may be | default | meaning |\n|---|---|---|---|\n",
           dm_self_docs(DM_DOC("TUNING.md"), &page));
    for (size_t i = 0; dm_cfg_row(i, &row); i++) {
        dm_cfg_allowed(i, allowed);
        printf("| `%s` | ", row.name);
        put_cell(allowed);
        printf(" | %s%s%s | ", row.dflt[0] != '\0' ? "`" : "", row.dflt,
               row.dflt[0] != '\0' ? "`" : "");
        put_cell(row.help);
        printf(" |\n");
    }
    printf("\nRead by the commands around the library:\n\n| name | meaning |\n|---|---|\n");
    for (size_t i = 0; i < sizeof(other_rows) / sizeof(other_rows[0]); i++) {
        printf("| `%s` | ", other_rows[i].name);
        put_cell(other_rows[i].help);
        printf(" |\n");
    }
    printf(
        "\nThe dat.conf is the one that `DAT_OVERRIDE` names; `mpiexec` sets that to Datum's own "
        "unless it is set.\n");
}

/* ---- algorithms of collectives ---- */

enum kind {
#define KIND(NAME, text) KIND_##NAME,
    DM_COLL_KINDS(KIND)
};

#define KIND_NAME(NAME, text) text,
static const char *const kind_names[] = {DM_COLL_KINDS(KIND_NAME)};

struct alg_row {
    enum kind kind;
    const char *name;
    unsigned int needs;
    int max_ranks;
    size_t max_bytes;
};

#define ALG_ROW(KIND, NAME, FN, NEEDS)              {KIND_##KIND, #NAME, NEEDS, 0, 0},
#define CHOICE_ROW(KIND, NAME, NEEDS, RANKS, BYTES) {KIND_##KIND, #NAME, NEEDS, RANKS, BYTES},
static const struct alg_row alg_rows[] = {DM_COLL_ALGS(ALG_ROW)};
static const struct alg_row choice_rows[] = {DM_COLL_CHOICES(CHOICE_ROW)};

/* What an algorithm demands: words, each behind a blank. */
static void needs_text(unsigned int needs, char *text, size_t len)
{
#define NEED(NAME, BIT, WORD) {BIT, WORD},
    static const struct {
        unsigned int bit;
        const char *word;
    } words[] = {DM_COLL_NEEDS(NEED)};
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && n < len; i++)
        if ((needs & words[i].bit) != 0)
            n += (size_t)snprintf(text + n, len - n, " %s", words[i].word);
}

static void show_coll_algorithms(void)
{
    char needs[NEEDS_LEN];

    dm_info_part("coll_algorithms", true);
    for (size_t i = 0; i < sizeof(alg_rows) / sizeof(alg_rows[0]); i++) {
        const char *kind = kind_names[alg_rows[i].kind];

        needs_text(alg_rows[i].needs, needs, sizeof(needs));
        dm_info_row();
        dm_info_put("collective", kind);
        dm_info_put("algorithm", alg_rows[i].name);
        dm_info_put("needs", needs[0] == ' ' ? needs + 1 : needs);
        dm_info_row_end();
        if (!dm_info_is_json())
            printf("%s %s%s\n", kind, alg_rows[i].name, needs);
    }
    dm_info_part_end();
}

static void show_coll_table(void)
{
    static _Atomic(char *) page;
    char needs[NEEDS_LEN];

    printf("# The table of Datum %s, as a file for DATUM_COLL_FILE: %s.\nformat 1\n", DM_VERSION,
           dm_self_docs(DM_DOC("TUNING.md"), &page));
    for (size_t i = 0; i < sizeof(choice_rows) / sizeof(choice_rows[0]); i++) {
        const struct alg_row *row = &choice_rows[i];

        printf("%s %s", kind_names[row->kind], row->name);
        if (row->max_ranks != DM_COLL_ANY)
            printf(" ranks=-%d", row->max_ranks);
        if (row->max_bytes != DM_COLL_ALL)
            printf(" bytes=-%zu", row->max_bytes);
        needs_text(row->needs, needs, sizeof(needs));
        printf("%s\n", needs);
    }
}

/* ---- providers ---- */

static void put_provider(const struct dm_provider_info *info)
{
    dm_info_row();
    dm_info_put("name", info->name);
    dm_info_put_bool("usable", info->is_usable);
    dm_info_put("verdict", info->verdict);
    dm_info_put("library", info->library);
    dm_info_put("params", info->params);
    dm_info_put_bool("built_in", info->is_builtin);
    dm_info_put("found", info->found);
    dm_info_row_end();
}

static void show_provider(void *arg, const struct dm_provider_info *info)
{
    int *n_usable_p = arg;

    *n_usable_p += info->is_usable;
    if (dm_info_is_json()) {
        put_provider(info);
        return;
    }
    printf("  %-22s %s\n", info->name, info->verdict);
    printf("  %-22s %s%s%s%s\n", "", info->library, info->params[0] != '\0' ? " " : "",
           info->params, info->is_builtin ? " (built in)" : "");
    if (info->is_usable)
        printf("  %-22s found: %s\n", "", info->found);
}

/* Returns the number of providers that can be used. */
static int show_providers(void)
{
    int n_usable = 0, err;

    if (!dm_info_is_json())
        printf("Providers of %s\n", dm_adapt_conf_path());
    dm_info_part("dat_conf", false);
    dm_info_put("path", dm_adapt_conf_path());
    dm_info_part_end();
    dm_info_part("providers", true);
    fflush(stdout);
    err = dm_adapt_list_providers(show_provider, &n_usable);
    dm_info_part_end();
    if (err != DM_OK)
        dm_log_error("%s", dm_err_detail());
    else if (n_usable == 0 && !dm_info_is_json())
        printf("  none can be used\n");
    return err == DM_OK ? n_usable : 0;
}

static void put_usable(void *arg, const struct dm_provider_info *info)
{
    int *n_usable_p = arg;

    if (info->is_usable && dm_info_is_json())
        put_provider(info);
    else if (info->is_usable)
        printf("usable %s\n", info->name);
    fflush(stdout); /* the next one may hang */
    *n_usable_p += info->is_usable;
}

/* For scripts: names may have blanks, and libdat2 prints lines of its own. The exit status. */
static int show_usable(void)
{
    int n_usable = 0, err;

    dm_info_part("usable", true);
    err = dm_adapt_list_providers(put_usable, &n_usable);
    dm_info_part_end();
    if (err != DM_OK)
        dm_log_error("%s", dm_err_detail());
    return err == DM_OK && n_usable > 0 ? 0 : 1;
}

static void file_fact(const char *name, const char *value)
{
    if (dm_info_is_json())
        dm_info_put(name, value);
    else
        printf("%-21s %s\n", name, value);
}

/* docs/FILES.md says why. */
static int show_file(const char *path)
{
    bool is_local;
    const char *fs = dm_disk_fs_of(path, &is_local), *alone;
    char kind[80];

    if (strcmp(fs, "unknown") == 0) {
        fprintf(stderr, "datum-info: neither \"%s\" nor its directory is there\n", path);
        return 1;
    }
    snprintf(kind, sizeof(kind), "%s, %s", fs, is_local ? "local" : "of a network");
    dm_info_part("file", false);
    file_fact("path", path);
    file_fact("file system", kind);
    file_fact("one range", "one system call");
    alone = dm_disk_is_memory(fs) ? "written into a mapping; read with holes up to 3 KiB"
            : is_local ? "written into a mapping, read out of one, or with holes up to 8 KiB"
                       : "written one by one; read with holes up to 128 KiB";
    file_fact("short ranges", alone);
    file_fact("collective, one host",
              is_local ? "two phases where they cost less, else each process by itself"
                       : "two phases");
    file_fact("collective, several", "two phases");
    dm_info_part_end();
    return 0;
}

/* The option's part; 0 for what is none. */
static int part_of(const char *arg)
{
    static const struct {
        const char *name;
        enum part part;
    } parts[] = {
        {"--build", PART_BUILD},   {"--settings", PART_SETTINGS},
        {"--host", PART_HOST},     {"--providers", PART_PROVIDERS},
        {"--usable", PART_USABLE}, {"--coll-algorithms", PART_ALGORITHMS},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(arg, parts[i].name) == 0)
            return (int)parts[i].part;
    return 0;
}

/* Prints the parts with an empty line between them; the exit status. */
static int show(int parts)
{
    static const struct {
        enum part part;
        void (*fn)(void);
    } shows[] = {
        {PART_BUILD, show_build}, {PART_SETTINGS, show_settings}, {PART_HOST, dm_info_show_host}};
    bool is_first = true;

    if ((parts & (int)PART_USABLE) != 0)
        return show_usable();
    for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
        if ((parts & (int)shows[i].part) == 0)
            continue;
        if (!is_first && !dm_info_is_json())
            printf("\n");
        shows[i].fn();
        is_first = false;
    }
    if ((parts & PART_PROVIDERS) == 0)
        return 0;
    if (!is_first && !dm_info_is_json())
        printf("\n");
    return show_providers() > 0 ? 0 : 1;
}

/* Options that print something of their own, which has one form only. False: it is none of them. */
static bool show_page(const char *arg)
{
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)
        fputs(usage, stdout);
    else if (strcmp(arg, "--version") == 0)
        printf("Datum %s\n", DM_VERSION);
    else if (strcmp(arg, "--markdown") == 0)
        show_markdown();
    else if (strcmp(arg, "--dat-conf") == 0)
        printf("%s\n", dm_adapt_conf_path());
    else if (strcmp(arg, "--coll-table") == 0)
        show_coll_table();
    else
        return false;
    return true;
}

/* What was asked for, in either form; the exit status. */
static int show_parts(int parts, const char *file, bool is_json)
{
    int status = 0;

    if ((parts & ~(int)PART_ALGORITHMS) != 0 || (parts == 0 && file == NULL)) {
        if (dm_cfg_load(false) != DM_OK) {
            dm_log_error("%s", dm_err_detail());
            return 1;
        }
    }
    if (is_json)
        dm_info_json();
    if ((parts & (int)PART_ALGORITHMS) != 0)
        show_coll_algorithms();
    else if (file != NULL)
        status = show_file(file);
    else
        status = show(parts != 0 ? parts : PART_BUILD | PART_SETTINGS | PART_HOST | PART_PROVIDERS);
    dm_info_end();
    return status;
}

static int run(int argc, char **argv)
{
    const char *file = NULL;
    bool is_json = false;
    int parts = 0;

    for (int i = 1; i < argc; i++) {
        if (show_page(argv[i]))
            return 0;
        if (strcmp(argv[i], "--json") == 0) {
            is_json = true;
        } else if (strcmp(argv[i], "--file") == 0 && argv[i + 1] != NULL) {
            file = dm_disk_path(argv[++i]);
        } else if (part_of(argv[i]) != 0) {
            parts |= part_of(argv[i]);
        } else {
            fprintf(stderr, "datum-info: unknown option \"%s\"; \"datum-info --help\" says more\n",
                    argv[i]);
            return 2;
        }
    }
    return show_parts(parts, file, is_json);
}

int main(int argc, char **argv)
{
    dm_install_set_dat_conf();
    return dm_out_end("datum-info", run(argc, argv));
}
