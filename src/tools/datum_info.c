/*
 * datum-info: what this build is, what it is set to, and what works here.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "dapl_adapt/dapl_adapt.h"
#include "io/disk.h"
#include "mpi/coll/algs.h"
#include "pmi/pmi.h"
#include "tools/out.h"
#include "tools/install_paths.h"
#include "util/cfg.h"
#include "util/cfg_range.h"
#include "util/err.h"
#include "util/host.h"
#include "util/log.h"

enum part {
    PART_BUILD = 1,
    PART_SETTINGS = 2,
    PART_HOST = 4,
    PART_PROVIDERS = 8,
    PART_USABLE = 16
};

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
    "  --version    the version\n"
    "  --help       this text\n"
    "\n"
    "Exit status: 0, or 1 when a setting is wrong or no provider can be used, or 2\n"
    "for a wrong option.\n";

/* ---- build and settings ---- */

static void show_build(void)
{
    printf("Datum %s\n", DM_VERSION);
    printf("  prefix       %s\n", DM_PREFIX);
    printf("  libraries    %s\n", DM_LIBDIR);
    printf("  compiler     %s %s\n", DM_CC, DM_CFLAGS);
    printf("  sanitizers   %s\n", DM_SANITIZE[0] != '\0' ? DM_SANITIZE : "none");
    printf("  launchers    %s\n", dm_pmi_clients());
    printf("  traces       %s\n", DM_TRACE_ON ? "yes" : "no (configure --enable-debug)");
}

