/* Copies in two and three dimensions, between host, device and arrays. */
#include "driver.h"

#include <string.h>

/* One side of a copy: rows `pitch` apart, slices `rows` rows apart. */
struct side {
    char *base;
    size_t pitch, rows;
    bool known; /* the driver knows the memory, so the end can be checked */
};

static CUresult side_of_array(struct side *side, CUarray array)
{
    RETURN_IF(!handle_get(array, HANDLE_ARRAY), CUDA_ERROR_INVALID_HANDLE);
    *side = (struct side){(char *)array->memory, array->row, array->rows, true};
    return CUDA_SUCCESS;
}

static CUresult side_of_address(struct side *side, CUdeviceptr address, size_t pitch, size_t rows, bool device)
{
    INVALID_IF(!address);
    *side = (struct side){(char *)address, pitch, rows, device || allocation_at(address)};
    return CUDA_SUCCESS;
}

static CUresult source_of(struct side *side, const CUDA_MEMCPY3D *copy)
{
    switch (copy->srcMemoryType) {
    case CU_MEMORYTYPE_ARRAY: return side_of_array(side, copy->srcArray);
    case CU_MEMORYTYPE_HOST:
        return side_of_address(side, (CUdeviceptr)copy->srcHost, copy->srcPitch, copy->srcHeight, false);
    case CU_MEMORYTYPE_DEVICE:
        return side_of_address(side, copy->srcDevice, copy->srcPitch, copy->srcHeight, true);
    case CU_MEMORYTYPE_UNIFIED:
        return side_of_address(side, copy->srcDevice, copy->srcPitch, copy->srcHeight, false);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult destination_of(struct side *side, const CUDA_MEMCPY3D *copy)
{
    switch (copy->dstMemoryType) {
    case CU_MEMORYTYPE_ARRAY: return side_of_array(side, copy->dstArray);
    case CU_MEMORYTYPE_HOST:
        return side_of_address(side, (CUdeviceptr)copy->dstHost, copy->dstPitch, copy->dstHeight, false);
    case CU_MEMORYTYPE_DEVICE:
        return side_of_address(side, copy->dstDevice, copy->dstPitch, copy->dstHeight, true);
    case CU_MEMORYTYPE_UNIFIED:
        return side_of_address(side, copy->dstDevice, copy->dstPitch, copy->dstHeight, false);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Fills in what may be left 0, moves `base` to the first byte, and checks that the last one is inside. */
static CUresult settle(struct side *side, const CUDA_MEMCPY3D *copy, size_t x, size_t y, size_t z)
{
    if (!side->pitch)
        side->pitch = x + copy->WidthInBytes;
    if (!side->rows)
        side->rows = y + copy->Height;
    INVALID_IF(side->pitch < x + copy->WidthInBytes || (copy->Depth > 1 && side->rows < y + copy->Height));
    side->base += (z * side->rows + y) * side->pitch + x;
    size_t extent = ((copy->Depth - 1) * side->rows + copy->Height - 1) * side->pitch + copy->WidthInBytes;
    INVALID_IF(side->known && !allocation_covers((CUdeviceptr)side->base, extent));
    return CUDA_SUCCESS;
}

DRIVER(cuMemcpy3D_v2)(const CUDA_MEMCPY3D *pCopy)
{
    struct side from, to;

    INVALID_IF(!pCopy || pCopy->srcLOD || pCopy->dstLOD);
    TRY(source_of(&from, pCopy));
    TRY(destination_of(&to, pCopy));
    if (!pCopy->WidthInBytes || !pCopy->Height || !pCopy->Depth)
        return CUDA_SUCCESS;
    TRY(settle(&from, pCopy, pCopy->srcXInBytes, pCopy->srcY, pCopy->srcZ));
    TRY(settle(&to, pCopy, pCopy->dstXInBytes, pCopy->dstY, pCopy->dstZ));
    host_calls_wait_for_all();
    for (size_t z = 0; z < pCopy->Depth; z++)
        for (size_t y = 0; y < pCopy->Height; y++)
            memmove(to.base + (z * to.rows + y) * to.pitch, from.base + (z * from.rows + y) * from.pitch,
                    pCopy->WidthInBytes);
    return CUDA_SUCCESS;
}

/* The members that all descriptions of a copy share. */
#define SAME_MEMBERS(from) \
    .srcXInBytes = (from)->srcXInBytes, .srcY = (from)->srcY, .srcMemoryType = (from)->srcMemoryType, \
    .srcHost = (from)->srcHost, .srcDevice = (from)->srcDevice, .srcArray = (from)->srcArray, \
    .srcPitch = (from)->srcPitch, .dstXInBytes = (from)->dstXInBytes, .dstY = (from)->dstY, \
    .dstMemoryType = (from)->dstMemoryType, .dstHost = (from)->dstHost, .dstDevice = (from)->dstDevice, \
    .dstArray = (from)->dstArray, .dstPitch = (from)->dstPitch, .WidthInBytes = (from)->WidthInBytes, \
    .Height = (from)->Height

DRIVER(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D *pCopy)
{
    INVALID_IF(!pCopy);
    CUDA_MEMCPY3D copy = {SAME_MEMBERS(pCopy), .Depth = 1};
    return do_cuMemcpy3D_v2(&copy);
}

DRIVER(cuMemcpy2D_v2)(const CUDA_MEMCPY2D *pCopy)
{
    return do_cuMemcpy2DUnaligned_v2(pCopy);
}

static CUresult copy_2d_later(const void *kept)
{
    return do_cuMemcpy2DUnaligned_v2(kept);
}

static CUresult copy_3d_later(const void *kept)
{
    return do_cuMemcpy3D_v2(kept);
}

DRIVER(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    TRY(stream_check(hStream));
    if (pCopy && is_captured(hStream))
        return capture_call(hStream, CU_GRAPH_NODE_TYPE_MEMCPY, copy_2d_later, pCopy, sizeof *pCopy);
    return do_cuMemcpy2DUnaligned_v2(pCopy);
}

DRIVER(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    TRY(stream_check(hStream));
    if (pCopy && is_captured(hStream))
        return capture_call(hStream, CU_GRAPH_NODE_TYPE_MEMCPY, copy_3d_later, pCopy, sizeof *pCopy);
    return do_cuMemcpy3D_v2(pCopy);
}

DRIVER(cuMemcpy3DPeer)(const CUDA_MEMCPY3D_PEER *pCopy)
{
    INVALID_IF(!pCopy);
    RETURN_IF(!handle_get(pCopy->srcContext, HANDLE_CONTEXT) || !handle_get(pCopy->dstContext, HANDLE_CONTEXT),
              CUDA_ERROR_INVALID_CONTEXT);
    CUDA_MEMCPY3D copy = {
        SAME_MEMBERS(pCopy),
        .srcZ = pCopy->srcZ,
        .srcHeight = pCopy->srcHeight,
        .dstZ = pCopy->dstZ,
        .dstHeight = pCopy->dstHeight,
        .Depth = pCopy->Depth,
    };
    return do_cuMemcpy3D_v2(&copy);
}

DRIVER(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
    TRY(stream_check(hStream));
    RETURN_IF(is_captured(hStream), capture_refused(hStream));
    return do_cuMemcpy3DPeer(pCopy);
}
