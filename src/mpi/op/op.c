/*
 * Operation objects, which datatypes they take, and their application to buffers.
 *
 * Predefined operations are a code that picks a kernel (kernels.c) together with the datatype's C
 * type; a user's is a function of the program.
 */
#include "mpi/op/op.h"

#include <limits.h>
#include <string.h>

#include "mpi/op/kernels.h"
#include "mpi/op/op_state.h"
#include "util/copy.h"

struct dm_op_state dm_op_state; /* filled by dm_op_start */

#define ATOMIC_MAX 8 /* bytes the machine updates at once */
#define ALIGN_MIN                                                                                  \
    1024 /* vectors from this length on are aligned: half of the accesses would take two lines */

static const char *const op_names[] = {"a user's operation",
#define OP_NAME(NAME) "MPI_" #NAME,
                                       DM_OPS(OP_NAME)
#undef OP_NAME
};

/* ---- start and stop ---- */

static inline uint8_t *op_ctype_at(int handle)
{
    return &dm_op_state.ctype[(unsigned)handle >> 30 == 2][handle & 0x7f];
}

static inline enum dm_op_ctype op_ctype(int handle)
{
    return (enum dm_op_ctype) * op_ctype_at(handle);
}

/* NULL: there is none. */
static inline dm_op_kernel *op_kernel(const struct dm_op *op, int basic)
{
    return dm_op_state.kernels[op_ctype(basic)][op->code];
}

static bool op_is_replacing(const struct dm_op *op)
{
    return op->code == DM_OP_REPLACE || op->code == DM_OP_NO_OP;
}

/* As a set: bits by enum dm_op_ctype. */
static uint64_t op_takes(const struct dm_op *op)
{
    uint64_t set = 0;

    for (int ctype = DM_CT_NULL + 1; ctype < DM_CT_N; ctype++)
        if (op_is_replacing(op) || dm_op_state.kernels[ctype][op->code] != NULL)
            set |= (uint64_t)1 << ctype;
    return set;
}
_Static_assert(DM_CT_N <= 64, "a set of C types is one word");

