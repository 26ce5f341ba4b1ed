/*
 * Launchers: whether one has started this process, and programs that lie beside this one. Nothing here may be called
 * by another thread, or after MPI_Init.
 */
#ifndef DATUM_BENCH_LAUNCH_H
#define DATUM_BENCH_LAUNCH_H

/* The rank in the environment, as any launcher writes it; NULL: nobody has launched this process. */
const char *launcher_rank(void);

/* Becomes the program of this name beside this one, with these arguments (the last is NULL); -1 with errno. */
int become(const char *name, char *const *argv);

/*
 * Becomes the mpiexec beside this program, which runs as many ranks of this one with the same arguments (argv[0] to
 * NULL). Returns where no mpiexec is there, as in a program for another library: it has one rank then.
 */
void launch_self(int n_ranks, char **argv);

#endif
