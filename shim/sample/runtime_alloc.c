/* The same job through the runtime (libcudart), as most programs do it. Exit status as in test_alloc.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdbcuda_api.h"

#define MiB ((size_t)1 << 20)
#define GiB ((size_t)1 << 30)

struct buffer {
    const char *name;
    size_t bytes;
    void *block;
};

static struct buffer buffers[] = {{"64 MiB", 64 * MiB, NULL}, {"1 GiB + 1", GiB + 1, NULL}, {"3 GiB", 3 * GiB, NULL}};
enum { BUFFERS = sizeof buffers / sizeof *buffers };

static void must(const char *what, cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    printf("%s: %s (%d)\n", what, cudaGetErrorName(error), (int)error);
    exit(2);
}

static void show_memory(const char *when)
{
    size_t available, total;
    must("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
    printf("%-10s %zu MiB free of %zu MiB\n", when, available / MiB, total / MiB);
}

static int allocate_buffer(struct buffer *buffer)
{
    cudaError_t error = cudaMalloc(&buffer->block, buffer->bytes);
    printf("%-10s %s\n", buffer->name, error == cudaSuccess ? "allocated" : cudaGetErrorName(error));
    return error == cudaSuccess;
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
    must("cudaMemcpy", cudaMemcpy(buffer->block, sent, sizeof sent, cudaMemcpyHostToDevice));
    must("cudaMemcpy", cudaMemcpy(received, buffer->block, sizeof received, cudaMemcpyDeviceToHost));
    printf("%-10s %s\n", "copied", memcmp(sent, received, sizeof sent) ? "something else came back" : "the same came back");
}

static void release_buffers(void)
{
    for (int i = 0; i < BUFFERS; i++)
        if (buffers[i].block)
            must("cudaFree", cudaFree(buffers[i].block));
}

int main(void)
{
    show_memory("start");
    int granted = allocate_buffers();
    show_memory("allocated");
    copy_there_and_back(&buffers[0]);
    release_buffers();
    show_memory("freed");
    return granted == BUFFERS ? 0 : 1;
}
