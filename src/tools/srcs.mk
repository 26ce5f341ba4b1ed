SRCS_tools_mpiexec := src/tools/mpiexec.c src/tools/front_args.c src/tools/front_far.c \
	src/tools/front_ranks.c src/tools/front_starts.c src/tools/out.c src/tools/install_paths.c
SRCS_tools_datum-info := src/tools/datum_info.c src/tools/out.c src/tools/install_paths.c

