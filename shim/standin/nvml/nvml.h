/* The inside of the stand-in NVML. */
#ifndef STANDIN_NVML_H
#define STANDIN_NVML_H

#include "common/model.h"
#include "common/standin.h"
#include "gdbcuda_api.h"
#include "standin_nvml.h" /* generated: prototypes of every do_... */

#include <stddef.h>

nvmlReturn_t need_init(void);

/* The model's number behind a handle; -1 when it is none. */
int device_number(nvmlDevice_t device);

/* What the stand-in driver in this process holds on the device: true when it has a context there. */
bool driver_usage(int device, size_t *bytes);

nvmlReturn_t put_text(char *room, unsigned length, const char *text);
const char *error_name(int code);

#define INVALID_IF(condition) RETURN_IF(condition, NVML_ERROR_INVALID_ARGUMENT)

/* For the many functions that answer with one value. */
#define ANSWER(device, pointer, value) \
    do { \
        INVALID_IF(device_number(device) < 0 || !(pointer)); \
        *(pointer) = (value); \
        return NVML_SUCCESS; \
    } while (0)

#endif
