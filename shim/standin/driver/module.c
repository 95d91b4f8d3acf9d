/* Modules: images that were loaded, their kernels and variables. Device code is never run. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void module_destroy(void *self)
{
    CUmodule module = self;

    for (size_t i = 0; i < module->function_count; i++)
        handle_close(module->functions[i], module->functions[i]->handle.kind);
    for (size_t i = 0; i < module->code.variable_count; i++)
        allocation_free(module->code.variables[i].address, module->code.variables[i].memory);
    free(module->functions);
    code_free(&module->code);
}

/* Memory for a variable when somebody first asks where it is, and again when its context has taken it along. */
static CUresult place(struct variable *variable, enum memory_kind memory)
{
    struct allocation *allocation;

    if (variable->address && allocation_at(variable->address))
        return CUDA_SUCCESS;
    TRY(allocate(memory, variable->size ? variable->size : 1, &allocation));
    variable->address = allocation->entry.start;
    variable->memory = memory;
    if (variable->initial)
        memcpy((void *)variable->address, variable->initial, variable->size);
    else
        memset((void *)variable->address, 0, variable->size);
    return CUDA_SUCCESS;
}

CUresult module_new(const void *image, CUmodule *made)
{
    INVALID_IF(!image || !made);
    CUmodule module = handle_new(HANDLE_MODULE, sizeof *module, context_current(), module_destroy);
    RETURN_IF(!module, CUDA_ERROR_OUT_OF_MEMORY);
    module->invalid = !code_read(&module->code, image);
    *made = module;
    return CUDA_SUCCESS;
}

CUresult module_load(const void *image, CUmodule *loaded)
{
    CUmodule module;

    INVALID_IF(!loaded);
    TRY(module_new(image, &module));
    if (module->invalid) {
        handle_close(module, HANDLE_MODULE);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *loaded = module;
    return CUDA_SUCCESS;
}

static char *file_content(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *content = NULL;

    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        content = size >= 0 ? calloc(1, (size_t)size + 64) : NULL; /* zeros behind: end of PTX, no header cut off */
        rewind(file);
        if (content && fread(content, 1, (size_t)size, file) != (size_t)size) {
            free(content);
            content = NULL;
        }
    }
    fclose(file);
    return content;
}

CUresult module_load_file(const char *path, CUmodule *loaded)
{
    INVALID_IF(!path || !loaded);
    char *content = file_content(path);
    RETURN_IF(!content, CUDA_ERROR_FILE_NOT_FOUND);
    CUresult result = module_load(content, loaded);
    free(content);
    return result;
}

static const struct kernel *named_kernel(CUmodule module, const char *name)
{
    for (size_t i = 0; i < module->code.kernel_count; i++)
        if (strcmp(module->code.kernels[i].name, name) == 0)
            return &module->code.kernels[i];
    return NULL;
}

static struct function *known_function(CUmodule module, const char *name, enum handle_kind kind)
{
    for (size_t i = 0; i < module->function_count; i++) {
        struct function *function = module->functions[i];
        if (function->handle.kind == kind && strcmp(function->name, name) == 0)
            return function;
    }
    return NULL;
}

static struct function *new_function(CUmodule module, const char *name, enum handle_kind kind)
{
    struct function **list = realloc(module->functions, (module->function_count + 1) * sizeof *list);

    if (!list)
        return NULL;
    module->functions = list;
    struct function *function = handle_new(kind, sizeof *function, NULL, function_destroy);
    if (!function)
        return NULL;
    function->module = module;
    function->name = strdup(name);
    function->kernel = named_kernel(module, name);
    list[module->function_count++] = function;
    return function;
}

/* Asking twice gives the same handle. */
CUresult module_function(CUmodule module, const char *name, enum handle_kind kind, struct function **found)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    INVALID_IF(!name || !*name || !found);
    RETURN_IF(module->invalid, CUDA_ERROR_INVALID_IMAGE);
    RETURN_IF(!module->code.opaque && !named_kernel(module, name), CUDA_ERROR_NOT_FOUND);
    pthread_mutex_lock(&lock);
    *found = known_function(module, name, kind);
    if (!*found)
        *found = new_function(module, name, kind);
    pthread_mutex_unlock(&lock);
    return *found ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult module_variable(CUmodule module, const char *name, enum memory_kind memory, CUdeviceptr *address,
                         size_t *bytes)
{
    INVALID_IF(!name || (!address && !bytes));
    RETURN_IF(module->invalid, CUDA_ERROR_INVALID_IMAGE);
    for (size_t i = 0; i < module->code.variable_count; i++) {
        struct variable *variable = &module->code.variables[i];
        if (strcmp(variable->name, name))
            continue;
        TRY(place(variable, memory));
        if (address)
            *address = variable->address;
        if (bytes)
            *bytes = variable->size;
        return CUDA_SUCCESS;
    }
    return module->code.opaque ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_NOT_FOUND;
}
