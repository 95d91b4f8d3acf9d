/* What an image of device code contains: the names of kernels and variables. */
#include "driver.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { FATBIN_MAGIC = 0xba55ed50, WRAPPER_MAGIC = 0x466243b1 };

/* What nvcc puts around a fatbin, and __cudaRegisterFatBinary is given. */
struct wrapper {
    unsigned magic, version;
    const void *fatbin;
    void *more;
};

static void *grown(void *array, size_t count, size_t size)
{
    void *larger = realloc(array, (count + 1) * size);

    if (!larger)
        abort();
    memset((char *)larger + count * size, 0, size);
    return larger;
}

static struct kernel *known_kernel(const struct code *code, const char *name)
{
    for (size_t i = 0; i < code->kernel_count; i++)
        if (strcmp(code->kernels[i].name, name) == 0)
            return &code->kernels[i];
    return NULL;
}

/* A fatbin has the same kernel for several architectures: it is added once. */
struct kernel *code_add_kernel(struct code *code, const char *name, size_t length)
{
    char *copy = strndup(name, length);
    struct kernel *kernel = known_kernel(code, copy);

    if (kernel) {
        free(copy);
        return kernel;
    }
    code->kernels = grown(code->kernels, code->kernel_count, sizeof *code->kernels);
    kernel = &code->kernels[code->kernel_count++];
    kernel->name = copy;
    return kernel;
}

void code_set_parameter(struct kernel *kernel, size_t index, size_t offset, size_t size)
{
    while (kernel->parameter_count <= index) {
        kernel->parameters = grown(kernel->parameters, kernel->parameter_count, sizeof *kernel->parameters);
        kernel->parameter_count++;
    }
    kernel->parameters[index] = (struct parameter){offset, size};
}

void code_add_variable(struct code *code, const char *name, size_t length, size_t size, const void *initial)
{
    for (size_t i = 0; i < code->variable_count; i++)
        if (strlen(code->variables[i].name) == length && memcmp(code->variables[i].name, name, length) == 0)
            return;
    code->variables = grown(code->variables, code->variable_count, sizeof *code->variables);
    struct variable *variable = &code->variables[code->variable_count++];
    variable->name = strndup(name, length);
    variable->size = size;
    variable->initial = initial ? memcpy(grown(NULL, size, 1), initial, size) : NULL;
}

void code_free(struct code *code)
{
    for (size_t i = 0; i < code->kernel_count; i++) {
        free(code->kernels[i].name);
        free(code->kernels[i].parameters);
    }
    for (size_t i = 0; i < code->variable_count; i++) {
        free(code->variables[i].name);
        free(code->variables[i].initial);
    }
    free(code->kernels);
    free(code->variables);
    memset(code, 0, sizeof *code);
}

bool code_read(struct code *code, const void *image)
{
    unsigned magic;

    memcpy(&magic, image, sizeof magic);
    if (magic == WRAPPER_MAGIC) {
        image = ((const struct wrapper *)image)->fatbin;
        memcpy(&magic, image, sizeof magic);
    }
    if (magic == FATBIN_MAGIC)
        return code_read_fatbin(code, image);
    if (memcmp(image, ELFMAG, SELFMAG) == 0)
        return code_read_elf(code, image);
    return code_read_ptx(code, image);
}
