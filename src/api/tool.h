/*
 * The tools interface (MPI-4.0 chapter 15): control variables are the settings (DATUM_*), performance
 * variables the counters of DATUM_STATS and what is known of communicators and windows; events are in
 * tool_event.h. The bodies take what the program
 * passes and return MPI_T_ERR_*: no error handler is ever called. Usable before MPI_Init and after
 * MPI_Finalize.
 */
#ifndef DM_API_TOOL_H
#define DM_API_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "util/cfg.h"

/*
 * Around every body: what the files here keep is shared by all threads, and the global lock exists only
 * while the library is up. It may be taken inside the tool lock, not the other way round.
 */
void dm_tool_lock(void);
void dm_tool_unlock(void);

/* ---- between the files ---- */

bool dm_tool_is_up(void);
#define DM_TOOL_CHECK_UP()                                                                         \
    do {                                                                                           \
        if (!dm_tool_is_up())                                                                      \
            return MPI_T_ERR_NOT_INITIALIZED;                                                      \
    } while (0)
/*
 * Give out a text: at most *len bytes with the null, and in *len what all of it takes. A buffer or
 * length that is not there asks for nothing.
 */
void dm_tool_text(const char *text, char *buf, int *len);
/* Set what the program wants to know: one of several values, or the one that the call is for (MPI_T_ERR_*). */
void dm_tool_int(int *where, int value);
int dm_tool_answer(int *where, int value);
int dm_tool_n_cvars(void);
int dm_tool_n_counters(void); /* performance variables that no object has; the others come first */
/* An enumeration: the choices of a setting, or other names. */
struct MPIR_T_enum_s {
    struct dm_cfg_row_info row;
    bool is_used;
    const char *name; /* of one that is of no setting; or NULL */
    const char *const *items;
    int n_items;
};
/* The enumeration of a setting, MPI_T_ENUM_NULL when it has none. */
MPI_T_enum dm_tool_enum(int cvar);
/* Those of events: names of their elements. */
bool dm_tool_event_has_enum(MPI_T_enum e);
int dm_tool_n_events(void);

/* ---- bodies ---- */

int dm_t_category_changed(int *update_number);
int dm_t_category_get_categories(int cat_index, int len, int *indices);
int dm_t_category_get_cvars(int cat_index, int len, int *indices);
int dm_t_category_get_events(int cat_index, int len, int *indices);
int dm_t_category_get_index(const char *name, int *cat_index);
int dm_t_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                           int *num_cvars, int *num_pvars, int *num_categories);
int dm_t_category_get_num(int *num_cat);
int dm_t_category_get_num_events(int cat_index, int *num_events);
int dm_t_category_get_pvars(int cat_index, int len, int *indices);
int dm_t_cvar_get_index(const char *name, int *cvar_index);
int dm_t_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                       int *bind, int *scope);
int dm_t_cvar_get_num(int *num_cvar);
int dm_t_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count);
int dm_t_cvar_handle_free(MPI_T_cvar_handle *handle);
int dm_t_cvar_read(MPI_T_cvar_handle handle, void *buf);
int dm_t_cvar_write(MPI_T_cvar_handle handle, const void *buf);
int dm_t_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len);
int dm_t_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len);
int dm_t_event_callback_get_info(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info *info_used);
int dm_t_event_callback_set_info(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info info);
int dm_t_event_copy(MPI_T_event_instance event_instance, void *buffer);
int dm_t_event_get_index(const char *name, int *event_index);
int dm_t_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                        MPI_Datatype *array_of_datatypes, MPI_Aint *array_of_displacements,
                        int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc,
                        int *desc_len, int *bind);
int dm_t_event_get_num(int *num_events);
int dm_t_event_get_source(MPI_T_event_instance event_instance, int *source_index);
int dm_t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp);
int dm_t_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                            MPI_T_event_registration *event_registration);
int dm_t_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                           MPI_T_event_free_cb_function *free_cb_function);
int dm_t_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used);
int dm_t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info);
int dm_t_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer);
int dm_t_event_register_callback(MPI_T_event_registration event_registration,
                                 MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data,
                                 MPI_T_event_cb_function *event_cb_function);
int dm_t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                   MPI_T_event_dropped_cb_function *dropped_cb_function);
int dm_t_finalize(void);
int dm_t_init_thread(int required, int *provided);
int dm_t_pvar_get_index(const char *name, int var_class, int *pvar_index);
int dm_t_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                       int *bind, int *readonly, int *continuous, int *atomic);
int dm_t_pvar_get_num(int *num_pvar);
int dm_t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                           MPI_T_pvar_handle *handle, int *count);
int dm_t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle);
int dm_t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int dm_t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf);
int dm_t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int dm_t_pvar_session_create(MPI_T_pvar_session *session);
int dm_t_pvar_session_free(MPI_T_pvar_session *session);
int dm_t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int dm_t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int dm_t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf);
int dm_t_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                         MPI_T_source_order *ordering, MPI_Count *ticks_per_second,
                         MPI_Count *max_ticks, MPI_Info *info);
int dm_t_source_get_num(int *num_sources);
int dm_t_source_get_timestamp(int source_index, MPI_Count *timestamp);

#endif
