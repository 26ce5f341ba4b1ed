/*
 * Datatypes: type maps, their committed form, packing and unpacking
 * (MPI-4.0 chapter 5).
 *
 * A committed type is a small loop program; contiguous data never sees it. Positions in the packed
 * stream are byte offsets, so that a message can be packed and unpacked in pieces of any size.
 */
#ifndef DM_MPI_DATATYPE_DATATYPE_H
#define DM_MPI_DATATYPE_DATATYPE_H

#include "mpi/core/core.h"

struct dm_type_prog; /* private: the loop program */
struct dm_type_env;  /* private: envelope and contents */

struct dm_type {
    struct dm_obj obj;
    MPI_Count size; /* bytes of data in one element */
    MPI_Aint lb, extent;
    MPI_Aint true_lb, true_extent;
    MPI_Count n_basic;   /* basic elements in one (MPI_Get_elements) */
    size_t align;        /* of the largest basic type, for struct's extent (epsilon) */
    bool has_lb, has_ub; /* bounds were set by MPI_Type_create_resized or a marker, and stick */
    int basic;           /* handle of the only basic type in it, or MPI_DATATYPE_NULL when mixed */
    bool is_builtin;
    bool is_committed;
    bool is_freed;        /* MPI_Type_free was called, */
    int n_handle_holders; /* but these need the handle */
    bool is_contig;       /* data of count elements is one run of count*size bytes from true_lb, and
                              extent == size */
    struct dm_type_prog *prog;
    struct dm_type_env *env;
    struct dm_attr *attrs;
    char name[MPI_MAX_OBJECT_NAME];
};

int dm_datatype_start(void); /* bind all predefined types to their handles */
void dm_datatype_stop(void);
static inline void dm_type_ref(struct dm_type *type)
{
    type->obj.refs++;
}
/* The last reference is gone. */
void dm_type_destroy(struct dm_type *type);
static inline void dm_type_unref(struct dm_type *type)
{
    if (--type->obj.refs <= 0 && !type->is_builtin)
        dm_type_destroy(type);
}
/*
 * For operations that will show the handle to a function of the program: MPI_Type_free leaves it
 * valid until the last of them has let it go. Both go with a reference.
 */
void dm_type_hold_handle(struct dm_type *type);
void dm_type_let_handle(struct dm_type *type);
static DM_ALWAYS_INLINE struct dm_type *dm_type_get(MPI_Datatype handle)
{
    return dm_handle_get(DM_KIND_TYPE, handle);
}

/*
 * Bytes [offset, offset+len) of the packed form of count elements at buf, to or from a
 * contiguous place. Returns nothing: arguments were checked before.
 */
void dm_type_pack(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                  void *dst, size_t len);
void dm_type_unpack(void *buf, size_t count, const struct dm_type *type, size_t offset,
                    const void *src, size_t len);
/* Copy between two typed buffers of this process (self messages, MPI_IN_PLACE helpers); bytes moved
 * is the smaller of the two; DM_ERR_TRUNCATE when the source is larger. */
int dm_type_copy(const void *src, size_t src_count, const struct dm_type *src_type, void *dst,
                 size_t dst_count, const struct dm_type *dst_type);
/*
 * The data of count elements as runs of contiguous memory, from packed offset on: fills up to
 * n iovec entries, *n_p entries used, returns bytes covered. For gather lists and one-sided.
 */
size_t dm_type_iov(const void *buf, size_t count, const struct dm_type *type, size_t offset,
                   struct iovec *iov, int n, int *n_p);
/*
 * Serialise a type (for one-sided targets) into buf of *len_p bytes (in: room, out: bytes
 * needed); and rebuild it, committed, one reference, no handle. DM_EAGAIN when room is too small.
 */
int dm_type_flatten(const struct dm_type *type, void *buf, size_t *len_p);
int dm_type_unflatten(const void *buf, size_t len, struct dm_type **type_p);
/*
 * Walk the basic elements in a packed stream: used by accumulate with derived types. Calls fn for
 * each run of n equal basic types at the memory address addr (not packed), in type map order.
 */
int dm_type_each_run(const void *buf, size_t count, const struct dm_type *type,
                     int (*fn)(void *arg, void *addr, size_t n, int basic), void *arg);
