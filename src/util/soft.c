/*
 * The numbers of processes that will do: the info key "soft" of a spawn (MPI-4.0 section 11.8.4), and
 * mpiexec -soft (section 11.5).
 */
#include "util/soft.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/err.h"

/* A number and what ends it. False: it is none. */
static bool soft_number(const char **at_p, long *num_p)
{
    char *end;

    errno = 0;
    *num_p = strtol(*at_p, &end, 10);
    if (end == *at_p || errno != 0 || *num_p > INT_MAX || *num_p < -INT_MAX)
        return false;
    *at_p = end + strspn(end, " ");
    return true;
}

/* a, a:b or a:b:c, as triplets of Fortran. */
static bool soft_triplet(const char **at_p, long part[3])
{
    int n = 0;

    do {
        if (n == 3 || !soft_number(at_p, &part[n]))
            return false;
        n++;
    } while (**at_p == ':' && (*at_p)++ != NULL);
    if (n < 2)
        part[1] = part[0];
    if (n < 3)
        part[2] = 1;
    return part[2] != 0;
}

/* The largest number of a triplet from 0 to max, -1: there is none. */
static int soft_best(const long part[3], int max)
{
    long first = part[0], last = part[1], step = part[2];

    if ((step > 0) != (first <= last) && first != last)
        return -1;
    if (step < 0) { /* the same numbers, upwards */
        step = -step;
        last = first;
        first = last - (last - part[1]) / step * step;
    }
    if (last > max)
        last = max;
    if (first > last)
        return -1;
    last = first + (last - first) / step * step;
    return last >= 0 ? (int)last : -1;
}

int dm_soft_largest(const char *soft, int max, int *n_p)
{
    const char *at = soft;
    long part[3];

    *n_p = -1;
    do {
        int best;

        if (!soft_triplet(&at, part) || (*at != ',' && *at != '\0'))
            return DM_FAIL(
                DM_ERR_INFO_VALUE,
                "soft is \"%.100s\"; a list of numbers a, ranges a:b or a:b:step is wanted", soft);
        best = soft_best(part, max);
        if (best > *n_p)
            *n_p = best;
    } while (*at == ',' && at++ != NULL);
    return DM_OK;
}
