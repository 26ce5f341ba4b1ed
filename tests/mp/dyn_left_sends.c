/* test: np=1,2 timeout=120 */
/*
 * Children send to their parents, free the request and the intercommunicator and finalize, while the parents receive,
 * free it, and spawn and leave others, who get the process numbers of those before. All end. Once a communicator of
 * the parent is freed MPI_Comm_get_parent gives none, though a message by it is under way.
 */
#include "mp_test.h"

enum { TAG = 5, LONGEST = 3000000 };

static char *buf;

static int child(MPI_Comm parent, int argc, char **argv)
{
    int len = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Request req;
    MPI_Comm again;

    if (len == 0) {
        MUST(MPI_Comm_disconnect(&parent));
        return mp_finish();
    }
    MUST(MPI_Isend(buf, len, MPI_CHAR, 0, TAG, parent, &req));
    MUST(MPI_Request_free(&req));
    MUST(MPI_Comm_free(&parent));
    MUST(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL);
    return mp_finish();
}

static void spawn(char *self, int len)
{
    char text[20], *args[] = {text, NULL};
    MPI_Comm children;

    snprintf(text, sizeof(text), "%d", len);
    MUST(MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                        MPI_ERRCODES_IGNORE));
    for (int i = 0; i < 2 && mp_rank == 0 && len > 0; i++)
        MUST(MPI_Recv(buf, len, MPI_CHAR, i, TAG, children, MPI_STATUS_IGNORE));
    if (len > 0)
        MUST(MPI_Comm_free(&children));
    else
        MUST(MPI_Comm_disconnect(&children));
}

int main(int argc, char **argv)
{
    static const int lens[] = {8, 20000, LONGEST};
    MPI_Comm parent;

    mp_start(&argc, &argv);
    buf = calloc(1, LONGEST);
    CHECK(buf != NULL);
    MUST(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL)
        return child(parent, argc, argv);
    for (int i = 0; i < 3; i++) {
        spawn(argv[0], lens[i]);
        spawn(argv[0], 0);
    }
    free(buf);
    return mp_finish();
}