static void show_settings(void)
{
    struct dm_cfg_row_info row;
    char allowed[DM_CFG_ALLOWED_LEN];

    printf("Settings\n");
    for (size_t i = 0; dm_cfg_row(i, &row); i++) {
        const char *value = row.value[0] != '\0' ? row.value : "\"\"";

        dm_cfg_allowed(i, allowed);
        printf("  %-22s %-10s %-12s %s (%s; default %s)\n", row.name, value, row.origin, row.help,
               allowed, row.dflt[0] != '\0' ? row.dflt : "empty");
    }
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
    char allowed[DM_CFG_ALLOWED_LEN];
    struct dm_cfg_row_info row;

    fputs(head, stdout);
    printf("%s tells more.\n\n| name | may be | default | meaning |\n|---|---|---|---|\n",
           DM_DOC("TUNING.md"));
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

static void put_needs(unsigned int needs)
{
#define NEED(NAME, BIT, WORD) {BIT, WORD},
    static const struct {
        unsigned int bit;
        const char *word;
    } words[] = {DM_COLL_NEEDS(NEED)};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if ((needs & words[i].bit) != 0)
            printf(" %s", words[i].word);
    printf("\n");
}

static void show_coll_algorithms(void)
{
    for (size_t i = 0; i < sizeof(alg_rows) / sizeof(alg_rows[0]); i++) {
        printf("%s %s", kind_names[alg_rows[i].kind], alg_rows[i].name);
        put_needs(alg_rows[i].needs);
    }
}

static void show_coll_table(void)
{
    printf("# The table of Datum %s, as a file for DATUM_COLL_FILE: " DM_DOC(
               "TUNING.md") ".\nformat 1\n",
           DM_VERSION);
    for (size_t i = 0; i < sizeof(choice_rows) / sizeof(choice_rows[0]); i++) {
        const struct alg_row *row = &choice_rows[i];

        printf("%s %s", kind_names[row->kind], row->name);
        if (row->max_ranks != DM_COLL_ANY)
            printf(" ranks=-%d", row->max_ranks);
        if (row->max_bytes != DM_COLL_ALL)
            printf(" bytes=-%zu", row->max_bytes);
        put_needs(row->needs);
    }
}

/* ---- host ---- */

static void show_limit(const char *name, int resource)
{
    struct rlimit lim;

    if (getrlimit(resource, &lim) != 0)
        printf("  %-22s unknown: %s\n", name, strerror(errno));
    else if (lim.rlim_cur == RLIM_INFINITY)
        printf("  %-22s unlimited\n", name);
    else
        printf("  %-22s %llu\n", name, (unsigned long long)lim.rlim_cur);
}

static void show_memfd(void)
{
    void *ptr;
    int fd;

    if (dm_host_shm_alloc("datum-info", 4096, &ptr, &fd) != DM_OK) {
        printf("  %-22s no: %s\n", "shared memory (memfd)", dm_err_detail());
        return;
    }
    printf("  %-22s yes\n", "shared memory (memfd)");
    dm_host_shm_free(ptr, 4096, fd);
}

/* Reads a word of a child, as a peer process would be read. */
static void show_process_vm(void)
{
    static volatile int word = 7;
    int copy = 0;
    struct iovec local = {&copy, sizeof(copy)};
    struct iovec remote = {(void *)&word, sizeof(word)};
    pid_t pid = fork();
    ssize_t n;

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    n = pid < 0 ? -1 : process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (n == (ssize_t)sizeof(copy) && copy == word)
        printf("  %-22s yes\n", "process_vm_readv");
    else
        printf("  %-22s no: %s; copies are staged through shared memory\n", "process_vm_readv",
               strerror(errno));
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void show_watch(void)
{
    char text[80];
    const char *why = dm_adapt_no_watch(text, sizeof(text));

    if (why == NULL)
        printf("  %-22s yes\n", "watch of memory");
    else
        printf("  %-22s no: %s; adapters that pin keep no registrations\n", "watch of memory", why);
}

static void show_host(void)
{
    printf("Host %s\n", dm_host_name());
    printf("  %-22s %d\n", "cores to use", dm_host_cores());
    show_limit("locked memory, bytes", RLIMIT_MEMLOCK);
    show_limit("address space, bytes", RLIMIT_AS);
    show_limit("open files", RLIMIT_NOFILE);
    show_memfd();
    show_process_vm();
    show_watch();
}

/* ---- providers ---- */

static void show_provider(void *arg, const struct dm_provider_info *info)
{
    int *n_usable_p = arg;

    printf("  %-22s %s\n", info->name, info->verdict);
    printf("  %-22s %s%s%s%s\n", "", info->library, info->params[0] != '\0' ? " " : "",
           info->params, info->is_builtin ? " (built in)" : "");
    if (info->is_usable)
        printf("  %-22s found: %s\n", "", info->found);
    *n_usable_p += info->is_usable;
}

/* Returns the number of providers that can be used. */
static int show_providers(void)
{
    int n_usable = 0;

    printf("Providers of %s\n", dm_adapt_conf_path());
    fflush(stdout);
    if (dm_adapt_list_providers(show_provider, &n_usable) != DM_OK)
        dm_log_error("%s", dm_err_detail());
    else if (n_usable == 0)
        printf("  none can be used\n");
    return n_usable;
}

static void put_usable(void *arg, const struct dm_provider_info *info)
{
    int *n_usable_p = arg;

    if (info->is_usable)
        printf("usable %s\n", info->name);
    fflush(stdout); /* the next one may hang */
    *n_usable_p += info->is_usable;
}

/* For scripts: names may have blanks, and libdat2 prints lines of its own. The exit status. */
static int show_usable(void)
{
    int n_usable = 0;

    if (dm_adapt_list_providers(put_usable, &n_usable) != DM_OK)
        dm_log_error("%s", dm_err_detail());
    return n_usable > 0 ? 0 : 1;
}

/* docs/FILES.md says why. */
static int show_file(const char *path)
{
    bool is_local;
    const char *fs = dm_disk_fs_of(path, &is_local);

    if (strcmp(fs, "unknown") == 0) {
        fprintf(stderr, "datum-info: neither \"%s\" nor its directory is there\n", path);
        return 1;
    }
    printf("path                  %s\n", path);
    printf("file system           %s, %s\n", fs, is_local ? "local" : "of a network");
    printf("one range             one system call\n");
    printf("short ranges          %s\n", is_local
                                             ? "written into a mapping; read with holes up to 8 KiB"
                                             : "written one by one; read with holes up to 128 KiB");
    printf("collective, one host  %s\n", is_local ? "each process by itself" : "two phases");
    printf("collective, several   two phases\n");
    return 0;
}

/* The option's part; 0 for what is none. */
static int part_of(const char *arg)
{
    static const struct {
        const char *name;
        enum part part;
    } parts[] = {
        {"--build", PART_BUILD},         {"--settings", PART_SETTINGS}, {"--host", PART_HOST},
        {"--providers", PART_PROVIDERS}, {"--usable", PART_USABLE},
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
    } shows[] = {{PART_BUILD, show_build}, {PART_SETTINGS, show_settings}, {PART_HOST, show_host}};
    bool is_first = true;

    if ((parts & (int)PART_USABLE) != 0)
        return show_usable();
    for (size_t i = 0; i < sizeof(shows) / sizeof(shows[0]); i++) {
        if ((parts & (int)shows[i].part) == 0)
            continue;
        if (!is_first)
            printf("\n");
        shows[i].fn();
        is_first = false;
    }
    if ((parts & PART_PROVIDERS) == 0)
        return 0;
    if (!is_first)
        printf("\n");
    return show_providers() > 0 ? 0 : 1;
}

static int run(int argc, char **argv)
{
    int parts = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("Datum %s\n", DM_VERSION);
            return 0;
        }
        if (strcmp(argv[i], "--markdown") == 0) {
            show_markdown();
            return 0;
        }
        if (strcmp(argv[i], "--dat-conf") == 0) {
            printf("%s\n", dm_adapt_conf_path());
            return 0;
        }
        if (strcmp(argv[i], "--coll-algorithms") == 0) {
            show_coll_algorithms();
            return 0;
        }
        if (strcmp(argv[i], "--coll-table") == 0) {
            show_coll_table();
            return 0;
        }
        if (strcmp(argv[i], "--file") == 0 && argv[i + 1] != NULL)
            return show_file(dm_disk_path(argv[i + 1]));
        if (part_of(argv[i]) == 0) {
            fprintf(stderr, "datum-info: unknown option \"%s\"; \"datum-info --help\" lists them\n",
                    argv[i]);
            return 2;
        }
        parts |= part_of(argv[i]);
    }
    if (dm_cfg_load(false) != DM_OK) {
        dm_log_error("%s", dm_err_detail());
        return 1;
    }
    return show(parts != 0 ? parts : PART_BUILD | PART_SETTINGS | PART_HOST | PART_PROVIDERS);
}

int main(int argc, char **argv)
{
    /* libdat2 has read its dat.conf already: start again with the one that mpiexec would use, and quietly. */
    if (dm_install_set_registry()) {
        execv("/proc/self/exe", argv);
        dm_log_error("cannot start again: %s", strerror(errno));
    }
    return dm_out_end("datum-info", run(argc, argv));
}
