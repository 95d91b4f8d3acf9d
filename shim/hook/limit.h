/* The device-memory limit: who may have how much, and who has what. */
#ifndef GDBCUDA_LIMIT_H
#define GDBCUDA_LIMIT_H

#include "hook.h"

enum { MOST_DEVICES = 64 };

/* limit.c. Devices are numbered as CUdevice; -1 is "none", where nothing is refused or counted. */
size_t limit_bytes(void);                          /* per device; 0: no limit is set */
size_t limit_total(size_t real_total);             /* what a program is told that the device has */
size_t limit_used(CUdevice device);
CUdevice current_device(void);
bool limit_claim(CUdevice device, size_t bytes);   /* false: that would be over the limit */
void limit_give_back(CUdevice device, size_t bytes);

/* ledger.c. Device pointers and array handles may have the same value. */
enum block_kind { BLOCK_POINTER, BLOCK_ARRAY, BLOCK_MIPMAP };

struct block {
    enum block_kind kind;
    uint64_t address; /* or handle */
    CUdevice device;
    size_t bytes;
    CUcontext context; /* which takes its blocks with it when it is destroyed */
    struct block *next;
};

void ledger_add(enum block_kind kind, uint64_t address, CUdevice device, size_t bytes);
void ledger_forget_context(CUcontext context);

/* A free in two steps, so that another thread may be given the same address in between: the block is taken out, and
   settled once the driver's answer is there. NULL stands for a block that is not in the ledger. */
struct block *ledger_take(enum block_kind kind, uint64_t address);
CUresult ledger_settle(struct block *block, CUresult result);

/* graph.c: what the driver keeps for graphs. */
size_t graph_bytes(CUdevice device);

/* physical.c: what cuMemCreate has handed out. */
void physical_add(uint64_t handle, CUdevice device, size_t bytes);

#endif
