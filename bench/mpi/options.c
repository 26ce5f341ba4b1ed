/*
 * The command line. Nothing of MPI may be called here; the launcher's variables tell which rank speaks.
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"

#define SIZE_LARGEST ((size_t)1 << 30)

static const char usage[] =
    "Usage: datum-bench [OPTION]...\n"
    "       mpiexec -n N datum-bench [OPTION]...\n"
    "       datum-bench --raw PROVIDER\n"
    "\n"
    "Measures an MPI library: point-to-point and one-sided between rank 0 and the last one,\n"
    "collectives over all. Each line has the median of its samples, least and most, the 10th and\n"
    "90th percentile, and how many samples lie far outside.\n"
    "\n"
    "  --test LIST      tests or groups (pt2pt, onesided, coll, overlap, all), separated by\n"
    "                   commas; pt2pt,onesided,coll\n"
    "  --list           list the tests\n"
    "  --size RANGE     bytes, doubling from MIN to MAX: MIN:MAX or one, with k, m or g behind\n"
    "  --factor N       sizes N times the one before in the place of two, and MAX itself\n"
    "  --flight N       messages in flight where bandwidth is measured; 64, which is the most\n"
    "  --memory SIZE    leave sizes out that need larger buffers\n"
    "  -n, --ranks N    without mpiexec it starts so many ranks here, two without this option; with\n"
    "                   mpiexec it is an error if the job has another number\n"
    "  --window KIND    memory of one-sided tests: allocate (MPI_Win_allocate) or create; allocate\n"
    "  --time SECONDS   for the samples of one size; 0.2\n"
    "  --quick          a tenth of that, up to 64k\n"
    "  --start          nothing but MPI_Init, a barrier and MPI_Finalize: for the time of a job\n"
    "  --json FILE      write the results there, too; - is standard output, without the table\n"
    "  --raw PROVIDER   what the DAT provider does without MPI (by datum-check)\n"
    "  --version        the version\n"
    "  --help           this text\n"
    "\n"
    "Exit status: 0; 1 when a file cannot be written; 2 for wrong arguments.\n";

static const struct test *const groups[] = {pt2pt_tests, onesided_tests, coll_tests, icoll_tests,
                                            overlap_tests};
enum { N_GROUPS = sizeof(groups) / sizeof(groups[0]) };

/* Does this process speak for all of the job? */
static int is_speaker(void)
{
    const char *rank = launcher_rank();

    return rank == NULL || strcmp(rank, "0") == 0;
}

static int wrong(const char *what, const char *value)
{
    if (is_speaker())
        fprintf(stderr, "datum-bench: %s \"%s\"; \"datum-bench --help\" says more\n", what, value);
    return STATUS_USAGE;
}

/* ---- sizes and numbers ---- */

/* One size, up to `end` characters read. */
static int parse_one(const char *text, const char **end_p, size_t *len_p)
{
    unsigned long long len;
    char *end;
    int shift = 0;

    errno = 0;
    if (!isdigit((unsigned char)text[0]))
        return 0;
    len = strtoull(text, &end, 10);
    switch (*end) {
    case 'k':
    case 'K':
        shift = 10;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    if (errno != 0 || len > SIZE_LARGEST >> shift)
        return 0;
    *end_p = shift > 0 ? end + 1 : end;
    *len_p = (size_t)len << shift;
    return 1;
}

static int parse_range(const char *text, struct options *opt)
{
    const char *end;

    if (!parse_one(text, &end, &opt->least))
        return 0;
    opt->most = opt->least;
    if (*end == ':' && !parse_one(end + 1, &end, &opt->most))
        return 0;
    opt->has_size = 1;
    return *end == '\0' && opt->least <= opt->most;
}

static int parse_size(const char *text, size_t *len_p)
{
    const char *end;

    return parse_one(text, &end, len_p) && *end == '\0' && *len_p > 0;
}

static int parse_ranks(const char *text, int *n_p)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    *n_p = (int)n;
    return end != text && *end == '\0' && errno == 0 && n >= 1 && n <= 1000000;
}

static int parse_seconds(const char *text, double *seconds_p)
{
    char *end;

    *seconds_p = strtod(text, &end);
    return end != text && *end == '\0' && *seconds_p > 0 && *seconds_p <= 3600;
}

/* ---- tests ---- */

static void add(struct options *opt, const struct test *t)
{
    for (int i = 0; i < opt->n_tests; i++) {
        if (opt->tests[i] == t)
            return;
    }
    opt->tests[opt->n_tests++] = t;
}

/* Add a test or a group; how many that are. */
static int add_named(struct options *opt, const char *name)
{
    int n = 0;

    for (int g = 0; g < N_GROUPS; g++) {
        for (const struct test *t = groups[g]; t->name != NULL; t++) {
            if (strcmp(name, "all") != 0 && strcmp(name, t->group) != 0 &&
                strcmp(name, t->name) != 0)
                continue;
            add(opt, t);
            n++;
        }
    }
    return n;
}

