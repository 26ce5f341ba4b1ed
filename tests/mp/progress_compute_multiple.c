/* test: np=3 cfg=PROGRESS=thread|threads2,EAGER=rdma|sendrecv timeout=90 */
/* The same with MPI_THREAD_MULTIPLE. */
#define LEVEL MPI_THREAD_MULTIPLE
#include "progress_compute.c"
