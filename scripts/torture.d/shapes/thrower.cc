/* torture (system): C++ that throws and catches inside, from an object with a destructor. */
#include "shape.h"
namespace
{
struct LOCAL(step) {
    u64 *p;
    ~LOCAL(step)() { *p ^= 1; }
};
__attribute__((noinline)) void LOCAL(round)(u64 *p, word n)
{
    LOCAL(step) undone = {p};
    *p = (*p * 31 + n) ^ 1;
    if (n & 7)
        throw n - 1;
}
} // namespace
extern "C" int NAME(u64 *p, word n)
{
    word left = n; /* as in shape.h */
    for (;;)
        try {
            LOCAL(round)(p, left);
            return RESULT_OF(left);
        } catch (word next) {
            left = next;
        }
}
