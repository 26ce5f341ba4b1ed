/*
 * Samples, the table, and the JSON file.
 */
#include "bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef DATUM_BENCH_VERSION
#define DATUM_BENCH_VERSION "unknown"
#endif

const char *bench_version(void)
{
    return DATUM_BENCH_VERSION;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value that this share of the sorted samples does not exceed. */
static double quantile(const double *samples, int n, double share)
{
    double at = share * (n - 1);
    int i = (int)at;

    return i + 1 < n ? samples[i] + (at - i) * (samples[i + 1] - samples[i]) : samples[n - 1];
}

struct stats stats_of(double *samples, int n)
{
    struct stats s = {.n = n};
    double q1, q3;

    qsort(samples, (size_t)n, sizeof(samples[0]), by_value);
    s.median = quantile(samples, n, 0.5);
    s.least = samples[0];
    s.most = samples[n - 1];
    s.p10 = quantile(samples, n, 0.1);
    s.p90 = quantile(samples, n, 0.9);
    q1 = quantile(samples, n, 0.25);
    q3 = quantile(samples, n, 0.75);
    for (int i = 0; i < n; i++)
        s.n_outliers += samples[i] > q3 + 3 * (q3 - q1) || samples[i] < q1 - 3 * (q3 - q1);
    return s;
}

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"us", "MB/s", "1/s", "%"};

    return names[unit];
}

/* A string of JSON. */
static void put_text(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(file, "\\u%04x", c);
        else
            putc(c, file);
    }
    putc('"', file);
}

/* The first line of what the library says of itself. */
static void library_name(char *text)
{
    int len = 0;

    MPI_Get_library_version(text, &len);
    text[strcspn(text, "\n")] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '\t')
            *at = ' ';
    }
}

/* A part of the table. */
__attribute__((format(printf, 2, 3))) static void table_put(const struct report *rep,
                                                            const char *format, ...)
{
    va_list args;

    if (rep->is_silent)
        return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

/* What is lost here is told at the end. */
static void flush_table(struct report *rep)
{
    if (fflush(stdout) != 0 && rep->table_err == 0)
        rep->table_err = errno;
}

int report_begin(struct report *rep, const char *json_name, int n_ranks, int n_hosts)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING], when[32] = "";
    time_t now = time(NULL);
    struct tm tm;

    library_name(library);
    if (gmtime_r(&now, &tm) != NULL)
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    rep->json_name = json_name;
    if (json_name != NULL) {
        rep->is_silent = strcmp(json_name, "-") == 0;
        rep->json = rep->is_silent ? stdout : fopen(json_name, "w");
        if (rep->json == NULL)
            return -1;
        fprintf(rep->json, "{\n  \"program\": \"datum-bench\",\n  \"version\": ");
        put_text(rep->json, DATUM_BENCH_VERSION);
        fprintf(rep->json, ",\n  \"library\": ");
        put_text(rep->json, library);
        fprintf(rep->json,
                ",\n  \"time\": \"%s\",\n  \"ranks\": %d,\n  \"hosts\": %d,\n  \"pss\": %zu,\n"
                "  \"results\": [",
                when, n_ranks, n_hosts, rep->memory);
    }
    table_put(rep, "# datum-bench %s, %d ranks on %d host%s, %s\n# %s\n", DATUM_BENCH_VERSION,
              n_ranks, n_hosts, n_hosts == 1 ? "" : "s", when, library);
    flush_table(rep);
    return 0;
}

void report_test(const struct report *rep, const struct test *t, int n_ranks, int window)
{
    bar_clear();
    table_put(rep, "\n# %s: %s (%s), %d ranks", t->name, t->title, unit_name(t->unit), n_ranks);
    if (t->is_windowed)
        table_put(rep, ", %d in flight", window);
    table_put(rep, "\n");
    table_put(rep, "# %-10s %12s %12s %12s %12s %12s %9s %10s\n", "Size", "Median", "Min", "Max",
              "p10", "p90", "Outliers", "CPU us");
}

void report_result(struct report *rep, const struct test *t, size_t len, const struct stats *s,
                   int n)
{
    int digits = s->median < 10 ? 3 : s->median < 10000 ? 2 : 0;
    char outliers[32];

    snprintf(outliers, sizeof(outliers), "%d/%d", s->n_outliers, s->n);
    bar_clear();
    table_put(rep, "%-12zu %12.*f %12.*f %12.*f %12.*f %12.*f %9s %10.3f\n", len, digits, s->median,
              digits, s->least, digits, s->most, digits, s->p10, digits, s->p90, outliers, s->cpu);
    flush_table(rep);
    if (rep->json == NULL)
        return;
    fprintf(rep->json,
            "%s\n    {\"test\": \"%s\", \"group\": \"%s\", \"unit\": \"%s\", \"size\": %zu,",
            rep->n_results++ > 0 ? "," : "", t->name, t->group, unit_name(t->unit), len);
    fprintf(rep->json,
            " \"median\": %.6g, \"min\": %.6g, \"max\": %.6g, \"p10\": %.6g, \"p90\": %.6g,"
            " \"samples\": %d, \"iterations\": %d, \"outliers\": %d, \"cpu\": %.6g}",
            s->median, s->least, s->most, s->p10, s->p90, s->n, n, s->n_outliers, s->cpu);
}

void report_skip(struct report *rep, const struct test *t, const char *why)
{
    bar_clear();
    table_put(rep, "\n# %s: not measured: %s\n", t->name, why);
    flush_table(rep);
}

void report_cut(struct report *rep, const struct test *t, size_t most)
{
    bar_clear();
    table_put(rep, "# %s: no memory for sizes beyond %zu\n", t->name, most);
    flush_table(rep);
}

int report_end(struct report *rep)
{
    int err;

    if (rep->json != NULL) {
        fprintf(rep->json, "\n  ]\n}\n");
        err = ferror(rep->json);
        if (!rep->is_silent && (fclose(rep->json) != 0 || err != 0))
            return -1;
    }
    flush_table(rep);
    rep->json_name = "standard output";
    errno = rep->table_err;
    return rep->table_err != 0 ? -1 : 0;
}
