/* See next_order.c. */
const char *next_in_order(void);

const char *next_in_order(void)
{
    return "liborder_a.so found liborder_b.so";
}
