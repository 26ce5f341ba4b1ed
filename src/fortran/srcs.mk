# The bindings for Fortran: a library and modules, made from the API table by awk.
FORTRAN_DIR := $(srcdir)/src/fortran
FORTRAN_AWKS := $(API_DIR)/tables.awk $(FORTRAN_DIR)/common.awk

SRCS_fortran += src/fortran/arguments.c src/fortran/by_hand.c src/fortran/callbacks.c src/fortran/sections.c \
	src/fortran/section_held.c src/fortran/section_types.c \
	$(GEN)/fortran_coll.c $(GEN)/fortran_others.c

$(GEN)/fortran_coll.c: CHAPTERS_bound = coll
$(GEN)/fortran_others.c: CHAPTERS_bound = $(filter-out coll,$(API_CHAPTERS))
$(GEN)/fortran_coll.c $(GEN)/fortran_others.c: $(FORTRAN_AWKS) $(FORTRAN_DIR)/c.awk $(API_TABLES)
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)awk $(addprefix -f ,$(FORTRAN_AWKS) $(FORTRAN_DIR)/c.awk) -v bound='$(CHAPTERS_bound)' $(API_TABLES) >$@

# What a program includes or uses: mpif.h, and a .mod of each module.
FORTRAN_MODULES := types mpi f08 f08ts
fortran_module = awk -f $(FORTRAN_DIR)/constants.awk $(addprefix -f ,$(FORTRAN_AWKS) $(FORTRAN_DIR)/modules.awk) \
	-v make=$(1) $(srcdir)/include/mpi.h $(API_TABLES)
FORTRAN_NEEDS := $(FORTRAN_AWKS) $(FORTRAN_DIR)/constants.awk $(FORTRAN_DIR)/modules.awk $(srcdir)/include/mpi.h $(API_TABLES)

$(GEN)/fortran/mpif.h: $(FORTRAN_NEEDS)
	@mkdir -p $(@D)
	$(Q)$(call fortran_module,mpif) >$@

$(patsubst %,$(GEN)/fortran_%.f90,$(FORTRAN_MODULES)): $(GEN)/fortran_%.f90: $(FORTRAN_NEEDS)
	@mkdir -p $(@D)
	$(Q)$(call fortran_module,$*) >$@
