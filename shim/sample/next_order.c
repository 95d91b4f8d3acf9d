/* Linked against liborder_a.so and liborder_b.so, which both define next_in_order(). A's asks for the next one with
   RTLD_NEXT; that must be B's, also when a preloaded hook library passes the request on to the real dlsym. */
#include <stdio.h>

const char *next_in_order(void);

int main(void)
{
    printf("%s\n", next_in_order());
    return 0;
}
