/*
 * Cached attributes of communicators, datatypes and windows (MPI-4.0 section 7.7); part of core.h.
 *
 * The layers that dup and free such objects call dm_attr_copy_all and dm_attr_delete_all. The
 * program's callbacks run under the global lock and may call MPI.
 */
#ifndef DM_MPI_CORE_ATTR_H
#define DM_MPI_CORE_ATTR_H

#include "mpi/core/handle.h"

/* The callback types of the three kinds of object are one type: all handles are int. */
typedef int(dm_attr_copy_fn)(int handle, int keyval, void *extra, void *in, void *out, int *flag);
typedef int(dm_attr_delete_fn)(int handle, int keyval, void *value, void *extra);

/*
 * What an attribute's value is: languages have pointers and integers of two sizes, and get each
 * other's (MPI-4.0 section 19.3.7). The values are part of MPICH's binary interface.
 */
enum dm_attr_type { DM_ATTR_PTR = 0, DM_ATTR_AINT = 1, DM_ATTR_INT = 3 };

/*
 * Functions of the Fortran and C++ libraries that call a callback of their language with what they
 * are given behind it; out is where the new value goes.
 */
typedef int(dm_attr_copy_proxy)(dm_attr_copy_fn *fn, int handle, int keyval, void *extra, int type,
                                void *in, void **out, int *flag);
typedef int(dm_attr_delete_proxy)(dm_attr_delete_fn *fn, int handle, int keyval, int type,
                                  void *value, void *extra);

struct dm_attr; /* a list, latest first; an object holds a pointer to it, NULL when empty */

/* A new key for a kind of object. */
int dm_keyval_new(enum dm_kind kind, dm_attr_copy_fn *copy, dm_attr_delete_fn *del, void *extra,
                  int *keyval_p);
/* The key ends with the last attribute that has it; sets *keyval_p to MPI_KEYVAL_INVALID. */
int dm_keyval_free(enum dm_kind kind, int *keyval_p);

/* The callbacks of a key are of another language. */
void dm_keyval_set_proxy(int keyval, dm_attr_copy_proxy *copy, dm_attr_delete_proxy *del);

/* Set, read and delete one attribute of the object with this handle; DM_ERR_KEYVAL. */
int dm_attr_set(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval, void *value,
                enum dm_attr_type type);
/*
 * As a pointer, an integer is the address where it is kept; as an integer, a pointer is its
 * address.
 */
int dm_attr_get(enum dm_kind kind, struct dm_attr *attrs, int keyval, void **value_p, int *flag,
                enum dm_attr_type as);
int dm_attr_delete(enum dm_kind kind, int handle, struct dm_attr **attrs_p, int keyval);

/* For a duplicate: what the copy callbacks of the old object's attributes want copied. They may delete some of them. */
int dm_attr_copy_all(int handle, struct dm_attr **from_p, struct dm_attr **to_p);
/* Before an object goes: delete callbacks, latest attribute first. Stops at one that fails. */
int dm_attr_delete_all(int handle, struct dm_attr **attrs_p);
/* The same, and those whose callbacks fail go, too: the first error. */
int dm_attr_end_all(int handle, struct dm_attr **attrs_p);
/* For an object that could not be made: the same whatever the callbacks say; reports nothing. */
void dm_attr_discard(int handle, struct dm_attr **attrs_p);

#endif