int dm_op_start(void)
{
    static const struct {
        int handle;
        enum dm_op_ctype ctype;
    } types[] = {
#define TYPE_ROW(NAME, CTYPE) {MPI_##NAME, DM_CT_##CTYPE},
        DM_OP_TYPES(TYPE_ROW)
#undef TYPE_ROW
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].handle != MPI_DATATYPE_NULL)
            *op_ctype_at(types[i].handle) = (uint8_t)types[i].ctype;
    dm_op_state.kernels = dm_op_kernels();
    for (int code = DM_OP_USER + 1; code < DM_OP_N; code++) {
        struct dm_op *op = &dm_op_state.ops[code];
        int err;

        *op = (struct dm_op){.obj.refs = 1,
                             .is_builtin = true,
                             .is_commutative = code != DM_OP_REPLACE && code != DM_OP_NO_OP,
                             .code = code};
        op->takes = op_takes(op);
        err = dm_handle_bind(DM_KIND_OP, MPI_MAX - DM_OP_MAX + code, &op->obj);
        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

void dm_op_stop(void)
{
    for (int code = DM_OP_USER + 1; code < DM_OP_N; code++)
        dm_handle_drop(DM_KIND_OP, &dm_op_state.ops[code].obj);
    memset(&dm_op_state, 0, sizeof(dm_op_state));
}

/* ---- objects ---- */

const char *dm_op_name(int handle)
{
    const struct dm_op *op = dm_op_get(handle);

    return op != NULL && op->is_builtin ? op_names[op->code] : NULL;
}

void dm_op_ref(struct dm_op *op)
{
    op->obj.refs++;
}

void dm_op_unref(struct dm_op *op)
{
    if (--op->obj.refs == 0 && !op->is_builtin)
        dm_obj_free(DM_KIND_OP, op);
}

static int op_create(int commute, struct dm_op **op_p)
{
    struct dm_op *op = dm_obj_take(DM_KIND_OP, sizeof(*op));
    int err;

    if (op == NULL)
        return DM_FAIL(DM_ENOMEM, "reduction operation");
    *op = (struct dm_op){.is_commutative = commute != 0, .code = DM_OP_USER};
    err = dm_handle_new(DM_KIND_OP, &op->obj);
    if (err != DM_OK) {
        dm_obj_free(DM_KIND_OP, op);
        return err;
    }
    *op_p = op;
    return DM_OK;
}

int dm_op_create(MPI_User_function *fn, int commute, struct dm_op **op_p)
{
    int err = op_create(commute, op_p);

    if (err == DM_OK)
        (*op_p)->user = fn;
    return err;
}

int dm_op_create_c(MPI_User_function_c *fn, int commute, struct dm_op **op_p)
{
    int err = op_create(commute, op_p);

    if (err != DM_OK)
        return err;
    (*op_p)->is_large = true;
    (*op_p)->user_large = fn;
    return DM_OK;
}

int dm_op_free(struct dm_op *op)
{
    dm_handle_drop(DM_KIND_OP, &op->obj);
    dm_op_unref(op);
    return DM_OK;
}

int dm_op_commutative(const struct dm_op *op, int *commute)
{
    *commute = op->is_commutative;
    return DM_OK;
}

/* ---- what goes together ---- */

static DM_COLD int op_refuse(const struct dm_op *op, const struct dm_type *type)
{
    if (type == NULL || !type->is_builtin)
        return DM_FAIL(DM_ERR_OP,
                       "%s takes predefined datatypes only; a derived one needs an "
                       "operation made by MPI_Op_create",
                       op_names[op->code]);
    return DM_FAIL(DM_ERR_OP, "%s cannot be applied to %s", op_names[op->code], type->name);
}

int dm_op_check(const struct dm_op *op, const struct dm_type *type)
{
    if (op->code == DM_OP_USER)
        return DM_OK;
    /* By type->basic: those of MPI_Type_create_f90_* have another handle. */
    return dm_likely(type != NULL && type->is_builtin &&
                     (op->takes >> op_ctype(type->basic) & 1) != 0)
               ? DM_OK
               : op_refuse(op, type);
}

bool dm_op_is_atomic(int basic)
{
    const struct dm_type *type = dm_type_get(basic);

    return type != NULL && type->size > 0 && type->size == type->extent &&
           type->extent <= ATOMIC_MAX && (type->extent & (type->extent - 1)) == 0;
}

bool dm_op_is_word(int basic)
{
    const struct dm_type *type = dm_type_get(basic);
    enum dm_op_ctype ctype;

    if (type == NULL || type->size != sizeof(uint64_t) || type->extent != type->size)
        return false;
    ctype = op_ctype(basic);
    return ctype != DM_CT_NULL && dm_op_state.kernels[ctype][DM_OP_BAND] != NULL;
}

/* ---- application ---- */

static void op_apply_user(const struct dm_op *op, const void *in, void *inout, size_t count,
                          struct dm_type *type)
{
    const char *from = in;
    char *to = inout;
    MPI_Datatype handle = type->obj.handle;

    if (op->is_large) {
        MPI_Count len = (MPI_Count)count;

        if (count > 0)
            op->user_large((void *)in, inout, &len, &handle);
        return;
    }
    while (count > 0) {
        int len = count < INT_MAX ? (int)count : INT_MAX;
        size_t n = (size_t)len;

        /* The function gets pointers, and might use them to write. */
        if (op->cxx != NULL)
            op->cxx(from, to, len, handle, op->user);
        else
            op->user((void *)from, to, &len, &handle);
        count -= n;
        from += (ptrdiff_t)n * type->extent;
        to += (ptrdiff_t)n * type->extent;
    }
}

/* A few elements first, so that results begin at a cache line. */
static DM_NOINLINE void op_apply_aligned(dm_op_kernel *kernel, const char *in, char *inout,
                                         size_t n, size_t size)
{
    size_t off = (size_t)(-(uintptr_t)inout % DM_CACHE_LINE);

    if (off % size == 0 && off > 0) {
        kernel(in, inout, off / size);
        in += off;
        inout += off;
        n -= off / size;
    }
    kernel(in, inout, n);
}

static inline void op_apply_kernel(dm_op_kernel *kernel, const void *in, void *inout, size_t n,
                                   MPI_Aint extent)
{
    if (dm_unlikely(n * (size_t)extent >= ALIGN_MIN))
        op_apply_aligned(kernel, in, inout, n, (size_t)extent);
    else
        kernel(in, inout, n);
}

static DM_NOINLINE int op_apply_other(const struct dm_op *op, const void *in, void *inout,
                                      size_t count, struct dm_type *type)
{
    if (op->code == DM_OP_USER) {
        op_apply_user(op, in, inout, count, type);
        return DM_OK;
    }
    if (!type->is_builtin)
        return dm_op_check(op, type);
    return dm_op_apply_basic(op, in, inout, count, type->basic, false);
}

int dm_op_apply(const struct dm_op *op, const void *in, void *inout, size_t count,
                struct dm_type *type)
{
    dm_op_kernel *kernel = op_kernel(op, type->basic);

    if (dm_unlikely(kernel == NULL || !type->is_builtin || count == 0))
        return op_apply_other(op, in, inout, count, type);
    op_apply_kernel(kernel, in, inout, count, type->extent);
    return DM_OK;
}

/* An element of up to 8 bytes as an integer, and back. kernel NULL: nothing changes. */
#define ATOMIC_APPLY(BITS)                                                                         \
    static void apply_atomic_##BITS(dm_op_kernel *kernel, const char *in, uint##BITS##_t *inout,   \
                                    char *old, size_t n)                                           \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##BITS##_t was = dm_atomic_load(&inout[i]);                                        \
            uint##BITS##_t new;                                                                    \
                                                                                                   \
            do {                                                                                   \
                new = was;                                                                         \
                if (kernel != NULL)                                                                \
                    kernel(in + i * sizeof(new), &new, 1);                                         \
            } while (kernel != NULL && !dm_atomic_cas(&inout[i], &was, new));                      \
            if (old != NULL)                                                                       \
                memcpy(old + i * sizeof(was), &was, sizeof(was));                                  \
        }                                                                                          \
    }
