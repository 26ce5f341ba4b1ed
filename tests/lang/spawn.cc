/* Spawning and ports by the C++ bindings of the distribution. */
#include <mpi.h>
#include <cstdio>
#include <cstring>

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    MPI::Intercomm parent = MPI::Comm::Get_parent();
    int rank = MPI::COMM_WORLD.Get_rank(), wrong = 0;

    if (parent != MPI::COMM_NULL) {
        wrong = argc != 2 || std::strcmp(argv[1], "an argument") != 0;
        parent.Reduce(&wrong, NULL, 1, MPI::INT, MPI::SUM, 0);
        parent.Disconnect();
    } else {
        const char *args[] = {"an argument", NULL};
        int codes[2] = {-1, -1};
        MPI::Intercomm inter =
            MPI::COMM_WORLD.Spawn(argv[0], args, 2, MPI::INFO_NULL, 0, codes);
        char port[MPI_MAX_PORT_NAME];

        wrong += codes[0] != MPI::SUCCESS || codes[1] != MPI::SUCCESS;
        wrong += inter.Get_remote_size() != 2;
        int theirs = 0;
        inter.Reduce(MPI::IN_PLACE, &theirs, 1, MPI::INT, MPI::SUM,
                     rank == 0 ? MPI::ROOT : MPI::PROC_NULL);
        wrong += theirs;
        inter.Disconnect();
        MPI::Open_port(MPI::INFO_NULL, port);
        MPI::Close_port(port);
        if (rank == 0 && wrong == 0)
            std::puts("all well");
    }
    MPI::Finalize();
    return 0;
}
