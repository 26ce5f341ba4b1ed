/*
 * Reduction operations (MPI-4.0 section 6.9).
 */
#ifndef DM_MPI_OP_OP_H
#define DM_MPI_OP_OP_H

#include "mpi/core/core.h"
#include "mpi/datatype/datatype.h"

typedef void(dm_op_cxx)(const void *in, void *inout, int len, MPI_Datatype type,
                        MPI_User_function *fn);

struct dm_op {
    struct dm_obj obj;
    bool is_builtin;
    bool is_commutative;
    bool is_large; /* user function takes MPI_Count */
    MPI_User_function *user;
    MPI_User_function_c *user_large;
    dm_op_cxx *cxx; /* user is a function of C++, for this to call; NULL: of C or Fortran */
    int code;       /* private: which predefined operation, */
    uint64_t takes; /* and the set of C types that it takes; of a user's none */
};

int dm_op_start(void); /* bind all predefined operations to their handles */
void dm_op_stop(void);
void dm_op_ref(struct dm_op *op);
void dm_op_unref(struct dm_op *op);
/* Name of a predefined operation's handle; NULL: it is none. */
const char *dm_op_name(int handle);
static inline struct dm_op *dm_op_get(MPI_Op handle)
{
    return dm_handle_get(DM_KIND_OP, handle);
}
/*
 * Is op allowed on the type (6.9.2)? DM_OK, or DM_ERR_OP with a text. Predefined operations
 * take predefined types: for the derived ones of MPI_Accumulate ask about dm_type_get(type->basic);
 * a NULL type is refused. As in MPICH, characters count as integers, and logical operations
 * take all integers. MPI_REPLACE and MPI_NO_OP take every type.
 */
int dm_op_check(const struct dm_op *op, const struct dm_type *type);
/*
 * inout[i] = in[i] op inout[i] for count elements, laid out as type says; the two must not overlap.
 * A user's function gets at most INT_MAX elements at once, and the type's handle.
 */
int dm_op_apply(const struct dm_op *op, const void *in, void *inout, size_t count,
                struct dm_type *type);
/*
 * The same on n elements of one basic type (handle), for accumulate: also MPI_REPLACE and
 * MPI_NO_OP. Both are laid out as in memory: pairs with their padding, not packed. Neither
 * needs alignment, unless is_atomic: then each element of inout, naturally aligned, is updated
 * by a compare and swap of the machine, so that several processes may do it at once on
 * shared memory. That is possible when dm_op_is_atomic(basic); DM_EINTERN otherwise.
 */
int dm_op_apply_basic(const struct dm_op *op, const void *in, void *inout, size_t n, int basic,
                      bool is_atomic);
/*
 * The same, always by compare and swap; what was in each element goes to old (packed, any
 * alignment), for the calls that fetch. MPI_NO_OP reads only; in may then be NULL.
 */
int dm_op_fetch_basic(const struct dm_op *op, const void *in, void *inout, void *old, size_t n,
                      int basic);
/*
 * Can elements of this basic type be updated by several processes at once? Those of 1, 2, 4 and 8
 * bytes can, if they have no holes. For the others (long double, double complex, pairs with double,
 * long or short, ...) no lock is shared between processes here: whoever wants atomicity lets one
 * process, the target, apply everything; mixing both ways on one location is not atomic.
 */
bool dm_op_is_atomic(int basic);
/* Is it an integer of 8 bytes, as adapters' atomic operations take? */
bool dm_op_is_word(int basic);

/* ---- bodies of the MPI functions ---- */

int dm_op_create(MPI_User_function *fn, int commute, struct dm_op **op_p);
int dm_op_create_c(MPI_User_function_c *fn, int commute, struct dm_op **op_p);
int dm_op_free(struct dm_op *op);
int dm_op_commutative(const struct dm_op *op, int *commute);
int dm_reduce_local(const void *inbuf, void *inoutbuf, size_t count, struct dm_type *type,
                    struct dm_op *op);

#endif
