/* Functions of the program are called by a thread of the driver's, and by the driver in a call. Each waits for another
   thread that asks for numbers: who has a lock meanwhile keeps it for ever. */
#include <pthread.h>
#include <stdio.h>
/* DECLARATIONS */

#define CALL(name) name

/* WORK */

enum { CALLS = 3, WARP = 32, SHARED = 64 };
static const char code[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n";
static int called[CALLS];

static void *ask_aside(void *unused)
{
    ask();
    return unused;
}

static void note(void *data)
{
    pthread_t thread;

    pthread_create(&thread, NULL, ask_aside, NULL);
    pthread_join(thread, NULL);
    ++*(int *)data;
}

static void note_after_work(CUstream stream, CUresult result, void *data)
{
    if (stream && result == CUDA_SUCCESS)
        note(data);
}

static size_t needed(int threads)
{
    if (!called[2])
        note(&called[2]);
    return (size_t)(SHARED * threads / WARP);
}

static void ask_for_occupancy(void)
{
    int grid = 0, block = 0;
    CUmodule module = NULL;
    CUfunction function = NULL;

    say("cuModuleLoadData", CALL(cuModuleLoadData)(&module, code));
    say("cuModuleGetFunction", CALL(cuModuleGetFunction)(&function, module, "empty"));
    loud = 0;
    CALL(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function, needed, 0, 0);
    loud = 1;
    say("block-size", block);
}

int main(void)
{
    CUstream stream = NULL;

    start();
    say("cuStreamCreate", CALL(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    loud = 0;
    CALL(cuLaunchHostFunc)(stream, note, &called[0]);
    CALL(cuStreamAddCallback)(stream, note_after_work, &called[1], 0);
    CALL(cuStreamSynchronize)(stream);
    loud = 1;
    ask_for_occupancy();
    for (int i = 0; i < CALLS; i++)
        say("function-called", called[i]);
    say("cuStreamDestroy_v2", CALL(cuStreamDestroy_v2)(stream));
    return 0;
}
