/* The last error of each thread, and the names of errors. */
#include "runtime.h"

#include "standin_runtime_tables.h" /* generated: errors */

static _Thread_local cudaError_t last;

/* "Not ready" is an answer, not an error: it is not kept. */
cudaError_t note_error(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}

/* A success that also clears the last error: two functions of the real runtime do that, others do not. */
cudaError_t forget_error(void)
{
    return last = cudaSuccess;
}

/* After these the context is lost: the error stays whatever is asked. */
static bool sticky(cudaError_t error)
{
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure || error == cudaErrorLaunchTimeout ||
           error == cudaErrorAssert || error == cudaErrorECCUncorrectable || error == cudaErrorHardwareStackError;
}

RUNTIME_ERROR(cudaGetLastError)(void)
{
    cudaError_t error = last;

    if (!sticky(error))
        last = cudaSuccess;
    return error;
}

RUNTIME_ERROR(cudaPeekAtLastError)(void)
{
    return last;
}

const char *error_name(int code)
{
    return error_of(code) ? error_of(code)->name : "unrecognized error code";
}

PLAIN(const char *, cudaGetErrorName)(cudaError_t error)
{
    return error_name((int)error);
}

PLAIN(const char *, cudaGetErrorString)(cudaError_t error)
{
    return error_of((int)error) ? error_of((int)error)->text : "unrecognized error code";
}
