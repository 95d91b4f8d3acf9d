#include "registry.h"

#include <stdlib.h>
#include <string.h>

/* The number of entries that start at or below the address. Call with the lock held. */
static size_t position(const struct registry *registry, uintptr_t address)
{
    size_t low = 0, high = registry->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (registry->entries[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(struct registry *registry)
{
    if (registry->count < registry->capacity)
        return true;
    size_t capacity = registry->capacity ? 2 * registry->capacity : 64;
    struct entry **entries = realloc(registry->entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    registry->entries = entries;
    registry->capacity = capacity;
    return true;
}

static bool free_range(const struct registry *registry, size_t at, const struct entry *entry)
{
    if (at > 0) {
        const struct entry *before = registry->entries[at - 1];
        if (before->start == entry->start || entry->start - before->start < before->size)
            return false;
    }
    return at == registry->count || registry->entries[at]->start - entry->start >= entry->size;
}

bool registry_add(struct registry *registry, struct entry *entry)
{
    pthread_mutex_lock(&registry->lock);
    size_t at = position(registry, entry->start);
    bool fits = free_range(registry, at, entry) && grow(registry);
    if (fits) {
        memmove(&registry->entries[at + 1], &registry->entries[at], (registry->count - at) * sizeof(struct entry *));
        registry->entries[at] = entry;
        registry->count++;
    }
    pthread_mutex_unlock(&registry->lock);
    return fits;
}

struct entry *registry_find(struct registry *registry, uintptr_t address)
{
    struct entry *found = NULL;

    pthread_mutex_lock(&registry->lock);
    size_t at = position(registry, address);
    if (at > 0 && address - registry->entries[at - 1]->start < registry->entries[at - 1]->size)
        found = registry->entries[at - 1];
    pthread_mutex_unlock(&registry->lock);
    return found;
}

static struct entry *take_at(struct registry *registry, size_t at)
{
    struct entry *entry = registry->entries[at];

    registry->count--;
    memmove(&registry->entries[at], &registry->entries[at + 1], (registry->count - at) * sizeof(struct entry *));
    return entry;
}

struct entry *registry_take(struct registry *registry, uintptr_t start, registry_match *match, const void *argument)
{
    struct entry *taken = NULL;

    pthread_mutex_lock(&registry->lock);
    size_t at = position(registry, start);
    if (at > 0) {
        struct entry *entry = registry->entries[at - 1];
        if (entry->start == start && (!match || match(entry, argument)))
            taken = take_at(registry, at - 1);
    }
    pthread_mutex_unlock(&registry->lock);
    return taken;
}

/* The number behind that of the last entry that `match` accepts, or 0. Call with the registry locked. */
static size_t behind_any(struct registry *registry, registry_match *match, const void *argument)
{
    size_t at = registry->count;

    while (at > 0 && !match(registry->entries[at - 1], argument))
        at--;
    return at;
}

struct entry *registry_take_any(struct registry *registry, registry_match *match, const void *argument)
{
    pthread_mutex_lock(&registry->lock);
    size_t at = behind_any(registry, match, argument);
    struct entry *taken = at ? take_at(registry, at - 1) : NULL;
    pthread_mutex_unlock(&registry->lock);
    return taken;
}

struct entry *registry_any(struct registry *registry, registry_match *match, const void *argument)
{
    pthread_mutex_lock(&registry->lock);
    size_t at = behind_any(registry, match, argument);
    struct entry *found = at ? registry->entries[at - 1] : NULL;
    pthread_mutex_unlock(&registry->lock);
    return found;
}
