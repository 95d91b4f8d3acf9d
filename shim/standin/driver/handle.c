#include "driver.h"

#include <stdlib.h>

static struct registry handles = REGISTRY_EMPTY;

void *handle_new(enum handle_kind kind, size_t size, CUcontext context, void (*destroy)(void *self))
{
    struct handle *handle = calloc(1, size);

    if (!handle)
        return NULL;
    handle->entry = (struct entry){(uintptr_t)handle, 1};
    handle->kind = kind;
    handle->context = context;
    handle->destroy = destroy;
    if (registry_add(&handles, &handle->entry))
        return handle;
    free(handle);
    return NULL;
}

static bool of_kind(const struct entry *entry, const void *kind)
{
    return ((const struct handle *)entry)->kind == *(const enum handle_kind *)kind;
}

static bool of_context(const struct entry *entry, const void *context)
{
    return ((const struct handle *)entry)->context == context;
}

void *handle_get(const void *pointer, enum handle_kind kind)
{
    struct entry *entry = registry_find(&handles, (uintptr_t)pointer);

    return entry && of_kind(entry, &kind) ? entry : NULL;
}

static void end(struct handle *handle)
{
    if (handle->destroy)
        handle->destroy(handle);
    free(handle);
}

bool handle_close(const void *pointer, enum handle_kind kind)
{
    struct entry *entry = registry_take(&handles, (uintptr_t)pointer, of_kind, &kind);

    if (entry)
        end((struct handle *)entry);
    return entry != NULL;
}

void handle_close_all_of(CUcontext context)
{
    struct entry *entry;

    while ((entry = registry_take_any(&handles, of_context, context)))
        end((struct handle *)entry);
}
