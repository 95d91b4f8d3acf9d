/* Bytes that go through the runtime must come back the same: pitched memory, three dimensions, arrays.
 * Prints the line of what went wrong, and nothing when all is well. */
#include <stdio.h>
#include <string.h>

#include "gdbcuda_api.h"

static int failures;

static void expect(int line, int truth, const char *what)
{
    if (truth)
        return;
    printf("line %d: %s\n", line, what);
    failures++;
}
#define EXPECT(truth) expect(__LINE__, (truth), #truth)
#define OK(call) EXPECT((call) == cudaSuccess)

enum { WIDTH = 24, HEIGHT = 5, DEPTH = 3, SIZE = WIDTH * HEIGHT * DEPTH };

static unsigned char source[SIZE], back[SIZE];

static void pitched(void)
{
    void *block;
    size_t pitch;

    OK(cudaMallocPitch(&block, &pitch, WIDTH, HEIGHT));
    OK(cudaMemcpy2D(block, pitch, source, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemset2D((char *)block + pitch, pitch, 9, 4, 1));
    OK(cudaMemcpy2D(back, WIDTH, block, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(back, source, WIDTH) == 0 && back[WIDTH] == 9 && back[WIDTH + 4] == source[WIDTH + 4]);
    OK(cudaFree(block));
}

static void three_dimensions(void)
{
    struct cudaPitchedPtr room;
    struct cudaExtent extent = {WIDTH, HEIGHT, DEPTH};
    struct cudaMemcpy3DParms in = {.srcPtr = {source, WIDTH, WIDTH, HEIGHT}, .extent = extent,
                                   .kind = cudaMemcpyHostToDevice};
    struct cudaMemcpy3DParms out = {.dstPtr = {back, WIDTH, WIDTH, HEIGHT}, .extent = {WIDTH, HEIGHT, 1},
                                    .srcPos = {0, 0, 2}, .kind = cudaMemcpyDeviceToHost};

    OK(cudaMalloc3D(&room, extent));
    in.dstPtr = out.srcPtr = room;
    OK(cudaMemcpy3D(&in));
    memset(back, 0, SIZE);
    OK(cudaMemcpy3D(&out));
    EXPECT(memcmp(back, source + 2 * WIDTH * HEIGHT, WIDTH * HEIGHT) == 0);
    OK(cudaMemset3D(room, 0, extent));
    OK(cudaMemcpy3D(&out));
    EXPECT(back[0] == 0 && back[WIDTH * HEIGHT - 1] == 0);
    OK(cudaFree(room.ptr));
}

static void arrays(void)
{
    struct cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned), found;
    struct cudaExtent extent;
    unsigned flags;
    cudaArray_t array;

    OK(cudaMallocArray(&array, &format, WIDTH / 4, HEIGHT, 0));
    OK(cudaArrayGetInfo(&found, &extent, &flags, array));
    EXPECT(memcmp(&found, &format, sizeof format) == 0);
    EXPECT(extent.width == WIDTH / 4 && extent.height == HEIGHT && extent.depth == 0);
    OK(cudaMemcpy2DToArray(array, 0, 0, source, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back, WIDTH, array, 4, 1, WIDTH - 4, HEIGHT - 1, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(back, source + WIDTH + 4, WIDTH - 4) == 0);
    /* positions and widths count elements of 4 bytes where an array is part of the copy */
    struct cudaMemcpy3DParms out = {.srcArray = array, .srcPos = {1, 2, 0}, .dstPtr = {back, WIDTH, WIDTH, HEIGHT},
                                    .extent = {2, 1, 1}, .kind = cudaMemcpyDeviceToHost};
    OK(cudaMemcpy3D(&out));
    EXPECT(memcmp(back, source + 2 * WIDTH + 4, 8) == 0);
    OK(cudaFreeArray(array));
    EXPECT(cudaMemcpy3D(&out) == cudaErrorInvalidResourceHandle);
    format.x = 77;
    EXPECT(cudaMallocArray(&array, &format, 1, 1, 0) != cudaSuccess);
}

static void peers(void)
{
    void *here, *there;
    int reachable;

    OK(cudaDeviceCanAccessPeer(&reachable, 0, 1));
    EXPECT(reachable);
    OK(cudaMalloc(&here, SIZE));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, SIZE));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    EXPECT(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
    OK(cudaMemcpy(there, source, SIZE, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(here, 0, there, 1, SIZE));
    OK(cudaSetDevice(0));
    OK(cudaMemcpy(back, here, SIZE, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(back, source, SIZE) == 0);
    OK(cudaFree(here));
    OK(cudaFree(there));
}

int main(void)
{
    size_t before, after, total;

    for (int i = 0; i < SIZE; i++)
        source[i] = (unsigned char)(i * 3 + 1);
    OK(cudaMemGetInfo(&before, &total));
    pitched();
    three_dimensions();
    arrays();
    peers();
    OK(cudaMemGetInfo(&after, &total));
    EXPECT(before == after);
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&after, &total));
    return failures != 0;
}
