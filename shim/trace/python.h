#ifndef GDBCUDA_PYTHON_H
#define GDBCUDA_PYTHON_H

#include "trace.h"

/* One row of words as PYTHON_ names them for each version that tells no debugger; generated. */
extern const word python_layouts[][PYTHON_SIZE];
/* Of newer ones: for each of those words which word of the table they publish, plus a number of bytes; generated. */
struct python_published {
    word version, is_free_threaded, words[PYTHON_SIZE], more[PYTHON_SIZE];
};
extern const struct python_published python_published[];
extern const word python_cookie; /* what their table begins with */

struct link_map;
void python_noticed(const struct link_map *object, word *python);
int python_is_wanted(const word *python, const char *name);

extern word gdbcuda_python_v1[PYTHON_SIZE];

#endif
