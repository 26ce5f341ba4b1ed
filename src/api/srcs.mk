# The wrappers of the MPI functions, their prototypes and the export list are made from a table.
API_DIR := $(srcdir)/src/api
API_TABLES := $(API_DIR)/kinds.tbl $(API_DIR)/api.tbl
API_CHAPTERS := $(shell sed -n 's/^@chapter *\([a-z0-9]*\).*/\1/p' $(API_DIR)/api.tbl)
API_AWKS := $(API_DIR)/tables.awk $(API_DIR)/gen.awk
API_AWK = awk $(addprefix -f ,$(API_AWKS))

SRCS_api += src/api/check.c src/api/errors.c src/api/errcode.c \
	src/api/init.c src/api/enter.c src/api/lost.c src/api/where.c src/api/calls.c src/api/stats.c src/api/env.c src/api/status.c src/api/attr.c \
	src/api/fortran.c src/api/hooks.c src/api/gpu.c \
	src/api/session.c src/api/tool.c src/api/tool_event.c src/api/tool_event_type.c src/api/tool_cvar.c src/api/tool_pvar.c src/api/tool_bound.c \
	src/api/objects.c src/api/data.c \
	$(GEN)/api_fn_names.c $(patsubst %,$(GEN)/api_%.c,$(API_CHAPTERS))
GEN_HDRS += $(GEN)/mpi_proto.h
LIBMPI_MAP = $(GEN)/libmpi.map

$(GEN)/mpi_proto.h: $(API_AWKS) $(API_TABLES)
	@mkdir -p $(@D)
	$(Q)$(API_AWK) -v make=proto $(API_TABLES) >$@

$(GEN)/libmpi.map: $(API_AWKS) $(API_TABLES)
	@mkdir -p $(@D)
	$(Q)$(API_AWK) -v make=map $(API_TABLES) >$@

$(GEN)/api_fn_names.c: $(API_AWKS) $(API_TABLES)
	@mkdir -p $(@D)
	$(Q)$(API_AWK) -v make=fn_names $(API_TABLES) >$@

$(patsubst %,$(GEN)/api_%.c,$(API_CHAPTERS)): $(GEN)/api_%.c: $(API_AWKS) $(API_TABLES)
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)$(API_AWK) -v make=source -v chapter=$* $(API_TABLES) >$@
