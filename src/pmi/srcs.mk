SRCS_pmi += src/pmi/pmi.c src/pmi/pmi_choose.c src/pmi/pmi_client.c src/pmi/pmi_fd.c \
	src/pmi/pmi_map.c src/pmi/pmi_mpiexec.c src/pmi/pmi_search.c src/pmi/pmi_singleton.c src/pmi/pmi_spawn.c src/pmi/pmi_text.c src/pmi/pmi_v1.c \
	src/pmi/pmi_v2.c src/pmi/pmi_wire.c
# configure has looked for pmix.h.
SRCS_pmi += src/pmi/$(if $(filter yes,$(HAVE_PMIX)),pmi_pmix.c,pmi_pmix_none.c)
obj/pmi/pmi_pmix.o: CPPFLAGS += $(PMIX_CPPFLAGS)