/* Elements in `bytes` received bytes, or MPI_UNDEFINED (Get_count). */
static inline MPI_Count dm_type_count_of(const struct dm_type *type, uint64_t bytes)
{
    uint64_t size = (uint64_t)type->size;

    if (bytes == 0)
        return 0;
    if (size == 0)
        return MPI_UNDEFINED;
    if (bytes <= UINT32_MAX && size <= UINT32_MAX) /* half the width takes half the time */
        return (uint32_t)bytes % (uint32_t)size != 0
                   ? MPI_UNDEFINED
                   : (MPI_Count)((uint32_t)bytes / (uint32_t)size);
    return bytes % size != 0 ? MPI_UNDEFINED : (MPI_Count)(bytes / size);
}
/* Basic elements in them, or MPI_UNDEFINED (Get_elements). */
MPI_Count dm_type_elements_of(const struct dm_type *type, uint64_t bytes);
/* The reverse: bytes of the first n basic elements (MPI_Status_set_elements). DM_ERR_COUNT when the
 * type has no data and n is not 0. */
int dm_type_bytes_of(const struct dm_type *type, MPI_Count n, uint64_t *bytes_p);

/* ---- for files (chapter 14) ---- */

/*
 * Where the blocks of a type map lie, and whether in ascending order (is_ordered), and do so, too,
 * when the type is repeated (repeats); overlaps: some bytes are in it twice.
 */
struct dm_type_order {
    bool is_any;           /* there are data; else the rest is 0 */
    ptrdiff_t first, last; /* displacements of the first and the last block of the type map */
    ptrdiff_t end;         /* behind the last byte of all */
    bool is_ordered, overlaps;
    bool repeats, overlaps_repeated;
};
void dm_type_order(const struct dm_type *type, struct dm_type_order *order_p);
/*
 * The same type with fn(arg, basic) in the place of every predefined one: committed, to be given
 * back by dm_type_rebuilt_drop. fn returns a type with a reference, which that call gives back, too.
 */
typedef int(dm_type_basic_fn)(void *arg, struct dm_type *basic, struct dm_type **type_p);
int dm_type_rebuild(struct dm_type *type, dm_type_basic_fn *fn, void *arg, struct dm_type **new_p);
void dm_type_rebuilt_drop(struct dm_type *type);

/* ---- bodies of the MPI functions ---- */

/*
 * Constructors (5.1.2 to 5.1.4). Lengths below 0 give DM_ERR_ARG, sizes and extents that do
 * not fit 63 bits DM_ERR_COUNT. An equivalent of the arguments is kept for get_contents.
 */
int dm_type_contiguous(size_t count, struct dm_type *old, struct dm_type **new_p);
int dm_type_vector(size_t count, MPI_Count blocklength, MPI_Count stride, struct dm_type *old,
                   struct dm_type **new_p);
int dm_type_create_hvector(size_t count, MPI_Count blocklength, MPI_Aint stride,
                           struct dm_type *old, struct dm_type **new_p);
int dm_type_indexed(size_t count, struct dm_counts blocklengths, struct dm_counts displacements,
                    struct dm_type *old, struct dm_type **new_p);
int dm_type_create_hindexed(size_t count, struct dm_counts blocklengths,
                            struct dm_counts displacements, struct dm_type *old,
                            struct dm_type **new_p);
int dm_type_create_indexed_block(size_t count, MPI_Count blocklength,
                                 struct dm_counts displacements, struct dm_type *old,
                                 struct dm_type **new_p);
int dm_type_create_hindexed_block(size_t count, MPI_Count blocklength,
                                  struct dm_counts displacements, struct dm_type *old,
                                  struct dm_type **new_p);
int dm_type_create_struct(size_t count, struct dm_counts blocklengths,
                          struct dm_counts displacements, const MPI_Datatype *types,
                          struct dm_type **new_p);
int dm_type_create_resized(struct dm_type *old, MPI_Aint lb, MPI_Aint extent,
                           struct dm_type **new_p);
int dm_type_dup(struct dm_type *old, struct dm_type **new_p);
int dm_type_create_subarray(int ndims, struct dm_counts sizes, struct dm_counts subsizes,
                            struct dm_counts starts, int order, struct dm_type *old,
                            struct dm_type **new_p);
int dm_type_create_darray(int size, int rank, int ndims, struct dm_counts gsizes,
                          const int *distribs, const int *dargs, const int *psizes, int order,
                          struct dm_type *old, struct dm_type **new_p);
