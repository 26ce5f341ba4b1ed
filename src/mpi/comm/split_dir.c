/*
 * MPIX_COMM_TYPE_NEIGHBORHOOD with the hint nbhd_common_dirname: those that find the same directory
 * under the name that each gave. The first one without a part makes a file there, and who sees it
 * is with it.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"

#define FILE_NAME "datum-XXXXXX"

/*
 * How others know the directory of a process: by its numbers on that host, by a file that is in it.
 */
struct mark {
    int64_t host;
    uint64_t dev;
    uint64_t ino;
    char name[sizeof(FILE_NAME)]; /* empty: none could be made */
};

static void dir_path(char path[PATH_MAX], const char *dir, const char *name)
{
    int len = snprintf(path, PATH_MAX, "%s/%s", dir, name);

    if (len >= PATH_MAX)
        path[0] = '\0';
}

/* Make the file, too. */
static void dir_leave_mark(const char *dir, int host, const struct stat *st, struct mark *mark)
{
    char path[PATH_MAX];
    int fd;

    *mark = (struct mark){.host = host, .dev = st->st_dev, .ino = st->st_ino};
    dir_path(path, dir, FILE_NAME);
    fd = path[0] != '\0' ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    close(fd);
    memcpy(mark->name, path + strlen(dir) + 1, sizeof(mark->name));
}

static bool dir_sees(const char *dir, int host, const struct stat *st, const struct mark *mark)
{
    char path[PATH_MAX];

    if (mark->host == host && mark->dev == st->st_dev && mark->ino == st->st_ino)
        return true;
    if (mark->name[0] == '\0')
        return false;
    dir_path(path, dir, mark->name);
    return access(path, F_OK) == 0;
}

/* The first rank that has a directory and no part yet; the size of comm: there is none. */
static int dir_next_leader(struct dm_comm *comm, bool waits, int *leader_p)
{
    *leader_p = waits ? comm->rank : comm->size;
    return dm_allreduce(MPI_IN_PLACE, leader_p, 1, dm_type_get(MPI_INT), dm_op_get(MPI_MIN), comm);
}

int dm_comm_dir_color(struct dm_comm *comm, const char *dir, int host, int *color_p)
{
    char path[PATH_MAX] = "";
    struct mark mark;
    struct stat st;
    bool has_dir = stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
    int leader;

    *color_p = MPI_UNDEFINED;
    for (;;) {
        int err = dir_next_leader(comm, has_dir && *color_p == MPI_UNDEFINED, &leader);

        /* By now everybody has looked for the last file. */
        if (path[0] != '\0')
            unlink(path);
        path[0] = '\0';
        if (err != DM_OK || leader == comm->size)
            return err;
        if (leader == comm->rank) {
            dir_leave_mark(dir, host, &st, &mark);
            if (mark.name[0] != '\0')
                dir_path(path, dir, mark.name);
        }
        err = dm_bcast(&mark, sizeof(mark), dm_type_get(MPI_BYTE), leader, comm);
        if (err != DM_OK) {
            if (path[0] != '\0')
                unlink(path);
            return err;
        }
        if (has_dir && *color_p == MPI_UNDEFINED &&
            (leader == comm->rank || dir_sees(dir, host, &st, &mark)))
            *color_p = leader;
    }
}
