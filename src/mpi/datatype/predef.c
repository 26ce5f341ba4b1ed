/*
 * The predefined types: made and bound to their handles at start.
 */
#include "mpi/datatype/datatype.h"

#include <stddef.h>
#include <string.h>

#include "mpi/datatype/datatype_state.h"
#include "mpi/datatype/life.h"

struct dm_datatype_state dm_datatype_state; /* filled by dm_datatype_start */

struct row {
    const char *name;
    int handle;
    size_t align;
    size_t extent;
    size_t first;  /* bytes of a pair's first member; 0: no pair */
    size_t second; /* bytes and */
    size_t at;     /* offset of its second one */
};

/* A C struct of the members gives the extent and the offset. */
#define PAIR(A, B)                                                                                 \
    struct {                                                                                       \
        A a;                                                                                       \
        B b;                                                                                       \
    }
#define SIMPLE_ROW(NAME, ALIGN)                                                                    \
    {"MPI_" #NAME, MPI_##NAME, (ALIGN), (size_t)MPI_##NAME >> 8 & 0xff, 0, 0, 0},
#define PAIR_ROW(NAME, A, B)                                                                       \
    {"MPI_" #NAME, MPI_##NAME, _Alignof(PAIR(A, B)),   sizeof(PAIR(A, B)),                         \
     sizeof(A),    sizeof(B),  offsetof(PAIR(A, B), b)},

/* clang-format off */
static const struct row rows[] = {
    DM_PREDEF_SIMPLE(SIMPLE_ROW)
    DM_PREDEF_PAIRS(PAIR_ROW)
    {"MPI_LB", MPI_LB, 1, 0, 0, 0, 0},
    {"MPI_UB", MPI_UB, 1, 0, 0, 0, 0},
    {"MPIX_C_FLOAT16", MPIX_C_FLOAT16, 2, 2, 0, 0, 0},
};
/* clang-format on */

_Static_assert(sizeof(rows) / sizeof(rows[0]) <= DM_PREDEF_N, "room for all rows");

static int make_loops(struct dm_type *type, const struct row *row)
{
    struct dm_build build;
    int err;

    dm_build_init(&build);
    dm_build_block(&build, 0, (size_t)type->size, row->handle);
    err = dm_build_finish(&build, &type->prog->typed);
    if (err != DM_OK)
        return err;
    if (type->is_contig || row->first == row->at) {
        type->prog->plain = dm_loop_ref(type->prog->typed);
        return DM_OK;
    }
    dm_build_block(&build, 0, row->first, MPI_DATATYPE_NULL);
    dm_build_block(&build, (ptrdiff_t)row->at, row->second, MPI_DATATYPE_NULL);
    err = dm_build_finish(&build, &type->prog->plain);
    dm_loop_prepare(type->prog->plain);
    return err;
}

static int start_type(struct dm_type *type, const struct row *row)
{
    bool is_pair = row->first > 0;

    type->size = is_pair ? (MPI_Count)(row->first + row->second) : (MPI_Count)row->extent;
    type->extent = (MPI_Aint)row->extent;
    type->true_extent = is_pair ? (MPI_Aint)(row->at + row->second) : type->extent;
    type->n_basic = row->extent == 0 ? 0 : is_pair ? 2 : 1;
    type->align = row->align;
    type->basic = row->extent > 0 ? row->handle : MPI_DATATYPE_NULL;
    type->is_builtin = true;
    type->is_committed = true;
    type->is_contig = type->size == type->extent;
    type->has_lb = row->handle == MPI_LB;
    type->has_ub = row->handle == MPI_UB;
    dm_type_set_name(type, row->name);
    type->obj.refs = 1;
    return dm_handle_bind(DM_KIND_TYPE, row->handle, &type->obj);
}

int dm_datatype_start(void)
{
    struct dm_datatype_state *state = &dm_datatype_state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dm_type *type = &state->types[state->n];
        int err;

        /* A C or Fortran compiler may lack a type; then its handle is the null one. */
        if (rows[i].handle == MPI_DATATYPE_NULL)
            continue;
        type->prog = &state->progs[state->n];
        err = start_type(type, &rows[i]);
        if (err != DM_OK)
            return err;
        state->n++;
        if (type->size > 0)
            err = make_loops(type, &rows[i]);
        if (err != DM_OK)
            return err;
    }
    return DM_OK;
}

void dm_datatype_stop(void)
{
    struct dm_datatype_state *state = &dm_datatype_state;

    dm_type_f90_stop();
    for (int i = 0; i < state->n; i++) {
        dm_handle_drop(DM_KIND_TYPE, &state->types[i].obj);
        dm_loop_unref(state->progs[i].typed);
        dm_loop_unref(state->progs[i].plain);
    }
    memset(state, 0, sizeof(*state));
}

int dm_type_match_size(int typeclass, int size, struct dm_type **type_p)
{
    static const struct {
        int typeclass;
        int size;
        int handle;
    } table[] = {
        {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
        {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
        {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},   {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
        {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},   {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
        {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}, {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    };

    if (typeclass != MPI_TYPECLASS_REAL && typeclass != MPI_TYPECLASS_INTEGER &&
        typeclass != MPI_TYPECLASS_COMPLEX)
        return DM_FAIL(DM_ERR_ARG, "%d is no MPI_TYPECLASS_", typeclass);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].typeclass == typeclass && table[i].size == size) {
            *type_p = dm_type_get(table[i].handle);
            return DM_OK;
        }
    }
    return DM_FAIL(DM_ERR_ARG, "no predefined datatype of that class has %d bytes", size);
}

int dm_type_get_value_index(const struct dm_type *value, const struct dm_type *index,
                            struct dm_type **pair_p)
{
    static const struct {
        int value;
        int index;
        int pair;
    } table[] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };

    *pair_p = NULL;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (value->obj.handle == table[i].value && index->obj.handle == table[i].index)
            *pair_p = dm_type_get(table[i].pair);
    return DM_OK;
}
