/*
 * The interface between a debugger and a library that knows the queues of messages of an MPI (J. Cownie and
 * W. Gropp, "A Standard Interface for Debugger Access to Message Queue Information in MPI", 1999; MPI Forum,
 * "The MPIR Message Queue Display Interface"). The debugger loads the library whose name is in the variable
 * MPIR_dll_name of the process, gives it functions to look into the process, and asks it for
 * communicators, and for the operations of one.
 */
#ifndef DM_MQS_MQS_H
#define DM_MQS_MQS_H

#include <stddef.h>

#include "util/port.h"

enum { MQS_INTERFACE_COMPATIBILITY = 2 };

typedef unsigned long mqs_taddr_t; /* an address in the process */
typedef long mqs_tword_t;          /* a number of it */

/* Of the debugger: a file, a process, a type; of this library: what it keeps of one. */
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;
typedef struct mqs_image_info_ mqs_image_info;
typedef struct mqs_process_info_ mqs_process_info;

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };
enum { mqs_INVALID_PROCESS = -1 };
typedef enum {
    mqs_lang_c = 'c',
    mqs_lang_cplus = 'C',
    mqs_lang_f77 = 'f',
    mqs_lang_f90 = 'F'
} mqs_lang_code;
typedef enum { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages } mqs_op_class;
enum mqs_status { mqs_st_pending, mqs_st_matched, mqs_st_complete };

typedef struct {
    int short_size;
    int int_size;
    int long_size;
    int long_long_size;
    int pointer_size;
} mqs_target_type_sizes;

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank;
    mqs_tword_t size;
    char name[64];
} mqs_communicator;

typedef struct {
    int status;                      /* enum mqs_status */
    mqs_tword_t desired_local_rank;  /* in the communicator; -1: any, */
    mqs_tword_t desired_global_rank; /* and in the job */
    int tag_wild;
    mqs_tword_t desired_tag; /* if not wild */
    mqs_tword_t desired_length;
    int system_buffer; /* the buffer is the library's */
    mqs_taddr_t buffer;
    /* of messages that have come, and of sends */
    mqs_tword_t actual_local_rank;
    mqs_tword_t actual_global_rank;
    mqs_tword_t actual_tag;
    mqs_tword_t actual_length;
    char extra_text[5][64];
} mqs_pending_operation;

/* ---- functions of the debugger ---- */

typedef void *mqs_malloc_ft(size_t);
typedef void mqs_free_ft(void *);
typedef void mqs_dprints_ft(const char *);
typedef char *mqs_errorstring_ft(int);
typedef void mqs_put_image_info_ft(mqs_image *, mqs_image_info *);
typedef mqs_image_info *mqs_get_image_info_ft(mqs_image *);
typedef void mqs_put_process_info_ft(mqs_process *, mqs_process_info *);
typedef mqs_process_info *mqs_get_process_info_ft(mqs_process *);
typedef struct {
    mqs_malloc_ft *mqs_malloc_fp;
    mqs_free_ft *mqs_free_fp;
    mqs_dprints_ft *mqs_dprints_fp;
    mqs_errorstring_ft *mqs_errorstring_fp;
    mqs_put_image_info_ft *mqs_put_image_info_fp;
    mqs_get_image_info_ft *mqs_get_image_info_fp;
    mqs_put_process_info_ft *mqs_put_process_info_fp;
    mqs_get_process_info_ft *mqs_get_process_info_fp;
} mqs_basic_callbacks;

typedef void mqs_get_type_sizes_ft(mqs_process *, mqs_target_type_sizes *);
typedef int mqs_find_function_ft(mqs_image *, char *, mqs_lang_code, mqs_taddr_t *);
typedef int mqs_find_symbol_ft(mqs_image *, char *, mqs_taddr_t *);
typedef mqs_type *mqs_find_type_ft(mqs_image *, char *, mqs_lang_code);
typedef int mqs_field_offset_ft(mqs_type *, char *);
typedef int mqs_sizeof_ft(mqs_type *);
typedef struct {
    mqs_get_type_sizes_ft *mqs_get_type_sizes_fp;
    mqs_find_function_ft *mqs_find_function_fp;
    mqs_find_symbol_ft *mqs_find_symbol_fp;
    mqs_find_type_ft *mqs_find_type_fp;
    mqs_field_offset_ft *mqs_field_offset_fp;
    mqs_sizeof_ft *mqs_sizeof_fp;
} mqs_image_callbacks;

typedef int mqs_get_global_rank_ft(mqs_process *);
typedef mqs_image *mqs_get_image_ft(mqs_process *);
typedef int mqs_fetch_data_ft(mqs_process *, mqs_taddr_t, int, void *);
typedef void mqs_target_to_host_ft(mqs_process *, const void *, void *, int);
typedef struct {
    mqs_get_global_rank_ft *mqs_get_global_rank_fp;
    mqs_get_image_ft *mqs_get_image_fp;
    mqs_fetch_data_ft *mqs_fetch_data_fp;
    mqs_target_to_host_ft *mqs_target_to_host_fp;
} mqs_process_callbacks;

/* ---- functions of this library: mqs_ok, mqs_end_of_list, or another code (mqs_dll_error_string) ---- */

DM_EXPORT void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks);
DM_EXPORT char *mqs_version_string(void);
DM_EXPORT int mqs_version_compatibility(void);
DM_EXPORT int mqs_dll_taddr_width(void);
DM_EXPORT char *mqs_dll_error_string(int code);

/* Of a file: has it queues that can be shown? *message is NULL, or why not. */
DM_EXPORT int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks);
DM_EXPORT int mqs_image_has_queues(mqs_image *image, char **message);
DM_EXPORT void mqs_destroy_image_info(mqs_image_info *info);
/* Of a process, likewise. */
DM_EXPORT int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks);
DM_EXPORT int mqs_process_has_queues(mqs_process *process, char **message);
DM_EXPORT void mqs_destroy_process_info(mqs_process_info *info);

/* Read the communicators of a process that stands still; then go through them. */
DM_EXPORT int mqs_update_communicator_list(mqs_process *process);
DM_EXPORT int mqs_setup_communicator_iterator(mqs_process *process);
DM_EXPORT int mqs_get_communicator(mqs_process *process, mqs_communicator *comm);
DM_EXPORT int mqs_get_comm_group(mqs_process *process, int *ranks);
DM_EXPORT int mqs_next_communicator(mqs_process *process);
/* Read the operations of the present communicator, of a class (mqs_op_class); then go through them. */
DM_EXPORT int mqs_setup_operation_iterator(mqs_process *process, int op_class);
DM_EXPORT int mqs_next_operation(mqs_process *process, mqs_pending_operation *op);

#endif
