/* What an executed program's environment says of the recorder. */
#ifndef GDBCUDA_TOLD_H
#define GDBCUDA_TOLD_H

#include "trace.h"

struct telling {
    word room;  /* words that another environment takes; 0 where it stays as it is */
    word slots; /* of these, what its variables take */
    int is_told;
};

struct telling telling_of(char **environment);
/* That environment, or another one in the room. */
char **told(struct telling how, char **room, char **environment);

#endif
