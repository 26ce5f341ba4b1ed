SRCS_pmi += src/pmi/pmi.c src/pmi/pmi_client.c src/pmi/pmi_map.c src/pmi/pmi_report.c \
	src/pmi/pmi_singleton.c src/pmi/pmi_wire.c
