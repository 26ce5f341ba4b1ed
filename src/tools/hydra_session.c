/*
 * libdatum_hydra.so, which mpiexec has loaded into Hydra: the ranks of this host share a session.
 *
 * Hydra's proxy puts every process that it starts into a session of its own. Linux (sched_autogroup)
 * shares out the cores among sessions first, and sched_yield gives a core to others of the same
 * session only (since 6.6): ranks that outnumber the cores hand them over late, or after milliseconds.
 * A process group of its own is all that a rank needs, for Hydra to end it.
 *
 * LD_PRELOAD is as the user has it everywhere but in the proxy of this host: the front that
 * starts it, and the ranks, do not see ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME  "LD_PRELOAD="
#define PROXY "hydra_pmi_proxy"

static char *with_ours;

/* Ours is the last of the list (dm_place_preload). */
__attribute__((constructor)) static void hide(void)
{
    size_t len = strlen(NAME);
    char *last, *users;

    for (char **at = environ; at != NULL && *at != NULL && with_ours == NULL; at++)
        if (strncmp(*at, NAME, len) == 0)
            with_ours = *at;
    users = with_ours != NULL ? strdup(with_ours + len) : NULL;
    if (users == NULL)
        return;
    last = strrchr(users, ':');
    if (last == NULL) {
        unsetenv("LD_PRELOAD");
    } else {
        *last = '\0';
        setenv("LD_PRELOAD", users, 1);
    }
    free(users);
}

/* In the child that becomes the proxy. */
int execvp(const char *file, char *const argv[])
{
    const char *slash = strrchr(file, '/');

    if (with_ours != NULL && strcmp(slash != NULL ? slash + 1 : file, PROXY) == 0)
        putenv(with_ours);
    return execvpe(file, argv, environ);
}

/* In the proxy's child that becomes a rank, and elsewhere. */
pid_t setsid(void)
{
    if (strcmp(program_invocation_short_name, PROXY) == 0 && setpgid(0, 0) == 0)
        return getpid();
    return (pid_t)syscall(SYS_setsid);
}
