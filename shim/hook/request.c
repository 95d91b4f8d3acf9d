/* Who answers a dlsym request: the wrapper, if it is for an API function and a vendor's library has that function; the
   next dlsym for all else.

   RTLD_DEFAULT, RTLD_NEXT and the handle of the program itself find the wrappers without our help, as this library is
   preloaded. But they find them with no driver there as well, and a program that asks whether there is one must hear
   the truth: what is in the global scope behind this library. */
#include <dlfcn.h>

#include "request.h"

static void *look_up(void *handle, const char *symbol, const char *version)
{
    void *found = version ? libc_dlvsym()(handle, symbol, version) : libc_dlsym()(handle, symbol);
    if (!found)
        dlerror();
    return found;
}

/* A hook library behind this one may answer with a wrapper of its own: then that is what ours forwards to. */
static void *ask_next(void *handle, const char *symbol, void *vendors)
{
    void *answer = next_dlsym() == libc_dlsym() ? vendors : next_dlsym()(handle, symbol);
    return answer ? answer : vendors;
}

static bool is_in_global_scope(struct hook_entry *entry)
{
    return quiet_dlsym(RTLD_NEXT, entry->name) != NULL;
}

/* What is found elsewhere than in a vendor's library is not ours to change: another hook library was asked by its
   handle, or stands in front of this one in the global scope. */
static enum answer decide_handle(void *handle, struct hook_entry *entry, const char *version)
{
    void *found = look_up(handle, entry->name, version);
    if (found && hook_is_own(found) && !is_in_global_scope(entry))
        return ANSWER_NOTHING;
    if (!found || !hook_is_vendors(found) || !hook_own(entry->name))
        return ANSWER_NEXT;
    hook_remember(entry, ask_next(handle, entry->name, found));
    return ANSWER_WRAPPER;
}

bool is_pseudo(void *handle)
{
    return handle == RTLD_DEFAULT || handle == RTLD_NEXT;
}

enum answer decide(void *handle, const char *symbol, const char *version)
{
    static const char *const answers[] = {"the next dlsym's", "the wrapper", "nothing, there is no such function"};
    struct hook_entry *entry = symbol ? hook_find(symbol) : NULL;
    if (!entry)
        return ANSWER_NEXT;
    enum answer answer = ANSWER_NEXT;
    if (!is_pseudo(handle))
        answer = decide_handle(handle, entry, version);
    else if (!is_in_global_scope(entry))
        answer = ANSWER_NOTHING;
    hook_log("dlsym %s: %s", symbol, answers[answer]);
    return answer;
}

void *nothing(const char *symbol)
{
    void *found = libc_dlsym()(RTLD_NEXT, symbol);
    (void)found; /* could only be a library loaded in this instant */
    return NULL;
}
