/* A fatbin: a header, then entries with PTX or cubins, plain or compressed. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct fatbin {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of all entries */
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;
    uint32_t compressed_size, options;
    uint16_t minor, major;
    uint32_t architecture, name_offset, name_size;
    uint64_t flags, reserved, plain_size;
};

enum { KIND_PTX = 1, KIND_CUBIN = 2, COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };

/* A length above 14 goes on in bytes of up to 255. */
static size_t lz4_length(const unsigned char **in, const unsigned char *end, size_t length)
{
    if (length != 15)
        return length;
    unsigned char more;
    do {
        if (*in >= end)
            return length;
        more = *(*in)++;
        length += more;
    } while (more == 255);
    return length;
}

/* One block; false when it is damaged. The format is public: lz4 block format description. */
static bool lz4_expand(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size)
{
    const unsigned char *in_end = in + in_size;
    unsigned char *start = out, *out_end = out + out_size;

    while (in < in_end) {
        unsigned char token = *in++;
        size_t literals = lz4_length(&in, in_end, token >> 4);
        if (literals > (size_t)(in_end - in) || literals > (size_t)(out_end - out))
            return false;
        memcpy(out, in, literals);
        in += literals;
        out += literals;
        if (in_end - in < 2)
            break;
        size_t distance = in[0] | (size_t)in[1] << 8;
        in += 2;
        size_t length = lz4_length(&in, in_end, token & 15) + 4;
        if (distance == 0 || distance > (size_t)(out - start) || length > (size_t)(out_end - out))
            return false;
        for (; length; length--, out++)
            *out = out[-(ptrdiff_t)distance];
    }
    return out == out_end;
}

/* With the system's libzstd, where there is one. */
static bool zstd_expand(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size)
{
    typedef size_t decompress(void *out, size_t out_size, const void *in, size_t in_size);
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    decompress *expand = library ? (decompress *)dlsym(library, "ZSTD_decompress") : NULL;
    bool expanded = expand && expand(out, out_size, in, in_size) == out_size;

    if (library)
        dlclose(library);
    return expanded;
}

static bool read_payload(struct code *code, uint16_t kind, const void *payload)
{
    return kind == KIND_CUBIN ? code_read_elf(code, payload) : code_read_ptx(code, payload);
}

static bool read_compressed(struct code *code, const struct fatbin_entry *entry, const void *payload)
{
    size_t in_size = entry->compressed_size ? entry->compressed_size : entry->size;
    unsigned char *plain = calloc(1, entry->plain_size + 1); /* PTX needs its NUL */

    if (!plain)
        return false;
    bool lz4 = entry->flags & COMPRESSED_LZ4;
    bool whole = (lz4 ? lz4_expand : zstd_expand)(payload, in_size, plain, entry->plain_size);
    whole = whole && read_payload(code, entry->kind, plain);
    free(plain);
    return whole;
}

static bool read_entry(struct code *code, const struct fatbin_entry *entry)
{
    const char *payload = (const char *)entry + entry->header_size;

    if (entry->kind != KIND_PTX && entry->kind != KIND_CUBIN)
        return false;
    if (entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD))
        return read_compressed(code, entry, payload);
    return read_payload(code, entry->kind, payload);
}

/* An entry that cannot be read makes the names unknown, unless another one had them. */
bool code_read_fatbin(struct code *code, const void *image)
{
    const struct fatbin *fatbin = image;
    const char *at = (const char *)image + fatbin->header_size, *end = at + fatbin->size;
    bool any = false;

    while ((size_t)(end - at) >= sizeof(struct fatbin_entry)) {
        const struct fatbin_entry *entry = (const void *)at;
        any |= read_entry(code, entry);
        at += entry->header_size + entry->size;
    }
    code->opaque = !any;
    return true;
}
