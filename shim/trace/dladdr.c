/* Who asks which library the code at an address is from (hook libraries do, to know a vendor's function) hears about the
 * function that is recorded. */
#include "trace.h"

static word real_dladdr, real_dladdr1;

static word about(word address, word info)
{
    return ((word(*)(word, word))real_dladdr)(recorded_at(address), info);
}

static word about_more(word address, word info, word more, word flags)
{
    return ((word(*)(word, word, word, word))real_dladdr1)(recorded_at(address), info, more, flags);
}

word answers_for_recorded(const char *name, word original)
{
    int is_plain = !text_order(name, "dladdr");
    if (!is_plain && text_order(name, "dladdr1"))
        return original;
    __atomic_store_n(is_plain ? &real_dladdr : &real_dladdr1, original, __ATOMIC_SEQ_CST);
    return is_plain ? (word)about : (word)about_more;
}