int dm_type_commit(struct dm_type *type);
/* The handle goes, the object when the last operation or derived type that uses it does. */
int dm_type_free(struct dm_type *type);
static inline int dm_type_size(const struct dm_type *type, MPI_Count *size)
{
    *size = type->size;
    return DM_OK;
}
static inline int dm_type_get_extent(const struct dm_type *type, MPI_Count *lb, MPI_Count *extent)
{
    *lb = type->lb;
    *extent = type->extent;
    return DM_OK;
}
int dm_type_get_true_extent(const struct dm_type *type, MPI_Count *true_lb, MPI_Count *true_extent);
int dm_type_set_name(struct dm_type *type, const char *name);
int dm_type_get_name(const struct dm_type *type, char *name, int *resultlen);
/* A predefined type by class and size (19.1.5); DM_ERR_ARG when there is none. */
int dm_type_match_size(int typeclass, int size, struct dm_type **type_p);
/* The predefined pair of both for MPI_MAXLOC and MPI_MINLOC (MPI-4.1 section 6.9.4); NULL when there is none. */
int dm_type_get_value_index(const struct dm_type *value, const struct dm_type *index,
                            struct dm_type **pair_p);

/*
 * Types by precision and range (19.1.5), MPI_UNDEFINED for one of them. Always the same object for
 * the same arguments; predefined, though with an envelope. DM_ERR_ARG: no Fortran kind is like
 * that.
 */
int dm_type_create_f90_real(int p, int r, struct dm_type **type_p);
int dm_type_create_f90_complex(int p, int r, struct dm_type **type_p);
int dm_type_create_f90_integer(int r, struct dm_type **type_p);

/* A new type was made by the form of its constructor with _c; returns its handle. */
MPI_Datatype dm_type_made_large(struct dm_type *type);
/*
 * Envelope and contents (5.1.13). The forms with _c give the counts and addresses of a type that
 * was made with large counts as such, whatever their values; those without _c give them as integers
 * and addresses, and DM_ERR_TYPE if one does not fit. Derived types among the contents get new
 * handles.
 */
int dm_type_get_envelope(const struct dm_type *type, int *n_integers, int *n_addresses,
                         int *n_datatypes, int *combiner);
int dm_type_get_envelope_c(const struct dm_type *type, MPI_Count *n_integers,
                           MPI_Count *n_addresses, MPI_Count *n_large_counts,
                           MPI_Count *n_datatypes, int *combiner);
int dm_type_get_contents(const struct dm_type *type, int max_integers, int max_addresses,
                         int max_datatypes, int integers[], MPI_Aint addresses[],
                         MPI_Datatype datatypes[]);
int dm_type_get_contents_c(const struct dm_type *type, MPI_Count max_integers,
                           MPI_Count max_addresses, MPI_Count max_large_counts,
                           MPI_Count max_datatypes, int integers[], MPI_Aint addresses[],
                           MPI_Count large_counts[], MPI_Datatype datatypes[]);

/* Pack and unpack (5.2): *position in and out; DM_ERR_TRUNCATE: room or data is too short. */
int dm_pack(const void *inbuf, size_t incount, const struct dm_type *type, void *outbuf,
            size_t outsize, MPI_Count *position, struct dm_comm *comm);
int dm_unpack(const void *inbuf, size_t insize, MPI_Count *position, void *outbuf, size_t outcount,
              const struct dm_type *type, struct dm_comm *comm);
/* MPI_UNDEFINED if it does not fit. */
int dm_pack_size(size_t incount, const struct dm_type *type, struct dm_comm *comm, MPI_Count *size);

/*
 * The same in the representation "external32" (14.5.2), the only one: big-endian, lengths by its
 * table.
 */
int dm_pack_external(const char *datarep, const void *inbuf, size_t incount,
                     const struct dm_type *type, void *outbuf, MPI_Count outsize,
                     MPI_Count *position);
int dm_unpack_external(const char *datarep, const void *inbuf, MPI_Count insize,
                       MPI_Count *position, void *outbuf, size_t outcount,
                       const struct dm_type *type);
/* Of one element what has come, by whole basic elements: len bytes, fewer than it has. Its bytes in memory. */
uint64_t dm_unpack_external_part(const void *inbuf, size_t len, void *outbuf,
                                 const struct dm_type *type);
int dm_pack_external_size(const char *datarep, size_t incount, const struct dm_type *type,
                          MPI_Count *size);

#endif
