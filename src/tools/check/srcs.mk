SRCS_tools_datum-check := $(addprefix src/tools/check/,datum_check.c check_run.c check_print.c \
	probe_side.c probe_table.c probe_open.c probe_mem.c probe_conn.c probe_owner.c probe_order.c probe_dto.c \
	probe_ext.c probe_fork.c probe_speed.c) src/tools/out.c src/tools/install_paths.c
