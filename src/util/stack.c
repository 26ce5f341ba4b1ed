/*
 * The unwinder is libgcc's, linked into the library: to load it when it is needed would take memory. It and
 * dladdr look at tables of the loader only.
 */
#include "util/stack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#define STACK_DEPTH 48 /* calls that are printed */

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
    dm_strbuf_add(walk->sb, walk->n < 10 ? "    #" : "   #");
    dm_stack_add_number(walk->sb, (uint64_t)walk->n++, 10);
    dm_strbuf_add(walk->sb, " ");
    stack_add_place(walk->sb, is_exact || address == 0 ? address : address - 1);
    dm_strbuf_add(walk->sb, "\n");
    return _URC_NO_REASON;
}

void dm_stack_add(struct dm_strbuf *sb, bool is_in_handler)
{
    struct walk walk = {.sb = sb, .is_on = !is_in_handler};

    (void)_Unwind_Backtrace(stack_frame, &walk);
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

bool dm_stack_find(const char *prefix, char *name, size_t size)
{
    struct search search = {.prefix = prefix, .len = strlen(prefix)};

    (void)_Unwind_Backtrace(stack_search, &search);
    if (search.found == NULL)
        return false;
    snprintf(name, size, "%s", search.found);
    return true;
}
