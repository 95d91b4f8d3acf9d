/* Who answers a dlsym request: the wrapper, if it is for an API function and a vendor's library has that function; the
   next dlsym for all else.

   RTLD_DEFAULT, RTLD_NEXT and the handle of the program itself find the wrappers without our help, as this library is
   preloaded. But they find them with no driver there as well, and a program that asks whether there is one must hear
   the truth: nothing. Limit: whether a library that was loaded later is in the global scope cannot be seen from here,
   so for RTLD_DEFAULT any loaded driver counts. */
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

static enum answer decide_pseudo_handle(void *handle, struct hook_entry *entry)
{
    bool there = handle == RTLD_NEXT ? quiet_dlsym(RTLD_NEXT, entry->name) != NULL : hook_is_loaded(entry);
    return there ? ANSWER_NEXT : ANSWER_NOTHING;
}

/* What is found elsewhere than in a vendor's library is not ours to change: another hook library was asked by its
   handle, or stands in front of this one in the global scope. */
static enum answer decide_handle(void *handle, struct hook_entry *entry, const char *version)
{
    void *found = look_up(handle, entry->name, version);
    if (found && hook_is_own(found))
        return hook_is_loaded(entry) ? ANSWER_WRAPPER : ANSWER_NOTHING;
    if (!found || !hook_is_vendors(found) || !hook_own(entry->name))
        return ANSWER_NEXT;
    hook_remember(entry, ask_next(handle, entry->name, found));
    return ANSWER_WRAPPER;
}

enum answer decide(void *handle, const char *symbol, const char *version)
{
    static const char *const answers[] = {"the next dlsym's", "the wrapper", "nothing, there is no such function"};
    struct hook_entry *entry = symbol ? hook_find(symbol) : NULL;
    if (!entry)
        return ANSWER_NEXT;
    bool pseudo = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
    enum answer answer = pseudo ? decide_pseudo_handle(handle, entry) : decide_handle(handle, entry, version);
    hook_log("dlsym %s: %s", symbol, answers[answer]);
    return answer;
}

void *nothing(const char *symbol)
{
    void *found = libc_dlsym()(RTLD_NEXT, symbol);
    (void)found; /* could only be a library loaded in this instant */
    return NULL;
}
