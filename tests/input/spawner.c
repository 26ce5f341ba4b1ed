/*
 * For launch_spawn.sh: a process that speaks to its launcher as the library does. Words, one after
 * the other:
 *   spawn N PROGRAM    codes=...;  spawn N copies of PROGRAM ("self": this one, as a child)
 *   with KEY VALUE     an info key of the next spawn
 *   and N PROGRAM      one program more in the next spawn, in front
 *   publish, unpublish, lookup NAME...;  connect, part ID;  own ID
 *   die SIGNAL, exit STATUS, wait MILLISECONDS, fence, parent (descriptors of mpiexec),
 *   read (a line of input), run: until it is ended
 * A child prints what it has got first.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmi/pmi.h"
#include "pmi/pmi_spawn.h"
#include "util/cfg.h"
#include "util/err.h"

static struct dm_pmi *pmi;
static struct dm_pmi_pair infos[8];
static int n_infos;
static struct dm_pmi_program programs[8];
static int n_programs;
static char **child_argv;
static char *self;

static void say(const char *what, int err)
{
    printf("%d: %s: %s\n", dm_pmi_job(pmi)->rank, what, err == DM_OK ? "ok" : dm_err_detail());
    fflush(stdout);
}

static void spawn(int n, char *program)
{
    static const struct dm_pmi_pair preput = {"parent-port", "a port=\nof the parent%"};
    struct dm_pmi_spawn all = {.programs = programs, .preput = &preput, .n_preput = 1};
    int codes[4096];
    int n_started = -1;
    int n_all = 0;
    int err;

    programs[n_programs++] = (struct dm_pmi_program){
        .command = strcmp(program, "self") == 0 ? self : program,
        .argv = child_argv,
        .maxprocs = n,
        .info = infos,
        .n_info = n_infos,
    };
    all.n_programs = n_programs;
    err = dm_pmi_spawn(pmi, &all, codes, &n_started);
    say("spawn", err);
    printf("%d: started %d codes=", dm_pmi_job(pmi)->rank, n_started);
    for (int i = 0; i < n_programs; i++)
        for (int k = 0; k < programs[i].maxprocs; k++)
            printf("%d", codes[n_all++] != DM_OK);
    printf("\n");
    fflush(stdout);
    n_programs = n_infos = 0;
}

static void child(int argc, char **argv)
{
    struct dm_kv_ops kv = dm_pmi_kv(pmi);
    char port[64] = "";
    char dir[256] = "";
    int err = kv.get(kv.arg, "parent-port", port, sizeof(port));
    bool is_same = err == DM_OK && strcmp(port, "a port=\nof the parent%") == 0;
    const char *extra = getenv("EXTRA");

    if (getcwd(dir, sizeof(dir)) == NULL)
        exit(1);
    printf("child %d of %d appnum %d %s %s in %s extra %s args %zu\n", dm_pmi_job(pmi)->rank,
           dm_pmi_job(pmi)->size, dm_pmi_job(pmi)->appnum,
           dm_pmi_job(pmi)->is_spawned ? "spawned" : "", is_same ? "port" : "no port", dir,
           extra != NULL ? extra : "none", argc > 2 ? strlen(argv[2]) : 0);
    fflush(stdout);
}

static void name(const char *what, const char *service)
{
    char port[256] = "";
    int err;

    if (strcmp(what, "publish") == 0)
        err = dm_pmi_publish(pmi, service, "a port of: me");
    else if (strcmp(what, "unpublish") == 0)
        err = dm_pmi_unpublish(pmi, service);
    else
        err = dm_pmi_lookup(pmi, service, port, sizeof(port));
    say(what, err);
    if (port[0] != '\0')
        printf("found %s\n", port);
    fflush(stdout);
}

/* How many descriptors mpiexec has. */
static void count_descriptors(void)
{
    char command[64];

    snprintf(command, sizeof(command), "echo descriptors $(ls /proc/%d/fd | wc -l)",
             (int)getppid());
    if (system(command) != 0)
        exit(1);
}

static void read_line(void)
{
    char line[64] = "";

    if (fgets(line, sizeof(line), stdin) == NULL)
        exit(1);
    printf("read: %s", line);
    fflush(stdout);
}

/* How many words it took. */
static int act(char **word)
{
    const char *what = word[0];

    if (strcmp(what, "fence") == 0)
        return dm_pmi_barrier(pmi), 1;
    if (strcmp(what, "run") == 0)
        return pause(), 1;
    if (strcmp(what, "parent") == 0)
        return count_descriptors(), 1;
    if (strcmp(what, "read") == 0)
        return read_line(), 1;
    if (word[1] == NULL)
        return 1;
    if (strcmp(what, "die") == 0)
        raise(atoi(word[1]));
    if (strcmp(what, "exit") == 0)
        return dm_pmi_close(pmi), exit(atoi(word[1])), 2;
    if (strcmp(what, "wait") == 0)
        return usleep((unsigned)atoi(word[1]) * 1000), 2;
    if (strcmp(what, "only") == 0)
        return atoi(word[1]) == dm_pmi_job(pmi)->rank ? 2 : 1000;
    if (strcmp(what, "own") == 0)
        return dm_pmi_set_own(pmi, strtoull(word[1], NULL, 16)), 2;
    if (strcmp(what, "connect") == 0)
        return dm_pmi_connected(pmi, strtoull(word[1], NULL, 16)), 2;
    if (strcmp(what, "part") == 0)
        return dm_pmi_disconnected(pmi, strtoull(word[1], NULL, 16)), 2;
    if (strstr("publish unpublish lookup", what) != NULL)
        return name(what, word[1]), 2;
    if (strcmp(what, "child") == 0) {
        static char *words[3] = {"child"};

        words[1] = strdup(word[1]);
        child_argv = words;
        return 2;
    }
    if (word[2] == NULL)
        return 2;
    if (strcmp(what, "with") == 0)
        infos[n_infos++] = (struct dm_pmi_pair){word[1], word[2]};
    if (strcmp(what, "and") == 0)
        programs[n_programs++] =
            (struct dm_pmi_program){.command = strcmp(word[2], "self") == 0 ? self : word[2],
                                    .argv = child_argv,
                                    .maxprocs = atoi(word[1])};
    if (strcmp(what, "spawn") == 0)
        spawn(atoi(word[1]), word[2]);
    return 3;
}

int main(int argc, char **argv)
{
    static char big[100001];
    char *plain[4] = {"child", NULL, NULL, NULL};
    bool is_child = argc > 1 && strcmp(argv[1], "child") == 0;

    self = realpath("/proc/self/exe", NULL);
    memset(big, '\n', sizeof(big) - 1);
    plain[1] = getenv("BIG") != NULL ? big : "x\ny z";
    plain[2] = getenv("CHILD");
    child_argv = plain;
    if (dm_cfg_load(true) != DM_OK || dm_pmi_open(&pmi) != DM_OK) {
        fprintf(stderr, "%s\n", dm_err_detail());
        return 1;
    }
    if (is_child)
        child(argc, argv);
    /* A child's words are one argument. */
    if (is_child && argc > 3) {
        char *words[64] = {NULL};
        int n = 0;

        for (char *w = strtok(argv[3], " "); w != NULL && n < 60; w = strtok(NULL, " "))
            words[n++] = w;
        for (int i = 0; i < n; i += act(words + i))
            continue;
    }
    for (int i = is_child ? argc : 1; i < argc; i += act(argv + i))
        continue;
    return dm_pmi_close(pmi) == DM_OK ? 0 : 1;
}
