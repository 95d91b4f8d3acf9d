/* At the start of a program whose calls are wrapped (ld --wrap): where gdbcuda trace has started it, they are recorded.
 * Else each goes to its function. */
struct wrapped {
    const char *name;
    void **place; /* what is called */
};

extern struct wrapped __start_gdbcuda_wrapped[], __stop_gdbcuda_wrapped[];
void *gdbcuda_wrapped_v1(const char *name, void *original) __attribute__((weak));

__attribute__((constructor)) static void begin(void)
{
    for (struct wrapped *one = __start_gdbcuda_wrapped; gdbcuda_wrapped_v1 && one < __stop_gdbcuda_wrapped; one++)
        *one->place = gdbcuda_wrapped_v1(one->name, *one->place);
}

/* What each wrapper names, so that this is linked with it. */
char gdbcuda_wrapping __attribute__((visibility("hidden")));
