/* For a hook library that records calls of its own: what it calls through a table of its own, or inside itself, and what
 * no loader and no debugger sees.
 *
 *     return GDBCUDA_CALL(cuMemAlloc_v2, real_table.cuMemAlloc)(dptr, bytesize);
 *
 * Where gdbcuda trace has started the program the call is in its log, as one of the function that is named; else it costs a
 * comparison. Names are those of the API's symbols; another name is called as if nothing had been there. (C and C++ of gcc
 * and clang; link with libgdbcuda-call.a, or with gdbcuda::call of the CMake package.)
 */
#ifndef GDBCUDA_CALL_H
#define GDBCUDA_CALL_H

#ifdef __cplusplus
extern "C" {
#endif

struct gdbcuda_call {
    const char *name;
    void *known, *called; /* the function, and what is called in its place */
};

void *gdbcuda_call_found(struct gdbcuda_call *one, void *real) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#define GDBCUDA_CALL(function, real)                                                                                  \
    (__extension__({                                                                                                  \
        static struct gdbcuda_call gdbcuda_one = {#function, 0, 0};                                                   \
        void *gdbcuda_real = (void *)(real);                                                                          \
        (__typeof__(&*(real)))(__atomic_load_n(&gdbcuda_one.known, __ATOMIC_ACQUIRE) == gdbcuda_real                   \
                                   ? gdbcuda_one.called                                                               \
                                   : gdbcuda_call_found(&gdbcuda_one, gdbcuda_real));                                 \
    }))

#endif
