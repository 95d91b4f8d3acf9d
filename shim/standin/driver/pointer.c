/* What the driver knows about an address. */
#include "driver.h"

#include <string.h>

static void put_int(void *data, int value)
{
    memcpy(data, &value, sizeof value);
}

static void put_word(void *data, unsigned long long value)
{
    memcpy(data, &value, sizeof value);
}

static void put_flag(void *data, bool value)
{
    *(unsigned char *)data = value;
}

static CUmemorytype memory_type(const struct allocation *allocation)
{
    return allocation_on_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static CUresult answer(void *data, CUpointer_attribute attribute, CUdeviceptr address,
                       const struct allocation *allocation)
{
    bool host_can_reach = !allocation_on_device(allocation);

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: put_word(data, (uintptr_t)allocation->context); break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: put_int(data, memory_type(allocation)); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: put_word(data, address); break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        RETURN_IF(!host_can_reach, CUDA_ERROR_INVALID_VALUE);
        put_word(data, address);
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: put_int(data, allocation->sync_memops); break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: put_word(data, allocation->id); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: put_flag(data, allocation->kind == MEMORY_MANAGED); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put_int(data, allocation->device); break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: put_word(data, allocation->entry.start); break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: put_word(data, allocation->entry.size); break;
    case CU_POINTER_ATTRIBUTE_MAPPED: put_flag(data, true); break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: put_word(data, (uintptr_t)allocation->pool); break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: put_flag(data, allocation->kind == MEMORY_DEVICE); break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: put_flag(data, false); break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: put_word(data, 0); break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuPointerGetAttribute)(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    const struct allocation *allocation = allocation_at(ptr);

    INVALID_IF(!data || !allocation || (unsigned)attribute > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE);
    return answer(data, attribute, ptr, allocation);
}

/* An address that the driver does not know is no error here: every answer is then empty. */
static void answer_unknown(void *data, CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: put_int(data, 0); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: put_int(data, CU_DEVICE_INVALID); break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: put_flag(data, false); break;
    default: put_word(data, 0); break;
    }
}

DRIVER_INIT(cuPointerGetAttributes)(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                    CUdeviceptr ptr)
{
    const struct allocation *allocation = allocation_at(ptr);

    INVALID_IF(!numAttributes || !attributes || !data);
    for (unsigned i = 0; i < numAttributes; i++) {
        INVALID_IF(!data[i]);
        if (!allocation || answer(data[i], attributes[i], ptr, allocation) != CUDA_SUCCESS)
            answer_unknown(data[i], attributes[i]);
    }
    return CUDA_SUCCESS;
}

DRIVER_INIT(cuPointerSetAttribute)(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct allocation *allocation = allocation_at(ptr);

    INVALID_IF(!value || !allocation || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
    memcpy(&allocation->sync_memops, value, sizeof allocation->sync_memops);
    return CUDA_SUCCESS;
}
