/* The symbols of an object that is loaded, or whose file is only mapped yet. */
#ifndef GDBCUDA_SYMBOLS_H
#define GDBCUDA_SYMBOLS_H

#include "trace.h"

#include <elf.h>
#include <link.h>

/* The one that it defines under that name, as the GNU hash table finds it; 0 for none. */
const ElfW(Sym) *symbol_of(const struct link_map *object, const char *name);

#endif
