/* Kernels and variables of a cubin, from its symbol table; parameters from its .nv.info sections. */
#include "driver.h"

#include <elf.h>
#include <string.h>

enum {
    CUBIN_MACHINE = 190,    /* EM_CUDA */
    ENTRY_POINT = 0x10,     /* in st_other: a kernel, not a device function */
    RECORD_SIZED = 4,       /* .nv.info record: format, attribute, 16-bit size, payload */
    PARAMETER_RECORD = 0x17 /* payload: 32-bit index, 16-bit ordinal, 16-bit offset, 32-bit bits with the size */
};

struct cubin {
    const char *start;
    const Elf64_Shdr *sections;
    unsigned count;
    const char *names; /* of sections */
};

static const char *section_name(const struct cubin *cubin, unsigned index)
{
    return index < cubin->count ? cubin->names + cubin->sections[index].sh_name : "";
}

static const Elf64_Shdr *section(const struct cubin *cubin, const char *prefix, const char *name)
{
    for (unsigned i = 0; i < cubin->count; i++) {
        const char *found = section_name(cubin, i);
        if (strncmp(found, prefix, strlen(prefix)) == 0 && strcmp(found + strlen(prefix), name) == 0)
            return &cubin->sections[i];
    }
    return NULL;
}

static void read_parameter(struct kernel *kernel, const char *payload)
{
    uint16_t ordinal, offset;
    uint32_t bits;

    memcpy(&ordinal, payload + 4, sizeof ordinal);
    memcpy(&offset, payload + 6, sizeof offset);
    memcpy(&bits, payload + 8, sizeof bits);
    code_set_parameter(kernel, ordinal, offset, bits >> 18);
}

static void read_parameters(const struct cubin *cubin, struct kernel *kernel)
{
    const Elf64_Shdr *info = section(cubin, ".nv.info.", kernel->name);

    if (!info)
        return;
    const char *at = cubin->start + info->sh_offset, *end = at + info->sh_size;
    while (end - at >= 4) {
        uint16_t size;
        memcpy(&size, at + 2, sizeof size);
        bool sized = at[0] == RECORD_SIZED;
        if (sized && at[1] == PARAMETER_RECORD && end - at >= 16)
            read_parameter(kernel, at + 4);
        at += 4 + (sized ? size : 0);
    }
    kernel->parameters_known = true;
}

static bool device_memory(const char *section)
{
    return strncmp(section, ".nv.global", 10) == 0 || strcmp(section, ".nv.constant3") == 0;
}

static void read_variable(struct code *code, const struct cubin *cubin, const Elf64_Sym *symbol, const char *name)
{
    const Elf64_Shdr *home = &cubin->sections[symbol->st_shndx];
    const char *initial = home->sh_type == SHT_NOBITS ? NULL : cubin->start + home->sh_offset + symbol->st_value;

    code_add_variable(code, name, strlen(name), symbol->st_size, initial);
}

static void read_symbol(struct code *code, const struct cubin *cubin, const Elf64_Sym *symbol, const char *name)
{
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & ENTRY_POINT)
        read_parameters(cubin, code_add_kernel(code, name, strlen(name)));
    if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && device_memory(section_name(cubin, symbol->st_shndx)))
        read_variable(code, cubin, symbol, name);
}

bool code_read_elf(struct code *code, const void *image)
{
    const Elf64_Ehdr *header = image;

    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != CUBIN_MACHINE)
        return false;
    struct cubin cubin = {image, (const void *)((const char *)image + header->e_shoff), header->e_shnum, NULL};
    if (header->e_shstrndx >= cubin.count)
        return false;
    cubin.names = cubin.start + cubin.sections[header->e_shstrndx].sh_offset;
    const Elf64_Shdr *symbols = section(&cubin, "", ".symtab");
    if (!symbols || symbols->sh_link >= cubin.count)
        return false;
    const char *strings = cubin.start + cubin.sections[symbols->sh_link].sh_offset;
    const Elf64_Sym *symbol = (const void *)(cubin.start + symbols->sh_offset);
    for (size_t i = 0; i < symbols->sh_size / sizeof *symbol; i++)
        read_symbol(code, &cubin, &symbol[i], strings + symbol[i].st_name);
    return true;
}
