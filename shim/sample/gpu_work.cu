// Work of every kind for a GPU, for `gdbcuda trace --gpu`. Built by `make cuda` where nvcc is.
//   gpu_work [ROUNDS [HOW]]   HOW: exit (default), _exit or abort. Exit status 0; 2 where a call failed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

static void must(const char *what, cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    std::printf("%s: %s\n", what, cudaGetErrorName(error));
    std::exit(2);
}
#define MUST(call) must(#call, call)

__global__ void spin(long long cycles, int *seen)
{
    long long end = clock64() + cycles;
    while (clock64() < end)
        ;
    *seen += 1;
}

template <typename T> __global__ void scale(T *values, T by, int count)
{
    __shared__ T part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        part[threadIdx.x % 64] = values[i];
        values[i] = part[threadIdx.x % 64] * by;
    }
}

static const int COUNT = 1 << 20;

static void round_of_work(cudaStream_t stream, float *host, bool with_graph)
{
    float *block;
    int *seen;
    MUST(cudaMallocAsync(&block, COUNT * sizeof(float), stream));
    MUST(cudaMallocAsync(&seen, sizeof(int), stream));
    MUST(cudaMemsetAsync(seen, 0, sizeof(int), stream));
    MUST(cudaMemcpyAsync(block, host, COUNT * sizeof(float), cudaMemcpyHostToDevice, stream));
    scale<float><<<COUNT / 256, 256, 0, stream>>>(block, 2, COUNT);
    if (with_graph) {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        spin<<<1, 1, 0, stream>>>(100000, seen);
        spin<<<1, 1, 0, stream>>>(100000, seen);
        MUST(cudaStreamEndCapture(stream, &graph));
        MUST(cudaGraphInstantiate(&ready, graph, 0));
        MUST(cudaGraphLaunch(ready, stream));
        MUST(cudaStreamSynchronize(stream));
        MUST(cudaGraphExecDestroy(ready));
        MUST(cudaGraphDestroy(graph));
    } else {
        spin<<<1, 1, 0, stream>>>(1000000, seen);
    }
    MUST(cudaMemcpyAsync(host, block, COUNT * sizeof(float), cudaMemcpyDeviceToHost, stream));
    MUST(cudaFreeAsync(block, stream));
    MUST(cudaFreeAsync(seen, stream));
}

static void work(int rounds)
{
    cudaStream_t stream;
    float *host;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaMallocHost(&host, COUNT * sizeof(float)));
    for (int i = 0; i < rounds; i++)
        round_of_work(stream, host, i == 0);
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaFreeHost(host));
}

int main(int count, char **words)
{
    int rounds = count > 1 ? std::atoi(words[1]) : 4;
    const char *how = count > 2 ? words[2] : "exit";
    std::thread second(work, rounds);
    work(rounds);
    second.join();
    MUST(cudaDeviceSynchronize());
    std::printf("%d rounds in 2 threads\n", rounds);
    std::fflush(stdout);
    if (!std::strcmp(how, "_exit"))
        _exit(0);
    if (!std::strcmp(how, "abort"))
        std::abort();
    return 0;
}