static int parse_tests(const char *list, struct options *opt)
{
    char *copy = strdup(list);
    char *save = NULL;
    int status = -1;

    if (copy == NULL || copy[0] == '\0')
        status = wrong("no tests in --test", list);
    for (char *name = copy != NULL ? strtok_r(copy, ",", &save) : NULL; name != NULL && status < 0;
         name = strtok_r(NULL, ",", &save)) {
        if (add_named(opt, name) == 0)
            status = wrong("there is no test", name);
    }
    if (status < 0 && opt->n_tests == 0)
        status = wrong("no tests in --test", list);
    free(copy);
    return status;
}

static int list_tests(void)
{
    for (int g = 0; is_speaker() && g < N_GROUPS; g++) {
        printf("%s\n", groups[g]->group);
        for (const struct test *t = groups[g]; t->name != NULL; t++)
            printf("  %-20s %-5s %s\n", t->name, unit_name(t->unit), t->title);
    }
    return STATUS_OK;
}

/* ---- without MPI ---- */

static int run_raw(char *provider)
{
    /* Its errors begin with the name that it is called by. */
    char *const argv[] = {"datum-bench", "--only", "latency,bandwidth,wakeup", provider, NULL};

    (void)become("datum-check", argv);
    fprintf(stderr, "datum-bench: --raw needs datum-check beside it: %s\n", strerror(errno));
    return STATUS_FAILED;
}

/* ---- all of it ---- */

static int option(int c, struct options *opt)
{
    switch (c) {
    case 't':
        return parse_tests(optarg, opt);
    case 's':
        return parse_range(optarg, opt)
                   ? -1
                   : wrong("--size wants MIN:MAX in bytes, at most 1g, and not", optarg);
    case 'n':
        return parse_ranks(optarg, &opt->n_ranks) ? -1
                                                  : wrong("--ranks wants a number, not", optarg);
    case 'f':
        return parse_size(optarg, &opt->factor) && opt->factor > 1
                   ? -1
                   : wrong("--factor wants a number from 2, not", optarg);
    case 'F':
        return parse_ranks(optarg, &opt->window) && opt->window <= WINDOW_MAX
                   ? -1
                   : wrong("--flight wants a number up to 64, not", optarg);
    case 'm':
        return parse_size(optarg, &opt->memory) ? -1 : wrong("--memory wants bytes, not", optarg);
    case 'T':
        return parse_seconds(optarg, &opt->seconds)
                   ? -1
                   : wrong("--time wants seconds, at most 3600, not", optarg);
    case 'w':
        opt->is_created = strcmp(optarg, "create") == 0;
        return opt->is_created || strcmp(optarg, "allocate") == 0
                   ? -1
                   : wrong("--window wants allocate or create, not", optarg);
    case 'S':
        opt->is_start = 1;
        return -1;
    case 'q':
        opt->is_quick = 1;
        return -1;
    case 'j':
        opt->json = optarg;
        return optarg[0] != '\0' ? -1 : wrong("--json wants a file, not", optarg);
    case 'r':
        return run_raw(optarg);
    case 'l':
        return list_tests();
    case 'v':
        if (is_speaker())
            printf("Datum %s\n", bench_version());
        return STATUS_OK;
    case 'h':
        if (is_speaker())
            fputs(usage, stdout);
        return STATUS_OK;
    default:
        return -1;
    }
}

int options_parse(int argc, char **argv, struct options *opt)
{
    static const struct option table[] = {
        {"test", required_argument, NULL, 't'},   {"size", required_argument, NULL, 's'},
        {"ranks", required_argument, NULL, 'n'},  {"time", required_argument, NULL, 'T'},
        {"window", required_argument, NULL, 'w'}, {"json", required_argument, NULL, 'j'},
        {"raw", required_argument, NULL, 'r'},    {"quick", no_argument, NULL, 'q'},
        {"start", no_argument, NULL, 'S'},        {"factor", required_argument, NULL, 'f'},
        {"memory", required_argument, NULL, 'm'}, {"flight", required_argument, NULL, 'F'},
        {"list", no_argument, NULL, 'l'},         {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int status = -1;
    int c;

    opt->seconds = 0.2;
    opt->window = WINDOW_MAX;
    opterr = 0;
    while (status < 0 && (c = getopt_long(argc, argv, ":n:h", table, NULL)) != -1) {
        if (c == '?' || c == ':')
            status = wrong(c == '?' ? "unknown option" : "no value for", argv[optind - 1]);
        else
            status = option(c, opt);
    }
    if (status < 0 && optind < argc)
        status = wrong("unexpected argument", argv[optind]);
    if (status < 0 && opt->n_tests == 0)
        status = parse_tests("pt2pt,onesided,coll", opt);
    return status;
}
