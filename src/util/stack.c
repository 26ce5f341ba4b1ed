/*
 * The unwinder is libgcc's, linked into the library: to load it when it is needed would take memory. It and
 * dladdr look at tables of the loader only.
 */
#include "util/stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "util/port.h"

#define STACK_DEPTH 48 /* calls that are printed */
#define STACK_NAMES 4  /* nested ones whose names are kept; deeper ones are left to the loader */

struct walk {
    struct dm_strbuf *sb;
    int n;
    bool is_on; /* past the frames of the handler */
};

void dm_stack_add_number(struct dm_strbuf *sb, uint64_t value, unsigned base)
{
    char digits[24];
    size_t at = sizeof(digits);

    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    if (base == 16)
        dm_strbuf_add(sb, "0x");
    dm_strbuf_add_len(sb, digits + at, sizeof(digits) - at);
}

/* The offset that addr2line wants is one into the file, not beyond the call. */
static void stack_add_place(struct dm_strbuf *sb, uintptr_t address)
{
    Dl_info info;

    if (dladdr((const void *)address, &info) == 0 || info.dli_fname == NULL) {
        dm_stack_add_number(sb, address, 16);
        return;
    }
    if (info.dli_sname != NULL) {
        dm_strbuf_add(sb, info.dli_sname);
        dm_strbuf_add(sb, "+");
        dm_stack_add_number(sb, address - (uintptr_t)info.dli_saddr, 16);
        dm_strbuf_add(sb, " ");
    }
    dm_strbuf_add(sb, "(");
    dm_strbuf_add(sb, info.dli_fname);
    dm_strbuf_add(sb, "+");
    dm_stack_add_number(sb, address - (uintptr_t)info.dli_fbase, 16);
    dm_strbuf_add(sb, ")");
}

static void stack_add_line(struct dm_strbuf *sb, int number, uintptr_t address)
{
    dm_strbuf_add(sb, number < 10 ? "    #" : "   #");
    dm_stack_add_number(sb, (uint64_t)number, 10);
    dm_strbuf_add(sb, " ");
    stack_add_place(sb, address);
    dm_strbuf_add(sb, "\n");
}

static _Unwind_Reason_Code stack_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    int is_exact = 0; /* interrupted here; else the address is behind a call */
    uintptr_t address = (uintptr_t)_Unwind_GetIPInfo(context, &is_exact);

    /* The outermost one has no caller. */
    if ((!walk->is_on && !is_exact) || (address == 0 && walk->n > 0))
        return _URC_NO_REASON;
    walk->is_on = true;
    if (walk->n == STACK_DEPTH) {
        dm_strbuf_add(walk->sb, "    ...\n");
        return _URC_END_OF_STACK;
    }
    stack_add_line(walk->sb, walk->n++, is_exact || address == 0 ? address : address - 1);
    return _URC_NO_REASON;
}

void dm_stack_add(struct dm_strbuf *sb, bool is_in_handler)
{
    struct walk walk = {.sb = sb, .is_on = !is_in_handler};

    (void)_Unwind_Backtrace(stack_frame, &walk);
}

struct taking {
    uintptr_t *addresses;
    int n;
    int max;
};

static _Unwind_Reason_Code stack_note(struct _Unwind_Context *context, void *arg)
{
    struct taking *taking = arg;
    uintptr_t address = (uintptr_t)_Unwind_GetIP(context);

    if (address != 0)
        taking->addresses[taking->n++] = address - 1;
    return taking->n < taking->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

int dm_stack_take(uintptr_t *addresses, int max)
{
    struct taking taking = {.addresses = addresses, .max = max};

    (void)_Unwind_Backtrace(stack_note, &taking);
    return taking.n;
}

/* Is it in the same file as this function? */
static bool stack_is_inside(uintptr_t address)
{
    Dl_info there, here;

    return dladdr((const void *)address, &there) != 0 &&
           dladdr((const void *)(uintptr_t)stack_is_inside, &here) != 0 &&
           there.dli_fbase == here.dli_fbase;
}

void dm_stack_add_taken(struct dm_strbuf *sb, const uintptr_t *addresses, int n)
{
    int from = 0;

    while (from < n && stack_is_inside(addresses[from]))
        from++;
    if (from == n)
        from = 0;
    for (int i = from; i < n; i++)
        stack_add_line(sb, i - from, addresses[i]);
}

struct search {
    const char *prefix;
    size_t len;
    const char *found;
};

static _Unwind_Reason_Code stack_search(struct _Unwind_Context *context, void *arg)
{
    struct search *search = arg;
    Dl_info info;

    if (dladdr((const void *)(uintptr_t)(_Unwind_GetIP(context) - 1), &info) == 0 ||
        info.dli_sname == NULL)
        return _URC_NO_REASON;
    for (const char *at = info.dli_sname; at <= info.dli_sname + 1 && *at != '\0'; at++)
        if (strncmp(at, search->prefix, search->len) == 0) {
            search->found = at;
            return _URC_END_OF_STACK;
        }
    return _URC_NO_REASON;
}

/* Of the calls that this thread is in, the outermost first. */
static DM_THREAD_LOCAL const char *stack_names[STACK_NAMES];
static DM_THREAD_LOCAL unsigned stack_depth;

void dm_stack_enter(const char *name)
{
    if (stack_depth < STACK_NAMES)
        stack_names[stack_depth] = name;
    stack_depth++;
}

void dm_stack_leave(void)
{
    if (stack_depth > 0) /* it may have begun before names were kept */
        stack_depth--;
}

bool dm_stack_find(const char *prefix, char *name, size_t size)
{
    struct search search = {.prefix = prefix, .len = strlen(prefix)};

    if (stack_depth > 0 && stack_depth <= STACK_NAMES &&
        strncmp(stack_names[stack_depth - 1], prefix, search.len) == 0)
        search.found = stack_names[stack_depth - 1];
    if (search.found == NULL)
        (void)_Unwind_Backtrace(stack_search, &search);
    if (search.found == NULL)
        return false;
    snprintf(name, size, "%s", search.found);
    return true;
}
