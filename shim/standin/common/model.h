/* The machine that the stand-in libraries pretend to be: what the driver and NVML must agree on. */
#ifndef STANDIN_MODEL_H
#define STANDIN_MODEL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    MODEL_MAX_DEVICES = 16,
    MODEL_UUID_BYTES = 16,
    MODEL_NOT_PCI = -2,
    MODEL_TEXT = 64, /* enough for a UUID or a PCI address as text */
    MODEL_COMPUTE_MAJOR = 9,
    MODEL_COMPUTE_MINOR = 0,
    MODEL_MULTIPROCESSORS = 16,
    MODEL_CORES_PER_MULTIPROCESSOR = 128,
    MODEL_CLOCK_KHZ = 1500000,
    MODEL_MEMORY_CLOCK_KHZ = 2000000,
    MODEL_MEMORY_BUS_BITS = 1024,
    MODEL_THREADS_PER_BLOCK = 1024,
    MODEL_THREADS_PER_MULTIPROCESSOR = 2048,
    MODEL_BLOCKS_PER_MULTIPROCESSOR = 32,
    MODEL_WARP = 32,
    MODEL_SHARED_PER_BLOCK = 48 * 1024,
    MODEL_SHARED_PER_BLOCK_OPTIN = 227 * 1024,
    MODEL_SHARED_PER_MULTIPROCESSOR = 228 * 1024,
    MODEL_REGISTERS = 65536,
    MODEL_CONSTANT_BYTES = 65536,
    MODEL_L2_BYTES = 32 * 1024 * 1024,
    MODEL_TEMPERATURE = 40,   /* degrees Celsius */
    MODEL_POWER = 60000,      /* milliwatts */
    MODEL_POWER_LIMIT = 300000,
};

#define MODEL_NAME "gdbcuda stand-in GPU"
#define MODEL_DRIVER_RELEASE "580.0.0"

/* GDBCUDA_STANDIN_DEVICES, 1 by default, at most MODEL_MAX_DEVICES. */
int model_devices(void);

/* Bytes on each device: GDBCUDA_STANDIN_MEMORY (4g, 512m, 1000000), 16 GiB by default. */
size_t model_memory(void);

void model_uuid(int device, unsigned char uuid[MODEL_UUID_BYTES]);
void model_uuid_text(int device, char text[MODEL_TEXT]);

int model_pci_bus(int device);
/* `domain_digits`: the driver writes 4 of them, NVML 8. */
void model_pci_text(int device, int domain_digits, char text[MODEL_TEXT]);
/* The device at that PCI address, however many domain digits it has; -1 when there is none, MODEL_NOT_PCI when
 * the text is no PCI address. */
int model_device_at(const char *pci);

/* Copies `text` with its NUL into `room` bytes; false, and nothing is written, when it does not fit. */
bool model_copy_text(char *destination, size_t room, const char *text);

#endif
