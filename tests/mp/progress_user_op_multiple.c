/* test: np=2,3 cfg=PROGRESS=thread timeout=60 */
/* The same with MPI_THREAD_MULTIPLE. */
#define LEVEL MPI_THREAD_MULTIPLE
#include "progress_user_op.c"
