/* The inside of the stand-in runtime. It knows the driver only through `driver`, as a client does. */
#ifndef STANDIN_RUNTIME_H
#define STANDIN_RUNTIME_H

#include "common/standin.h"
#include "gdbcuda_api.h"
#include "standin_driver_functions.h" /* generated: struct driver_functions */
#include "standin_runtime.h"          /* generated: prototypes of every do_... */

/* ---- the driver (driver_functions.c) ---- */

/* What cuGetProcAddress answered: for the default stream that the running call means. */
const struct driver_functions *driver_functions(void);
#define driver (*driver_functions())

cudaError_t need_driver(void);
bool use_per_thread_stream(bool use); /* returns what it was */

/* Codes of the driver and of the runtime are the same numbers. */
#define FROM_DRIVER(call) ((cudaError_t)(call))

/* ---- the thread's device (device.c) ---- */

cudaError_t need_device(void);
cudaError_t check_device(int device);

/* The primary context of the device, retained once for the process. */
cudaError_t device_context(int device, CUcontext *context);

/* ---- what nvcc's code has registered (registration.c) ---- */

cudaError_t registered_kernel(const void *host, CUkernel *kernel);
cudaError_t registered_variable(const void *host, CUdeviceptr *address, size_t *size);

/* A registered function, or a cudaKernel_t, as the launch functions take. */
cudaError_t kernel_of(const void *function, CUkernel *kernel);

/* ---- errors (error.c) ---- */

cudaError_t note_error(cudaError_t error);
cudaError_t forget_error(void);
const char *error_name(int code);

#define INVALID_IF(condition) RETURN_IF(condition, cudaErrorInvalidValue)
#define TRY_DRIVER(call) TRY(FROM_DRIVER(call))

#endif
