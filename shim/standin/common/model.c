#include "model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t default_memory = (size_t)16 << 30;

static void refuse(const char *variable, const char *text)
{
    fprintf(stderr, "gdbcuda stand-in: %s=%s is not understood, the default is used\n", variable, text);
}

static int unit_shift(char unit)
{
    switch (tolower((unsigned char)unit)) {
    case '\0': return 0;
    case 'k': return 10;
    case 'm': return 20;
    case 'g': return 30;
    case 't': return 40;
    default: return -1;
    }
}

static size_t parse_memory(const char *text)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = unit_shift(*end);

    if (end == text || number == 0 || shift < 0 || (*end && end[1]) || number > (~0ull >> 8 >> shift)) {
        refuse("GDBCUDA_STANDIN_MEMORY", text);
        return default_memory;
    }
    return (size_t)number << shift;
}

static int parse_devices(const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (end == text || *end || number < 0 || number > MODEL_MAX_DEVICES) {
        refuse("GDBCUDA_STANDIN_DEVICES", text);
        return 1;
    }
    return (int)number;
}

int model_devices(void)
{
    static int devices = -1;

    if (devices < 0) {
        const char *text = getenv("GDBCUDA_STANDIN_DEVICES");
        devices = text ? parse_devices(text) : 1;
    }
    return devices;
}

size_t model_memory(void)
{
    static size_t memory;

    if (memory == 0) {
        const char *text = getenv("GDBCUDA_STANDIN_MEMORY");
        memory = text ? parse_memory(text) : default_memory;
    }
    return memory;
}

void model_uuid(int device, unsigned char uuid[MODEL_UUID_BYTES])
{
    memcpy(uuid, "gdbcuda-standin", MODEL_UUID_BYTES - 1);
    uuid[MODEL_UUID_BYTES - 1] = (unsigned char)device;
}

void model_uuid_text(int device, char text[MODEL_TEXT])
{
    unsigned char uuid[MODEL_UUID_BYTES];
    char *next = text + sprintf(text, "GPU");

    model_uuid(device, uuid);
    for (int i = 0; i < MODEL_UUID_BYTES; i++) {
        bool group_starts = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        next += sprintf(next, group_starts ? "-%02x" : "%02x", uuid[i]);
    }
}

int model_pci_bus(int device)
{
    return device + 1;
}

void model_pci_text(int device, int domain_digits, char text[MODEL_TEXT])
{
    snprintf(text, MODEL_TEXT, "%0*x:%02x:00.0", domain_digits, 0, (unsigned)model_pci_bus(device));
}

int model_device_at(const char *pci)
{
    unsigned domain, bus, slot, function = 0;

    if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(pci, "%x:%x.%x", &bus, &slot, &function) < 2)
            return MODEL_NOT_PCI;
    }
    if (domain != 0 || slot != 0 || function != 0 || bus == 0 || bus > (unsigned)model_devices())
        return -1;
    return (int)bus - 1;
}

bool model_copy_text(char *destination, size_t room, const char *text)
{
    size_t needed = strlen(text) + 1;

    if (needed > room)
        return false;
    memcpy(destination, text, needed);
    return true;
}
