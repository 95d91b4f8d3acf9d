/* Loads deepbind_plugin.so twice over, once plainly and once with RTLD_DEEPBIND: the second time the plugin's calls
   go to the driver that the plugin is linked against and pass every preloaded hook library by. */
#include <dlfcn.h>
#include <stdio.h>

static int run_plugin(const char *file, int flags)
{
    void *plugin = dlopen(file, RTLD_NOW | flags);
    int (*plugin_allocate)(const char *) = plugin ? dlsym(plugin, "plugin_allocate") : NULL;
    if (!plugin_allocate) {
        printf("%s\n", dlerror());
        return 2;
    }
    return plugin_allocate(file);
}

int main(void)
{
    int plain = run_plugin("plain_plugin.so", 0);
    int deep = run_plugin("deepbind_plugin.so", RTLD_DEEPBIND);
    return plain > deep ? plain : deep;
}
