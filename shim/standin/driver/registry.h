/* Things that live at an address and end: allocations, and the objects behind handles. */
#ifndef STANDIN_REGISTRY_H
#define STANDIN_REGISTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of everything that is registered. */
struct entry {
    uintptr_t start;
    size_t size;
};

/* Sorted by address, without overlaps. */
struct registry {
    pthread_mutex_t lock;
    struct entry **entries;
    size_t count, capacity;
};

#define REGISTRY_EMPTY {.lock = PTHREAD_MUTEX_INITIALIZER}

/* False when the range overlaps a registered one, or there is no memory. */
bool registry_add(struct registry *registry, struct entry *entry);

/* The entry that contains the address, or NULL. */
struct entry *registry_find(struct registry *registry, uintptr_t address);

/* Takes out the entry that starts at the address and that `match` (if any) accepts; NULL when there is none. */
typedef bool registry_match(const struct entry *entry, const void *argument);
struct entry *registry_take(struct registry *registry, uintptr_t start, registry_match *match, const void *argument);

/* Takes out any one entry that `match` accepts; NULL when there is none left. */
struct entry *registry_take_any(struct registry *registry, registry_match *match, const void *argument);

/* Any one entry that `match` accepts, or NULL. */
struct entry *registry_any(struct registry *registry, registry_match *match, const void *argument);

#endif
