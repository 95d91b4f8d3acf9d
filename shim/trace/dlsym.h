#define MOST_DLSYMS 16 /* hook libraries */
#define DLSYM_SIZE 32  /* bytes of code */
