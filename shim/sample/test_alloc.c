/* Linked straight against libcuda, no runtime: allocates 64 MiB, 1 GiB + 1 byte and 3 GiB, copies through the
   first block and frees everything. Exit status: 0 all blocks were granted, 1 one was refused, 2 anything else. */
#include <string.h>

#include "driver_sample.h"

struct buffer {
    const char *name;
    size_t bytes;
    CUdeviceptr block;
};

static struct buffer buffers[] = {{"64 MiB", 64 * MiB, 0}, {"1 GiB + 1", GiB + 1, 0}, {"3 GiB", 3 * GiB, 0}};
enum { BUFFERS = sizeof buffers / sizeof *buffers };

static void show_memory(const char *when)
{
    size_t available, total;
    must("cuMemGetInfo", cuMemGetInfo(&available, &total));
    printf("%-10s %zu MiB free of %zu MiB\n", when, available / MiB, total / MiB);
}

static int allocate_buffer(struct buffer *buffer)
{
    CUresult result = cuMemAlloc(&buffer->block, buffer->bytes);
    printf("%-10s %s\n", buffer->name, result == CUDA_SUCCESS ? "allocated" : error_text(result));
    return result == CUDA_SUCCESS;
}

static int allocate_buffers(void)
{
    int granted = 0;
    for (int i = 0; i < BUFFERS; i++)
        granted += allocate_buffer(&buffers[i]);
    return granted;
}

static void copy_there_and_back(const struct buffer *buffer)
{
    static char sent[4096], received[4096];
    memset(sent, 'x', sizeof sent);
    must("cuMemcpyHtoD", cuMemcpyHtoD(buffer->block, sent, sizeof sent));
    must("cuMemcpyDtoH", cuMemcpyDtoH(received, buffer->block, sizeof received));
    printf("%-10s %s\n", "copied", memcmp(sent, received, sizeof sent) ? "something else came back" : "the same came back");
}

static void release_buffers(void)
{
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].block)
            must("cuMemFree", cuMemFree(buffers[i].block));
}

int main(void)
{
    use_first_device();
    show_memory("start");
    int granted = allocate_buffers();
    show_memory("allocated");
    copy_there_and_back(&buffers[0]);
    release_buffers();
    show_memory("freed");
    return granted == BUFFERS ? 0 : 1;
}
