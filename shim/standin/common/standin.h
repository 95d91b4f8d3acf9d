/* What the stand-in libraries share beside the model.
 *
 * Every exported API function is a generated wrapper (generate.py). A function with a body here is written
 *
 *     DRIVER(cuMemFree_v2)(CUdeviceptr dptr) { ... }      also RUNTIME(...) and NVML(...)
 *
 * and the wrapper checks what the marker says the function needs, runs the body and traces the call:
 *     DRIVER        a current context      RUNTIME        a device made ready         NVML        nvmlInit done
 *     DRIVER_INIT   cuInit done            RUNTIME_INIT   a driver to talk to         NVML_ANY    nothing
 *     DRIVER_ANY    nothing                RUNTIME_ANY    nothing
 * RUNTIME_ERROR is RUNTIME_ANY for the functions that read the thread's last error, and so must not set it;
 * PLAIN(type, name) is for the few functions of any API that do not return a status.
 * The generator finds the markers: a function that has none returns the API's "not supported" by name.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

#define DRIVER(name) CUresult do_##name
#define DRIVER_INIT(name) CUresult do_##name
#define DRIVER_ANY(name) CUresult do_##name
#define RUNTIME(name) cudaError_t do_##name
#define RUNTIME_INIT(name) cudaError_t do_##name
#define RUNTIME_ANY(name) cudaError_t do_##name
#define RUNTIME_ERROR(name) cudaError_t do_##name
#define NVML(name) nvmlReturn_t do_##name
#define NVML_ANY(name) nvmlReturn_t do_##name
#define PLAIN(type, name) type do_##name

/* GDBCUDA_STANDIN_TRACE: 1 for driver and NVML, all for the runtime too; read when the library is loaded. */
extern bool tracing;

/* One line to stderr in one write, so that lines of several threads do not mix. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A tool is to be told of each call, and may have prescribed its answer: see answering.c. */
extern bool answering;
struct given {
    const void *value;
    size_t size;
};
bool answered(const char *name, const struct given *given, void *result, size_t size);
void linger(const char *name); /* when the call has done its work */

#define RETURN_IF(condition, error) \
    do { \
        if (condition) \
            return error; \
    } while (0)
/* Success is 0 in all three APIs. */
#define TRY(call) \
    do { \
        __typeof__(call) try_result = (call); \
        if (try_result) \
            return try_result; \
    } while (0)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#endif
