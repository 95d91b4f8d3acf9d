#define MOST_DLSYMS 32 /* two of a hook library */
#define DLSYM_SIZE 32  /* bytes of code */