ATOMIC_APPLY(8)
ATOMIC_APPLY(16)
ATOMIC_APPLY(32)
ATOMIC_APPLY(64)

#define REPLACE_KERNEL(BYTES)                                                                      \
    static void replace_##BYTES(const void *restrict in, void *restrict inout, size_t n)           \
    {                                                                                              \
        dm_copy(inout, in, n *BYTES);                                                              \
    }
REPLACE_KERNEL(1)
REPLACE_KERNEL(2)
REPLACE_KERNEL(4)
REPLACE_KERNEL(8)

static int op_apply_atomic(const struct dm_op *op, const void *in, void *inout, void *old, size_t n,
                           int basic)
{
    size_t size = (size_t)dm_type_get(basic)->extent;
    dm_op_kernel *kernel = op_kernel(op, basic);
    bool is_replace = op->code == DM_OP_REPLACE;

    switch (size) {
    case 1:
        apply_atomic_8(is_replace ? replace_1 : kernel, in, inout, old, n);
        return DM_OK;
    case 2:
        apply_atomic_16(is_replace ? replace_2 : kernel, in, inout, old, n);
        return DM_OK;
    case 4:
        apply_atomic_32(is_replace ? replace_4 : kernel, in, inout, old, n);
        return DM_OK;
    case 8:
        apply_atomic_64(is_replace ? replace_8 : kernel, in, inout, old, n);
        return DM_OK;
    default:
        return DM_FAIL(DM_EINTERN, "elements of %zu bytes cannot be updated atomically", size);
    }
}

int dm_op_apply_basic(const struct dm_op *op, const void *in, void *inout, size_t n, int basic,
                      bool is_atomic)
{
    dm_op_kernel *kernel = op_kernel(op, basic);

    if (op->code == DM_OP_NO_OP || n == 0)
        return DM_OK;
    if (kernel == NULL && op->code != DM_OP_REPLACE)
        return dm_op_check(op, dm_type_get(basic));
    if (is_atomic)
        return op_apply_atomic(op, in, inout, NULL, n, basic);
    if (kernel == NULL)
        dm_copy(inout, in, n * (size_t)dm_type_get(basic)->extent);
    else
        op_apply_kernel(kernel, in, inout, n, dm_type_get(basic)->extent);
    return DM_OK;
}

int dm_op_fetch_basic(const struct dm_op *op, const void *in, void *inout, void *old, size_t n,
                      int basic)
{
    if (!op_is_replacing(op) && op_kernel(op, basic) == NULL)
        return dm_op_check(op, dm_type_get(basic));
    return op_apply_atomic(op, in, inout, old, n, basic);
}

int dm_reduce_local(const void *inbuf, void *inoutbuf, size_t count, struct dm_type *type,
                    struct dm_op *op)
{
    if (inbuf == inoutbuf && count > 0 && type->size > 0)
        return DM_FAIL(DM_ERR_BUFFER, "inbuf and inoutbuf are the same");
    return count > 0 ? dm_op_apply(op, inbuf, inoutbuf, count, type) : DM_OK;
}
