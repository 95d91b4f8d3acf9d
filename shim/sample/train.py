"""A training script as gdbcuda sees one: Python that allocates through the driver. One block is never freed."""

import ctypes

driver = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        raise MemoryError(f"CUDA error {status}")


def start():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDeviceGet(ctypes.byref(device), 0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(driver.cuCtxSetCurrent(context))


def allocate(size):
    block = ctypes.c_size_t()
    check(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)))
    return block


class Model:
    def load_weights(self):
        self.weights = allocate(64 << 20)

    def step(self, batch):
        blocks = [allocate(size) for size in sorted(batch, key=lambda size: -size)]
        for block in blocks:
            check(driver.cuMemFree_v2(block))


def main():
    start()
    model = Model()
    model.load_weights()
    for size in (1000, 3000):
        model.step([size, 2 * size])


if __name__ == "__main__":
    main()
