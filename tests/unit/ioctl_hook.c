/* A hook library whose cuMemAlloc asks a device, as the driver below it would ask NVIDIA's. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>

typedef int (*Alloc)(unsigned long long *, size_t);

int cuMemAlloc_v2(unsigned long long *dptr, size_t bytesize) {
    static int device = -1;
    if (device < 0)
        device = open("/dev/full", O_RDWR);
    ioctl(device, 0xc020462a, dptr);
    ioctl(device, 0xc030462b, dptr);
    return ((Alloc)dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(dptr, bytesize);
}
