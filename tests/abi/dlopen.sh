#!/bin/sh
# test: timeout=60 san=no
# The library in a program that loads it while it runs, as Python's extensions do: what it needs of
# static thread-local storage is little, since others want some, too.
. "$TEST_LIB"
need readelf binutils
cat >load.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef int init_fn(int *argc, char ***argv);
typedef int finalize_fn(void);
typedef int class_fn(int code, int *error_class);
typedef int set_fn(int comm, int errhandler);
typedef int rank_fn(int comm, int *rank);

static void *lib;

/* An error in a thread of its own: its text goes with the thread. */
static void *fail(void *arg)
{
    rank_fn *rank = (rank_fn *)dlsym(lib, "MPI_Comm_rank");
    class_fn *error_class = (class_fn *)dlsym(lib, "MPI_Error_class");
    int n, class = 0;

    error_class(rank(0x04000000, &n), &class);
    *(int *)arg = class;
    return NULL;
}

int main(int argc, char **argv)
{
    int class = 0;
    pthread_t thread;

    (void)argc;
    lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        puts(dlerror());
        return 1;
    }
    if (((init_fn *)dlsym(lib, "MPI_Init"))(NULL, NULL) != 0)
        return 1;
    ((set_fn *)dlsym(lib, "MPI_Comm_set_errhandler"))(0x44000000, 0x54000001);
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, fail, &class);
        pthread_join(thread, NULL);
        if (class != 5) {
            printf("class %d\n", class);
            return 1;
        }
    }
    return ((finalize_fn *)dlsym(lib, "MPI_Finalize"))();
}
END
lib=$DATUM_BUILD/lib/libmpi.so.12
${CC:-cc} -o load load.c -ldl -lpthread || fail 'the program that loads it cannot be built'
check 'a program that loads the library' ./load "$lib"
check 'two processes of it' mpiexec -n 2 ./load "$lib"
size=$(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')
check "thread-local storage: ${size:-0}" test "$((${size:-0}))" -le 256
totals
