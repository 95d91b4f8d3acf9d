"""Hook libraries that keep the contract in a way of their own: `gdbcuda conform` has nothing to say of that."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from conform_hooks import ConformFiles, found_in


class Right(NamedTuple):
    """A library's source, and the cases of which nothing is said."""

    name: str
    cases: list[str]
    text: str


RIGHT = [
    Right("memory_by_another_function", ["faults/cuMemAlloc_v2"], """
        CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
        {
            CUdevice device = 0;
            CUresult result = NEXT(cuMemAllocManaged)(dptr, bytesize, CU_MEM_ATTACH_GLOBAL);
            NEXT(cuCtxGetDevice)(&device);
            return result;
        }"""),
    Right("memory_inside_a_slab", ["faults/cuMemAlloc_v2"], """
        CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
        {
            static CUdeviceptr slab, used;
            CUcontext context = NULL;
            if (NEXT(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || !dptr)
                return NEXT(cuMemAlloc_v2)(dptr, bytesize);
            if (!slab && NEXT(cuMemAlloc_v2)(&slab, 64 << 20) != CUDA_SUCCESS)
                return CUDA_ERROR_OUT_OF_MEMORY;
            *dptr = slab + used;
            used += bytesize;
            return CUDA_SUCCESS;
        }"""),
    Right("context_put_back", ["transparent", "status", "faults/cuMemFree_v2"], """
        CUresult cuMemFree_v2(CUdeviceptr dptr)
        {
            CUcontext context = NULL;
            NEXT(cuCtxGetCurrent)(&context);
            CUresult pushed = NEXT(cuCtxPushCurrent_v2)(context), result = NEXT(cuMemFree_v2)(dptr);
            if (pushed == CUDA_SUCCESS)
                NEXT(cuCtxPopCurrent_v2)(&context);
            return result;
        }"""),
    Right("function_wrapped", ["transparent", "status", "faults", "life/captured"], """
        struct wrapped { CUhostFn function; void *data; };
        static void call(void *kept) { struct wrapped *one = kept; one->function(one->data); }
        CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
        {
            struct wrapped *one = fn ? malloc(sizeof *one) : NULL;
            if (!one)
                return NEXT(cuLaunchHostFunc)(hStream, fn, userData);
            *one = (struct wrapped){fn, userData};
            return NEXT(cuLaunchHostFunc)(hStream, call, one);
        }"""),
    Right("slots_patched", ["transparent", "status", "faults", "life/preload"], """
        #include <link.h>
        #include <sys/mman.h>
        static CUresult own(CUdeviceptr *dptr, size_t bytesize) { return NEXT(cuMemAlloc_v2)(dptr, bytesize); }
        static void patch(const struct link_map *map, const ElfW(Rela) *one, size_t size, const char *names,
                          const ElfW(Sym) *symbols)
        {
            for (const ElfW(Rela) *end = one + size / sizeof *one; one < end; one++) {
                unsigned type = ELF64_R_TYPE(one->r_info);
                const char *name = names + symbols[ELF64_R_SYM(one->r_info)].st_name;
                void **slot = (void **)(map->l_addr + one->r_offset);
                if (type != R_X86_64_JUMP_SLOT || strcmp(name, "cuMemAlloc_v2"))
                    continue;
                mprotect((void *)((unsigned long)slot & -4096ul), 4096, PROT_READ | PROT_WRITE);
                *slot = own;
            }
        }
        __attribute__((constructor)) static void begin(void)
        {
            const struct link_map *program = dlopen(NULL, RTLD_LAZY);
            unsigned long known[DT_NUM] = {0};
            for (const ElfW(Dyn) *one = program->l_ld; one->d_tag != DT_NULL; one++)
                if (one->d_tag < DT_NUM)
                    known[one->d_tag] = one->d_un.d_val;
            const char *names = (const char *)known[DT_STRTAB];
            const ElfW(Sym) *symbols = (const ElfW(Sym) *)known[DT_SYMTAB];
            patch(program, (void *)known[DT_JMPREL], known[DT_PLTRELSZ], names, symbols);
        }"""),
    Right("version_of_the_struct_looked_at", ["transparent/nvmlDeviceGetMemoryInfo_v2"], """
        nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
        {
            if (memory && memory->version != nvmlMemory_v2)
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
            return NEXT(nvmlDeviceGetMemoryInfo_v2)(device, memory);
        }"""),
    Right("names_copied", ["transparent"], """
        static char *last;
        static volatile unsigned launches[128];
        CUresult cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
        {
            CUresult result = NEXT(cuModuleGetFunction)(hfunc, hmod, name);
            if (result == CUDA_SUCCESS && name) {
                free(last);
                last = strdup(name);
            }
            return result;
        }
        CUresult cuFuncLoad(CUfunction function)
        {
            if (last)
                launches[*last & 127]++;
            return NEXT(cuFuncLoad)(function);
        }"""),
    Right("what_a_stream_has_yet_to_copy", ["transparent", "status"], """
        static const char *waiting;
        static volatile unsigned sum;
        CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
        {
            CUresult result = NEXT(cuMemcpyHtoDAsync_v2)(to, from, bytes, stream);
            if (result == CUDA_SUCCESS)
                waiting = bytes < 4096 ? from : NULL;
            return result;
        }
        CUresult cuStreamSynchronize(CUstream stream)
        {
            CUresult result = NEXT(cuStreamSynchronize)(stream);
            if (result == CUDA_SUCCESS && waiting)
                sum += *waiting;
            waiting = NULL;
            return result;
        }"""),
    Right("values_that_a_link_keeps", ["transparent/cuLinkCreate_v2", "transparent/kept memory"], """
        static void **values;
        static volatile unsigned long sum;
        CUresult cuLinkCreate_v2(unsigned count, CUjit_option *options, void **given, CUlinkState *state)
        {
            CUresult result = NEXT(cuLinkCreate_v2)(count, options, given, state);
            if (result == CUDA_SUCCESS)
                values = given;
            return result;
        }
        CUresult cuLinkDestroy(CUlinkState state)
        {
            if (values)
                sum += (unsigned long)*values;
            values = NULL;
            return NEXT(cuLinkDestroy)(state);
        }"""),
    Right("odd_numbers_refused", ["transparent", "status", "faults"], """
        CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
        {
            if ((unsigned)attrib > CU_FUNC_ATTRIBUTE_MAX + 10)
                return CUDA_ERROR_INVALID_VALUE;
            return NEXT(cuFuncGetAttribute)(pi, attrib, hfunc);
        }
        CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
        {
            return dev < 0 || dev > 63 ? CUDA_ERROR_INVALID_DEVICE : NEXT(cuDeviceGetName)(name, len, dev);
        }"""),
    Right("static_memory_under_a_lock", ["transparent"], """
        #include <pthread.h>
        #include <signal.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static struct { CUdeviceptr to, from; size_t bytes; } volatile asked;
        CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
        {
            sigset_t all, before;
            sigfillset(&all);
            pthread_sigmask(SIG_BLOCK, &all, &before);
            pthread_mutex_lock(&lock);
            asked.to = to, asked.from = from, asked.bytes = bytes;
            CUresult result = NEXT(cuMemcpyDtoD_v2)(asked.to, asked.from, asked.bytes);
            int error = errno;
            pthread_mutex_unlock(&lock);
            pthread_sigmask(SIG_SETMASK, &before, NULL);
            errno = error;
            return result;
        }"""),
    Right("another_thread_asks_the_driver", ["transparent"], """
        #include <pthread.h>
        #include <semaphore.h>
        static struct { CUdevice device; CUdevice_attribute attribute; int *value, error; CUresult result; } job;
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static sem_t asked, done;
        static pthread_t worker;
        static void *work(void *unused)
        {
            while (sem_wait(&asked) == 0) {
                errno = job.error;
                job.result = NEXT(cuDeviceGetAttribute)(job.value, job.attribute, job.device);
                job.error = errno;
                sem_post(&done);
            }
            return unused;
        }
        static void begin(void)
        {
            sem_init(&asked, 0, 0), sem_init(&done, 0, 0);
            pthread_create(&worker, NULL, work, NULL);
        }
        CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
        {
            int error = errno;
            pthread_mutex_lock(&lock);
            if (!worker)
                begin();
            job.device = dev, job.attribute = attrib, job.value = pi, job.error = error;
            sem_post(&asked);
            while (sem_wait(&done))
                ;
            CUresult result = job.result;
            error = job.error;
            pthread_mutex_unlock(&lock);
            errno = error;
            return result;
        }"""),
    Right("own_error_forgotten", ["faults/cudaMalloc"], """
        cudaError_t cudaMalloc(void **devPtr, size_t size)
        {
            size_t unused, total;
            if (NEXT(cudaPeekAtLastError)() == cudaSuccess && NEXT(cudaMemGetInfo)(&unused, &total) != cudaSuccess)
                NEXT(cudaGetLastError)();
            return NEXT(cudaMalloc)(devPtr, size);
        }"""),
    Right("what_a_device_is_kept", ["transparent", "status", "faults"], """
        #include <pthread.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static struct { int is_known, value; } known[2][256];
        static int devices;
        CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
        {
            if (!pi || (unsigned)attrib > 255 || (unsigned)dev > 1)
                return NEXT(cuDeviceGetAttribute)(pi, attrib, dev);
            pthread_mutex_lock(&lock);
            CUresult result = known[dev][attrib].is_known ? CUDA_SUCCESS : NEXT(cuDeviceGetAttribute)(pi, attrib, dev);
            if (known[dev][attrib].is_known)
                *pi = known[dev][attrib].value;
            else if (result == CUDA_SUCCESS)
                known[dev][attrib].value = *pi, known[dev][attrib].is_known = 1;
            pthread_mutex_unlock(&lock);
            return result;
        }
        CUresult cuDeviceGetCount(int *count)
        {
            if (count && devices) {
                *count = devices;
                return CUDA_SUCCESS;
            }
            CUresult result = NEXT(cuDeviceGetCount)(count);
            if (count && result == CUDA_SUCCESS)
                devices = *count;
            return result;
        }"""),
    Right("asked_once_at_the_start", ["transparent", "status"], """
        static int devices;
        static char names[2][256];
        static CUuuid uuids[2];
        static const char *errors[1000];
        static const char *of_nvml;
        __attribute__((constructor)) static void begin(void)
        {
            NEXT(cuInit)(0);
            NEXT(cuDeviceGetCount)(&devices);
            for (int i = 0; i < 2; i++) {
                NEXT(cuDeviceGetName)(names[i], sizeof names[i], i);
                NEXT(cuDeviceGetUuid_v2)(&uuids[i], i);
            }
            for (int i = 0; i < 1000; i++)
                NEXT(cuGetErrorName)(i, &errors[i]);
            of_nvml = NEXT(nvmlErrorString)(NVML_ERROR_UNKNOWN);
        }
        static int is_known(CUdevice dev) { return (unsigned)dev < 2 && dev < devices; }
        CUresult cuDeviceGetCount(int *count)
        {
            return count && devices ? *count = devices, CUDA_SUCCESS : NEXT(cuDeviceGetCount)(count);
        }
        CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
        {
            if (!name || !is_known(dev) || len <= (int)strlen(names[dev]))
                return NEXT(cuDeviceGetName)(name, len, dev);
            strncpy(name, names[dev], len);
            return CUDA_SUCCESS;
        }
        CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
        {
            return uuid && is_known(dev) ? *uuid = uuids[dev], CUDA_SUCCESS : NEXT(cuDeviceGetUuid_v2)(uuid, dev);
        }
        CUresult cuGetErrorName(CUresult error, const char **name)
        {
            if (!name || (unsigned)error >= 1000 || !errors[error])
                return NEXT(cuGetErrorName)(error, name);
            *name = errors[error];
            return CUDA_SUCCESS;
        }
        const char *nvmlErrorString(nvmlReturn_t result)
        {
            return of_nvml && result == NVML_ERROR_UNKNOWN ? of_nvml : NEXT(nvmlErrorString)(result);
        }"""),
    Right("without_versions", ["resolving/cuCtxDestroy_v2"], """
        CUresult cuCtxDestroy_v2(CUcontext ctx) { return CUDA_ERROR_INVALID_CONTEXT; }"""),
]  # fmt: skip


@pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.name)
def test_nothing_is_said_of_it(shim: Path, tmp_path: Path, shared: Path, right: Right) -> None:
    hook = ConformFiles(tmp_path, shim).hook(right.name, right.text)
    assert found_in(hook, right.cases, [], 0, shared) == []


def test_a_limit_refuses_nothing_of_what_the_cases_ask_for(shim: Path, shared: Path) -> None:
    cases = ["transparent/cu*Array*Create*", "transparent/cuMemAllocPitch*", "status/cuMemAllocPitch"]
    limit = ["GDBCUDA_MEMORY_LIMIT=256m"]
    assert found_in(shim / "libgdbcuda-hook.so", cases, limit, 256 << 20, shared) == []
