/*
 * Opens two files with the hints of the arguments KEY=VALUE; each rank says what is in force for the second.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void show(MPI_File fh)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n, flag;

    MPI_File_get_info(fh, &info);
    MPI_Info_get_nkeys(info, &n);
    for (int i = 0; i < n; i++) {
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
        printf("%s %s\n", key, value);
    }
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_File fh;

    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        *value = '\0';
        MPI_Info_set(info, argv[i], value + 1);
    }
    for (int i = 0; i < 2; i++) {
        MPI_File_open(MPI_COMM_WORLD, i == 0 ? "a.hints" : "b.hints",
                      MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &fh);
        if (i == 1)
            show(fh);
        MPI_File_close(&fh);
    }
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
