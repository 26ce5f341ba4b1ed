/*
 * Between mpiexec and the library that it has loaded into Hydra.
 */
#ifndef DM_TOOLS_MPIEXEC_HYDRA_SESSION_H
#define DM_TOOLS_MPIEXEC_HYDRA_SESSION_H

/* The descriptor that is to be rank 0's standard input; a rank does not see the variable. */
#define DM_STDIN_ENV "DATUM_STDIN_FD"

/* Hydra's helper on each host, which starts the ranks. */
#define DM_HYDRA_PROXY "hydra_pmi_proxy"

#endif
