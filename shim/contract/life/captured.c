/* A stream whose work becomes a graph. What the driver cannot do meanwhile ends the capture, whoever asks for it. The graph
   is launched twice: the program's functions in it are called with their data each time. */
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { NOTES = 2, BYTES = 4096 };
static int notes[NOTES];

static void note(void *data)
{
    int *noted = data;
    ++*noted;
}

static void fill(CUstream stream, CUdeviceptr block, char *own)
{
    say("cuMemsetD8Async", CALL(cuMemsetD8Async)(block, 7, BYTES, stream));
    say("cuMemcpyHtoDAsync_v2", CALL(cuMemcpyHtoDAsync_v2)(block, own, BYTES / 2, stream));
    say("cuMemcpyDtoHAsync_v2", CALL(cuMemcpyDtoHAsync_v2)(own, block, BYTES, stream));
    for (int i = 0; i < NOTES; i++)
        say("cuLaunchHostFunc", CALL(cuLaunchHostFunc)(stream, note, &notes[i]));
}

static void in_order(CUstream stream, CUdeviceptr block, char *own)
{
    fill(stream, block, own);
    say("cuStreamSynchronize", CALL(cuStreamSynchronize)(stream));
    for (int i = 0; i < NOTES; i++)
        say("function-called", notes[i]);
}

static void captured(CUstream stream, CUdeviceptr block, char *own)
{
    CUgraph graph = NULL;
    CUgraphExec made = NULL;

    say("cuStreamBeginCapture_v2", CALL(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fill(stream, block, own);
    say("cuStreamEndCapture", CALL(cuStreamEndCapture)(stream, &graph));
    say("cuGraphInstantiateWithFlags", CALL(cuGraphInstantiateWithFlags)(&made, graph, 0));
    for (int round = 0; round < 2; round++) {
        say("cuGraphLaunch", CALL(cuGraphLaunch)(made, stream));
        say("cuStreamSynchronize", CALL(cuStreamSynchronize)(stream));
        for (int i = 0; i < NOTES; i++)
            say("function-called", notes[i]);
    }
    say("cuGraphExecDestroy", CALL(cuGraphExecDestroy)(made));
    say("cuGraphDestroy", CALL(cuGraphDestroy)(graph));
}

int main(void)
{
    static char own[BYTES];
    CUdeviceptr block = 0;
    CUstream stream = NULL;

    start();
    say("cuMemAlloc_v2", CALL(cuMemAlloc_v2)(&block, BYTES));
    say("cuStreamCreate", CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    in_order(stream, block, own);
    captured(stream, block, own);
    say("byte-copied", own[BYTES - 1]);
    say("cuStreamDestroy_v2", CALL(cuStreamDestroy_v2)(stream));
    say("cuMemFree_v2", CALL(cuMemFree_v2)(block));
    return 0;
}
