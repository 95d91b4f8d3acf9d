/* WRONG: passes on at most 16 of the operations of a batch.
   Shows: a stream waits for ever for a value that was never written.
   conform: transparent/cuStreamBatchMemOp_v2: a long string or array: argument count is changed
   conform: transparent/cuStreamBatchMemOp_v2: a long string or array: what argument paramArray points to is changed */
#include <string.h>

#include "sample/next.h"

enum { PLACES = 16 };

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *params, unsigned flags)
{
    CUstreamBatchMemOpParams own[PLACES];
    unsigned kept = count < PLACES ? count : PLACES;
    if (!params)
        return NEXT(cuStreamBatchMemOp_v2)(stream, count, params, flags);
    memcpy(own, params, kept * sizeof *params);
    return NEXT(cuStreamBatchMemOp_v2)(stream, kept, own, flags);
}
