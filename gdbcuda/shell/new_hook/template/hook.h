#ifndef HOOK_H
#define HOOK_H
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define HOOK(name) {#name, (void *)name}
#define DRIVERS(name) ((__typeof__(&name))drivers(#name)) /* the driver's own function of that name */

struct hook {
    const char *name;
    void *mine;
};

extern const struct hook hooks[];

void *drivers(const char *name);

int cuGetProcAddress(const char *symbol, void **pfn, int version, unsigned long long flags);
int cuGetProcAddress_v2(const char *symbol, void **pfn, int version, unsigned long long flags, int *status);

#endif
