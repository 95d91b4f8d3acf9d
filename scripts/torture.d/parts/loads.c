/* torture: Other libraries come and go while calls are made. */
#include <dlfcn.h>

static void part_loads(struct dice *dice)
{
    static const char *const names[] = {"libm.so.6", "libresolv.so.2", "libutil.so.1"};
    int loaded = 0;
    for (int i = 0; i < 18; i++) {
        void *handle = dlopen(names[i % 3], RTLD_NOW | (i & 1 ? RTLD_GLOBAL : 0));
        for (int k = 0; k < 10; k++)
            invoke(dice, 1);
        loaded += handle != NULL;
        if (handle)
            dlclose(handle);
    }
    say("= loads: %d", loaded);
}
